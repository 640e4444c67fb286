"""A hostile folder, a thief on loopback, and a model that tries everything it is asked to try."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hostile.clone import HostileClone, write_hostile_clone
from tests.hostile.exfiltration_server import ExfiltrationServer, model_that_tries

from palimpsest.testing import FaultServer


@pytest.fixture
def thief() -> Iterator[ExfiltrationServer]:
    server = ExfiltrationServer()
    yield server
    server.close()


@pytest.fixture
def planted(tmp_path: Path, thief: ExfiltrationServer) -> HostileClone:
    """The hostile folder, as it was cloned or unpacked."""
    return write_hostile_clone(tmp_path / "clone", tmp_path / "home", tmp_path / "marks", thief.url)


@pytest.fixture
def server(planted: HostileClone) -> Iterator[FaultServer]:
    """The person's own model; its address stands in their settings."""
    with model_that_tries(planted) as server:
        yield server
