"""HTTP and the one websocket endpoint."""

from __future__ import annotations

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlpanel.settings")
http = get_asgi_application()

from monitoring.routing import websocket_urlpatterns  # noqa: E402  needs the apps

application = ProtocolTypeRouter({"http": http, "websocket": URLRouter(websocket_urlpatterns)})
