"""Measure the size of the built front end."""

from pathlib import Path

from tests.bench.figure import Figure

BUILT = Path(__file__).resolve().parents[2] / "labextension" / "dist"


def measure() -> list[Figure]:
    """Return the size of the files that JupyterLab loads, without licences."""
    files = [path for path in BUILT.rglob("*.js") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    return [Figure("front end, built", size / 1000, "kB", note=f"{len(files)} files")]
