"""The wheel of `make wheel` can be installed and used without a clone and without Node."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager
from tests.waiting import LAST_RESORT_SECONDS

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def wheel() -> Path:
    subprocess.run(["make", "wheel"], cwd=ROOT, check=True, capture_output=True)
    return next((ROOT / "dist").glob("*.whl"))


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` of a new environment with the wheel and JupyterLab, installed without Node."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=True)
    binaries = folder / "bin"
    command = [
        binaries / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        f"{wheel}",
        "jupyterlab>=4.4",
    ]
    subprocess.run(command, env=alone(binaries), cwd=folder, check=True)
    return binaries


def alone(binaries: Path) -> dict[str, str]:
    """Return an environment in which only the new environment's programs are found."""
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "JUPYTER", "VIRTUAL"))
    }
    return kept | {"PATH": str(binaries)}


def test_jupyterlab_lists_the_front_end(fresh: Path) -> None:
    command = [fresh / "jupyter", "labextension", "list"]
    done = subprocess.run(
        command, env=alone(fresh), cwd=fresh, capture_output=True, text=True, check=True
    )

    lines = [line for line in (done.stdout + done.stderr).splitlines() if "palimpsest" in line]
    assert len(lines) == 1
    assert "enabled" in lines[0]
    assert "OK" in lines[0]


def test_a_kernel_loads_the_magic(fresh: Path, tmp_path: Path) -> None:
    manager = KernelManager()
    command = [str(fresh / "python"), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager._kernel_spec = KernelSpec(argv=command, language="python")
    manager.start_kernel(env=alone(fresh), cwd=str(tmp_path))
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=LAST_RESORT_SECONDS)
        reply = client.execute_interactive(
            "%load_ext palimpsest\nassert 'agent' in get_ipython().magics_manager.magics['cell']\n"
            "import palimpsest\nview = palimpsest.current_session().view()\n"
            "assert 'initialize' in view._esm and 'initialize' in view.module\n"
            "assert len(view._esm) < 2_000\n"
            f"assert palimpsest.__file__.startswith({str(fresh.parent)!r}), palimpsest.__file__",
            timeout=LAST_RESORT_SECONDS,
        )
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)

    assert reply["content"]["status"] == "ok"


def test_a_tool_can_be_tested_where_only_the_wheel_is(fresh: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    example = page.split("```python\n")[2].split("```")[0]

    done = subprocess.run(
        [fresh / "python", "-c", example],
        env=alone(fresh),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_the_sdist_installs_without_node(wheel: Path, tmp_path: Path) -> None:
    sdist = next(wheel.parent.glob("*.tar.gz"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", tmp_path, sdist]
    subprocess.run(command, check=True, env=os.environ | {"PATH": str(tmp_path)})

    built = next(tmp_path.glob("*.whl"))
    assert built.stat().st_size == pytest.approx(wheel.stat().st_size, rel=0.01)
