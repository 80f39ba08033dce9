"""Addresses of the pages of clusters and hosts; those for scripts stand in api.py, those for hosts in agent_api.py."""

from __future__ import annotations

from django.urls import path

from clusters import enrolment_views, views

urlpatterns = [
    path("hosts", views.host_list, name="host-list"),
    path("hosts/new", enrolment_views.host_new, name="host-new"),
    path("hosts/new/reach", enrolment_views.host_reach, name="host-reach"),
    path("hosts/new/<int:number>", enrolment_views.host_enrolment, name="host-enrolment"),
    path("hosts/<uuid:host_id>", views.host_page, name="host"),
    path("hosts/<uuid:host_id>/cordon", views.create_cordon, name="host-cordon"),
    path("hosts/<uuid:host_id>/cordon/removal", views.remove_cordon, name="host-cordon-removal"),
    path("hosts/<uuid:host_id>/drain", views.create_drain, name="host-drain"),
    path("hosts/<uuid:host_id>/retirement", views.create_retirement, name="host-retirement"),
]
