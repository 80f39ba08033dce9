"""How a machine becomes a host: a one-time token, then an identity of its own for HTTP and for Redis."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from clusters import host_access, silence
from clusters.models import Chip, Cluster, EnrolmentToken, Host, Slice
from clusters.states import HostState
from monitoring import events, subjects
from projects import audit
from projects.actors import Actor
from projects.errors import Conflict, Forbidden, Invalid

VALID_FOR = timedelta(hours=1)


@dataclass(frozen=True)
class Identity:
    """What a new host keeps: the panel stores only hashes of the two secrets."""

    host_id: str
    token: str
    redis_url: str


def issue(*, cluster: Cluster, by: Actor, now: datetime, valid_for: timedelta = VALID_FOR) -> str:
    """A token that lets one machine enrol into `cluster`, once. Shown once: the panel keeps its hash."""
    token = "enrol_" + secrets.token_urlsafe(24)
    with transaction.atomic():
        EnrolmentToken.objects.create(
            token_hash=hashed(token),
            cluster=cluster,
            created_by=by.user if by.user.is_authenticated else None,
            created_at=now,
            expires_at=now + valid_for,
        )
        audit.record("host.invite", by=by, subject=("cluster", cluster.name, cluster.name))
    return token


def enrol(*, token: str, machine_id: str, name: str, chips: int, now: datetime) -> Identity:
    """Make a host of the machine that shows `token`; a machine known in this cluster becomes the same host again.

    Raises Forbidden for a token that is unknown, used or expired, Invalid for a wrong number of chips, and Conflict while an
    agent of this machine is heard: the token stays good.
    """
    if not 1 <= chips <= 1024:
        raise Invalid({"chips": _("A host has 1 to 1024 chips.")})
    with transaction.atomic():
        invitation = EnrolmentToken.objects.select_for_update().select_related("cluster").filter(token_hash=hashed(token)).first()
        _check(invitation, now)
        assert invitation
        host_token, redis_password = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        host = _host_of(invitation.cluster, machine_id=machine_id, name=name, now=now)
        host.token_hash, host.redis_password_hash = hashed(host_token), hashed(redis_password)
        host.save()
        _set_chips(host, chips)
        invitation.used_at, invitation.host = now, host
        invitation.save(update_fields=["used_at", "host"])
        events.record(host.subject, "host.enrolled", f"Host {host.name} enrolled with {chips} chips.", at=now, chips=chips)
    host_access.apply_quietly(host)
    return Identity(host_id=str(host.pk), token=host_token, redis_url=host_access.url_for(host, redis_password))


def hashed(token: str) -> str:
    """These tokens are random 192 bits and more, so a plain hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def _check(invitation: EnrolmentToken | None, now: datetime) -> None:
    if invitation is None:
        raise Forbidden("enrolment-unknown", _("This enrolment token is unknown. Make a new one on the enrolment page."))
    if invitation.used_at:
        raise Forbidden("enrolment-used", _("This enrolment token was used already; each enrols one machine. Make a new one."))
    if invitation.expires_at <= now:
        raise Forbidden("enrolment-expired", _("This enrolment token has expired. Make a new one on the enrolment page."))


def _host_of(cluster: Cluster, *, machine_id: str, name: str, now: datetime) -> Host:
    """The host of this machine in this cluster, not saved yet. A host of `cpu` is a slice of its own."""
    host = Host.objects.select_for_update().filter(slice__cluster=cluster, machine_id=machine_id).first()
    if host is None:
        host = Host(machine_id=machine_id, created_at=now, heard_at=now)
        host.slice = Slice.objects.create(cluster=cluster, name=f"host-{host.pk.hex[-12:]}")
    elif host.state == HostState.RETIRED:
        host.state, host.cordon_reason = HostState.ENROLLED, ""
    elif silence.has_living_agent(host, now=now):  # its place is not to be had by a command that is pasted on its machine
        raise Conflict(
            "host-has-agent",
            _(
                "This machine is host %(host)s already, whose agent was heard just now. If that one is gone for good, enrol in"
                " %(seconds)s s. A second host on one machine needs a PANEL_MACHINE_ID of its own."
            )
            % {"host": host.name, "seconds": int(settings.SECOND_AGENT_S)},
            host=host.name,
        )
    host.name = name
    host.subject = subjects.ensure(kind="host", key=str(host.pk), title=name, link=f"/hosts/{host.pk}")
    return host


def _set_chips(host: Host, chips: int) -> None:
    """A host that comes back with fewer chips keeps those that a workload still holds."""
    Chip.objects.filter(host=host, number__gte=chips, workload=None).delete()
    have = set(Chip.objects.filter(host=host).values_list("number", flat=True))
    Chip.objects.bulk_create(Chip(host=host, number=number) for number in range(chips) if number not in have)
