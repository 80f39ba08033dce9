from __future__ import annotations

import asyncio
import time
from typing import Any

import redis
from django.conf import settings

from monitoring import live, streams
from monitoring.live import LiveReader


class Ear:
    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.resyncs = 0

    def hear(self, address: str, message: dict[str, Any]) -> None:
        self.heard.append((address, message))

    def resync(self, address: str) -> None:
        self.resyncs += 1


def add(number: int, address: str = "job:17", **options: Any) -> None:
    """As announcements.py does, from elsewhere."""
    fields = {"t": "hint", "s": address, "n": number}
    redis.Redis.from_url(settings.REDIS_URL).xadd(streams.live_key(address), fields, **options)


async def until(is_so) -> None:
    async with asyncio.timeout(10):
        while not is_so():
            await asyncio.sleep(0.005)


def numbers(ear: Ear) -> list[int]:
    return [message["seq"] for _address, message in ear.heard]


def test_a_follower_hears_what_comes_after_it_began_and_nothing_from_before(valkey):
    async def story() -> None:
        reader, ear, second = LiveReader(), Ear(), Ear()
        add(1)
        await reader.follow("job:17", ear)
        add(2)
        await until(lambda: ear.heard)
        await reader.follow("job:18", ear)  # wakes the blocked read
        add(3, "job:18")
        await until(lambda: len(ear.heard) == 2)  # one answer of Valkey may hold both, by stream and not by time
        await reader.follow("job:17", second)
        add(4)
        await until(lambda: len(ear.heard) == 3)
        reader.leave("job:17", ear)
        add(5)
        await until(lambda: len(second.heard) == 2)
        assert (numbers(ear), numbers(second)) == ([2, 3, 4], [4, 5])
        assert ear.heard[1] == ("job:18", {"t": "hint", "subject": "job:18", "seq": 3})

    asyncio.run(story())


def test_what_is_followed_is_said_to_be_watched_for_a_while(valkey, monkeypatch):
    monkeypatch.setattr(live, "RENEW_S", 0.05)
    monkeypatch.setattr(live, "BLOCK_S", 0.05)

    async def story() -> None:
        reader, ear, client = LiveReader(), Ear(), valkey.client()
        await reader.follow("job:17", ear)
        assert 0 < client.ttl("watched:job:17") <= streams.WATCHED_TTL_S
        client.delete("watched:job:17")
        await until(lambda: client.exists("watched:job:17"))
        reader.leave("job:17", ear)
        await asyncio.sleep(0.1)
        client.delete("watched:job:17")
        await asyncio.sleep(0.2)
        assert not client.exists("watched:job:17")

    asyncio.run(story())


def test_a_trimmed_stream_is_noticed(valkey):
    async def story() -> None:
        reader, ear = LiveReader(), Ear()
        await reader.follow("job:17", ear)
        resyncs = ear.resyncs
        pipeline = valkey.client().pipeline()
        for n in range(1000):  # while the reader cannot read
            pipeline.xadd("live:job:17", {"t": "hint", "s": "job:17", "n": n}, maxlen=streams.LIVE_LENGTH, approximate=True)
        pipeline.execute()
        await until(lambda: ear.heard and ear.heard[-1][1]["seq"] == 999)
        assert len(ear.heard) < 1000
        assert ear.resyncs > resyncs

    asyncio.run(story())


def test_a_wiped_or_dead_server_means_resync_and_going_on(tmp_path, settings):
    from tests.valkey import Valkey

    server = Valkey(tmp_path / "own").start()
    settings.REDIS_URL = server.url

    async def story() -> None:
        reader, ear = LiveReader(), Ear()
        await reader.follow("job:17", ear)
        server.kill()
        await until(lambda: reader._is_away)
        began = time.monotonic()
        await reader.follow("job:18", ear)
        assert time.monotonic() - began < 0.1  # nobody waits for a server that is known to be away
        resyncs = ear.resyncs
        await asyncio.to_thread(server.start)
        await until(lambda: ear.resyncs >= resyncs + 2)
        add(1)
        add(2, "job:18")
        await until(lambda: len(ear.heard) == 2)
        assert numbers(ear) == [1, 2]

    try:
        asyncio.run(story())
    finally:
        server.kill()


