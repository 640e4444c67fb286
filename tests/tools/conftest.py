"""One fixture: a project folder with tools to use in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.tools import Bench

from palimpsest.tools.execution.bash import BashTool


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    root = tmp_path / "project"
    root.mkdir()
    bench = Bench(root)
    yield bench
    bash = bench.registry.resolve("bash")
    assert isinstance(bash, BashTool)
    bash.end_background()
