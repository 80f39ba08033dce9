"""Every address walked as each of the people that it may be asked by: controlpanel/access_table.py tells the truth."""

from __future__ import annotations

import itertools
import json
import re
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings as panel
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from clusters import enrolment, hosts, scheduling, wheel
from clusters.models import EnrolmentToken, Host
from controlpanel import access_table
from controlpanel.access_table import (
    AN_OPERATOR,
    DOORS,
    ITS_OWNER,
    NOBODY,
    NOT_ALLOWED,
    OPERATOR,
    PEOPLE,
    RIVAL,
    STRANGER,
    TOPICS,
    Door,
)
from jobs import log_stream, notice_settings, saved_views, services
from monitoring import door as websocket_door
from monitoring import subjects
from projects import invitations, secrets
from projects.access import RIGHTS
from projects.actors import SCOPES, Actor
from projects.errors import NotFound, Unauthorized
from projects.models import Invitation, Role, Team
from tests.clusters import steps
from tests.clusters.test_archives import a_zip
from tests.factories import NOON, PASSWORD, a_cluster, a_definition, a_host, a_job, a_member, a_project, a_team, a_token, a_user
from tests.jobs.conftest import body

MARK = "zz-hidden"  # in the names of what is the team's: nobody else gets an answer that holds it
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@pytest.fixture
def world(db, settings, tmp_path, monkeypatch) -> SimpleNamespace:
    """One thing of each kind, the team's; and another team with an admin."""
    settings.VAR_DIR = tmp_path / "var"
    wheel.folder().mkdir(parents=True)
    for name in ("agent-1-py3-none-any.whl", "requirements.txt"):
        (wheel.folder() / name).write_text("")

    async def no_events(scope, wanted):
        yield b": none\n\n"

    monkeypatch.setattr(log_stream, "events", no_events)
    team = a_team(slug="vision", name=f"{MARK} team")
    rival = a_member(team=a_team(slug="speech"), role=Role.ADMIN)
    a_project(team=rival.memberships.get().team, slug="asr")
    project = a_project(team=team, slug="vit", name=f"{MARK} project")
    member, operator = a_member(team=team, username="member"), a_user(is_superuser=True)
    cluster = a_cluster(name="local")
    host, idle = a_host(name="tpu-1", cluster=cluster, chips=1), a_host(name="tpu-2", cluster=cluster, chips=1, heard_at=None)
    job = a_job(project=project, by=member, name=f"{MARK}-job")
    a_definition(project=project, by=member, title=f"{MARK} definition")
    scheduling.schedule(now=NOON)
    steps.claim(job.workload)
    leaver, guests = a_member(team=team, username="leaver"), a_team(slug="guests", name="Guests")
    invitation, _text = an_invitation(team, operator)
    token, _text = a_token(user=member, name=f"{MARK} token", scope="read")
    secrets.put(project=project, name="KEY", value="a-secret-value", by=Actor(user=operator))
    enrolment.issue(cluster=cluster, by=Actor(user=operator), now=NOON)
    return SimpleNamespace(
        project=project,
        job=job,
        host=host,
        idle=idle,
        file=steps.a_file(job.workload, "a/b.bin", size=7),
        token=token,
        view=saved_views.save(name=f"{MARK} view", query="state=running", by=Actor(user=member), now=NOON),
        invitation=invitation,
        link=an_invitation(guests, operator)[1],
        leaver_token=a_token(user=leaver)[0],
        enrolment=EnrolmentToken.objects.get(),
        people={
            NOBODY: None,
            STRANGER: a_user(),
            "viewer": a_member(team=team, role=Role.VIEWER),
            "member": member,
            "admin": a_member(team=team, role=Role.ADMIN),
            RIVAL: rival,
            OPERATOR: operator,
        },
    )


def an_invitation(team: Team, user: User) -> tuple[Invitation, str]:
    now = timezone.now()
    return invitations.create(
        team=team, role="member", expires_at=now + timedelta(days=1), most_uses=9, by=Actor(user=user), now=now
    )


# -- What stands for what in an address, and what is sent -------------------------------------------------------------


