"""The contents and metadata of a released wheel: URLs, and a README whose images are found."""

import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
import types
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest
from tests.packaging.built_wheel import ROOT, built_wheel

ADDRESS = "https://git.example/birds/palimpsest"


def metadata(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "metadata"],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def published(**environment: str) -> dict[str, Any]:
    done = metadata(**environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of a release with a URL; built without the real front end."""
    folder = tmp_path_factory.mktemp("wheel")
    return zipfile.ZipFile(built_wheel(folder, PALIMPSEST_REPOSITORY=f"{ADDRESS}/"))


def held(release: zipfile.ZipFile, name: str) -> str:
    return release.read(next(one for one in release.namelist() if one.endswith(name))).decode()


@pytest.mark.slow
def test_a_release_names_its_addresses_and_its_readme_shows_its_pictures(
    release: zipfile.ZipFile,
) -> None:
    fields = Parser().parsestr(held(release, ".dist-info/METADATA"))

    tag = f"v{fields['Version']}"
    assert fields.get_all("Project-URL") == [
        f"Source, {ADDRESS}",
        f"Documentation, {ADDRESS}/blob/{tag}/docs/index.md",
        f"Changelog, {ADDRESS}/blob/{tag}/CHANGELOG.md",
        f"Issues, {ADDRESS}/issues",
    ]
    assert fields["Description-Content-Type"] == "text/markdown"
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", str(fields.get_payload()))
    assert {
        ("!", f"{ADDRESS}/raw/{tag}/docs/images/{name}.png") for name in ("first-light", "context")
    } <= {*links}
    for picture, link in links:
        start = f"{ADDRESS}/{'raw' if picture else 'blob'}/{tag}/"
        assert link.startswith(start)
        assert (ROOT / link.removeprefix(start)).exists()


@pytest.mark.slow
def test_a_release_holds_the_package_with_its_types_and_is_loaded_by_name_alone(
    release: zipfile.ZipFile,
) -> None:
    names = set(release.namelist())

    package = ROOT / "kernel_ext"
    sources = {path.relative_to(package).as_posix() for path in package.glob("palimpsest/**/*.py")}
    assert {*sources, "palimpsest/py.typed", "palimpsest/__init__.pyi"} <= names
    assert all(f"{name}," in held(release, ".dist-info/RECORD") for name in sources)
    assert "palimpsest/frontends/command_line/report.schema.json" in names
    # Beside %load_ext palimpsest there is one program, and no plugin is installed.
    assert held(release, ".dist-info/entry_points.txt").split("\n\n") == [
        "[console_scripts]\npalimpsest = palimpsest.frontends.command_line.main:main_and_exit\n"
    ]


@pytest.mark.slow
def test_a_build_that_knows_no_address_has_none() -> None:
    fields = published(PALIMPSEST_REPOSITORY="")

    assert "urls" not in fields
    assert fields["readme"]["text"] == (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_an_address_that_is_none_is_refused_with_a_sentence() -> None:
    done = metadata(PALIMPSEST_REPOSITORY="birds/palimpsest")

    assert done.returncode == 1
    assert "must begin with https://" in done.stderr


@pytest.mark.parametrize("target", ["sdist", "wheel"])
def test_what_is_packed_from_a_clone_that_is_not_built_says_so(target: str, tmp_path: Path) -> None:
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))["FrontEnd"]
    said: list[str] = []
    app = types.SimpleNamespace(display_warning=said.append)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    hooks = settings["tool"]["hatch"]["build"]["targets"][target]["hooks"]
    data: dict[str, Any] = {"shared_data": {}}
    made = hook(str(tmp_path), {}, None, None, str(tmp_path), target, app)
    made.initialize("standard", data)

    assert hooks == {"custom": {"path": "hatch_build.py"}}
    assert "Run `make front` in the clone first" in said[0]
    (tmp_path / "labextension" / "dist").mkdir(parents=True)
    (tmp_path / "labextension" / "dist" / "package.json").write_text("{}")
    made.initialize("standard", data)
    assert len(said) == 1
    assert bool(data["shared_data"]) == (target == "wheel"), "an sdist has it where it lies"
