"""The keys of hosts in Redis, as the inbox keeps them: users are there, offsets are told, nothing is where it should not be.

A host may write to its own keys whatever it likes. What it puts there must stop no other host: keys of a wrong kind or
beyond their bound are deleted, and the host is shut out for a while.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

import redis
from django.db import transaction

from agent import protocol
from clusters import host_access
from clusters.models import Host, Rank
from clusters.reports import Acks
from clusters.states import RankState
from monitoring import events
from monitoring.models import Log

logger = logging.getLogger(__name__)

FORGET_EVERY_S = 300.0
FORGET_AFTER_S = 7200.0  # twice as long as a host keeps what it has shipped
MEASURE_EVERY_S = 10.0
MOST_BYTES = 32 * 1024 * 1024  # of one key: eight times what an agent may have under way
SHUT_OUT_S = 60.0


@dataclass
class HostKeys:
    """`tend` is called each second, `mend` when Redis has refused a command on some host's key."""

    applied: dict[UUID, str] = field(default_factory=dict)  # host -> password hash that its Redis user has
    run_id: str = ""
    shut_out: dict[UUID, float] = field(default_factory=dict)  # host -> until (monotonic)
    _forgot_at: float = 0.0
    _measured_at: float = 0.0

    def readable(self, hosts: Collection[UUID]) -> list[UUID]:
        """Those whose streams are to be read."""
        return [host for host in hosts if host not in self.shut_out]

    def tend(self, connection: redis.Redis, hosts: Mapping[UUID, Host], *, now: datetime) -> None:
        run_id = cast("dict[str, Any]", connection.info("server"))["run_id"]
        is_new = run_id != self.run_id
        self.applied = {} if is_new else self.applied
        self.shut_out = {host: until for host, until in self.shut_out.items() if until > time.monotonic()}
        self._tend_users(connection, hosts)
        if is_new:
            self._tell_all_offsets(connection, hosts)
            self.run_id = run_id
        if time.monotonic() - self._measured_at >= MEASURE_EVERY_S:
            self._measured_at = time.monotonic()
            self._measure(connection, hosts, now=now)
        if time.monotonic() - self._forgot_at >= FORGET_EVERY_S:
            self._forgot_at = time.monotonic()
            self._forget_old_acks(connection, hosts, now=now)

    def let_pass(self, connection: redis.Redis, hosts: Collection[UUID]) -> None:
        """Logs that hosts were told to hold are wanted again, each from where it was stored last."""
        for host in hosts:
            key = protocol.acks_key(str(host))
            acks = cast("dict[bytes, bytes]", connection.hgetall(key))
            held = [file.decode() for file, word in acks.items() if word == protocol.ACK_HOLD.encode()]
            for file in held:
                workload_id, rank, part = protocol.split_file(file)
                log = Log.objects.filter(workload_id=workload_id, rank=rank, part=part).first()
                connection.hset(key, file, str(log.head_offset if log else 0))

    def acknowledge(self, connection: redis.Redis, taken: Mapping[UUID, list[bytes]], acks: Mapping[UUID, Acks]) -> None:
        """After commit: what is wanted next, then the entries go. A crash before it only makes them be read once more.

        Raises ResponseError when a key is not what it should be; the others have been done then.
        """
        pipeline = connection.pipeline(transaction=False)
        for host, entries in taken.items():
            if acks[host].wanted:
                pipeline.hset(protocol.acks_key(str(host)), mapping=acks[host].wanted)
            pipeline.xdel(protocol.reports_key(str(host)), *entries)
        pipeline.execute()

    def mend(self, connection: redis.Redis, hosts: Mapping[UUID, Host], *, now: datetime) -> None:
        """Delete keys of a wrong kind, and shut out whose they were."""
        kinds = {protocol.reports_key: b"stream", protocol.acks_key: b"hash", protocol.orders_key: b"list"}
        asked = [(host, key(str(host)), kind) for host in hosts for key, kind in kinds.items()]
        pipeline = connection.pipeline(transaction=False)
        for _host, key, _kind in asked:
            pipeline.type(key)
        for (host, key, kind), found in zip(asked, pipeline.execute(), strict=True):
            if found not in (b"none", kind):
                self._shut_out(connection, hosts[host], key, f"it is a {found.decode()}", now=now)

    def _measure(self, connection: redis.Redis, hosts: Mapping[UUID, Host], *, now: datetime) -> None:
        asked = [(h, key(str(h))) for h in hosts for key in (protocol.reports_key, protocol.acks_key, protocol.orders_key)]
        pipeline = connection.pipeline(transaction=False)
        for _host, key in asked:
            pipeline.memory_usage(key)
        for (host, key), size in zip(asked, pipeline.execute(), strict=True):
            if size is not None and size > MOST_BYTES:
                self._shut_out(connection, hosts[host], key, f"it has {size} bytes", now=now)

    def _shut_out(self, connection: redis.Redis, host: Host, key: str, why: str, *, now: datetime) -> None:
        """For SHUT_OUT_S: then its user is made again, and its agent ships from what the panel wants."""
        logger.warning("host shut out host=%s key=%s why=%s", host.pk, key, why)
        connection.delete(key)
        host_access.shut_out(connection, host.pk)
        self.shut_out[host.pk] = time.monotonic() + SHUT_OUT_S
        self.applied.pop(host.pk, None)
        with transaction.atomic():
            sentence = f"Its key in Redis was not what it should be ({why}); it is shut out for {SHUT_OUT_S:.0f} s."
            events.record(host.subject, "host.shut-out", sentence, at=now, key=key)

    def _tend_users(self, connection: redis.Redis, hosts: Mapping[UUID, Host]) -> None:
        wanted = {host.pk: host.redis_password_hash for host in hosts.values() if host.pk not in self.shut_out}
        if missing := [(host, password) for host, password in wanted.items() if self.applied.get(host) != password]:
            host_access.apply(connection, missing)
            self.applied |= dict(missing)
        for gone in set(self.applied) - set(hosts):
            host_access.remove(connection, gone)
            del self.applied[gone]

    def _tell_all_offsets(self, connection: redis.Redis, hosts: Mapping[UUID, Host]) -> None:
        """To a Redis that is new to us: what is wanted of every file that may still come."""
        pipeline = connection.pipeline(transaction=False)
        for rank in Rank.objects.filter(host__in=hosts).exclude(state=RankState.ENDED):
            workload = str(rank.workload_id)
            wanted = {
                protocol.states_file(workload, rank.number): rank.states_offset,
                protocol.points_file(workload, rank.number): rank.points_offset,
                protocol.files_file(workload, rank.number): rank.files_offset,
            }
            for log in Log.objects.filter(workload_id=rank.workload_id, rank=rank.number):
                wanted[protocol.log_file(workload, rank.number, log.part)] = log.head_offset
            pipeline.hset(protocol.acks_key(str(rank.host_id)), mapping=wanted)
        pipeline.execute()

    def _forget_old_acks(self, connection: redis.Redis, hosts: Mapping[UUID, Host], *, now: datetime) -> None:
        """Files of ranks that ended long ago: a host that comes back with one is told anew when it ships from its start."""
        for host in hosts:
            key = protocol.acks_key(str(host))
            of_workload: dict[str, list[bytes]] = defaultdict(list)
            for file in cast("list[bytes]", connection.hkeys(key)):
                of_workload[file.decode(errors="replace").partition("/")[0]].append(file)
            recent = Rank.objects.filter(host=host).exclude(ended_at__lt=now - timedelta(seconds=FORGET_AFTER_S))
            for workload_id in recent.values_list("workload_id", flat=True):
                of_workload.pop(str(workload_id), None)
            if of_workload:
                connection.hdel(key, *(file for files in of_workload.values() for file in files))  # type: ignore[arg-type]
