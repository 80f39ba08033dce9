"""Examples of what the API is sent, for openapi.yaml and the page that documents it."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample

LAUNCH = [
    OpenApiExample(
        "A training run of a recipe",
        value={
            "project": "first-project",
            "definition": "digits-tensorflow",
            "parameters": {"epochs": 3},
            "resources": {"chips": 1},
            "name": "digits",
            "labels": {"sweep": "a"},
        },
        request_only=True,
    )
]
