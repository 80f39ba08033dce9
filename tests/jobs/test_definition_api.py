"""The API of definitions: lists, versions, publishing against another editor, comparing, archiving."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from jobs import urls
from jobs.models import DefinitionVersion, Job, JobDefinition
from projects.models import AuditEntry
from tests.factories import a_definition, a_job, a_project, a_team

pytestmark = pytest.mark.django_db
ALL = "/api/v1/definitions"
ONE = f"{ALL}/vit/command"
TRAIN = {
    "title": "Train",
    "template": {"command": ["python", "train.py", "${epochs}"]},
    "parameters": {"properties": {"epochs": {"type": "integer", "default": 3}}},
    "resources": {"accelerator": "cpu", "chips": 2},
}


def told(answer):
    return answer.status_code, answer.json()["code"]


def slugs(answer):
    return [one["slug"] for one in answer.json()["results"]]


# -- Looking ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_a_list_takes_five_queries_however_many_there_are(script, vision, count, django_assert_num_queries):
    for number in range(count):
        a_definition(project=vision.project, slug=f"train-{number}", title=f"Train {number}")
        a_definition(project=vision.project, by=vision.member, resources={"accelerator": "cpu", "chips": number + 2})
    job = a_job(project=vision.project, by=vision.member)
    newest = DefinitionVersion.objects.get(pk=job.version_id)
    viewer = script(vision.viewer)
    viewer.get(ALL)
    with django_assert_num_queries(5):  # token, definitions, their newest versions, their last jobs, these jobs
        found = viewer.get(ALL).json()["results"]
    assert len(found) == count + 1
    assert found[0] == {
        "slug": "command",
        "project": "vit",
        "title": "Command",
        "version": count + 2,
        "description": "",
        "template": newest.template,
        "parameters": newest.parameters,
        "resources": {"accelerator": "cpu", "chips": 1},
        "retries": {},
        "is_shipped": True,
        "archived_at": None,
        "last_job": {
            "number": job.pk,
            "version": count + 2,
            "state": "queued",
            "created_at": "2026-03-01T12:00:00Z",
            "created_by": "member",
        },
        "link": "/definitions/vit/command",
    }
    assert found[1]["last_job"] is None


def test_a_list_is_narrowed_and_goes_on_at_its_cursor(script, vision):
    other = a_project(team=vision.team, slug="bert")
    for project, slug, title in ((other, "a", "Pretrain"), (vision.project, "b", "Fine-TUNE"), (vision.project, "tune", "x")):
        a_definition(project=project, slug=slug, title=title)
    a_definition(project=a_project(team=a_team()), slug="a-strangers")
    viewer = script(vision.viewer)
    assert slugs(viewer.get(ALL)) == ["a", "b", "command", "tune"]
    assert slugs(viewer.get(f"{ALL}?project=vit")) == ["b", "command", "tune"]
    assert slugs(viewer.get(f"{ALL}?text=tune")) == ["b", "tune"]
    first = viewer.get(f"{ALL}?limit=2")
    assert slugs(first) == ["a", "b"]
    cursor = first.json()["next_cursor"]
    last = viewer.get(f"{ALL}?limit=2&cursor={cursor}")
    assert (slugs(last), last.json()["next_cursor"]) == (["command", "tune"], None)
    assert told(viewer.get(f"{ALL}?limit=2&text=t&cursor={cursor}")) == (422, "invalid")
    assert viewer.get(f"{ALL}?fields=slug&text=tune").json()["results"] == [{"slug": "b"}, {"slug": "tune"}]


@pytest.mark.parametrize(
    "query", ["archived=perhaps", "limit=x", "cursor=x", f"text={'x' * 301}", "text=%00", "fields=nothing", "project=%00"]
)
def test_a_query_of_nonsense_is_told(script, vision, query):
    assert told(script(vision.viewer).get(f"{ALL}?{query}")) == (422, "invalid")


def test_one_has_an_etag_and_its_versions_newest_first(script, vision):
    for number in (2, 3):
        a_definition(project=vision.project, by=vision.member, title=f"Title {number}", note=f"note {number}")
    viewer = script(vision.viewer)
    answer = viewer.get(ONE)
    assert (answer["ETag"], answer.json()["title"], answer.json()["version"]) == ('"3"', "Title 3", 3)
    first = viewer.get(f"{ONE}/versions?limit=2").json()
    assert [(one["number"], one["note"], one["created_by"]) for one in first["results"]] == [
        (3, "note 3", "member"),
        (2, "note 2", "member"),
    ]
    rest = viewer.get(f"{ONE}/versions?limit=2&cursor={first['next_cursor']}").json()
    assert ([one["number"] for one in rest["results"]], rest["next_cursor"]) == ([1], None)
    assert viewer.get(f"{ONE}/versions/2").json() == first["results"][1]
    for number in ("0", "4", "9" * 30):
        assert told(viewer.get(f"{ONE}/versions/{number}")) == (404, "no-such-version")


def test_two_versions_are_compared(script, vision):
    a_definition(project=vision.project, title="Shell", resources={"accelerator": "cpu", "chips": 2}, description="x")
    viewer = script(vision.viewer)
    found = viewer.get(f"{ONE}/comparison?from=1&to=2").json()
    assert found == {
        "from": 1,
        "to": 2,
        "results": [
            {"path": "title", "kind": "changed", "before": "Command", "after": "Shell"},
            {"path": "description", "kind": "added", "before": None, "after": "x"},
            {"path": "resources.chips", "kind": "changed", "before": 1, "after": 2},
        ],
    }
    assert viewer.get(f"{ONE}/comparison?from=1").json() == found
    assert viewer.get(f"{ONE}/comparison?from=2").json()["results"] == []
    assert told(viewer.get(f"{ONE}/comparison")) == (404, "no-such-version")
    assert told(viewer.get(f"{ONE}/comparison?from=x")) == (422, "invalid")


# -- Publishing ------------------------------------------------------------------------------------------------


def test_a_definition_is_made_once_for_a_request_that_is_repeated(script, vision):
    member = script(vision.member, scope="launch")
    body = TRAIN | {"project": "vit", "slug": "train", "note": "first"}
    answers = [member.post(ALL, body, **{"Idempotency-Key": "k"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201] and answers[0].json() == answers[1].json()
    assert answers[0]["Location"] == "/api/v1/definitions/vit/train"
    made = DefinitionVersion.objects.get(definition__slug="train")
    assert (made.number, made.note, made.created_by, made.template) == (1, "first", vision.member, TRAIN["template"])
    assert told(member.post(ALL, body)) == (409, "definition-exists")
    assert AuditEntry.objects.filter(verb="definition.publish", subject_title="train").count() == 1


def test_its_name_is_made_of_its_title_where_none_is_given(script, vision):
    member = script(vision.member)
    assert member.post(ALL, TRAIN | {"project": "vit", "title": "Train ViT (large)"}).json()["slug"] == "train-vit-large"
    answer = member.post(ALL, TRAIN | {"project": "vit", "title": "训练"})
    assert (told(answer), list(answer.json()["details"])) == ((422, "invalid"), ["slug"])


def test_the_next_version_is_made_and_the_same_wording_makes_none(script, vision):
    member = script(vision.member, scope="launch")
    made = member.post(f"{ONE}/versions", TRAIN | {"note": "other"})
    assert (made.status_code, made.json()["number"], made["Location"]) == (201, 2, "/api/v1/definitions/vit/command/versions/2")
    again = member.post(f"{ONE}/versions", TRAIN | {"note": "once more"})
    assert (again.status_code, again.json(), again.headers.get("Location")) == (200, made.json(), None)
    assert DefinitionVersion.objects.count() == 2


def test_what_a_version_says_can_be_sent_again(script, vision):
    member = script(vision.member)
    said = member.get(f"{ONE}/versions/1").json()
    body = {name: said[name] for name in ("title", "description", "template", "parameters", "resources", "retries")}
    assert member.post(f"{ONE}/versions", body).status_code == 200


@pytest.mark.parametrize("how", ["base", "If-Match"])
def test_the_second_of_two_editors_is_refused_with_the_number_of_the_newest(script, vision, how):
    member = script(vision.member)

    def publish(title, base):
        body = TRAIN | {"title": title} | ({"base": base} if how == "base" else {})
        return member.post(f"{ONE}/versions", body, **({how: f'"{base}"'} if how == "If-Match" else {}))

    assert publish("Mine", 1).status_code == 201
    refused = publish("Theirs", 1)
    assert told(refused) == (409, "definition-changed")
    assert refused.json()["details"] == {"newest": 2, "base": 1}
    assert DefinitionVersion.objects.count() == 2
    assert publish("Theirs", 2).json()["number"] == 3


@pytest.mark.parametrize(("header", "status"), [("*", 201), ('W/"1"', 201), ("1", 422), ('"x"', 422), ("", 422)])
def test_if_match_is_an_etag(script, vision, header, status):
    assert script(vision.member).post(f"{ONE}/versions", TRAIN, **{"If-Match": header}).status_code == status


def test_all_that_is_wrong_is_told_at_once(script, vision):
    member = script(vision.member)
    body = {
        "titel": "x",
        "template": {"command": []},
        "parameters": {"properties": {"a": {"$ref": "http://x/y"}, "b": {"pattern": "(?=x)"}}},
        "note": "x\0",
        "base": 0,
    }
    for path, more in ((f"{ONE}/versions", {}), (ALL, {"project": 3})):
        answer = member.post(path, body | more)
        assert told(answer) == (422, "invalid")
        assert {
            "titel",
            "title",
            "note",
            "template.command",
            "parameters.properties.a.$ref",
            "parameters.properties.b.pattern",
        } <= set(answer.json()["details"])
    assert "base" in member.post(f"{ONE}/versions", body).json()["details"]
    assert "note" in member.post(ALL, body | {"project": "vit"}).json()["details"]["titel"]
    assert told(member.post(f"{ONE}/versions", [])) == (422, "invalid")
    assert DefinitionVersion.objects.count() == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    "field", ["title", "description", "template", "parameters", "resources", "retries", "note", "slug", "project"]
)
@pytest.mark.parametrize("value", ["x" * 1_000_000, {"x": "x" * 1_000_000}, "nul\0", "\u202e", None, 7, [[[]]]])
def test_whatever_stands_in_a_field_is_answered_shortly(script, vision, field, value):
    body = TRAIN | {"project": "vit", "slug": "train"} | {field: value}
    answer = script(vision.member).post(ALL, json.dumps(body))
    assert answer.status_code in ((422, 404) if field == "project" else (422,)), answer.content[:300]
    assert len(answer.content) < 3000
    assert JobDefinition.objects.count() == 1


# -- Archiving -------------------------------------------------------------------------------------------------


def test_an_archived_one_is_in_no_list_and_launched_by_nobody_until_it_comes_back(script, vision):
    member = script(vision.member, scope="launch")
    answer = member.post(f"{ONE}/archival")
    assert (answer.status_code, answer.json()["archived_at"] is not None) == (200, True)
    assert (slugs(member.get(ALL)), slugs(member.get(f"{ALL}?archived=yes")), slugs(member.get(f"{ALL}?archived=all"))) == (
        [],
        ["command"],
        ["command"],
    )
    launch = {"project": "vit", "definition": "command", "parameters": {"command": "true"}}
    assert told(member.post("/api/v1/jobs", launch)) == (409, "definition-archived")
    assert (member.delete(f"{ONE}/archival").status_code, slugs(member.get(ALL))) == (204, ["command"])
    assert member.post("/api/v1/jobs", launch).status_code == 201


# -- Who may ---------------------------------------------------------------------------------------------------


def addresses():
    """(method, address) of each of its operations, as the table of addresses has them."""
    for found in urls.api_urlpatterns:
        if str(found.pattern).startswith("definitions"):
            path = f"/api/v1/{found.pattern}".replace("<str:project>", "vit").replace("<str:slug>", "command")
            path = path.replace("<int:number>", "1") + ("?from=1" if "comparison" in path else "")
            for method in ("get", "post", "delete"):
                if hasattr(found.callback.view_class, method):
                    yield method, path


MADE = {200, 201, 204}


@pytest.mark.parametrize(
    ("who", "reads", "writes"),
    [
        (("viewer", "admin"), {200}, {403}),
        (("member", "read"), {200}, {403}),
        (("member", "launch"), {200}, MADE),
        (("stranger", "admin"), {404}, {404}),
        (("operator", "admin"), {200}, MADE),
    ],
)
def test_who_may_what(script, vision, who, reads, writes):
    client = script(getattr(vision, who[0]), scope=who[1])
    for method, path in addresses():
        body = (
            ()
            if "archival" in path or method != "post"
            else (TRAIN | ({"project": "vit", "slug": "new"} if path == ALL else {}),)
        )
        answer = getattr(client, method)(path, *body)
        if (method, path) != ("get", ALL):
            assert answer.status_code in (reads if method == "get" else writes), (method, path, answer.content)
    assert len(list(addresses())) == 9
    if writes != MADE:
        assert (DefinitionVersion.objects.count(), JobDefinition.objects.filter(archived_at=None).count()) == (1, 1)


def test_nobody_may_nothing(vision):
    for method, path in addresses():
        assert told(getattr(Client(), method)(path)) == (401, "not-signed-in")


# -- Launching a version ---------------------------------------------------------------------------------------


def test_a_launch_gets_the_version_that_it_names_or_the_newest(script, vision):
    a_definition(project=vision.project, title="Second")
    member, body = script(vision.member), {"project": "vit", "definition": "command", "parameters": {"command": "true"}}
    launched = [member.post("/api/v1/jobs", body | more).json()["version"] for more in ({"version": 1}, {"version": None}, {})]
    assert launched == [1, 2, 2]
    for number in (3, 10**30):
        assert told(member.post("/api/v1/jobs", body | {"version": number})) == (404, "no-such-version")
    for number in (0, "1", True, 1.5):
        refused = member.post("/api/v1/jobs", body | {"version": number})
        assert (told(refused), list(refused.json()["details"])) == ((422, "invalid"), ["version"])
    assert Job.objects.count() == 3
