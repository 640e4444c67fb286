"""What all tests share: how generated examples are drawn, and who runs beside whom."""

import os
import tempfile
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.sample_size import SOAKING
from xdist.scheduler import LoadScopeScheduling

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.register_profile("soak", settings.get_profile("here"), max_examples=2_000)
settings.load_profile("soak" if SOAKING else "ci" if os.environ.get("CI") == "true" else "here")

# What takes longest must not begin last: after the browser what starts kernels and servers, then the
# many short files, so that all processes end together.
FIRST = (
    "tests/e2e/",
    "tests/kill/",
    "tests/hostile/",
    "tests/frontends/",
    "tests/loop/",
    "tests/tools/",
)

# What tests allow is never kept beside what the person who runs them allowed; kernels inherit it.
STATE = tempfile.TemporaryDirectory(prefix="palimpsest-tests-", ignore_cleanup_errors=True)
os.environ["PALIMPSEST_STATE_DIR"] = STATE.name


class FileGroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist comes without types
    """Keeps the tests of a file together."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileGroupScheduling:
    """Say who runs beside whom, where tests run in several processes."""
    return FileGroupScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the browser, which each process keeps until its first test without one."""
    places = {start: place for place, start in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(_folder(item.nodeid), len(places)))


def _folder(nodeid: str) -> str:
    return "/".join(nodeid.split("/", 2)[:2]) + "/"
