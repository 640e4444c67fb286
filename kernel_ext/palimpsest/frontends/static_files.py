"""The built files of the front end that lie in the package, and what to do where they were not built.

An installation from a clone takes what is built there and builds nothing (docs/design/0007-build.md).
"""

import sys
from pathlib import Path

from jupyter_core.paths import jupyter_path

STATIC = Path(__file__).parent / "static"
EXTENSION = Path("labextensions") / "jupyter-palimpsest"

NOT_BUILT = (
    "Palimpsest was installed from source without its front end: cells show text, and there is no panel, "
    "session.view() or session.inspect(). In a clone of its repository, run: make front && pip install ."
)
NOT_BUILT_HERE = (
    "The front end of this clone is not built: cells show text, and there is no panel, session.view() or "
    "session.inspect(). Run make lab in {clone}, which builds it and opens JupyterLab with it."
)
NOT_LINKED = (
    "Palimpsest is installed as editable, and JupyterLab in this environment does not have its front end: cells show text, and "
    "there is no panel. Run make lab in {clone}, or link it here: "
    "mkdir -p {folder} && ln -s {built} {folder}/jupyter-palimpsest, and reload the page."
)


def built(name: str, otherwise: str = "") -> str:
    """Return a built file of the front end, or ``otherwise`` in a clone without ``make front``."""
    path = STATIC / name
    return path.read_text(encoding="utf-8") if path.is_file() else otherwise


def missing_front_end(static: Path = STATIC, places: tuple[Path, ...] | None = None) -> str | None:
    """Return what to do where this installation has no front end; None where it has one.

    ``places`` are the folders in which JupyterLab looks for extensions. They are looked at for an editable installation only:
    where a wheel is installed, JupyterLab may well run in another environment, with a front end of its own.
    """
    clone = static.parents[3]
    editable = (clone / "labextension" / "package.json").is_file()
    if not (static / "loader.js").is_file():
        return NOT_BUILT_HERE.format(clone=clone) if editable else NOT_BUILT
    if not editable:
        return None
    if any(
        (place / EXTENSION / "package.json").is_file()
        for place in places or map(Path, jupyter_path())
    ):
        return None
    folder = Path(sys.prefix) / "share" / "jupyter" / "labextensions"
    built_folder = clone / "labextension" / "dist"
    return NOT_LINKED.format(clone=clone, built=built_folder, folder=folder)
