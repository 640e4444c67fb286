"""Fixture: a project folder with tools to call in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.tools import ToolHarness

from palimpsest.tools.execution.bash import BashTool


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[ToolHarness]:
    root = tmp_path / "project"
    root.mkdir()
    harness = ToolHarness(root)
    yield harness
    bash = harness.registry.resolve("bash")
    assert isinstance(bash, BashTool)
    bash.end_background()
