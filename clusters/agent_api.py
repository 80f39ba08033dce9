"""The HTTP door of the hosts: install the agent, enrol, open a session, claim a rank, bring a file.

A host shows its token; each answer is about that host alone. What it must not see does not exist (404).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from clusters import enrolment, fetches, install, ranks, sessions, silence, sources, wheel
from clusters.models import Host, Runtime
from clusters.states import HostState
from projects.errors import Conflict, Invalid, NotFound, Unauthorized

SESSION_HEADER = "X-Agent-Session"


def host_door(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Who calls is the host of the bearer token; the view gets it, and the body's JSON object."""

    @csrf_exempt
    @require_POST
    @functools.wraps(view)
    def door(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        return view(request, _host(request), _body(request), **kwargs)

    return door


@csrf_exempt
@require_POST
def enrol(request: HttpRequest) -> HttpResponse:
    body = _body(request)
    identity = enrolment.enrol(
        token=_bearer(request),
        machine_id=_text(body, "machine_id"),
        name=_text(body, "name"),
        chips=_whole(body, "chips"),
        now=timezone.now(),
    )
    return JsonResponse({"host_id": identity.host_id, "token": identity.token, "redis_url": identity.redis_url}, status=201)


@host_door
def session(request: HttpRequest, host: Host, body: dict[str, Any]) -> HttpResponse:
    number = sessions.open_session(
        host,
        instance_id=_text(body, "instance_id"),
        boot_id=_text(body, "boot_id"),
        agent_version=str(body.get("agent_version", ""))[:30],
        now=timezone.now(),
    )
    return JsonResponse({"session": number})


@host_door
def claim(request: HttpRequest, host: Host, body: dict[str, Any], *, workload_id: UUID, number: int) -> HttpResponse:
    _check_session(request, host)
    now = timezone.now()
    silence.heard(host.pk, now=now)
    return JsonResponse(ranks.claim(workload_id, number, host=host, now=now).to_json())


@csrf_exempt
@require_http_methods(["PUT"])
def fetch_piece(request: HttpRequest, fetch_id: int) -> HttpResponse:
    """Bytes of a file that the panel wants. The answer says from where on it wants the next; `complete`: none."""
    host = _host(request)
    _check_session(request, host)
    now = timezone.now()
    silence.heard(host.pk, now=now)
    offset, size_bytes = _from_query(request, "offset"), _from_query(request, "size")
    found = fetches.take_piece(fetch_id, host=host, offset=offset, size_bytes=size_bytes, data=request.body, now=now)
    return JsonResponse({"offset": found.received_bytes, "complete": found.is_complete})


@host_door
def fetch_failure(request: HttpRequest, host: Host, body: dict[str, Any], *, fetch_id: int) -> HttpResponse:
    """The host's word that it cannot bring a file; `gone`: it is not there any more."""
    _check_session(request, host)
    now = timezone.now()
    silence.heard(host.pk, now=now)
    sentence = str(body.get("sentence", ""))
    fetches.refused_by_host(fetch_id, host=host, sentence=sentence, is_gone=body.get("gone") is True, now=now)
    return JsonResponse({}, status=201)


@require_GET
def runtime(request: HttpRequest, digest: str) -> HttpResponse:
    """The pinned list of a runtime."""
    _host(request)
    found = Runtime.objects.filter(pk=digest).first()
    if found is None:
        raise NotFound("no-such-runtime", _("There is no such runtime."))
    return JsonResponse({"name": found.name, "requirements": found.requirements})


@require_GET
def source(request: HttpRequest, digest: str) -> FileResponse:
    """The archive of a source that work of this host runs."""
    host = _host(request)
    if not ranks.runs_source(host, digest):
        raise NotFound("no-such-source", _("There is no such source."))
    return FileResponse(sources.open_archive(digest), content_type="application/gzip")


@require_GET
@never_cache
def install_script(request: HttpRequest) -> HttpResponse:
    """What is piped into sh on a machine that is to become a host. Public, as the wheel is."""
    return HttpResponse(install.script(), content_type="text/x-shellscript; charset=utf-8")


@require_GET
@never_cache
def requirements(request: HttpRequest) -> HttpResponse:
    """What that script has pip install, with hashes."""
    return HttpResponse(install.requirements(), content_type="text/plain; charset=utf-8")


@require_GET
def agent_wheel(request: HttpRequest, name: str) -> FileResponse:
    """The agent's wheel. Public: it holds no secret, and a machine that enrols has no identity yet."""
    found = wheel.find(name)
    if found is None:
        raise NotFound("no-such-wheel", _("The panel has no such file."))
    return FileResponse(found.open("rb"), as_attachment=True, filename=found.name, content_type="application/octet-stream")


def _host(request: HttpRequest) -> Host:
    """Raises Unauthorized when the token belongs to no host in service."""
    host = Host.objects.select_related("subject").filter(token_hash=enrolment.hashed(_bearer(request))).first()
    if host is None or host.state == HostState.RETIRED:
        raise Unauthorized("host-unknown", _("This host token is unknown here. Enrol the host again."))
    return host


def _check_session(request: HttpRequest, host: Host) -> None:
    if request.headers.get(SESSION_HEADER) != str(host.session):
        raise Conflict("session-over", _("Another session speaks for this host now."))


def _bearer(request: HttpRequest) -> str:
    kind, _space, token = request.headers.get("Authorization", "").partition(" ")
    if kind != "Bearer" or not token:
        raise Unauthorized("no-token", _("An Authorization header with a Bearer token is needed."))
    return token


def _body(request: HttpRequest) -> dict[str, Any]:
    try:
        body = json.loads(request.body or b"{}")
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise Invalid({"": _("The body must be a JSON object.")}, code="not-json")
    return body


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= 64 or not value.isprintable():
        raise Invalid({name: _("A text of 1 to 64 printable characters is needed.")})
    return value


def _whole(body: dict[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Invalid({name: _("A whole number is needed.")})
    return value


def _from_query(request: HttpRequest, name: str) -> int:
    text = request.GET.get(name, "")
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise Invalid({name: _("A whole number from 0 is needed.")})
    return int(text)


urlpatterns = [
    path("enrolment", enrol),
    path("session", session),
    path("workloads/<uuid:workload_id>/ranks/<int:number>/claim", claim),
    path("fetches/<int:fetch_id>", fetch_piece),
    path("fetches/<int:fetch_id>/failure", fetch_failure),
    path("runtimes/<str:digest>", runtime),
    path("sources/<str:digest>", source),
    path("install", install_script),
    path("requirements.txt", requirements),
    path("wheels/<str:name>", agent_wheel),
]
