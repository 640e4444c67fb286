"""Open JupyterLab on the first notebook.

The work is Jupyter's; this only chooses what a first look needs: the repository as the root, a
workspace of its own, so that a user's own tabs neither appear nor change, and no browser where
there is no display. Everything after the script's name is passed on to JupyterLab.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START = "notebooks/00-start.ipynb"
PAGE = f"/lab/workspaces/palimpsest/tree/{START}"


def arguments(given: list[str], *, has_display: bool, is_root: bool) -> list[str]:
    """Return JupyterLab's arguments; what the user gave replaces what is chosen here."""
    chosen = [f"--ServerApp.root_dir={ROOT}", f"--LabApp.default_url={PAGE}"]
    if is_root:
        chosen.append("--allow-root")
    if not has_display:
        chosen.append("--no-browser")
    named = {argument.partition("=")[0] for argument in given}
    return [argument for argument in chosen if argument.partition("=")[0] not in named] + given


def has_display() -> bool:
    """Say whether a browser window could appear: always on macOS and Windows, elsewhere with a display."""
    if sys.platform in {"darwin", "win32"}:
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def main() -> None:
    """Become JupyterLab."""
    # The kernels and extensions of this environment come before those in the user's home.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    chosen = arguments(sys.argv[1:], has_display=has_display(), is_root=is_root)
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *chosen])


if __name__ == "__main__":
    main()
