"""The built wheel works in every supported version of JupyterLab and Notebook.

Each version gets a new environment; the most important browser tests run there, with the package as
installed from the wheel.
"""

import os
import subprocess
import venv
from pathlib import Path

import pytest
from tests.packaging.built_wheel import ROOT, built_wheel

TESTS = ("tests/e2e/test_live_cell.py", "tests/e2e/test_panel.py", "tests/e2e/test_notebook7.py")

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.mark.parametrize(("lab", "notebook"), [("4.4", "7.4"), ("4.5", "7.5")])
def test_the_wheel_works_in(lab: str, notebook: str, wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    wanted = [f"{wheel}[test]", f"jupyterlab=={lab}.*", f"notebook=={notebook}.*"]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True, cwd=tmp_path)
    where = "import palimpsest, jupyterlab; print(palimpsest.__file__, jupyterlab.__version__)"
    told = subprocess.run(
        [python, "-c", where], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    package, version = told.stdout.split()
    assert Path(package).is_relative_to(tmp_path)
    assert version.startswith(f"{lab}.")

    plain = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "JUPYTER"))}
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS],
        cwd=ROOT,
        env=plain | {"CI": "true"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-4_000:]
    assert "skipped" not in done.stdout.splitlines()[-1]
