"""How errors are answered: JSON under /api/ and /agent/, a page elsewhere, each with the request's id."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import (
    DisallowedHost,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFieldsSent,
    ValidationError,
)
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import REASON_NO_CSRF_COOKIE
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve
from django.utils.html import escape
from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from projects import shapes
from projects.errors import Forbidden, Invalid, NotFound, PanelError, Unauthorized

logger = logging.getLogger(__name__)

JSON_PATHS = ("/api/", "/agent/")


class PanelErrorMiddleware:
    """Gives each request an id (`request.id`, header X-Request-Id) and answers the PanelErrors of plain views."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.id = secrets.token_urlsafe(9)  # type: ignore[attr-defined]  # 12 characters
        response = _refuse_nul(request) or self.get_response(request)
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and not request.path.startswith(JSON_PATHS):
            response = _not_for_this(request, response["Allow"])
        response["X-Request-Id"] = request.id  # type: ignore[attr-defined]
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return answer(request, exception) if isinstance(exception, PanelError) else None


def _refuse_nul(request: HttpRequest) -> HttpResponse | None:
    """No name holds a NUL, and PostgreSQL takes no text that does: whatever is looked for by one does not exist."""
    if "\0" not in request.path:
        return None
    return answer(request, NotFound("no-such-page", _("There is no such page.")))


def _not_for_this(request: HttpRequest, allowed: str) -> HttpResponse:
    """Mostly the address of a form's button, to which signing in has led, or the browser's history."""
    error = PanelError(
        "method-not-allowed",
        _("Nothing was done: this is where a button of another page leads. Go there, and press it again."),
        there=_page_above(request.path),
    )
    error.status = HTTPStatus.METHOD_NOT_ALLOWED
    response = answer(request, error)
    response["Allow"] = allowed
    return response


def _page_above(path: str) -> str:
    """The nearest address above `path` that there is."""
    while path := path.rpartition("/")[0]:
        try:
            resolve(path)
        except Resolver404:
            continue
        return path
    return "/"


def answer(request: HttpRequest, error: PanelError, *, bare: bool = False) -> HttpResponse:
    """The error as this request's answer: JSON or the page error.html, `bare` when the request itself cannot be read."""
    if request.path.startswith(JSON_PATHS):
        response: HttpResponse = JsonResponse(error.as_json(), status=error.status)
    else:
        # An error that is a bug may come from what a page is made of: it is rendered without request and context processors.
        response = HttpResponse(_page(error, request, bare=bare or error.status >= 500), status=error.status)
    _challenge(response)
    return response


def api_exception_handler(exc: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's hook: every error but a bug as {code, message, details}. A bug goes on to page_500."""
    error = _as_panel_error(exc)
    if error is None:
        return None
    set_rollback()
    response = Response(error.as_json(), status=error.status)
    if wait_s := getattr(exc, "wait", None):  # exceptions.Throttled
        response["Retry-After"] = str(int(wait_s))
    _challenge(response)
    return response


def page_400(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return answer(request, _unreadable(exception), bare=True)


def page_404(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return answer(request, NotFound("not-found", _("There is nothing at this address.")))


def page_403(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return answer(request, Forbidden("forbidden", _("You may not do this.")))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    if reason == REASON_NO_CSRF_COOKIE:
        sentence = _("Your browser sent no cookie with this form, so nothing was done. Allow cookies for this site, and repeat.")
        return answer(request, Forbidden("no-cookie", sentence))
    return answer(
        request, Forbidden("csrf", _("This form is too old, or was not ours. Load the page again and repeat."), reason=reason)
    )


def page_500(request: HttpRequest) -> HttpResponse:
    """A bug. The log's line with the same id has the traceback beside it."""
    logger.error("request failed request=%s path=%s", _id(request), request.path)
    error = PanelError(
        "internal", _("Something is wrong in the panel itself. The log has it under this request's id."), request_id=_id(request)
    )
    error.status = 500
    return answer(request, error)


def _as_panel_error(exc: Exception) -> PanelError | None:
    """The same error in the panel's words; None for a bug."""
    error: PanelError | None = None
    match exc:
        case PanelError():
            error = exc
        case Http404():
            error = NotFound("not-found", str(exc) or _("There is nothing at this address."))
        case PermissionDenied():
            error = Forbidden("forbidden", str(exc) or _("You may not do this."))
        case SuspiciousOperation():
            error = _unreadable(exc)
        case ValidationError():
            error = Invalid(_fields_of(exc))
        case RecursionError():  # of JSON whose lists never end
            error = Invalid({"": _("The body is nested too deeply.")}, code="not-json")
        case exceptions.ValidationError():
            error = Invalid(shapes.paths(exc.detail))
        case exceptions.NotAuthenticated():
            error = Unauthorized("not-signed-in", _("Sign in, or bring a token that is valid."))
        case exceptions.APIException():
            error = PanelError(str(exc.get_codes()).replace("_", "-"), str(exc.detail))
            error.status = exc.status_code
    return error


def _unreadable(exc: Exception | None) -> PanelError:
    """What Django refuses to read."""
    error = PanelError("bad-request", _("The request cannot be read."))
    match exc:
        case RequestDataTooBig():
            most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 1024**2
            error = PanelError("request-too-large", _("The body is larger than %(most)s MiB.") % {"most": most})
            error.status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        case TooManyFieldsSent():
            most = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
            error = PanelError("too-many-fields", _("The request has more than %(most)s parameters or fields.") % {"most": most})
        case DisallowedHost():
            error = PanelError("unknown-host", _("The panel does not go by this host name; ALLOWED_HOSTS has those it does."))
    return error


def _fields_of(exc: ValidationError) -> dict[str, str]:
    if hasattr(exc, "error_dict"):
        return {field: " ".join(messages) for field, messages in exc.message_dict.items()}
    return {"": " ".join(exc.messages)}


def _page(error: PanelError, request: HttpRequest, *, bare: bool) -> str:
    context: dict[str, Any] = {"status": error.status, "code": error.code, "sentence": error.sentence, "request_id": _id(request)}
    context["there"] = error.data.get("there", "")
    if bare:
        context["request"] = request  # for its csp_nonce
    try:
        return render_to_string("error.html", context, request=None if bare else request)
    except Exception:
        logger.exception("error page cannot be rendered request=%s", _id(request))
        title = HTTPStatus(error.status).phrase
        return f"<!doctype html><title>{title}</title><h1>{error.status}</h1><p>{escape(error.sentence)}</p><p>{_id(request)}</p>"


def _challenge(response: HttpResponse) -> None:
    if response.status_code == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = "Bearer"


def _id(request: HttpRequest) -> str:
    """ "": it failed before it was given one."""
    return getattr(request, "id", "")
