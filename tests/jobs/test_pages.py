"""The pages of jobs: the list, one job, and its cancellation."""

from __future__ import annotations

import json
import shlex

import pytest
from django.test import Client
from django.utils import timezone

from agent.protocol import FETCH_PIECE_BYTES, FileLine
from clusters import scheduling, sweep
from clusters.files import note
from clusters.models import Fetch, Rank
from jobs import files
from jobs.attempts import follow
from jobs.models import Job
from projects.models import Membership, Role
from tests.clusters import steps
from tests.factories import NOON, a_host, a_job, a_project, a_user
from tests.jobs.conftest import body

pytestmark = pytest.mark.django_db


@pytest.fixture
def as_(db):
    """as_(user): a browser in which that user is signed in."""

    def sign_in(user) -> Client:
        browser = Client(raise_request_exception=False)
        browser.force_login(user)
        return browser

    return sign_in


def jobs_of(answer):
    return [job.pk for job in answer.context["jobs"]]


# -- The list ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_a_list_takes_as_many_queries_however_many_there_are(as_, vision, count, django_assert_num_queries):
    for _ in range(count):
        a_job(project=vision.project, by=vision.member)
    Job.objects.update(state="running", started_at=NOON)
    browser = as_(vision.viewer)
    # session, user, projects, jobs, progress, where one may launch; definitions, owners, clusters of the filters;
    # conditions; the navigation; which view it opens with, saved views; what was measured
    with django_assert_num_queries(14):
        answer = browser.get("/jobs")
    assert len(jobs_of(answer)) == count
    assert answer.content.decode().count('<tr id="job-') == count


def test_a_list_shows_what_waits_and_why(as_, vision):
    job = a_job(project=vision.project, by=vision.member, name="vit-<b16>")
    scheduling.schedule(now=NOON)
    text = as_(vision.viewer).get("/jobs").content.decode()
    assert "vit-&lt;b16&gt;" in text and "vit-<b16>" not in text
    assert "No host has cpu: enrol one, and it starts." in text
    assert f'href="/jobs/{job.pk}"' in text


def test_a_list_is_of_ones_own_teams_and_of_one_project_when_asked(as_, vision):
    other = a_project(team=vision.team, slug="bert")
    one, two = a_job(project=vision.project, by=vision.member), a_job(project=other, by=vision.member)
    viewer = as_(vision.viewer)
    assert jobs_of(viewer.get("/jobs")) == [two.pk, one.pk]
    assert jobs_of(viewer.get("/jobs?project=bert")) == [two.pk]
    assert jobs_of(as_(vision.stranger).get("/jobs")) == []
    assert as_(vision.stranger).get("/jobs?project=bert").status_code == 404


def test_a_list_goes_on_at_its_cursor(as_, vision):
    made = [a_job(project=vision.project, by=vision.member).pk for _ in range(3)][::-1]
    viewer = as_(vision.viewer)
    first = viewer.get("/jobs?limit=2")
    assert jobs_of(first) == made[:2]
    last = viewer.get(f"/jobs{first.context['older']}")
    assert (jobs_of(last), last.context["older"]) == (made[2:], "")


def test_an_empty_list_says_how_to_launch(as_, vision):
    text = as_(vision.member).get("/jobs").content.decode()
    assert "No jobs yet" in text and "/api/v1/jobs" in text and "Launch the first job" in text


def test_launching_is_offered_only_where_one_may(as_, vision):
    viewer, member = as_(vision.viewer), as_(vision.member)
    offers = 'href="/jobs/new'
    empty = viewer.get("/jobs").content.decode()
    assert (offers in empty, "/api/v1/jobs" in empty, "that needs the role member" in empty) == (False, False, True)
    Membership.objects.create(team=a_project(slug="bert").team, user=vision.viewer, role=Role.MEMBER)
    a_job(project=vision.project, by=vision.member)
    assert offers not in viewer.get("/jobs?project=vit").content.decode()
    assert offers in viewer.get("/jobs").content.decode()  # as there is a project in which they may
    assert offers in member.get("/jobs?project=vit").content.decode()


def test_who_is_in_no_project_gets_an_empty_list_too(as_, vision):
    answer = as_(a_user()).get("/jobs")
    assert (answer.status_code, "No jobs yet" in answer.content.decode()) == (200, True)


def test_a_wrong_query_is_a_page_that_says_so(as_, vision):
    answer = as_(vision.viewer).get("/jobs?cursor=x")
    assert (answer.status_code, answer["Content-Type"]) == (422, "text/html; charset=utf-8")