def address(route: str, world: SimpleNamespace) -> str:
    """The route with the team's own things in it."""
    for part, value in {
        "teams/<str:slug>": "teams/vision",
        "members/<str:username>": "members/leaver",
        "invitations/<int:number>": f"invitations/{world.invitation.pk}",
        "invitations/<str:text>": f"invitations/{world.link}",
        "teams/vision/tokens/<int:token_id>": f"teams/vision/tokens/{world.leaver_token.pk}",
        "projects/<str:slug>": "projects/vit",
        "definitions/<str:project>/<str:slug>": "definitions/vit/command",
        "versions/<int:number>": "versions/1",
        "jobs/<int:number>": f"jobs/{world.job.pk}",
        "hosts/new/<int:number>": f"hosts/new/{world.enrolment.pk}",
        "host_id>/retirement": f"host_id>/retirement of {world.idle.pk}",
        "clusters/<str:name>": "clusters/local",
        "secrets/<str:name>": "secrets/KEY",
        "tokens/<int:token_id>": f"tokens/{world.token.pk}",
        "views/<int:pk>": f"views/{world.view.pk}",
        "views/<int:view_id>": f"views/{world.view.pk}",
        "<int:file_id>": str(world.file.pk),
        "<uuid:workload_id>": str(world.job.workload_id),
        "ranks/<int:number>": "ranks/0",
        "fetches/<int:fetch_id>": "fetches/1",
        "runtimes/<str:digest>": "runtimes/1f",
        "sources/<str:digest>": "sources/1f",
        "wheels/<str:name>": "wheels/agent-1-py3-none-any.whl",
    }.items():
        route = route.replace(part, value)
    if " of " in route:
        route, pk = route.split(" of ")
        route = re.sub(r"<\w+:host_id>", pk, route)
    route = re.sub(r"<\w+:host_id>", str(world.host.pk), route)
    assert "<" not in route, f"say what stands for {route} in address()"
    return "/" + route


QUERIES = {
    "api/v1/jobs/<int:number>/wait": "timeout_s=0",
    "api/v1/jobs/<int:number>/log/search": "q=x",
    "api/v1/jobs/<int:number>/log/matching-lines": "q=x",
    "api/v1/jobs/<int:number>/log/place": "line=0",
    "api/v1/definitions/<str:project>/<str:slug>/comparison": "from=1&to=1",
    "api/v1/hosts/<str:host_id>/metrics/file": "name=load",
    "api/v1/jobs/<int:number>/metrics/file": "name=loss",
    "jobs/compare": "jobs=JOB",
    **dict.fromkeys(("jobs/cancellations", "jobs/relaunches", "jobs/labels"), "job=JOB"),
}
LAUNCH = {"project": "vit", "definition": "command"}
LAUNCH_FORM = LAUNCH | {"resources.accelerator": "cpu", "resources.chips": "1", "parameters.command": "true"}
WORDING = {
    "title": "Train",
    "template": {"command": ["true"]},
    "parameters": {"type": "object"},
    "resources": {"accelerator": "cpu", "chips": 1},
}
EDITED = {"project": "vit", "view": "json", "base": "2", "key": "a-key", "text": json.dumps(WORDING), "note": ""}
PLACES = {"project": "vit", "team": "vision"}
PLACE = {"new-slug": "own", "new-name": "Own"}
GOOD = {"username": "newcomer", "password": "correct horse battery"}
BODIES: dict[str, Any] = {
    "POST /teams": PLACE,
    "POST /teams/<str:slug>": {"name-name": "Seeing"},
    "POST /teams/<str:slug>/members/<str:username>": {"role": "viewer"},
    "POST /teams/<str:slug>/invitations": {"invitation-role": "member", "invitation-days": "7", "invitation-most_uses": "1"},
    "POST /teams/<str:slug>/projects": PLACE,
    "POST /projects/<str:slug>/secrets": {"secret-name": "OTHER", "secret-value": "another-value"},
    "POST /projects/<str:slug>/name": {"name": "Own"},
    "POST /invitations/<str:text>": GOOD,
    "POST /api/v1/teams": {"slug": "own", "name": "Own"},
    "POST /api/v1/teams/<str:slug>/invitations": {"role": "member"},
    "POST /api/v1/teams/<str:slug>/projects": {"slug": "own"},
    "PATCH /api/v1/teams/<str:slug>": {"name": "Seeing"},
    "PATCH /api/v1/teams/<str:slug>/members/<str:username>": {"role": "viewer"},
    "PATCH /api/v1/projects/<str:slug>": {"name": "Own"},
    "POST /seen": {"until": "2026-03-01T12:00:00+00:00"},
    "POST /sign-in": {"username": "member", "password": PASSWORD},
    "POST /tokens": {"name": "n", "scope": "read", "days": ""},
    "POST /notices": {"events": ["fails"]},
    "PUT /api/v1/notices": {"events": ["fails"]},
    "POST /hosts/new": {"cluster": "local"},
    "POST /hosts/<uuid:host_id>/cordon": {"reason": "disk"},
    "POST /hosts/<uuid:host_id>/drain": {"reason": "disk"},
    "POST /api/v1/hosts/<str:host_id>/drain": {"reason": "disk"},
    "POST /jobs/new": LAUNCH_FORM,
    "POST /jobs/new/preview": LAUNCH_FORM,
    "POST /definitions/new": EDITED | {"slug": "own", "base": "0"},
    "POST /definitions/preview": EDITED,
    "POST /definitions/<str:project>/<str:slug>/versions/new": EDITED,
    "POST /api/v1/tokens": {"name": "n", "scope": "read"},
    "POST /api/v1/hosts/<str:host_id>/cordon": {"reason": "disk"},
    "POST /api/v1/jobs": LAUNCH | {"parameters": {"command": "true"}},
    **{f"POST /api/v1/jobs/{verb}": {"jobs": ["JOB"]} for verb in ("cancellations", "relaunches")},
    "POST /api/v1/jobs/labels": {"jobs": ["JOB"], "labels": {"a": "b"}},
    "POST /api/v1/launch-checks": LAUNCH | {"parameters": {"command": "true"}},
    "POST /api/v1/definitions": WORDING | {"project": "vit", "slug": "own"},
    "POST /api/v1/definitions/<str:project>/<str:slug>/versions": WORDING,
    "POST /jobs/views": {"name": "failed", "query": "state=failed"},
    "POST /api/v1/views": {"name": "failed", "query": "state=failed"},
    "PATCH /api/v1/views/<int:view_id>": {"name": "renamed"},
    "PATCH /api/v1/jobs/<int:number>": {"labels": {"a": "b"}},
    "PUT /api/v1/projects/<str:slug>/secrets/<str:name>": {"value": "another-value"},
}


