"""The last line of a terminal stays the last, and never gets between the bytes of a log."""

from __future__ import annotations

from tests.client.fakes import a_terminal

CLEAR = b"\r\x1b[K"


def test_bytes_come_out_as_they_are():
    terminal = a_terminal()
    terminal.bar("never shown")
    for data in (b"\xff\x00\r\n", b"no end", b"\x1b[31m"):
        terminal.write(data)
    assert (terminal.out.shown, terminal.err.shown) == (b"\xff\x00\r\nno end\x1b[31m", b"")


def test_the_bar_is_cleared_before_anything_is_printed_and_drawn_again_after():
    terminal = a_terminal(is_tty=True)
    terminal.bar("50 %")
    terminal.write(b"line\n")
    terminal.note("a note")
    terminal.bar("")
    assert terminal.out.shown == b"line\n"
    assert terminal.err.shown == b"50 %" + CLEAR + b"50 %" + CLEAR + b"a note\n50 %" + CLEAR


def test_the_bar_is_not_drawn_behind_the_beginning_of_a_line():
    terminal = a_terminal(is_tty=True)
    terminal.bar("50 %")
    terminal.write(b"half")
    terminal.bar("51 %")
    assert terminal.err.shown == b"50 %" + CLEAR
    terminal.write(b" whole\n")
    assert terminal.err.shown == b"50 %" + CLEAR + b"51 %"


def test_a_note_does_not_go_on_with_a_line_of_the_log():
    terminal = a_terminal(is_tty=True)
    terminal.write(b"half")
    terminal.note("a note")
    assert terminal.err.shown == b"\na note\n"


def test_a_log_that_goes_to_a_file_is_not_in_the_way_of_the_bar():
    terminal = a_terminal(is_tty=True, out_tty=False)
    terminal.bar("50 %")
    terminal.write(b"half")
    assert terminal.err.shown == b"50 %" + CLEAR + b"50 %"


def test_the_bar_is_no_wider_than_the_terminal():
    terminal = a_terminal(is_tty=True)
    terminal.bar("模" * 500)
    assert terminal.err.shown.decode().count("模") < 100


def test_what_cannot_be_written_is_replaced():
    terminal = a_terminal(encoding="ascii")
    terminal.note("größer")
    assert terminal.err.shown == b"gr??er\n"