def test_who_is_not_signed_in_is_asked_to(client, vision):
    job = a_job(project=vision.project, by=vision.member)
    for path in ("/jobs", f"/jobs/{job.pk}"):
        answer = client.get(path)
        assert (answer.status_code, answer["Location"]) == (302, f"/sign-in?next={path}")
    assert client.post(f"/jobs/{job.pk}/cancellation").status_code == 302
    assert Job.objects.get().state == "queued"


# -- One job -------------------------------------------------------------------------------------------------


def test_a_job_page_tells_what_was_launched_and_where_it_stands(as_, vision):
    a_host(name="tpu-1")
    job = a_job(project=vision.project, by=vision.member, command="echo '<hello>'", name="vit-b16")
    scheduling.schedule(now=NOON)
    answer = as_(vision.viewer).get(f"/jobs/{job.pk}")
    text = answer.content.decode()
    assert (answer.status_code, answer.context["job"], answer.context["may_cancel"]) == (200, job, False)
    assert "vit-b16" in text and "tpu-1" in text and "<hello>" not in text
    assert answer.context["command_line"] == """/bin/sh -c 'echo '"'"'<hello>'"'"''"""
    assert [event.code for event in answer.context["events"]] == ["job.queued"]  # not its workload's
    assert f"/api/v1/jobs/{job.pk}/log" in text


def test_a_value_of_many_lines_is_shown_as_it_was_typed(as_, vision):
    job = a_job(project=vision.project, by=vision.member, command="echo a\n  echo b", environment={"ONE": "x", "TWO": "1\n2"})
    text = as_(vision.viewer).get(f"/jobs/{job.pk}").content.decode()
    for value in ("echo a\n  echo b", "1\n2"):
        assert f'<pre class="command" tabindex="0">{value}</pre>' in text
    assert '<dd class="mono">x</dd>' in text


def test_a_log_knows_whether_its_job_has_ended_and_so_what_could_still_be_printed(as_, vision):
    job = a_job(project=vision.project, by=vision.member)
    scheduling.schedule(now=NOON)
    follow(now=NOON)
    browser = as_(vision.member)
    before = browser.get(f"/jobs/{job.pk}").content.decode()
    browser.post(f"/jobs/{job.pk}/cancellation")
    follow(now=NOON)
    after = browser.get(f"/jobs/{job.pk}").content.decode()
    listened = f'<option value="{job.workload_id}/0/output" data-attempt="1" hidden>'
    assert ("data-ended" in before, listened in before) == (False, True)
    assert ("data-ended" in after, listened in after) == (True, False)


def test_the_request_that_is_shown_launches_the_same_again(as_, vision, script):
    job = a_job(project=vision.project, by=vision.member, command="echo 'it''s'", name="vit", resources={"chips": 1})
    body = as_(vision.member).get(f"/jobs/{job.pk}").context["curl"].partition("--json ")[2]
    (text,) = shlex.split(body)
    number = script(vision.member).post("/api/v1/jobs", json.loads(text)).json()["number"]
    again = Job.objects.get(pk=number)
    assert (again.spec, again.request, again.name, again.parameters) == (job.spec, job.request, job.name, job.parameters)


@pytest.mark.parametrize(("attempts", "queries"), [(1, 13), (2, 15), (4, 15)])
def test_a_job_page_takes_the_same_queries_however_much_there_is(as_, vision, attempts, queries, django_assert_num_queries):
    a_host()
    job = a_job(project=vision.project, by=vision.member)
    for number in range(1, attempts):
        scheduling.schedule(now=NOON)
        sweep.end_unclaimed({}, now=steps.after(60 * number))
        follow(now=steps.after(61 * number))
    assert job.attempts.count() == attempts
    scheduling.schedule(now=steps.after(500))
    job.refresh_from_db()
    for number in range(attempts):
        steps.a_file(job.workload, f"model-{number}.bin")
    browser = as_(vision.member)
    with django_assert_num_queries(queries):  # of several attempts also their hosts and how far they came
        assert browser.get(f"/jobs/{job.pk}").status_code == 200


def test_a_strangers_job_is_no_page(as_, vision):
    job = a_job(project=vision.project, by=vision.member)
    stranger = as_(vision.stranger)
    assert stranger.get(f"/jobs/{job.pk}").status_code == 404
    assert stranger.get(f"/jobs/{job.pk}").content != b"" and stranger.get("/jobs/99999").status_code == 404


# -- Its cancellation ----------------------------------------------------------------------------------------


