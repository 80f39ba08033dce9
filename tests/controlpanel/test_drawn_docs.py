import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from controlpanel import drawn_docs


def test_what_is_drawn_is_not_stale():
    """`make docs` draws it again."""
    for name, text in drawn_docs.drawn().items():
        assert (settings.BASE_DIR / name).read_text() == text


@pytest.mark.parametrize(("title", "choices", "moves", "module"), drawn_docs.TABLES)
def test_every_state_says_who_moves_it(title, choices, moves, module):
    comments = drawn_docs._comments(choices, module)
    assert set(comments) == set(choices.values)
    assert all(comment.startswith("in") for comment in comments.values())


@pytest.mark.parametrize(("title", "choices", "moves", "module"), drawn_docs.TABLES)
def test_every_move_is_drawn(title, choices, moves, module):
    text = drawn_docs.states()
    assert f"## {title}\n" in text
    for state, reached in moves.items():
        for to in reached:
            assert f"    {state} --> {to}\n" in text


def test_a_stale_document_fails_the_check_and_is_drawn_again(settings, tmp_path):
    settings.BASE_DIR = tmp_path
    (tmp_path / "docs").mkdir()
    path = tmp_path / "docs" / "states.md"
    path.write_text("old")
    with pytest.raises(CommandError, match=r"Stale: docs/states\.md"):
        call_command("draw_docs", "--check")
    assert path.read_text() == "old"
    call_command("draw_docs")
    assert path.read_text() == drawn_docs.states()
    call_command("draw_docs", "--check")
