"""Websocket addresses, for controlpanel/asgi.py."""

from __future__ import annotations

from django.urls import path

from monitoring.consumers import SubjectConsumer

websocket_urlpatterns = [path("ws/v1", SubjectConsumer.as_asgi())]
