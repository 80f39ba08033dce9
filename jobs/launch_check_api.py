"""The API's check of a launch: what is wrong with it, and whether it would start, without making anything."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from clusters import free, scheduling
from jobs import definitions, services
from jobs.launch_shapes import Launch, LaunchBody
from jobs.shapes import ResourcesAnswer
from projects import shapes
from projects.access import get_project
from projects.actors import Actor


class LaunchCheckAnswer(shapes.Answer):
    example: ClassVar = {
        "starts": "now",
        "sentence": "Starts now on tpu-1.",
        "code": "",
        "hosts": ["tpu-1"],
        "version": 3,
        "resources": {"accelerator": "cpu", "chips": 1, "cluster": ""},
    }
    starts = serializers.ChoiceField(
        ["now", "waits", "never"], source="outlook.state", help_text="`never`: not on the hosts that there are."
    )
    sentence = serializers.CharField(source="outlook.sentence", help_text="The same for people.")
    code = serializers.CharField(source="outlook.code", help_text="Of docs/states.md, what it would wait for; empty: nothing.")
    hosts = serializers.ListField(child=serializers.CharField(), source="outlook.hosts", help_text="On which it would start now.")
    version = serializers.IntegerField(help_text="Of the definition.")
    resources = ResourcesAnswer(help_text="All that would be asked for, the definition's defaults too.")


class LaunchChecks(APIView):
    @extend_schema(operation_id="check_launch", request=LaunchBody, responses=LaunchCheckAnswer)
    def post(self, request: Request) -> Response:
        """Whether a launch would be taken, and would start now, where, or what it would wait for.

        Nothing is made and nothing is held for it. What would be refused is refused here, with the same words.
        """
        asked = Launch.from_body(request.data)
        by = Actor.of(request)
        project = get_project(by, asked.project, may="jobs.launch")
        version = definitions.get_version(project, asked.definition, asked.version)
        job = services.drafted(project=project, version=version, **asked.wanted, is_trial=True)
        services.check_notify(asked.notify, by=by)
        found = {
            "outlook": free.outlook(job.request, scheduling.inventory()),
            "version": version.number,
            "resources": job.request_json,
        }
        return shapes.one(LaunchCheckAnswer, request, found)
