"""Documents that are drawn from the tables in the code, so that they cannot tell another story."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from types import ModuleType

from django.db.models import TextChoices
from django.utils.translation import override
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer

from clusters import reasons
from clusters import states as clusters_states
from controlpanel import access_table
from jobs import states as jobs_states

HEAD = """# States

Drawn from the MOVES tables and the comments beside the states; `make docs` draws it again. A coarse state drives, a fine
reason (at the end) explains. "Rescue" is who moves a row on when nobody else does.
"""
TABLES: list[tuple[str, type[TextChoices], Mapping[str, frozenset[str]], ModuleType]] = [
    ("Job", jobs_states.JobState, jobs_states.MOVES, jobs_states),
    ("Notice", jobs_states.NoticeState, jobs_states.NOTICE_MOVES, jobs_states),
    ("Workload", clusters_states.WorkloadState, clusters_states.WORKLOAD_MOVES, clusters_states),
    ("Rank", clusters_states.RankState, clusters_states.RANK_MOVES, clusters_states),
    ("Host", clusters_states.HostState, clusters_states.HOST_MOVES, clusters_states),
    ("Fetch", clusters_states.FetchState, clusters_states.FETCH_MOVES, clusters_states),
]


def drawn() -> dict[str, str]:
    """Path below the repository -> text."""
    return {"docs/states.md": states(), "docs/openapi.yaml": openapi(), "docs/access.md": access_table.drawn()}


def openapi() -> str:
    """The API as its own classes declare it."""
    with override("en"):
        return OpenApiYamlRenderer().render(SchemaGenerator().get_schema(public=True)).decode()


def states() -> str:
    parts = [HEAD]
    for title, choices, moves, module in TABLES:
        parts += [f"## {title}\n", _diagram(choices, moves), _table(choices, moves, _comments(choices, module))]
    parts += ["## Reasons\n", "| code | sentence |", "|---|---|"]
    parts += [f"| `{code}` | {sentence} |" for code, sentence in reasons.SENTENCES.items()]
    return "\n".join(parts) + "\n"


def _diagram(choices: type[TextChoices], moves: Mapping[str, frozenset[str]]) -> str:
    order = list(choices.values)
    lines = [f"    {state} --> {to}" for state in order for to in sorted(moves[state], key=order.index)]
    return "\n".join(["```mermaid", "stateDiagram-v2", f"    [*] --> {order[0]}", *lines, "```", ""])


def _table(choices: type[TextChoices], moves: Mapping[str, frozenset[str]], comments: Mapping[str, str]) -> str:
    order = list(choices.values)
    rows = [
        f"| {state} | {', '.join(sorted(moves[state], key=order.index)) or 'the end'} | {comments.get(state, '')} |"
        for state in order
    ]
    return "\n".join(["| state | moves to | who |", "|---|---|---|", *rows, ""])


def _comments(choices: type[TextChoices], module: ModuleType) -> dict[str, str]:
    """The comment above each state, in its own class: others have states of the same name."""
    source = inspect.getsource(choices)
    found = {}
    for choice in choices:
        if comment := re.search(rf'^    # (.*)\n    {choice.name} = "{choice.value}"', source, re.MULTILINE):
            found[str(choice.value)] = comment[1]
    return found
