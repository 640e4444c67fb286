"""What all tests share: how generated examples are drawn, and who runs beside whom."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
BROWSER = TESTS / "e2e"

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "here")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one process have the browser and begin with it; the tests of a file stay together."""
    items.sort(key=lambda item: not item.path.is_relative_to(BROWSER))
    for item in items:
        group = "browser" if item.path.is_relative_to(BROWSER) else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))
