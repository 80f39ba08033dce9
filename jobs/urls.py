"""Addresses of jobs: the same shape for pages and, below /api/v1/, for scripts."""

from __future__ import annotations

from django.urls import path

from jobs import (
    api,
    definition_api,
    definition_edit_views,
    definition_views,
    file_api,
    launch_views,
    log_api,
    log_place_api,
    log_search_api,
    log_stream_api,
    metric_api,
    secret_views,
    views,
    waiting_api,
)

urlpatterns = [
    path("jobs", views.job_list, name="job-list"),
    path("jobs/new", launch_views.launch_page, name="job-launch"),
    path("jobs/new/preview", launch_views.create_preview, name="job-launch-preview"),
    path("jobs/<int:number>", views.job_page, name="job"),
    path("jobs/<int:number>/cancellation", views.create_cancellation, name="job-cancellation"),
    path("jobs/<int:number>/relaunch", views.create_relaunch, name="job-relaunch"),
    path("jobs/<int:number>/files/<int:file_id>", views.job_file, name="job-file"),
    path("definitions", definition_views.definition_list, name="definition-list"),
    path("definitions/new", definition_edit_views.definition_new, name="definition-new"),
    path("definitions/preview", definition_edit_views.create_preview, name="definition-preview"),
    path("definitions/<str:project>/<str:slug>", definition_views.definition_page, name="definition"),
    path("definitions/<str:project>/<str:slug>/versions/new", definition_edit_views.definition_edit, name="definition-edit"),
    path("definitions/<str:project>/<str:slug>/versions/<int:number>", definition_views.version_page, name="definition-version"),
    path("definitions/<str:project>/<str:slug>/comparison", definition_views.comparison_page, name="definition-comparison"),
    path("definitions/<str:project>/<str:slug>/archival", definition_views.create_archival, name="definition-archival"),
    path(
        "definitions/<str:project>/<str:slug>/archival/removal",
        definition_views.remove_archival,
        name="definition-archival-removal",
    ),
    path("projects/<str:slug>/secrets", secret_views.secret_list, name="project-secrets"),
    path("projects/<str:slug>/secrets/<str:name>/removal", secret_views.remove_secret, name="project-secret-removal"),
]

api_urlpatterns = [
    path("jobs", api.Jobs.as_view()),
    path("jobs/<int:number>", api.OneJob.as_view()),
    path("jobs/<int:number>/attempts", api.Attempts.as_view()),
    path("jobs/<int:number>/cancellation", api.Cancellation.as_view()),
    path("jobs/<int:number>/relaunch", api.Relaunch.as_view()),
    path("jobs/<int:number>/events", api.Events.as_view()),
    path("jobs/<int:number>/files", file_api.Files.as_view()),
    path("jobs/<int:number>/files/<int:file_id>", file_api.OneFile.as_view()),
    path("jobs/<int:number>/log", log_api.JobLog.as_view()),
    path("jobs/<int:number>/log/search", log_search_api.LogSearch.as_view()),
    path("jobs/<int:number>/log/matching-lines", log_search_api.MatchingLines.as_view()),
    path("jobs/<int:number>/log/place", log_place_api.LogPlace.as_view()),
    path("jobs/<int:number>/log/times", log_place_api.LogTimes.as_view()),
    path("jobs/<int:number>/log/stream", log_stream_api.LogStream.as_view()),
    path("jobs/<int:number>/metrics", metric_api.Metrics.as_view()),
    path("jobs/<int:number>/metrics/lines", metric_api.MetricLines.as_view()),
    path("jobs/<int:number>/wait", waiting_api.Wait.as_view()),
    path("definitions", definition_api.Definitions.as_view()),
    path("definitions/<str:project>/<str:slug>", definition_api.OneDefinition.as_view()),
    path("definitions/<str:project>/<str:slug>/versions", definition_api.Versions.as_view()),
    path("definitions/<str:project>/<str:slug>/versions/<int:number>", definition_api.OneVersion.as_view()),
    path("definitions/<str:project>/<str:slug>/comparison", definition_api.Comparison.as_view()),
    path("definitions/<str:project>/<str:slug>/archival", definition_api.Archival.as_view()),
]