def prepare(door: Door, world: SimpleNamespace) -> None:
    """What must have happened for the door to open."""
    by = Actor(user=world.people[OPERATOR])
    if door.route.endswith("cordon/removal") or (door.method, door.route.endswith("/cordon")) == ("DELETE", True):
        hosts.cordon(host=Host.objects.get(pk=world.host.pk), reason="disk", by=by, now=NOON)
    if door.route.endswith("notices/webhook-secret"):
        for user in filter(None, world.people.values()):
            wanted = {"webhook_url": "https://hooks.example/panel"}
            notice_settings.change(user=user, wanted=wanted, by=Actor(user=user), now=NOON)
    if door.route.endswith("/abandonment"):
        services.cancel(job=world.job, by=by, now=NOON)


def knock(world: SimpleNamespace, door: Door, who: str, scope: str = "admin") -> HttpResponse:
    """The answer to `who`, by session at a page and by token at the API; what it changed is undone."""
    client, headers, user = Client(raise_request_exception=False), {}, world.people[who]
    if user and door.is_of_api:
        headers["Authorization"] = f"Bearer {a_token(user=user, scope=scope)[1]}"
    elif user:
        client.force_login(user)
    sent = {door.asks: PLACES[door.asks]} if door.asks and door.method == "GET" else BODIES.get(str(door), {})
    if door.route == "api/v1/invitations/acceptance":
        sent = {"invitation": world.link}
    sent = json.loads(json.dumps(sent).replace('"JOB"', str(world.job.pk)))
    query = QUERIES.get(door.route, "").replace("JOB", str(world.job.pk))
    path = address(door.route, world) + (f"?{query}" if query else "")
    with transaction.atomic():
        prepare(door, world)
        if door.method == "GET":
            answer = client.get(path, sent, headers=headers)
        elif (door.method, door.route.endswith("/sources")) == ("POST", True):
            archive = SimpleUploadedFile("code.zip", a_zip({"train.py": b""}).getvalue())
            answer = client.post(path, {"archive": archive}, headers=headers)
        elif door.method == "POST" and not door.route.startswith(("api/", "agent/")):
            answer = client.post(path, sent, headers=headers)
        else:
            answer = client.generic(door.method, path, json.dumps(sent), content_type="application/json", headers=headers)
        transaction.set_rollback(True)
    return answer


