"""The audit: its page, its CSV and its API show the same to whom may read it."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import transaction
from django.test import Client
from django.utils import timezone

from projects import audit, audit_listing, audit_views
from projects.actors import Actor
from projects.models import AuditEntry, Role
from tests.factories import a_member, a_project
from tests.jobs.conftest import body, script, vision  # noqa: F401  fixtures

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(vision):  # noqa: F811
    """An admin of the team; nothing has been done yet."""
    admin = a_member(team=vision.team, role=Role.ADMIN, username="admin")
    with transaction.atomic():
        AuditEntry.objects.all()._raw_delete(AuditEntry.objects.db)
    return admin


@pytest.fixture
def did(vision, admin):  # noqa: F811
    def record(verb="job.cancel", *, by=None, title="digits", kind="job", key="17", project=None, **more) -> AuditEntry:
        actor = Actor(user=by or vision.member)
        project = project or vision.project
        return audit.record(verb, by=actor, subject=(kind, key, title), project=project, **more)

    return record


def as_(user) -> Client:
    browser = Client(raise_request_exception=False)
    browser.force_login(user)
    return browser


def ids(answer) -> list[int]:
    assert answer.status_code == 200 and b"</html>" in answer.content
    return [entry.pk for entry in answer.context["entries"]]


def cells(answer) -> list[list[str]]:
    return list(csv.reader(io.StringIO(body(answer).decode())))


@pytest.mark.parametrize("count", [1, 3])
def test_a_page_takes_seven_queries_however_much_was_done(vision, admin, did, count, django_assert_num_queries):  # noqa: F811
    for _ in range(count):
        did()
    browser = as_(admin)
    with django_assert_num_queries(7):  # session, user; teams twice (choices, right), entries; conditions, navigation
        answer = browser.get("/audit")
    assert len(ids(answer)) == count


def test_an_admin_reads_their_teams_and_an_operator_all(vision, admin, did, script):  # noqa: F811
    ours = did()
    theirs = did(project=a_project(team=vision.stranger.memberships.get().team))
    nobodys = audit.record("host.uncordon", by=Actor(user=vision.operator), subject=("host", "h", "tpu-1"))
    for user, seen in (
        (admin, [ours.pk]),
        (vision.stranger, [theirs.pk]),
        (vision.operator, [nobodys.pk, theirs.pk, ours.pk]),
    ):
        assert ids(as_(user).get("/audit")) == seen
        assert [row[5] for row in cells(as_(user).get("/audit.csv"))[1:]] == [
            AuditEntry.objects.get(pk=pk).project.slug if AuditEntry.objects.get(pk=pk).project else "" for pk in seen
        ]
    assert [one["id"] for one in script(admin, scope="read").get("/api/v1/audit").json()["results"]] == [
        entry.pk for entry in AuditEntry.objects.filter(team=vision.team).order_by("-pk")
    ]


@pytest.mark.parametrize("who", ["viewer", "member"])
def test_who_is_no_admin_reads_none_of_it(vision, admin, did, script, who):  # noqa: F811
    did(title="zz-title")
    user = getattr(vision, who)
    for path in ("/audit", "/audit.csv", "/audit?team=vision", "/audit.csv?project=vit"):
        answer = as_(user).get(path)
        assert (answer.status_code, "zz-title" in answer.content.decode()) == (403, False)
    assert script(user).get("/api/v1/audit").json()["code"] == "role"
    assert as_(vision.stranger).get("/audit?team=vision").status_code == 404


def test_it_is_narrowed_by_who_what_to_what_and_when(vision, admin, did, script):  # noqa: F811
    old = did("job.launch", title="cifar", key="16")
    by_admin = did("secret.put", by=admin, kind="secret", key="3", title="WANDB_KEY")
    last = did("job.cancel")
    AuditEntry.objects.filter(pk=old.pk)._update([(AuditEntry._meta.get_field("at"), None, timezone.now() - timedelta(days=40))])
    today = timezone.now().date().isoformat()
    for query, found in {
        "": [last, by_admin, old],
        "who=admin": [by_admin],
        "who=adm": [],
        "verb=job": [last, old],
        "verb=job.launch": [old],
        "verb=jo": [],
        "object=job:17": [last],
        "object=wandb": [by_admin],
        f"since={today}": [last, by_admin],
        f"until={today}": [last, by_admin, old],
        f"until={(timezone.now() - timedelta(days=1)).date().isoformat()}": [old],
        "since=2000-01-01T00:00:00Z&who=member&verb=job": [last, old],
        "project=vit&team=vision": [last, by_admin, old],
    }.items():
        assert ids(as_(admin).get(f"/audit?{query}")) == [entry.pk for entry in found], query
        assert [row[7] for row in cells(as_(admin).get(f"/audit.csv?{query}"))[1:]] == [entry.subject_id for entry in found], (
            query
        )
    told = script(admin, scope="read").get("/api/v1/audit?object=job:17").json()["results"]
    assert [(one["verb"], one["who"], one["object"], one["team"]) for one in told] == [
        ("job.cancel", "member", {"kind": "job", "id": "17", "title": "digits"}, "vision")
    ]


@pytest.mark.parametrize(
    "query",
    [
        *["since=soon", "until=2026-13-01", "since=0001-01-01T00:00:00%2B14:00", "until=9999-12-31T23:59:59-12:00"],
        *["who=a\u202eb", "object=" + "x" * 301, "limit=x", "cursor=nonsense"],
    ],
    ids=["since", "until", "before-time", "after-time", "turned", "long", "limit", "cursor"],
)
def test_nonsense_is_told(admin, did, script, query):  # noqa: F811
    did()
    assert script(admin).get(f"/api/v1/audit?{query}").json()["code"] == "invalid"
    assert as_(admin).get(f"/audit?{query}").status_code == 422


def test_pages_follow_one_another_and_a_cursor_is_of_its_query(admin, did, script):  # noqa: F811
    for _ in range(5):
        did()
    asker, seen, cursor = script(admin), [], ""
    for _ in range(3):
        page = asker.get(f"/api/v1/audit?verb=job&limit=2&cursor={cursor}").json()
        seen += [one["id"] for one in page["results"]]
        cursor = page["next_cursor"] or cursor
    assert len(seen) == len(set(seen)) == 5 and seen == sorted(seen, reverse=True) and page["next_cursor"] is None
    assert asker.get(f"/api/v1/audit?limit=2&cursor={cursor}").json()["code"] == "invalid"
    answer = as_(admin).get("/audit?limit=2&verb=job")
    assert answer.context["older"] and len(ids(answer)) == 2


def test_a_cell_is_never_a_formula(admin, did):
    titles = ["=1+2", "+1", "-1", "@SUM(A1)", "\t=1", 'plain "quoted", <b>', "名前"]
    for title in titles:
        did(title=title)
    rows = cells(as_(admin).get("/audit.csv"))
    assert rows[0] == audit_views.COLUMNS
    assert [row[8] for row in rows[:0:-1]] == ["'=1+2", "'+1", "'-1", "'@SUM(A1)", "'\t=1", 'plain "quoted", <b>', "名前"]
    answer = as_(admin).get("/audit.csv")
    assert answer["Content-Disposition"].startswith('attachment; filename="audit-') and answer.is_async
    assert body(answer)


def test_a_file_is_read_piece_by_piece_and_leaves_nothing_out(admin, did, monkeypatch):
    monkeypatch.setattr(audit_views, "ROWS_A_PIECE", 2)
    made = [did(key=str(number)).subject_id for number in range(5)]
    assert [row[7] for row in cells(as_(admin).get("/audit.csv"))[1:]] == made[::-1]


def test_what_was_done_in_no_team_and_to_nothing_is_shown_to_operators(vision, admin):  # noqa: F811
    with transaction.atomic():
        audit.record("host.retire", by=Actor(user=vision.operator), subject=("host", "1f", "tpu-1"))
        audit.record("cluster.add", by=Actor(user=vision.operator))
    answer = as_(vision.operator).get("/audit")
    assert (answer.status_code, len(ids(answer))) == (200, 2)


def test_what_a_name_holds_can_do_nothing_to_the_page(admin, did):
    did(title="<script>alert(1)</script> \u202e", reason="<img src=x>")
    text = as_(admin).get("/audit").content.decode()
    assert "<script>alert" not in text and "<img src" not in text and "\u202e" not in text


def test_every_kind_of_verb_can_be_chosen():
    source = "".join(
        path.read_text() for app in ("projects", "clusters", "jobs") for path in (settings.BASE_DIR / app).glob("*.py")
    )
    verbs = re.findall(r'(?:audit\.record|_record)\(\s*f?"([a-z]+)\.', source)
    assert set(verbs) <= set(audit_listing.NOUNS) and len(set(verbs)) > 8


def test_a_page_without_entries_says_so(admin):
    assert "Nothing was done yet" in as_(admin).get("/audit").content.decode()
    assert "Nothing matches" in as_(admin).get("/audit?who=nobody").content.decode()