def test_a_form_that_cancels_leads_back_to_the_job(as_, vision):
    job = a_job(project=vision.project, by=vision.member)
    answer = as_(vision.member).post(f"/jobs/{job.pk}/cancellation")
    assert (answer.status_code, answer["Location"]) == (302, f"/jobs/{job.pk}")
    job.refresh_from_db()
    assert (job.state, steps.state(job.workload)[:2]) == ("stopping", ("exited", "stop"))


def test_a_page_that_cancels_gets_the_new_header(as_, vision):
    job = a_job(project=vision.project, by=vision.member)
    answer = as_(vision.member).post(f"/jobs/{job.pk}/cancellation", headers={"HX-Request": "true"})
    text = answer.content.decode()
    assert (answer.status_code, text.count('id="job-header"'), "<html" in text) == (200, 1, False)
    assert 'data-state="stopping"' in text and "Canceled by member." in text


def test_a_form_may_force_it(as_, vision):
    host = a_host()
    job = a_job(project=vision.project, by=vision.member)
    scheduling.schedule(now=NOON)
    steps.claim(job.workload)
    as_(vision.member).post(f"/jobs/{job.pk}/cancellation", {"force": ""})
    assert steps.open_orders(host) == [("stop", {"grace_s": 0})]


@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("stranger", 404)])
def test_who_may_not_cancel_stops_nothing(as_, vision, who, status):
    job = a_job(project=vision.project, by=vision.member)
    for headers in ({}, {"HX-Request": "true"}):
        assert as_(getattr(vision, who)).post(f"/jobs/{job.pk}/cancellation", headers=headers).status_code == status
    assert (Job.objects.get().state, steps.state(job.workload)[:2]) == ("queued", ("waiting", "run"))


def test_a_cancellation_is_no_link(as_, vision):
    job = a_job(project=vision.project, by=vision.member)
    assert as_(vision.member).get(f"/jobs/{job.pk}/cancellation").status_code == 405
    assert Job.objects.get().state == "queued"


def test_a_foreign_form_cancels_nothing(vision):
    job = a_job(project=vision.project, by=vision.member)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(vision.member)
    assert strict.post(f"/jobs/{job.pk}/cancellation").status_code == 403
    assert Job.objects.get().state == "queued"


def test_what_has_ended_is_not_canceled(as_, vision):
    job = a_job(project=vision.project, by=vision.member)
    Job.objects.update(state="failed", ended_at=NOON)
    assert as_(vision.member).post(f"/jobs/{job.pk}/cancellation").status_code == 409
    assert steps.state(job.workload)[:2] == ("waiting", "run")


# -- Its files -----------------------------------------------------------------------------------------------


@pytest.fixture
def placed(vision):
    """A job that runs on tpu-1."""
    a_host(name="tpu-1")
    job = a_job(project=vision.project, by=vision.member, name="vit")
    scheduling.schedule(now=NOON)
    steps.claim(job.workload)
    return job


def pane(browser, job):
    text = browser.get(f"/jobs/{job.pk}").content.decode()
    return text.partition('id="job-files"')[2].partition("</section>")[0]


def test_while_its_host_makes_something_for_it_a_job_page_says_what(as_, vision, placed):
    steps.says(placed.workload, state="preparing", detail="Building runtime <x>.")
    follow(now=NOON)
    why = '<p class="why" data-state="starting">Building runtime &lt;x&gt;.</p>'
    assert why in as_(vision.viewer).get(f"/jobs/{placed.pk}").content.decode()
    steps.says(placed.workload, state="running")
    follow(now=NOON)
    assert why not in as_(vision.viewer).get(f"/jobs/{placed.pk}").content.decode()


def test_a_job_page_shows_its_files_with_a_link_for_each(as_, vision, placed):
    file = steps.a_file(placed.workload, "a/model<1>.bin", size=3 * 2**20)
    checkpoint = steps.a_file(placed.workload, "ckpt-1", area="checkpoints")
    text = pane(as_(vision.viewer), placed)
    assert text.index("Checkpoints") < text.index("ckpt-1") < text.index("Output") < text.index("a/model&lt;1&gt;.bin")
    assert f'href="/jobs/{placed.pk}/files/{file.pk}"' in text and f'href="/jobs/{placed.pk}/files/{checkpoint.pk}"' in text
    assert "3.0 MiB" in text and 'data-changes="2"' in text and "attempt" not in text and "rank" not in text


