"""A hostile folder, a thief on loopback, and a model that tries everything it is asked to try."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hostile.clone import Planted, plant
from tests.hostile.exfiltration_server import Thief, model_that_tries

from palimpsest.testing import FaultServer


@pytest.fixture
def thief() -> Iterator[Thief]:
    server = Thief()
    yield server
    server.close()


@pytest.fixture
def planted(tmp_path: Path, thief: Thief) -> Planted:
    """The hostile folder, as it was cloned or unpacked."""
    return plant(tmp_path / "clone", tmp_path / "home", tmp_path / "marks", thief.url)


@pytest.fixture
def server(planted: Planted) -> Iterator[FaultServer]:
    """The person's own model; its address stands in their settings."""
    with model_that_tries(planted) as server:
        yield server
