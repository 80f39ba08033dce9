"""A host's Redis user: a short list of commands on its own keys, known to the panel by the password's hash only."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from urllib.parse import quote, urlsplit, urlunsplit

import redis
from django.conf import settings

from agent import protocol
from clusters.models import Host
from monitoring.streams import client

logger = logging.getLogger(__name__)

# Celery's needs, then the reports'. Tried against Celery 5.7 with acks emulation off; one more command and a host could
# list names, run scripts or end connections of others.
COMMANDS = ["+ping", "+client|setinfo", "+brpop", "+llen", "+multi", "+exec", "+sadd", "+xadd", "+xrange", "+hgetall"]


def user_name(host_id: object) -> str:
    return f"host-{host_id}"


def rules(host_id: object, password_hash: str) -> list[str]:
    """The arguments of ACL SETUSER for a host."""
    return ["reset", "on", f"#{password_hash}", f"~{protocol.key_prefix(str(host_id))}*", "-@all", *COMMANDS]


def apply(connection: redis.Redis, hosts: Iterable[tuple[object, str]]) -> None:
    """Make the Redis users of (host id, password hash) anew; safe to repeat."""
    pipeline = connection.pipeline(transaction=False)
    for host_id, password_hash in hosts:
        pipeline.execute_command("ACL", "SETUSER", user_name(host_id), *rules(host_id, password_hash))
    pipeline.execute()


def apply_quietly(host: Host) -> None:
    """At enrolment, so that the agent need not wait; the inbox does the same within a second."""
    try:
        apply(client(), [(host.pk, host.redis_password_hash)])
    except redis.exceptions.RedisError as error:
        logger.warning("redis user not made yet host=%s error=%r", host.pk, error)


def shut_out(connection: redis.Redis, host_id: object) -> None:
    """Its user can do nothing, and its connections end, until `apply` makes the user anew."""
    connection.execute_command("ACL", "SETUSER", user_name(host_id), "reset")
    connection.execute_command("CLIENT", "KILL", "USER", user_name(host_id))


def remove(connection: redis.Redis, host_id: object) -> None:
    """A retired host can no longer connect, and its keys go."""
    key = str(host_id)
    connection.execute_command("ACL", "DELUSER", user_name(host_id))
    connection.delete(protocol.orders_key(key), protocol.reports_key(key), protocol.acks_key(key))


def url_for(host: Host, password: str) -> str:
    """What the host connects to: HOSTS_REDIS_URL, or the panel's own address, with the host's user."""
    base = urlsplit(settings.HOSTS_REDIS_URL or settings.REDIS_URL)
    place = base.netloc.rpartition("@")[2]
    return urlunsplit((base.scheme, f"{user_name(host.pk)}:{quote(password, safe='')}@{place}", base.path or "/0", "", ""))