def test_a_job_without_files_says_how_they_come_and_later_that_none_did(as_, vision, placed):
    assert "$PANEL_OUTPUT" in pane(as_(vision.viewer), placed)
    Job.objects.update(state="succeeded", ended_at=NOON)
    assert "It left no files." in pane(as_(vision.viewer), placed)


def test_a_page_shows_so_many_files_and_says_where_the_others_are(as_, vision, placed, monkeypatch):
    monkeypatch.setattr(files, "MOST_SHOWN", 2)
    for number in range(2):
        steps.a_file(placed.workload, str(number))
    assert "There are more" not in pane(as_(vision.viewer), placed)
    steps.a_file(placed.workload, "2")
    text = pane(as_(vision.viewer), placed)
    assert ("There are more" in text, text.count("<li>"), "2+" in text) == (True, 2, True)


def test_files_of_several_attempts_and_ranks_are_told_apart(as_, vision):
    hosts = [a_host(), a_host()]
    job = a_job(project=vision.project, by=vision.member)
    scheduling.schedule(now=NOON)
    sweep.end_unclaimed({}, now=steps.after(60))
    first = job.workload
    follow(now=steps.after(61))
    scheduling.schedule(now=steps.after(62))
    job.refresh_from_db()
    steps.a_file(first, "model.bin")
    steps.a_file(job.workload, "model.bin")
    text = pane(as_(vision.viewer), job)
    assert text.index("Output, attempt 2") < text.index("Output, attempt 1")
    other = next(host for host in hosts if host.pk != job.workload.ranks.get().host_id)
    Rank.objects.create(workload=job.workload, number=1, host=other, chips=[0])
    note(Rank.objects.get(number=1), [FileLine("output", "model.bin", 1, 1)])
    assert "rank 1" in pane(as_(vision.viewer), job)


def test_a_file_is_a_page_that_loads_itself_again_until_it_is_a_download(as_, vision, placed):
    file = steps.a_file(placed.workload, "a/model.bin", size=2 * FETCH_PIECE_BYTES)
    viewer, path = as_(vision.viewer), f"/jobs/{placed.pk}/files/{file.pk}"
    answer = viewer.get(path)
    assert (answer.status_code, answer["Refresh"], answer["Content-Type"]) == (202, "1", "text/html; charset=utf-8")
    assert "Fetching model.bin from host tpu-1: 0 B of 8.0 MiB" in answer.content.decode()
    steps.fetched(file, b"the bytes", now=timezone.now())
    answer = viewer.get(path)
    assert (answer.status_code, body(answer), answer["Content-Disposition"]) == (
        200,
        b"the bytes",
        'attachment; filename="model.bin"',
    )


def test_a_file_that_does_not_come_is_a_page_that_says_why(as_, vision, placed, settings):
    settings.FETCH_MAX_BYTES = 5
    file = steps.a_file(placed.workload, size=10)
    answer = as_(vision.viewer).get(f"/jobs/{placed.pk}/files/{file.pk}")
    assert (answer.status_code, "Refresh" in answer) == (409, False)
    assert f"It lies on host tpu-1: files/vit/{placed.pk}/1/model.bin" in answer.content.decode()


def test_a_strangers_file_and_another_jobs_file_are_no_page(as_, vision, placed, client):
    file = steps.a_file(placed.workload)
    other = a_job(project=vision.project, by=vision.member)
    path = f"/jobs/{placed.pk}/files/{file.pk}"
    assert as_(vision.stranger).get(path).status_code == 404
    assert as_(vision.viewer).get(f"/jobs/{other.pk}/files/{file.pk}").status_code == 404
    assert client.get(path)["Location"] == f"/sign-in?next={path}"
    assert not Fetch.objects.exists()


# -- What one hands on -----------------------------------------------------------------------------------------


def test_a_page_has_the_json_of_the_api_and_says_who_can_open_its_link(as_, vision, script, settings):
    settings.PUBLIC_URL = "https://panel.example"
    job = a_job(project=vision.project, by=vision.member, labels={"note": "</pre><b>\u202e"})
    page = as_(vision.viewer).get(f"/jobs/{job.pk}")
    assert json.loads(page.context["json"]) == script(vision.viewer, scope="read").get(f"/api/v1/jobs/{job.pk}").json()
    text = page.content.decode()
    assert '"note": "&lt;/pre&gt;&lt;b&gt;\\u202e"' in text.replace("&quot;", '"') and "<b>\u202e" not in text
    assert f'id="share-address">https://panel.example/jobs/{job.pk}<' in text
    assert "Everybody with access to project vit can open it: the members of team vision" in text
