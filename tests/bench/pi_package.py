"""Install pi, the agent that the bench is run beside, from npm into build/, in one command.

Its release is fixed, so that a ratio of today can be compared with one of next year.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "peers"
PACKAGE = "@earendil-works/pi-coding-agent"
RELEASE = "1.6.0"
ENTRY = FOLDER / "node_modules" / PACKAGE / "dist" / "cli.js"
LAST_RESORT_SECONDS = 600


class NoPi(Exception):
    """pi is not here; the sentence says what was tried."""


def pi_command() -> list[str]:
    """Return the command that starts pi, which is installed first where it is not yet; raises NoPi."""
    node = shutil.which("node", path=str(Path(sys.executable).parent)) or shutil.which("node")
    if node is None:
        raise NoPi("pi was not measured: there is no node. `make env` brings one.")
    if not _installed():
        _install(node)
    return [node, str(ENTRY)]


def _installed() -> bool:
    manifest = ENTRY.parents[1] / "package.json"
    return manifest.is_file() and f'"version": "{RELEASE}"' in manifest.read_text()


def _install(node: str) -> None:
    """Have npm install it; its own install scripts, which it does not need, are not run."""
    own = Path(node).resolve().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    npm = [node, str(own)] if own.is_file() else [shutil.which("npm") or "npm"]
    asked = ["install", "--prefix", str(FOLDER), "--no-audit", "--no-fund", "--ignore-scripts"]
    FOLDER.mkdir(parents=True, exist_ok=True)
    by_hand = f"npm install --prefix build/peers --ignore-scripts {PACKAGE}@{RELEASE}"
    try:
        done = subprocess.run(
            [*npm, *asked, f"{PACKAGE}@{RELEASE}"],
            capture_output=True,
            text=True,
            timeout=LAST_RESORT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise NoPi(f"pi was not measured: {problem}. Install it with `{by_hand}`.") from problem
    if done.returncode or not _installed():
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        reason = said[0] if said else f"npm ended with {done.returncode}"
        raise NoPi(f"pi was not measured: {reason}. Install it with `{by_hand}`.")
