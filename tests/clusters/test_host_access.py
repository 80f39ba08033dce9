import uuid

import pytest
import redis

from clusters import host_access
from clusters.enrolment import hashed
from tests.factories import a_host

pytestmark = pytest.mark.django_db
PASSWORD = "a password/with:odd@signs"


@pytest.fixture
def host(valkey):
    host = a_host()
    host.redis_password_hash = hashed(PASSWORD)
    host_access.apply(valkey.client(), [(host.pk, hashed(PASSWORD))])
    return host


@pytest.fixture
def redis_of(host):
    with redis.Redis.from_url(host_access.url_for(host, PASSWORD)) as connection:
        yield connection


def test_a_host_does_what_it_needs_on_its_own_keys(host, redis_of, valkey):
    mine = f"host:{host.pk}:"
    panel = valkey.client()
    panel.lpush(mine + "orders", "an order")
    panel.hset(mine + "acks", mapping={"file": "17"})
    assert redis_of.ping()
    assert redis_of.xadd(mine + "reports", {"k": "heartbeat"})
    assert len(redis_of.xrange(mine + "reports")) == 1
    assert redis_of.brpop(mine + "orders", timeout=1) == ((mine + "orders").encode(), b"an order")
    assert redis_of.llen(mine + "orders") == 0
    assert redis_of.hgetall(mine + "acks") == {b"file": b"17"}
    with redis_of.pipeline(transaction=True) as pipeline:
        pipeline.xadd(mine + "reports", {"k": "log"}).xadd(mine + "reports", {"k": "log"}).execute()
    assert panel.xlen(mine + "reports") == 3


@pytest.mark.parametrize(
    "command",
    [
        "XADD {other}reports * k log",
        "XADD host:reports * k log",
        "XADD wake * loop scheduler",
        "XRANGE {other}reports - +",
        "BRPOP {other}orders 0.1",
        "HGETALL {other}acks",
        "LLEN celery",
        "GET live:job:17",
        "HSET {mine}acks file 0",
        "LPUSH {mine}orders x",
        "DEL {mine}reports",
        "XDEL {mine}reports 1-1",
        "XTRIM {mine}reports MAXLEN 0",
        "XREAD STREAMS {mine}reports 0",
        "KEYS *",
        "SCAN 0",
        "PUBLISH live:job:17 x",
        "SUBSCRIBE {mine}orders",
        "EVAL return(1) 0",
        "CONFIG GET *",
        "ACL WHOAMI",
        "ACL LIST",
        "CLIENT LIST",
        "CLIENT KILL ID 1",
        "INFO",
        "FLUSHALL",
        "SHUTDOWN NOSAVE",
        "MONITOR",
        "SELECT 1",
    ],
)
def test_a_host_can_do_nothing_else(host, redis_of, valkey, command):
    words = command.format(mine=f"host:{host.pk}:", other=f"host:{uuid.uuid4()}:").split()
    with pytest.raises(redis.exceptions.NoPermissionError):
        redis_of.execute_command(*words)
    assert valkey.client().keys("*") == []


def test_applying_again_lets_the_new_password_in_and_the_old_one_out(host, valkey):
    host_access.apply(valkey.client(), [(host.pk, hashed("new"))] * 2)
    with pytest.raises(redis.exceptions.AuthenticationError):
        redis.Redis.from_url(host_access.url_for(host, PASSWORD)).ping()
    assert redis.Redis.from_url(host_access.url_for(host, "new")).ping()


def test_a_removed_host_is_out_and_its_keys_are_gone(host, redis_of, valkey):
    mine, panel = f"host:{host.pk}:", valkey.client()
    redis_of.xadd(mine + "reports", {"k": "log"})
    panel.lpush(mine + "orders", "an order")
    panel.hset(mine + "acks", mapping={"file": "17"})
    panel.set("live:job:17", "stays")
    host_access.remove(panel, host.pk)
    assert panel.keys("*") == [b"live:job:17"]
    with pytest.raises(redis.exceptions.AuthenticationError):
        redis.Redis.from_url(host_access.url_for(host, PASSWORD)).ping()


def test_a_redis_that_is_away_does_not_fail_an_enrolment(caplog):
    host_access.apply_quietly(a_host())
    assert "redis user not made yet" in caplog.text


def test_the_address_of_hosts_may_be_another_than_the_panels(settings):
    host = a_host()
    settings.REDIS_URL = "redis://panel:secret@127.0.0.1:6379/3"
    assert host_access.url_for(host, "pa/ss") == f"redis://host-{host.pk}:pa%2Fss@127.0.0.1:6379/3"
    settings.HOSTS_REDIS_URL = "rediss://redis.example.org:6380"
    assert host_access.url_for(host, "x@y") == f"rediss://host-{host.pk}:x%40y@redis.example.org:6380/0"
