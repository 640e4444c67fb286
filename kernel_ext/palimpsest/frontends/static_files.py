"""The built files of the front end in the package, and what to do where they were not built.

An installation from a clone copies the files that are built there and builds nothing (docs/design/0007-build.md).
"""

import sys
from collections.abc import Iterable
from pathlib import Path

STATIC_FOLDER = Path(__file__).parent / "static"
EXTENSION_FOLDER = Path("labextensions") / "jupyter-palimpsest"

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


def read_built_file(name: str, fallback: str = "") -> str:
    """Return the text of a built file of the front end, or ``fallback`` in a clone without ``make front``."""
    path = STATIC_FOLDER / name
    return path.read_text(encoding="utf-8") if path.is_file() else fallback


def missing_front_end(static_folder: Path, extension_folders: Iterable[Path]) -> str | None:
    """Return a sentence on how to repair an installation without a front end; None where it has one.

    ``extension_folders`` are those in which JupyterLab looks for extensions. They are checked for an editable installation only:
    with a wheel, JupyterLab may run in another environment, with its own copy of the front end.
    """
    clone = static_folder.parents[3]
    is_editable = (clone / "labextension" / "package.json").is_file()
    if not (static_folder / "loader.js").is_file():
        return NOT_BUILT_HERE.format(clone=clone) if is_editable else NOT_BUILT
    if not is_editable:
        return None
    if any((folder / EXTENSION_FOLDER / "package.json").is_file() for folder in extension_folders):
        return None
    own_folder = Path(sys.prefix) / "share" / "jupyter" / "labextensions"
    built_folder = clone / "labextension" / "dist"
    return NOT_LINKED.format(clone=clone, built=built_folder, folder=own_folder)
