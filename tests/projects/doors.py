"""Addresses for the tests of this app: its own, and some at which things go wrong."""

from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import APIView

from projects import idempotency
from projects.actors import Actor
from projects.errors import Conflict, Invalid, Unauthorized
from projects.models import Team
from projects.urls import api_urlpatterns
from projects.urls import urlpatterns as pages

ERRORS = {
    "conflict": lambda: Conflict("job-ended", "Job 17 has ended.", job=17),
    "invalid": lambda: Invalid({"code": "too long", "": "odd"}),
    "half": lambda: Invalid({"odd \ud800": "odd \udfff"}),
    "unknown": lambda: Unauthorized("host-unknown", "This host token is unknown here."),
    "bug": lambda: ZeroDivisionError("a bug"),
    "http404": lambda: Http404("No such thing."),
    "denied": PermissionDenied,
    "django-invalid": lambda: ValidationError({"slug": ["Small letters.", "Too long."]}),
    "drf-invalid": lambda: exceptions.ValidationError(
        {"labels": {"a": ["too long"]}, "ranks": [{}, {"chips": ["none"]}], "x": "odd"}
    ),
    "drf-parse": lambda: exceptions.ParseError("JSON parse error"),
    "drf-throttled": lambda: exceptions.Throttled(wait=30),
}


def fail(request, error):
    raise _read(request) if error == "reads" else ERRORS[error]()


class Fail(APIView):
    authentication_classes = ()
    permission_classes = ()

    def get(self, request, error):
        raise _read(request._request) if error == "reads" else ERRORS[error]()


def _read(request):
    """Reads what was sent; raises what Django raises at that."""
    return Conflict("read", f"{len(request.body)} bytes and {len(request.GET)} parameters were read.")


class Teams(APIView):
    """Makes a team; how often it was asked to stands in `made`."""

    made: list[str] = []

    def post(self, request):
        def make():
            self.made.append(request.data["slug"])
            team = Team.objects.create(slug=request.data["slug"], name="made once")
            if request.data.get("fails"):
                raise Conflict("no-luck", "It could not be made.")
            return 201, {"id": team.pk, "at": team.created_at}

        status, body, replayed = idempotency.once(request, Actor.of(request), make)
        return Response(body, status=status, headers={"Replayed": str(replayed)})


urlpatterns = [
    *pages,
    path("", lambda request: HttpResponse("home"), name="home"),
    path("who", lambda request: HttpResponse(request.user.get_username() or "nobody")),
    path("posts", lambda request: HttpResponse("posted")),
    path("fail/<str:error>", fail),
    path("agent/fail/<str:error>", csrf_exempt(fail)),
    path("api/posts", lambda request: HttpResponse("posted")),
    path("api/fail/<str:error>", Fail.as_view()),
    path("api/teams", Teams.as_view()),
    path("api/v1/", include(api_urlpatterns)),
]
handler400 = "projects.answers.page_400"
handler404 = "projects.answers.page_404"
handler403 = "projects.answers.page_403"
handler500 = "projects.answers.page_500"
