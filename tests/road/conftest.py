from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.road.world import Agent, World, a_world

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.road)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One panel for the tests of a file, which leave it as they found it: up, with idle hosts."""
    with a_world(tmp_path_factory.mktemp("world")) as world:
        yield world


@pytest.fixture(scope="module")
def _host(world: World) -> Agent:
    return world.add_agent()


@pytest.fixture
def agent(_host: Agent) -> Iterator[Agent]:
    """A host with four slots; started again when the test before has killed it."""
    if _host.process is None or _host.process.poll() is not None:
        _host.start()
    yield _host.wait_ready()
