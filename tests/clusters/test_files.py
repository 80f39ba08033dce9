"""Files that ranks write: what is kept of what their hosts tell."""

from __future__ import annotations

import pytest

from agent.protocol import MORE_FILES, FileLine
from clusters import files
from clusters.models import OutputFile, Rank, Workload
from monitoring.models import Subject
from tests.clusters import steps
from tests.factories import a_host

pytestmark = pytest.mark.django_db


@pytest.fixture
def rank(db) -> Rank:
    return steps.running().ranks.select_related("workload__subject").get()


def said(rank: Rank, *lines: FileLine) -> None:
    files.note(rank, lines)


def there(rank: Rank) -> list[str]:
    return list(OutputFile.objects.filter(rank=rank, gone=False).order_by("area", "path").values_list("path", flat=True))


def a_line(path: str, area: str = "output", **change) -> FileLine:
    return FileLine(area, path, **{"size_bytes": 1, "modified_ms": 1} | change)


def gone(path: str, area: str = "output") -> FileLine:
    return FileLine(area, path, gone=True)


def test_of_several_words_on_one_file_the_last_counts(rank):
    said(rank, a_line("x"), gone("x"), a_line("x", size_bytes=3), a_line("y"), gone("y"))
    assert there(rank) == ["x"]
    assert OutputFile.objects.get(path="x").size_bytes == 3
    said(rank, gone("x"), gone("never-seen"))
    assert there(rank) == []
    said(rank, a_line("x", size_bytes=4))
    assert OutputFile.objects.filter(path="x", gone=False, size_bytes=4).count() == 1


def test_each_change_is_counted_for_who_listens(rank):
    before = Subject.objects.get(pk=rank.workload.subject_id).changes
    said(rank)
    said(rank, a_line("x"), a_line("y"))
    said(rank, gone("y"))
    assert Subject.objects.get(pk=rank.workload.subject_id).changes == before + 2
    file = OutputFile.objects.select_related("rank__workload__subject").get(path="x")
    for _ in range(2):
        files.note_gone(file)
    assert (there(rank), Subject.objects.get(pk=rank.workload.subject_id).changes) == ([], before + 3)


def test_what_is_beyond_the_bound_is_left_out_and_said(rank, monkeypatch):
    monkeypatch.setattr(files, "MOST_FILES", 3)
    said(rank, *(a_line(str(number)) for number in range(2)))
    assert not Rank.objects.get(pk=rank.pk).has_more_files
    said(rank, *(a_line(str(number), size_bytes=2) for number in range(5)))
    assert there(rank) == ["0", "1", "2"]
    assert set(OutputFile.objects.values_list("size_bytes", flat=True)) == {2}
    assert Rank.objects.get(pk=rank.pk).has_more_files


def test_what_is_gone_makes_room(rank, monkeypatch):
    monkeypatch.setattr(files, "MOST_FILES", 3)
    said(rank, a_line("a"), a_line("b"), a_line("c"))
    said(rank, gone("a"), gone("b"))
    said(rank, a_line("d"), a_line("a"))
    assert there(rank) == ["a", "c", "d"]
    assert not Rank.objects.get(pk=rank.pk).has_more_files


def test_that_there_are_more_is_taken_from_the_host(rank):
    said(rank, a_line("a"), MORE_FILES)
    assert (there(rank), Rank.objects.get(pk=rank.pk).has_more_files) == (["a"], True)


def test_a_thousand_files_at_once_are_stored(rank):
    said(rank, *(a_line(f"{number:04}") for number in range(1200)))
    said(rank, *(gone(f"{number:04}") for number in range(1100)))
    assert (len(there(rank)), OutputFile.objects.count()) == (100, 1200)


def test_a_checkpoint_belongs_to_the_last_attempt_that_told_of_it():
    host, elsewhere = a_host(), a_host()
    first = steps.running(host)
    second, other_host, other_job = steps.running(host), steps.running(elsewhere), steps.running(elsewhere)
    Workload.objects.filter(pk__in=[second.pk, other_host.pk]).update(subject=first.subject)
    one, two, three, four = (
        workload.ranks.select_related("workload__subject").get()
        for workload in map(steps.fresh, (first, second, other_host, other_job))
    )
    for rank in (one, two, three, four):
        said(rank, a_line("model"), a_line("ckpt", "checkpoints"))
    assert (there(one), there(two), there(three), there(four)) == (["model"], *[["ckpt", "model"]] * 3)
    said(two, gone("ckpt", "checkpoints"))
    assert there(two) == ["model"]


def test_a_file_knows_where_it_lies():
    file = steps.a_file(steps.running(a_host(), **steps.PLACED), "a/b.bin")
    assert (file.name, file.folder, file.place) == ("b.bin", "vit/17/1", "files/vit/17/1/a/b.bin")
    file.rank.host.slice.cluster.files_root = "/shared"
    assert file.place == "/shared/vit/17/1/a/b.bin"
    other = steps.a_file(file.rank.workload, "ckpt", area="checkpoints")
    assert other.folder == "vit/17/checkpoints"


def test_files_of_an_owner_are_those_of_all_its_attempts_that_are_there():
    first, second = steps.running(a_host()), steps.running(a_host())
    Workload.objects.filter(pk=second.pk).update(subject=first.subject)
    for workload, path in ((first, "one"), (steps.fresh(second), "two"), (steps.running(a_host()), "strange")):
        steps.a_file(workload, path)
    said(first.ranks.select_related("workload__subject").get(), a_line("late"), gone("late"))
    assert sorted(file.path for file in OutputFile.objects.of_subject(first.subject_id).there()) == ["one", "two"]