def test_a_stopped_server_is_given_up(tmp_path, settings, monkeypatch):
    """Half-open: its connections stay, and nothing is answered."""
    import os
    import signal

    from tests.valkey import Valkey

    monkeypatch.setattr(live, "BLOCK_S", 0.1)
    monkeypatch.setattr(live, "ANSWER_S", 0.2)
    server = Valkey(tmp_path / "own").start()
    settings.REDIS_URL = server.url

    async def story() -> None:
        reader, ear = LiveReader(), Ear()
        await reader.follow("job:17", ear)
        os.kill(server.process.pid, signal.SIGSTOP)
        await until(lambda: reader._is_away)
        os.kill(server.process.pid, signal.SIGCONT)
        resyncs = ear.resyncs
        await until(lambda: ear.resyncs > resyncs)
        add(1)
        await until(lambda: ear.heard)

    try:
        asyncio.run(story())
    finally:
        server.kill()


def test_many_streams_are_followed_by_one_reader(valkey):
    async def story() -> None:
        reader, ear = LiveReader(), Ear()
        await asyncio.gather(*(reader.follow(f"job:{n}", ear) for n in range(500)))
        for n in range(500):
            add(n, f"job:{n}")
        await until(lambda: len(ear.heard) == 500)
        assert sorted(numbers(ear)) == list(range(500))

    asyncio.run(story())


def test_an_entry_that_is_no_announcement_is_passed_over(valkey, caplog):
    async def story() -> None:
        reader, ear = LiveReader(), Ear()
        await reader.follow("job:17", ear)
        for fields in ({"x": "y"}, {"t": "event", "e": "{"}, {"t": "log", "w": "w", "r": "x"}):
            valkey.client().xadd("live:job:17", fields)
        add(1)
        await until(lambda: ear.heard)
        assert numbers(ear) == [1]

    asyncio.run(story())
    assert caplog.text.count("not an announcement") == 3


def test_who_follows_anew_while_a_message_is_on_its_way_is_made_ready_all_the_same(valkey):
    async def story() -> None:
        reader, ear = LiveReader(), Ear()
        await reader.follow("job:17", ear)
        reader.leave("job:17", ear)
        following = asyncio.create_task(reader.follow("job:17", ear))
        await asyncio.sleep(0)
        await reader._deliver(
            "live:job:17", [(b"1-1", {b"t": b"hint", b"s": b"job:17", b"n": b"1"})]
        )  # read for the stream before
        async with asyncio.timeout(live.READY_S / 2):
            await following
        add(2)
        await until(lambda: ear.heard)
        assert numbers(ear) == [2]

    asyncio.run(story())


def test_a_message_that_a_follower_cannot_take_does_not_end_the_reader(valkey, caplog):
    class BadEar(Ear):
        def hear(self, address: str, message: dict[str, Any]) -> None:
            if message["seq"] == 1:
                raise KeyError("seq")
            super().hear(address, message)

    async def story() -> None:
        reader, ear = LiveReader(), BadEar()
        await reader.follow("job:17", ear)
        resyncs = ear.resyncs
        add(1)
        await until(lambda: ear.resyncs > resyncs)
        add(2)
        await until(lambda: ear.heard)
        assert numbers(ear) == [2]

    asyncio.run(story())
    assert "live streams not read" in caplog.text


def test_others_have_a_turn_while_many_are_told(valkey, monkeypatch):
    monkeypatch.setattr(live, "AT_ONCE", 2)

    async def story() -> None:
        reader, ears, told = LiveReader(), [Ear() for _ in range(7)], []
        for ear in ears:
            await reader.follow("job:17", ear)

        async def another() -> None:
            while (count := sum(bool(ear.heard) for ear in ears)) < len(ears):
                told.append(count)
                await asyncio.sleep(0)

        beside = asyncio.create_task(another())
        add(1)
        await beside
        assert set(told) == {0, 2, 4, 6}

    asyncio.run(story())


def test_who_leaves_while_others_are_told_hears_nothing_more(valkey, monkeypatch):
    monkeypatch.setattr(live, "AT_ONCE", 1)

    class Leaver(Ear):
        def hear(self, address: str, message: dict[str, Any]) -> None:
            super().hear(address, message)
            reader.leave(address, last)

    reader: LiveReader
    last = Ear()

    async def story() -> None:
        nonlocal reader
        reader, first, second = LiveReader(), Leaver(), Ear()
        for ear in (first, last, second):
            await reader.follow("job:17", ear)
        add(1)
        await until(lambda: second.heard)
        assert (numbers(first), numbers(last), numbers(second)) == ([1], [], [1])

    asyncio.run(story())
