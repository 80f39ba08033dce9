"""All addresses: pages at the root, /api/v1 for scripts, /agent/v1 for hosts. An address belongs to the highest noun it shows."""

from __future__ import annotations

from django.urls import include, path

import clusters.agent_api
import clusters.api
import clusters.urls
import jobs.urls
import projects.urls
from controlpanel import api_reference, client_archive, home, palette, project_api, project_views
from projects import languages

api = [
    path("teams/<str:slug>/projects", project_api.TeamProjects.as_view()),
    path("projects/<str:slug>", project_api.OneProject.as_view()),
]
urlpatterns = [
    path("", home.home, name="home"),
    path("seen", home.mark_seen, name="home-seen"),
    path("conditions", home.conditions, name="conditions"),
    path("language", languages.choose_language, name="language"),
    path("palette", palette.palette, name="palette"),
    path("api-reference", api_reference.api_reference, name="api-reference"),
    path("openapi.yaml", api_reference.openapi_document, name="openapi-document"),
    path("client.tar.gz", client_archive.client_archive, name="client-archive"),
    path("teams/<str:slug>/projects", project_views.create_project, name="team-projects"),
    path("projects/<str:slug>/name", project_views.rename_project, name="project-name"),
    path("", include(projects.urls.urlpatterns)),
    path("", include(clusters.urls.urlpatterns)),
    path("", include(jobs.urls.urlpatterns)),
    path("api/v1/", include([*projects.urls.api_urlpatterns, *clusters.api.urlpatterns, *jobs.urls.api_urlpatterns, *api])),
    path("agent/v1/", include(clusters.agent_api.urlpatterns)),
]
handler400 = "projects.answers.page_400"
handler404 = "projects.answers.page_404"
handler403 = "projects.answers.page_403"
handler500 = "projects.answers.page_500"
