"""Builds the wheel in a folder of a test's own: `make wheel` takes `dist` away first, where another process may read it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def built_wheel(folder: Path, **environment: str) -> Path:
    """Build the wheel, with the front end as it was built last, and return its path."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))