def content(answer: HttpResponse) -> str:
    if not answer.streaming:
        return answer.content.decode(errors="replace")
    if answer.is_async:
        return body(answer).decode(errors="replace")
    return b"".join(answer).decode(errors="replace")


# -- The walk ---------------------------------------------------------------------------------------------------------


def test_every_address_has_a_row_and_every_row_an_address():
    assert {door.route for door in DOORS} == set(access_table.routes())
    assert len({str(door) for door in DOORS}) == len(DOORS)


@pytest.mark.thorough
@pytest.mark.parametrize("door", DOORS, ids=str)
def test_each_gets_what_the_table_says(world, door):
    answers = {who: knock(world, door, who) for who in PEOPLE}
    said = {who: access_table.expected(door, who) for who in PEOPLE}
    assert {who: answer.status_code for who, answer in answers.items()} == said
    for who in (NOBODY, STRANGER, RIVAL):
        assert MARK not in content(answers[who]), f"{who} reads of the team"
    if door.is_of_api:
        who = OPERATOR if door.needs == AN_OPERATOR else "member" if door.needs == ITS_OWNER else "admin"
        least = SCOPES.index(access_table.scope_of(door))
        of_scopes = {scope: knock(world, door, who, scope).status_code for scope in SCOPES[:-1]}
        assert of_scopes == {scope: door.then if SCOPES.index(scope) >= least else NOT_ALLOWED for scope in SCOPES[:-1]}


def test_a_method_without_a_row_is_refused(world):
    """To an operator, too, who may everything: what is not in the table does not exist."""
    known = {(door.method, door.route) for door in DOORS}
    for route, method in itertools.product(access_table.routes(), METHODS):
        if (method, route) not in known:
            who = NOBODY if route == "sign-in" else OPERATOR
            answer = knock(world, Door(method, route, AN_OPERATOR), who)
            assert answer.status_code == 405, f"{method} /{route} has no row in controlpanel/access_table.py"


# -- The websocket ----------------------------------------------------------------------------------------------------


def test_every_kind_of_subject_is_a_topic_of_the_table():
    source = "".join(path.read_text() for app in ("clusters", "jobs") for path in (panel.BASE_DIR / app).rglob("*.py"))
    assert {*re.findall(r'subjects\.(?:create|ensure)\(\s*kind="(\w+)"', source), *subjects.LISTS} == set(TOPICS)


@pytest.mark.parametrize("kind", TOPICS)
def test_each_hears_what_the_table_says(world, kind):
    topics = {
        "job": f"job:{world.job.pk}",
        "host": f"host:{world.host.pk}",
        "project": f"project:{world.project.pk}",
        "shared": "shared:all",
    }
    heard = {}
    for who, user in world.people.items():
        cookie = ""
        if user:
            client = Client()
            client.force_login(user)
            cookie = f"{panel.SESSION_COOKIE_NAME}={client.cookies[panel.SESSION_COOKIE_NAME].value}"
        try:
            websocket_door.admit({"headers": [(b"cookie", cookie.encode())]}, topics[kind])
            heard[who] = True
        except (NotFound, Unauthorized):
            heard[who] = False
    assert heard == {who: who != NOBODY and access_table.may(TOPICS[kind], who) for who in PEOPLE}


# -- The table itself ---------------------------------------------------------------------------------------------------


def test_an_address_that_is_forgotten_is_noticed(monkeypatch):
    monkeypatch.setattr(access_table, "routes", lambda: iter([*{door.route for door in DOORS}, "new-page"]))
    with pytest.raises(AssertionError):
        test_every_address_has_a_row_and_every_row_an_address()


def test_what_is_needed_is_known():
    known = {access_table.ANYONE, access_table.SIGNED_OUT, access_table.SIGNED_IN, ITS_OWNER, AN_OPERATOR, access_table.A_HOST}
    assert {door.needs for door in DOORS} <= known | set(RIGHTS)


def test_the_drawing_says_what_is_expected():
    text = access_table.drawn()
    assert "| `GET /jobs/<int:number>` | `jobs.view` | sign in | 404 | yes | yes | yes | 404 | yes |" in text
    assert "| `POST /api/v1/jobs` | `jobs.launch` of `project` | sign in | 404 | 403 | yes | yes | 404 | yes |" in text
    assert "| `GET /sign-in` | who is not signed in | yes |" + " to the first page |" * 6 in text
    assert "| `job:...` | `jobs.view` | refused | refused | yes | yes | yes | refused | yes |" in text
