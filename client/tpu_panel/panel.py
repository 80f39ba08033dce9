"""A panel and who one is there: the door to its jobs and hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from tpu_panel import archives, config
from tpu_panel.connection import PATIENCE_S, Connection
from tpu_panel.job import Job

MOST_A_PAGE = 200  # that the panel gives


class Panel:
    """What is not given comes from PANEL_URL and PANEL_TOKEN, or from what `tpu-panel login` has kept.

    `patience_s` is how long a panel that does not answer is asked again. Raises PanelError, as everything here does.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        patience_s: float = PATIENCE_S,
        notice: Callable[[str], None] | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        found = config.account(url, token)
        self.url = found.url
        self._connection = Connection(found.url, found.token, patience_s=patience_s, notice=notice, transport=transport)

    def __enter__(self) -> Panel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def me(self) -> dict[str, Any]:
        """username, scope of the token, teams."""
        return dict(self._connection.get("me"))

    # -- Jobs --------------------------------------------------------------------------------------------------

    def launch(
        self,
        *,
        project: str,
        definition: str,
        version: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        resources: Mapping[str, Any] | None = None,
        name: str = "",
        labels: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        secrets: Sequence[str] = (),
        retries: Mapping[str, Any] | None = None,
        notify: Mapping[str, Any] | None = None,
        key: str = "",
    ) -> Job:
        """Launch a job, with the newest version of the definition unless another is named.

        It is launched once, also when the line is lost meanwhile; the same `key` again is the same launch.
        """
        asked = {
            "project": project,
            "definition": definition,
            "version": version,
            "parameters": dict(parameters or {}),
            "resources": dict(resources or {}),
            "name": name,
            "labels": dict(labels or {}),
            "environment": dict(environment or {}),
            "secrets": list(secrets),
            "retries": dict(retries or {}),
            "notify": dict(notify or {}),
        }
        body = {field: value for field, value in asked.items() if value or field in ("project", "definition")}
        return Job(self._connection, self._connection.post("jobs", body, key=key))

    def check(self, *, project: str, definition: str, **asked: Any) -> dict[str, Any]:
        """Whether a launch of the same would start: `starts` ("now", "waits" or "never"), `sentence`, `hosts`. Makes nothing.

        What `launch` would refuse is refused here with the same error.
        """
        more = {field: value for field, value in asked.items() if value}
        return dict(self._connection.post("launch-checks", {"project": project, "definition": definition} | more))

    def job(self, number: int) -> Job:
        return Job(self._connection, self._connection.get(f"jobs/{number}"))

    def jobs(
        self,
        *,
        limit: int | None = None,
        state: str | Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
        **filters: Any,
    ) -> Iterator[Job]:
        """Those that one may see, newest first, read from the panel page by page as they are taken; `limit`: so many at most.

        Filters are the API's: project, owner ("me"), definition, accelerator, cluster, text, since ("24h"), created_after,
        created_before, sort ("-number").
        """
        states = [state] if isinstance(state, str) else list(state)
        query = {"state": states, "label": [f"{name}={value}" for name, value in (labels or {}).items()]} | filters
        yield from (Job(self._connection, data) for data in self._pages("jobs", query, limit=limit))

    # -- What there is -----------------------------------------------------------------------------------------

    def hosts(self) -> list[Host]:
        return [Host(data) for data in self._pages("hosts", {})]

    def projects(self) -> list[dict[str, Any]]:
        return list(self._pages("projects", {}))

    def definitions(self, project: str = "") -> list[dict[str, Any]]:
        """What can be launched: slug, project, parameters (a JSON Schema), resources."""
        return list(self._pages("definitions", {"project": project}))

    def definition_version(self, definition: str, number: int, *, project: str) -> dict[str, Any]:
        """What one version of a definition says."""
        return dict(self._connection.get(f"definitions/{project}/{definition}/versions/{number}"))

    def upload(self, path: str | Path, *, project: str) -> str:
        """Bring code into a project: a folder, or a .tar.gz or .zip as it is. Returns what a launch names as `archive`."""
        name, content = archives.packed(Path(path))
        files = {"archive": (name, content)}
        return str(self._connection.post(f"projects/{project}/sources", files=files)["digest"])

    def _pages(self, path: str, query: Mapping[str, Any], *, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """The results of a list; with a limit, no more is asked for than is wanted."""
        cursor, left = "", limit
        while left is None or left > 0:
            size = {} if left is None else {"limit": min(left, MOST_A_PAGE)}
            page = self._connection.get(path, dict(query) | size | {"cursor": cursor})
            yield from page["results"][:left]
            left = None if left is None else left - len(page["results"])
            cursor = page.get("next_cursor") or ""
            if not cursor:
                return


class Host:
    """A machine with chips; `data` is the API's answer."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = dict(data)

    def __repr__(self) -> str:
        return f"<Host {self.name} {self.state}>"

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def cluster(self) -> str:
        return str(self.data["cluster"])

    @property
    def state(self) -> str:
        """enrolled, ready or cordoned."""
        return str(self.data["state"])

    @property
    def is_silent(self) -> bool:
        return bool(self.data["is_silent"])

    @property
    def chips(self) -> int:
        return int(self.data["chips"])

    @property
    def free_chips(self) -> int:
        return int(self.data["free_chips"])
