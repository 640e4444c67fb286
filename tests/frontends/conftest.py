"""Kernels for the front end's tests: one per module, each with a scripted model."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A real kernel with the extension and a scripted model in ``room``."""
    with Kernel(cwd=tmp_path_factory.mktemp("notebooks")) as kernel:
        kernel.load_room()
        yield kernel


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of its own for kernels that a test starts itself."""
    return tmp_path
