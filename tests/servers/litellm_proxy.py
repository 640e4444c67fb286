"""Run litellm's proxy as a process on loopback, as an organisation runs it in front of its models.

It is another litellm than ours: another process, with the 120 packages that it needs, in an environment of
its own below ``build/``, which is rebuilt only when its lock file changes.
"""

import hashlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements" / "proxy.lock"
PLACE = ROOT / "build" / "proxy"
KEY = "sk-proxy-0123456789"
START_SECONDS = 180.0


def environment() -> Path:
    """Return the folder with the proxy's programs, after installing them if needed."""
    stamp = PLACE / ".installed"
    wanted = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if not stamp.is_file() or stamp.read_text() != wanted:
        uv = Path(sys.executable).parent / "uv"
        for command in (
            ["venv", "--clear", "--python", sys.executable, PLACE],
            [
                "pip",
                "install",
                "--python",
                PLACE / "bin" / "python",
                "--require-hashes",
                "-r",
                LOCK,
            ],
        ):
            subprocess.run([uv, "--quiet", *command], cwd=ROOT, check=True)
        stamp.write_text(wanted)
    return PLACE / "bin"


@contextmanager
def litellm_proxy(
    folder: Path, models: dict[str, dict[str, Any]], **settings: Any
) -> Iterator[str]:
    """Serve these models, each by its ``litellm_params``; yields the proxy's address."""
    programs = environment()
    listed = [{"model_name": name, "litellm_params": one} for name, one in models.items()]
    config = folder / "proxy.yaml"
    # JSON is valid YAML.
    config.write_text(
        json.dumps(
            {
                "model_list": listed,
                "general_settings": {"master_key": KEY},
                "litellm_settings": {"telemetry": False, "num_retries": 0},
                **settings,
            }
        )
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
        "NO_PROXY": "*",
    }
    command = [programs / "litellm", "--config", config, "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "proxy.log").open("w") as log:
        started = subprocess.Popen(command, cwd=folder, env=variables, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}"
            eventually(lambda: _lives(url, started, folder / "proxy.log"), START_SECONDS)
            yield url
        finally:
            started.terminate()
            try:
                started.wait(20)
            except subprocess.TimeoutExpired:
                started.kill()
                started.wait()


def _lives(url: str, started: "subprocess.Popen[bytes]", log: Path) -> bool:
    assert started.poll() is None, log.read_text()[-4_000:]
    try:
        with urlopen(f"{url}/health/liveliness", timeout=5):
            return True
    except (URLError, OSError):
        return False
