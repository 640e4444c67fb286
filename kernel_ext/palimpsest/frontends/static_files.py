"""The built files of the front end that lie in the package: of the widgets and of the report."""

from pathlib import Path

STATIC = Path(__file__).parent / "static"


def built(name: str, otherwise: str = "") -> str:
    """Return a built file of the front end, or ``otherwise`` in a clone without ``make front``."""
    path = STATIC / name
    return path.read_text(encoding="utf-8") if path.is_file() else otherwise
