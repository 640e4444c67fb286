"""Configure all tests: hypothesis profiles, distribution over processes, and the order of the tests."""

import os
import sys
import tempfile
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.sample_size import SOAKING
from tests.work_distribution import FileDistribution

# jsonschema imports it for two seconds to validate addresses that no schema in the tests has; see
# tests/harness/left_out, which does the same for servers.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

# The duration of an example depends more on the machine's load than on the code.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.register_profile("soak", settings.get_profile("here"), max_examples=2_000)
settings.load_profile("soak" if SOAKING else "ci" if os.environ.get("CI") == "true" else "here")

# The slowest files begin first: after the browser those that start kernels and servers, then the
# many short files, so that all processes end together.
FIRST = (
    "tests/e2e/",
    "tests/kill/",
    "tests/hostile/",
    "tests/frontends/",
    "tests/loop/",
    "tests/tools/",
)

# Approvals given in tests are stored apart from those of the person who runs them; kernels inherit it.
STATE = tempfile.TemporaryDirectory(prefix="palimpsest-tests-", ignore_cleanup_errors=True)
os.environ["PALIMPSEST_STATE_DIR"] = STATE.name


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileDistribution:
    """Return the scheduler that distributes tests when they run in several processes."""
    return FileDistribution(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run browser tests first: each process keeps its browser until its first test without one."""
    places = {start: place for place, start in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(_folder(item.nodeid), len(places)))


def _folder(nodeid: str) -> str:
    return "/".join(nodeid.split("/", 2)[:2]) + "/"
