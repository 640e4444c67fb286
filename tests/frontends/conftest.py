"""Kernels and servers for the front end's tests: one for each module."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel

from palimpsest.testing import FaultServer


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A real kernel with the extension and a scripted model in the variable ``harness``."""
    with Kernel(cwd=tmp_path_factory.mktemp("notebooks")) as kernel:
        kernel.load_scripted_model()
        yield kernel


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    """A server that answers as a test says."""
    with FaultServer() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A new folder for kernels that a test starts itself."""
    return tmp_path
