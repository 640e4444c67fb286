"""A user's approvals are stored in a folder of their own, and read only from there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from palimpsest.session.config.state_folder import state_folder, state_folder_problem

NAME = "from palimpsest.session.config.state_folder import state_folder; print(state_folder())"


def named(code: str = NAME, **environment: str) -> str:
    """Return the output of a process with this environment that prints the state folder."""
    kept = {name: value for name, value in os.environ.items() if name != "PALIMPSEST_STATE_DIR"}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=kept | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip()


def test_the_tests_never_touch_the_real_folder() -> None:
    assert state_folder().is_relative_to(os.environ["PALIMPSEST_STATE_DIR"])
    assert not state_folder().is_relative_to(Path.home() / ".local")


def test_the_process_environment_names_it(tmp_path: Path) -> None:
    assert named(PALIMPSEST_STATE_DIR=str(tmp_path)) == str(tmp_path / "palimpsest")
    if sys.platform == "linux":
        assert named(XDG_STATE_HOME=str(tmp_path)) == str(tmp_path / "palimpsest")
        found = named(HOME=str(tmp_path), XDG_STATE_HOME="")
        assert found == str(tmp_path / ".local/state/palimpsest")


def test_what_is_loaded_into_the_environment_later_does_not_count(tmp_path: Path) -> None:
    code = f"import palimpsest.session.config.state_folder, os; os.environ['PALIMPSEST_STATE_DIR'] = '/x'; {NAME}"

    assert named(code, PALIMPSEST_STATE_DIR=str(tmp_path)) == str(tmp_path / "palimpsest")


@pytest.mark.skipif(sys.platform == "win32", reason="access lists instead of modes")
def test_what_others_may_write_is_not_believed(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    assert state_folder_problem(folder) == ""
    folder.mkdir(mode=0o700)
    assert state_folder_problem(folder) == ""
    folder.chmod(0o777)
    assert state_folder_problem(folder).startswith(f"{folder} can be written by other users")
    assert "is neither" in state_folder_problem(Path(os.devnull))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives away")
def test_what_belongs_to_somebody_else_is_not_believed(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)

    assert "belongs to another user" in state_folder_problem(tmp_path)


def test_a_folder_inside_the_project_is_not_believed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "state").mkdir(parents=True)
    (tmp_path / "link").symlink_to(project / "state")

    assert "inside the project" in state_folder_problem(project / "state", project)
    assert "inside the project" in state_folder_problem(tmp_path / "link", project)
    assert state_folder_problem(Path.home() / "some" / "state", Path.home()) == ""
