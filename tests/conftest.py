"""What all tests share: how generated examples are drawn, and who runs beside whom."""

import os
import tempfile
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "here")

# What tests allow is never kept beside what the person who runs them allowed; kernels inherit it.
STATE = tempfile.TemporaryDirectory(prefix="palimpsest-tests-", ignore_cleanup_errors=True)
os.environ["PALIMPSEST_STATE_DIR"] = STATE.name


class Companions(LoadScopeScheduling):  # type: ignore[misc]  # xdist comes without types
    """Gives one process the browser, and keeps the tests of a file together."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return "browser" if path.startswith("tests/e2e/") else path


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Companions:
    """Say who runs beside whom, where tests run in several processes."""
    return Companions(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the browser: what takes longest must not begin last."""
    items.sort(key=lambda item: not item.nodeid.startswith("tests/e2e/"))
