"""Start JupyterLab with the first notebook open.

Only the arguments that a first look needs are chosen here: the repository as the root folder, a workspace
of its own, so that a user's own tabs neither appear nor change, and no browser where there is no display.
All further command line arguments are passed on to JupyterLab.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START = "notebooks/00-start.ipynb"
PAGE = f"/lab/workspaces/palimpsest/tree/{START}"


def arguments(given: list[str], *, has_display: bool, is_root: bool) -> list[str]:
    """Return JupyterLab's arguments; the user's arguments replace the ones chosen here."""
    chosen = [f"--ServerApp.root_dir={ROOT}", f"--LabApp.default_url={PAGE}"]
    if is_root:
        chosen.append("--allow-root")
    if not has_display:
        chosen.append("--no-browser")
    named = {argument.partition("=")[0] for argument in given}
    return [argument for argument in chosen if argument.partition("=")[0] not in named] + given


def has_display() -> bool:
    """Return whether a browser window can open: always on macOS and Windows, elsewhere with a display."""
    if sys.platform in {"darwin", "win32"}:
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def main() -> None:
    """Replace this process with JupyterLab."""
    # The kernels and extensions of this environment come before those in the user's home.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    chosen = arguments(sys.argv[1:], has_display=has_display(), is_root=is_root)
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *chosen])


if __name__ == "__main__":
    main()
