"""The page that adds a host: the command for the new machine, the addresses it will use, tried, and the host once it is here."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from clusters import enrolment, hosts, install, occupancy, reach
from clusters.models import Cluster, EnrolmentToken
from projects.actors import Actor
from projects.errors import NotFound

OPERATORS_NAMED = 5


@login_required
@never_cache  # its command is shown once
@require_http_methods(["GET", "HEAD", "POST"])
def host_new(request: HttpRequest) -> HttpResponse:
    by = Actor.of(request)
    if request.method == "POST":
        hosts.check_operator(by)
        return _page(request, by, _made(request, by), status=201)
    if not hosts.is_operator(by):
        operators = User.objects.filter(is_superuser=True, is_active=True).order_by("username")[:OPERATORS_NAMED]
        return render(request, "hosts/host_new_ask.html", {"operators": operators}, status=403)
    return _page(request, by, {})


@login_required
@never_cache
@require_GET
def host_reach(request: HttpRequest) -> HttpResponse:
    """Its own request, since an address that nothing answers at takes its time."""
    by = Actor.of(request)
    hosts.check_operator(by)
    tried = {"tried": reach.try_all()}
    return render(request, "hosts/_reach.html", tried) if request.headers.get("HX-Request") else _page(request, by, tried)


@login_required
@never_cache
@require_GET
def host_enrolment(request: HttpRequest, number: int) -> HttpResponse:
    """What has become of an invitation; the command itself is nowhere any more."""
    by = Actor.of(request)
    hosts.check_operator(by)
    found = EnrolmentToken.objects.select_related("cluster", "host__slice__cluster", "host__subject").filter(pk=number).first()
    if found is None:
        raise NotFound("no-such-invitation", _("There is no such invitation."))
    return render(request, "hosts/_enrolment.html", _state(found, by))


def _made(request: HttpRequest, by: Actor) -> dict[str, Any]:
    name = request.POST.get("cluster", "")
    cluster = Cluster.objects.filter(name=name).first() if name.isprintable() else None
    if cluster is None:
        raise NotFound("no-such-cluster", _("There is no cluster %(name)s.") % {"name": name})
    token = enrolment.issue(cluster=cluster, by=by, now=timezone.now())
    invitation = EnrolmentToken.objects.select_related("cluster").get(token_hash=enrolment.hashed(token))
    return _state(invitation, by) | {"command": install.command(token), "chosen": cluster.name}


def _state(invitation: EnrolmentToken, by: Actor) -> dict[str, Any]:
    return {
        "invitation": invitation,
        "view": occupancy.view(invitation.host, by) if invitation.host else None,
        "is_over": invitation.used_at is None and invitation.expires_at <= timezone.now(),
    }


def _page(request: HttpRequest, by: Actor, more: dict[str, Any], status: int = 200) -> HttpResponse:
    context = {"cluster_choices": Cluster.objects.order_by("name")} | more
    return render(request, "hosts/host_new.html", context, status=status)
