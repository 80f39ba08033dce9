"""What the API says of metrics and logs, the same for jobs and for hosts: others make it, this tells openapi.yaml of it."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers

from monitoring.metric_queries import AXES, MOST_BUCKETS

NUMBER = {"oneOf": [{"type": "number"}, {"type": "string", "enum": ["Infinity", "-Infinity"]}], "nullable": True}
LINES = [
    OpenApiParameter("name", str, required=True),
    OpenApiParameter(
        "by",
        str,
        enum=list(AXES),
        description="The axis: steps, Unix milliseconds, or milliseconds since its attempt began to run. Usual: step.",
    ),
    OpenApiParameter("start", int, description="On the axis, included."),
    OpenApiParameter("end", int, description="On the axis, included."),
    OpenApiParameter("rank", int, description="The lines of this rank alone. Usual: of all."),
    OpenApiParameter("buckets", int, description=f"Of each line, at most {MOST_BUCKETS}. Usual: 500."),
    OpenApiParameter(
        "spacing", str, enum=["linear", "log"], description="Of the buckets: for a logarithmic x-axis. Usual: linear."
    ),
]
MOST_NAMES = 50  # of one file
NAMES = OpenApiParameter("name", str, required=True, many=True, description=f"At most {MOST_NAMES}.")
SEARCH = OpenApiParameter("q", str, description="Those whose names have each of these words.")


@extend_schema_field(NUMBER)
class _Number(serializers.Field):
    """JSON has no infinities as numbers; null is NaN, or no number at all."""


@extend_schema_field({"type": "array", "items": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}})
class Pairs(serializers.Field):
    """[[from, to], ...] or [[offset, ms], ...]"""

    def to_representation(self, value: list[tuple[int, int]]) -> list[list[int]]:
        return [list(pair) for pair in value]


class MetricSeriesAnswer(serializers.Serializer):
    name = serializers.CharField()
    workload = serializers.CharField(allow_null=True)
    attempt = serializers.IntegerField(allow_null=True)
    rank = serializers.IntegerField()
    points = serializers.IntegerField()
    last_step = serializers.IntegerField(allow_null=True)
    last_ms = serializers.IntegerField(allow_null=True)
    last_value = _Number()


class MetricNamesAnswer(serializers.Serializer):
    metrics = MetricSeriesAnswer(many=True)
    next_cursor = serializers.CharField(allow_null=True, help_text="Null at the end.")


class ChartNameAnswer(serializers.Serializer):
    name = serializers.CharField()
    line = serializers.CharField(help_text="Which line of the chart; empty: it needs no word.")


class ChartAnswer(serializers.Serializer):
    title = serializers.CharField()
    is_sampled = serializers.BooleanField(help_text="Measured by the clock: it has no steps.")
    names = ChartNameAnswer(many=True)


class ChartsAnswer(serializers.Serializer):
    results = ChartAnswer(many=True)
    next_cursor = serializers.CharField(allow_null=True, help_text="Null at the end.")
    count = serializers.IntegerField(help_text="Of all pages.")
    attempts = serializers.ListField(child=serializers.IntegerField(), help_text="Those that have measured something.")
    last_ms = serializers.IntegerField(allow_null=True, help_text="Of the newest point of all names.")


class BucketAnswer(serializers.Serializer):
    x = serializers.IntegerField(help_text="Of its last point: a step, or milliseconds.")
    count = serializers.IntegerField()
    nan_count = serializers.IntegerField()
    least = _Number()
    greatest = _Number()
    mean = _Number()
    last = _Number()


class LineAnswer(serializers.Serializer):
    attempt = serializers.IntegerField(allow_null=True)
    rank = serializers.IntegerField()
    origin_ms = serializers.IntegerField(allow_null=True, help_text="Unix milliseconds that a relative axis counts from.")
    buckets = BucketAnswer(many=True)


class LinesAnswer(serializers.Serializer):
    name = serializers.CharField()
    by = serializers.CharField()
    lines = LineAnswer(many=True)
