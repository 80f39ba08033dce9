"""What happened, told in the reader's language; kept in the panel's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from django.utils import timezone
from django.utils.translation import override

from clusters import event_words, hosts, reasons
from monitoring.models import Event
from projects.actors import operator
from tests.factories import a_host

CHINESE = "zh-hans"


@dataclass
class AnEvent:
    sentence: str
    data: dict[str, Any] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("Launched by li.", "由 li 启动。"),
        ("Launched by li, as job 17 was.", "由 li 启动，内容同作业 17。"),
        ("Labels set: a=b. Labels taken away: c.", "设置标签：a=b。移除标签：c。"),
        ("Labels set: a=b.", "设置标签：a=b。"),
        ("Cordoned: its\nfan", "已停止调度：its\nfan"),
        ("Cordoned: %(x)s 100%", "已停止调度：%(x)s 100%"),
        ("What nobody has translated.", "What nobody has translated."),
        ("", ""),
    ],
)
def test_a_sentence_is_told_in_the_readers_language(languages, sentence, told):
    with override(CHINESE):
        assert event_words.told(AnEvent(sentence)) == told
    assert event_words.told(AnEvent(sentence)) == sentence


def test_a_reason_is_told_from_its_data(languages):
    data = {"reason": "exit-code", "exit_code": 3, "host": "tpu-1"}
    event = AnEvent("The command ended with exit code 3 on tpu-1.", data)
    with override(CHINESE):
        assert event_words.told(event) == "命令在 tpu-1 上以退出码 3 结束。"
    assert event_words.told(event) == event.sentence


def test_a_reason_of_a_newer_panel_stays_as_it_was_written(languages):
    with override(CHINESE):
        assert event_words.told(AnEvent("Something new.", {"reason": "something-new"})) == "Something new."


def test_what_is_kept_is_english_whoever_acts(languages):
    with override(CHINESE):
        assert reasons.written("canceled", {"by": "li"}) == "Canceled by li."
        assert reasons.written("", {}) == ""
        assert reasons.sentence("canceled", {"by": "li"}) == "由 li 取消。"


def test_what_a_host_keeps_is_known_here(db, languages):
    host = a_host(name="tpu-1")
    with override(CHINESE):
        hosts.cordon(host=host, reason="its fan", by=operator(), now=timezone.now())
        hosts.uncordon(host=host, by=operator(), now=timezone.now())
        hosts.retire(host=host, by=operator(), now=timezone.now())
        kept = Event.objects.filter(subject=host.subject).order_by("seq")
        assert [event.sentence for event in kept] == ["Cordoned: its fan", "Uncordoned.", "Retired."]
        assert [event_words.told(event) for event in kept] == ["已停止调度：its fan", "已恢复调度。", "已下线。"]
