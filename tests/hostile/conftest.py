"""Fixtures: a hostile folder, a server that records exfiltrated data, and a model that attempts attacks."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hostile.clone import HostileClone, write_hostile_clone
from tests.hostile.exfiltration_server import ExfiltrationServer, exfiltrating_model

from palimpsest.testing import FaultServer


@pytest.fixture
def exfiltration_server() -> Iterator[ExfiltrationServer]:
    server = ExfiltrationServer()
    yield server
    server.close()


@pytest.fixture
def planted(tmp_path: Path, exfiltration_server: ExfiltrationServer) -> HostileClone:
    """The hostile folder."""
    return write_hostile_clone(
        tmp_path / "clone", tmp_path / "home", tmp_path / "marks", exfiltration_server.url
    )


@pytest.fixture
def server(planted: HostileClone) -> Iterator[FaultServer]:
    """The user's own model server; its address is in their settings."""
    with exfiltrating_model(planted) as server:
        yield server
