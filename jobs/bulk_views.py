"""The pages on which many jobs are canceled, launched again or labeled, each of which asks first; with scripts a dialog."""

from __future__ import annotations

import secrets as random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from jobs import cancellations, labels, relaunches, selections
from jobs.models import Job
from jobs.pairs import pairs_of
from jobs.selections import Plan, Refusal, Selection
from projects import idempotency
from projects.actors import Actor
from projects.errors import Invalid

KNOWN_LABELS_OF = 1000  # jobs of a selection, whose labels can be taken away by a box
NAMED = 5  # jobs that are named, where there are so few
KNOWN_LABELS = 30

Done = tuple[int, list[Refusal]]  # how many, and the others


@dataclass(frozen=True)
class Verb:
    """One thing to do with many jobs, in the words of its page."""

    may: str
    ended: bool | None
    template: str
    do: Callable[[Plan, QueryDict, Actor, datetime], Done]
    said: Callable[[int], str]
    most: int = selections.MOST_JOBS


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def cancellations_page(request: HttpRequest) -> HttpResponse:
    def do(plan: Plan, _form: QueryDict, by: Actor, now: datetime) -> Done:
        done, refused = cancellations.cancel(plan.able, by=by, now=now)
        return len(done), refused

    def said(count: int) -> str:
        return ngettext("%(count)s job is canceled.", "%(count)s jobs are canceled.", count) % {"count": count}

    return _page(request, Verb("jobs.cancel", False, "jobs/_bulk_cancel.html", do, said))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def relaunches_page(request: HttpRequest) -> HttpResponse:
    def do(plan: Plan, form: QueryDict, by: Actor, now: datetime) -> Done:
        key = form.get("key") or random.token_urlsafe(16)
        others: list[Refusal] = []

        def make() -> idempotency.Answer:
            made, refused = relaunches.relaunch(plan.able, by=by, now=now)
            others.extend(refused)
            return 201, {"made": len(made)}

        _status, body, _is_replayed = idempotency.once_a_form(key, {"relaunches": plan.able}, by, make)
        return body["made"], others

    def said(count: int) -> str:
        return ngettext("%(count)s job is launched again.", "%(count)s jobs are launched again.", count) % {"count": count}

    return _page(request, Verb("jobs.launch", True, "jobs/_bulk_relaunch.html", do, said, relaunches.MOST))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def labels_page(request: HttpRequest) -> HttpResponse:
    def do(plan: Plan, form: QueryDict, by: Actor, now: datetime) -> Done:
        done, refused = labels.change(plan.able, _changes(form), by=by, now=now)
        return len(done), refused

    def said(count: int) -> str:
        return ngettext("%(count)s job has these labels now.", "%(count)s jobs have these labels now.", count) % {"count": count}

    return _page(request, Verb("jobs.label", None, "jobs/_bulk_label.html", do, said))


def _page(request: HttpRequest, verb: Verb) -> HttpResponse:
    """Asked by GET it says what would happen, by POST it happens, and the list is shown again."""
    by, now, form = Actor.of(request), timezone.now(), request.POST if request.method == "POST" else request.GET
    try:
        selection = _selection(form)
        plan = selections.plan(selection, by, may=verb.may, now=now, ended=verb.ended, most=verb.most)
    except Invalid as refused:
        return _shown(request, verb, form, {"wrong": refused.sentence}, status=422)
    wrong = ""
    if request.method == "POST" and plan.able:
        try:
            count, others = verb.do(plan, form, by, now)
        except Invalid as refused:
            wrong = refused.sentence
        else:
            _say(request, verb, count, [*plan.refused, *others])
            return redirect(_back(form))
    context = {
        "plan": plan,
        "count": len(plan.able),
        "named": Job.objects.filter(pk__in=plan.able).order_by("-pk") if len(plan.able) <= NAMED else [],
        "numbers": plan.able if selection.wanted is None else [],
        "filter": form.get("filter"),
        "until": min(selection.until, plan.until),
        "key": form.get("key") or random.token_urlsafe(16),
        "wrong": wrong,
        "labels": form.get("labels", ""),
        "known_labels": _known_labels(plan) if verb.may == "jobs.label" else [],
    }
    return _shown(request, verb, form, context, status=422 if wrong or request.method == "POST" else 200)


def _shown(request: HttpRequest, verb: Verb, form: QueryDict, context: dict[str, Any], *, status: int) -> HttpResponse:
    """To htmx only the dialog's content, which it draws whatever the status is."""
    is_dialog = request.headers.get("HX-Request") == "true"
    context |= {"form_template": verb.template, "back": _back(form), "here": request.path, "is_dialog": is_dialog}
    template = verb.template if is_dialog else "jobs/bulk.html"
    return render(request, template, context, status=200 if is_dialog else status)


def _say(request: HttpRequest, verb: Verb, count: int, others: list[Refusal]) -> None:
    if count:
        messages.success(request, verb.said(count))
    for number, sentence in Plan([], others).reasons:
        words = {"count": number, "why": sentence}
        said = ngettext("%(count)s job was left alone: it %(why)s.", "%(count)s jobs were left alone: each %(why)s.", number)
        messages.warning(request, said % words)


def _selection(form: QueryDict) -> Selection:
    """A filter goes before picked jobs: who has asked for all that match has not taken the marks away."""
    text = form.get("filter")
    until = form.get("until", "")
    is_number = until.isascii() and until.isdecimal() and len(until) <= 18
    return Selection.read(
        () if text is not None else form.getlist("job"), text, until=int(until) if is_number else selections.GREATEST
    )


def _back(form: QueryDict) -> str:
    """Where the person came from, as far as it is one of our pages."""
    address = form.get("back", "")
    is_ours = address.startswith("/") and url_has_allowed_host_and_scheme(address, allowed_hosts=None)
    return address if is_ours else reverse("job-list")


def _changes(form: QueryDict) -> dict[str, str | None]:
    """Of a text with one name=value a line, and of the boxes of labels that go."""
    pairs, fault = pairs_of(form.get("labels", ""), strip=True)
    if fault:
        raise Invalid({"": _("Labels: %(fault)s") % {"fault": fault}})
    if not all(isinstance(value, str) for value in pairs.values()):
        raise Invalid({"": _("Labels: an object of texts is needed")})
    changes: dict[str, str | None] = dict.fromkeys(form.getlist("remove"), None)
    if not pairs and not changes:
        raise Invalid({"": _("Name a label, or choose one that goes.")})
    return changes | pairs


def _known_labels(plan: Plan) -> list[str]:
    names = Job.objects.filter(pk__in=plan.able[:KNOWN_LABELS_OF]).values_list("labels", flat=True)
    return sorted({name for labels_of_job in names for name in labels_of_job})[:KNOWN_LABELS]
