"""Build the wheel and the sdist, and fail when the built front end is missing in them.

Installing them needs no Node: both contain the built files.
"""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = "share/jupyter/labextensions/jupyter-palimpsest"


def build() -> tuple[Path, Path]:
    """Build both from the work tree; return the paths of wheel and sdist."""
    target = ROOT / "dist"
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(target)], cwd=ROOT, check=True
    )
    return next(target.glob("*.whl")), next(target.glob("*.tar.gz"))


def missing(wheel: Path, sdist: Path) -> list[str]:
    """Return the files that a built package must contain and lacks."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    with tarfile.open(sdist) as archive:
        sources = archive.getnames()
    wanted = {
        "the front end's package.json in the wheel": f"{SHARED}/package.json",
        "the lessons' notebooks in the wheel": "palimpsest/lessons/notebooks/01-",
        "the lessons' recordings in the wheel": "palimpsest/lessons/data/pi_large_session.jsonl.xz",
        "install.json in the wheel": f"{SHARED}/install.json",
        "the server extension's setting in the wheel": "data/etc/jupyter/jupyter_server_config.d/jupyter-palimpsest.json",
        "the front end's code in the wheel": f"{SHARED}/static/remoteEntry",
        "the loader of widgets' modules in the wheel": "palimpsest/frontends/static/loader.js",
        "the module of session.view() in the wheel": "palimpsest/frontends/static/view.js",
        "its style in the wheel": "palimpsest/frontends/static/view.css",
        "the module of session.inspect() in the wheel": "palimpsest/frontends/static/inspector.js",
        "the script of session.report() in the wheel": "palimpsest/frontends/static/report.js",
        "the notice in the wheel": "licenses/NOTICE",
    }
    gone = [what for what, part in wanted.items() if not any(part in name for name in names)]
    gone.extend(
        f"{part} in the sdist"
        for part in ("labextension/dist/static/remoteEntry", "frontends/static/view.js")
        if not any(part in name for name in sources)
    )
    return gone


def main() -> int:
    """Build, check the contents, and print where the files are."""
    wheel, sdist = build()
    gone = missing(wheel, sdist)
    if gone:
        print(
            f"The build lacks {', '.join(gone)}: run `make front` and try again.", file=sys.stderr
        )
        return 1
    for path in (wheel, sdist):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
