"""Sessions recorded by other agents, from public repositories (NOTICE names them).

``sample("opencode_storage")`` reads from the folder that PALIMPSEST_SAMPLES names, else from the copy
beside this file, unpacked into a folder of the test.
"""

import os
import shutil
import tarfile
from pathlib import Path

import pytest

COPY = Path(__file__).with_name("samples.tar.xz")


def sample(name: str, into: Path) -> Path:
    """Return a copy of a sample's folder, which the test may change; skip when it is missing."""
    named = os.environ.get("PALIMPSEST_SAMPLES")
    target = into / name
    if named:
        if not (Path(named) / name).exists():
            pytest.skip(f"no sample {name} in {named}")
        shutil.copytree(Path(named) / name, target)
    else:
        with tarfile.open(COPY) as tar:
            tar.extractall(into, filter="data")
    if not target.exists():
        pytest.skip(f"no sample {name} in {COPY.name}")
    return target
