"""An installation without the front end says so, and what to do, where a person sees it: in the cell that loads it."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel

import palimpsest
from palimpsest.frontends.static_files import missing_front_end

ROOT = Path(__file__).parents[2]
PACKAGE = Path(palimpsest.__file__).parent
LOAD = "%load_ext palimpsest"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as ``pip install .`` leaves it from a clone in which nothing was built."""
    folder = tmp_path_factory.mktemp("lib") / "site-packages"
    shutil.copytree(
        PACKAGE,
        folder / "palimpsest",
        # With the bytecode, which installing writes, too.
        ignore=lambda at, _: ["static"] if at.endswith("frontends") else [],
    )
    return folder


@pytest.fixture(scope="module")
def without(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("project")
    with Kernel(cwd=folder, env={"PYTHONPATH": str(site)}, fresh=True) as kernel:
        yield kernel


@pytest.mark.slow
def test_the_cell_that_loads_it_says_what_is_missing_and_how_to_get_it(without: Kernel) -> None:
    run = without.run(LOAD)

    assert run.status == "ok"
    [sentence] = run.stream("stderr").splitlines()
    assert "without its front end" in sentence
    assert "make front && pip install ." in sentence
    again = without.run(LOAD)
    assert "front end" not in again.stream("stderr")
    # All else works.
    assert without.run("%agent").status == "ok"


@pytest.mark.soak  # with each commit the cell that loads it says what is missing, above; this adds a terminal, where nothing is
@pytest.mark.slow
def test_a_terminal_has_no_front_end_and_is_told_nothing(site: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", "--quick", "-c", "get_ipython().run_line_magic('load_ext', 'palimpsest')"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "front end" not in done.stderr + done.stdout


def package(folder: Path, *, clone: bool, built: bool) -> Path:
    """Return the folder of built files in an installation, which is a clone or not, and built or not."""
    root = folder / ("clone/kernel_ext" if clone else "lib/site-packages")
    static = root / "palimpsest" / "frontends" / "static"
    static.mkdir(parents=True)
    if built:
        (static / "loader.js").write_text("")
    if clone:
        (folder / "clone" / "labextension").mkdir()
        (folder / "clone" / "labextension" / "package.json").write_text("{}")
    return static


def test_what_is_said_fits_the_installation(tmp_path: Path) -> None:
    has, has_not = tmp_path / "has", tmp_path / "not"
    extension = has / "labextensions" / "jupyter-palimpsest"
    extension.mkdir(parents=True)
    (extension / "package.json").write_text("{}")
    wheel = package(tmp_path / "1", clone=False, built=True)
    bare = package(tmp_path / "2", clone=False, built=False)
    editable = package(tmp_path / "3", clone=True, built=True)
    unbuilt = package(tmp_path / "4", clone=True, built=False)

    for places in ((has,), (has_not,), (has_not, has)):
        assert missing_front_end(wheel, places) is None
        assert "pip install ." in (missing_front_end(bare, places) or "")
        assert "not built" in (missing_front_end(unbuilt, places) or "")
        assert str(tmp_path / "4" / "clone") in (missing_front_end(unbuilt, places) or "")
    assert missing_front_end(editable, (has,)) is None
    assert missing_front_end(editable, (has_not, has)) is None
    told = missing_front_end(editable, (has_not,)) or ""
    assert f"ln -s {tmp_path / '3' / 'clone' / 'labextension' / 'dist'} {sys.prefix}" in told


@pytest.mark.slow
@pytest.mark.parametrize("version", ["standard", "editable"])
def test_the_build_of_a_clone_without_a_front_end_says_so(tmp_path: Path, version: str) -> None:
    shutil.copy(ROOT / "hatch_build.py", tmp_path)
    code = (
        "import sys; from hatchling.bridge.app import Application; from hatch_build import FrontEnd\n"
        "data = {'shared_data': {}}\n"
        f"FrontEnd({str(tmp_path)!r}, {{}}, None, None, '', 'wheel', Application()).initialize({version!r}, data)\n"
        "assert data == {'shared_data': {}}"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "The front end is not built" in done.stdout + done.stderr
    assert "make front" in done.stdout + done.stderr
