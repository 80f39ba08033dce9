import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError

from monitoring import subjects
from monitoring.models import Log, Subject
from projects.actors import Actor
from projects.errors import NotFound


def test_a_subject_is_made_once_and_keeps_its_newest_title(world):
    again = subjects.ensure(kind="job", key=17, title="renamed", project=world.project, link="/jobs/17")
    assert again.pk == world.subject.pk
    assert (Subject.objects.get().title, again.address) == ("renamed", "job:17")


def test_a_subject_is_found_by_its_address(world):
    assert subjects.find("job:17") == world.subject
    assert [subjects.find(address) for address in ("job:18", "job", "", ":17")] == [None] * 4


def test_a_stranger_gets_the_same_answer_for_hidden_and_for_unknown(world):
    assert subjects.get_subject(Actor(user=world.member), "job:17") == world.subject
    answers = []
    for address in ("job:17", "job:18"):
        with pytest.raises(NotFound) as raised:
            subjects.get_subject(Actor(user=world.stranger), address)
        answers.append((raised.value.code, raised.value.sentence.replace(address, "X")))
    assert answers[0] == answers[1]


def test_what_is_of_no_project_is_seen_by_everyone_who_is_signed_in(world):
    host = subjects.ensure(kind="host", key="tpu-3", title="tpu-3")
    assert subjects.get_subject(Actor(user=world.stranger), "host:tpu-3") == host
    with pytest.raises(NotFound):
        subjects.get_subject(Actor(user=AnonymousUser()), "host:tpu-3")


def test_a_member_of_two_teams_sees_a_subject_once(world, django_user_model):
    root = django_user_model.objects.create_superuser("root")
    assert list(Subject.objects.visible_to(root)) == list(Subject.objects.visible_to(world.member)) == [world.subject]
    assert not Subject.objects.visible_to(world.stranger).exists()


def test_lists_are_heard_by_those_who_may_see_them(world):
    member, stranger, nobody = Actor(user=world.member), Actor(user=world.stranger), Actor(user=AnonymousUser())
    address = world.subject.list_address
    assert [subjects.may_list(who, address) for who in (member, stranger, nobody)] == [True, False, False]
    assert [subjects.may_list(who, "shared:all") for who in (member, stranger, nobody)] == [True, True, False]
    assert not any(
        subjects.may_list(member, bad) for bad in ("project:", "project:x", "project:" + "9" * 30, "shared:1", "job:17")
    )
    with pytest.raises(ValueError, match="not a kind"):
        subjects.ensure(kind="project", key=1, title="taken")


@pytest.mark.parametrize(
    "wrong",
    [
        {"part": "errors"},
        {"rank": -1},
        {"sealed_offset": 1},
        {"head_offset": 5, "sealed_offset": 2, "sealed_lines": 3},
        {"dropped_bytes": -1},
        {"final_offset": -1},
    ],
)
def test_the_database_refuses_an_impossible_log(log, wrong):
    with pytest.raises(IntegrityError):
        Log.objects.filter(pk=log.pk).update(**wrong)
