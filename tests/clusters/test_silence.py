import pytest

from clusters import holding, silence
from clusters.models import Host
from clusters.states import HostState
from tests.clusters.steps import after, the_inbox_has_read
from tests.factories import NOON, a_host

pytestmark = pytest.mark.django_db


def test_silence_is_the_time_since_a_host_was_last_heard():
    host = a_host(heard_at=after(-20))
    the_inbox_has_read(until=NOON)
    assert silence.silence_s(host, silence.listening()) == 20


def test_the_time_in_which_nobody_listened_is_no_silence():
    host = a_host(heard_at=after(-3000))
    the_inbox_has_read(since=after(-7), until=NOON)
    assert silence.silence_s(host, silence.listening()) == 7


def test_while_nobody_listens_nothing_is_known():
    host = a_host(heard_at=after(-3000))
    assert silence.listening() is None
    assert silence.silence_s(host, None) == 0
    holding.hold("inbox", "me", now=NOON)  # it holds the loop, and has not read yet
    assert silence.listening() is None


def test_after_the_last_look_silence_does_not_grow():
    """The inbox stopped at noon: an hour later the host counts as heard as then."""
    host = a_host(heard_at=after(-20))
    the_inbox_has_read(until=NOON)
    assert silence.all_silences() == {host.pk: 20}


def test_a_host_that_was_never_heard_is_silent_since_it_was_made():
    host = a_host(heard_at=None, created_at=after(-9))
    the_inbox_has_read(until=NOON)
    assert silence.silence_s(host, silence.listening()) == 9


def test_a_host_heard_after_the_last_look_is_not_silent():
    host = a_host(heard_at=after(5))
    the_inbox_has_read(until=NOON)
    assert silence.silence_s(host, silence.listening()) == 0


def test_retired_hosts_are_nobodys_silence():
    a_host(state=HostState.RETIRED)
    host = a_host(heard_at=NOON)
    the_inbox_has_read(until=after(2))
    assert silence.all_silences() == {host.pk: 2}


def test_a_word_of_a_host_never_makes_it_heard_earlier():
    host, new = a_host(heard_at=after(5)), a_host(heard_at=None)
    for one in (host, new):
        silence.heard(one.pk, now=NOON)
    assert [Host.objects.get(pk=one.pk).heard_at for one in (host, new)] == [after(5), NOON]
    silence.heard(host.pk, now=after(6))
    assert Host.objects.get(pk=host.pk).heard_at == after(6)
