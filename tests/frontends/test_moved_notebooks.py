"""A notebook keeps its session when its file was moved while no kernel ran, and takes no other notebook's."""

import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.harness.saved_notebook import OpenNotebook, SavedNotebook
from tests.sample_size import sampled_cases, thinned

pytestmark = pytest.mark.slow

ONE = ("What is in penguins.csv?", "Draw the islands.")
TWO = ("Which species are there?", "Count the rows by year.")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


def asked(
    project: Path, name: str, *prompts: str, with_ids: bool = True
) -> tuple[SavedNotebook, str]:
    """Make a notebook, ask in it, and end its kernel; returns it and its session."""
    notebook = SavedNotebook(project / name, with_ids=with_ids)
    with OpenNotebook(project, name) as kernel:
        assert kernel.ask(notebook, *prompts) == ""
        return notebook, kernel.session


def opened(project: Path, name: str) -> tuple[str, str]:
    """Open a notebook in a new kernel and ask in a new cell; returns its session and what was told."""
    notebook = SavedNotebook(project.parent / f"{Path(name).stem}-scratch.ipynb")
    with OpenNotebook(project, name) as kernel:
        told = kernel.ask(notebook, "And now?")
        return kernel.session, told


def by_mv(project: Path, old: str, new: str) -> None:
    (project / new).parent.mkdir(exist_ok=True)
    (project / old).rename(project / new)


def by_git(project: Path, old: str, new: str) -> None:
    (project / new).parent.mkdir(exist_ok=True)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", old], ["commit", "-qm", "x"], ["mv", old, new]):
        subprocess.run(["git", *who, *words], cwd=project, check=True)


def by_zip(project: Path, old: str, new: str) -> None:
    """As a class folder that is packed, tidied up and unpacked again: the file's time is that of the archive."""
    archive = project.parent / "class.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(project / old, new)
    (project / old).unlink()
    with zipfile.ZipFile(archive) as file:
        file.extractall(project)


MOVES: tuple[Callable[[Path, str, str], None], ...] = (by_mv, by_git, by_zip)


@pytest.mark.parametrize("move", sampled_cases(MOVES, by_zip))
def test_a_moved_notebook_goes_on_with_its_session(
    project: Path, move: Callable[..., None]
) -> None:
    _, session = asked(project, "a.ipynb", *ONE)
    move(project, "a.ipynb", "week 1/b.ipynb")

    found, told = opened(project, "week 1/b.ipynb")

    assert found == session
    assert told.count("This notebook was 'a.ipynb' and goes on with its session here") == 1
    assert opened(project, "week 1/b.ipynb") == (session, "")


@pytest.mark.soak  # with each commit a moved notebook goes on with its session, above; this adds names that a disk may take for one
@pytest.mark.parametrize(
    ("old", "new"),
    sampled_cases(
        {"a capital": ("a.ipynb", "A.ipynb"), "an accent": ("\u00e4.ipynb", "a\u0308.ipynb")},
        "an accent",
    ),
)
def test_a_name_that_differs_in_letters_only_is_the_same_notebook(
    project: Path, old: str, new: str
) -> None:
    _, session = asked(project, old, *ONE)
    by_mv(project, old, new)

    assert opened(project, new)[0] == session


@pytest.mark.soak  # with each commit tests/session/open_sessions/test_notebook_identity.py judges files; this adds kernels
@pytest.mark.parametrize("what", thinned(["cleared", "without ids"], 2))
def test_a_moved_notebook_is_known_by_less(project: Path, what: str) -> None:
    notebook, session = asked(project, "a.ipynb", *ONE, with_ids=what != "without ids")
    if what == "cleared":
        notebook.cleared()
    by_mv(project, "a.ipynb", "b.ipynb")

    assert opened(project, "b.ipynb")[0] == session


def test_a_new_notebook_with_an_old_name_has_a_session_of_its_own(project: Path) -> None:
    _, session = asked(project, "a.ipynb", *ONE)
    by_mv(project, "a.ipynb", "b.ipynb")
    other = SavedNotebook(project / "a.ipynb")
    other.add("new-1", "print('another notebook')")
    other.save()

    new, told = opened(project, "a.ipynb")
    old, _ = opened(project, "b.ipynb")

    assert new != session
    assert f"session {session} belongs to" in told
    assert f"%agent open {session} goes on with that one" in told
    assert old == session
    assert opened(project, "a.ipynb") == (new, "")


@pytest.mark.soak  # with each commit a moved notebook goes on with its session, above; this adds two that changed names
def test_two_notebooks_that_changed_names_changed_sessions(project: Path) -> None:
    one, first = asked(project, "a.ipynb", *ONE)
    two, second = asked(project, "b.ipynb", *TWO)
    one.path.rename(project / "c.ipynb")
    two.path.rename(project / "a.ipynb")
    (project / "c.ipynb").rename(project / "b.ipynb")

    assert opened(project, "a.ipynb")[0] == second
    assert opened(project, "b.ipynb")[0] == first
    assert opened(project, "a.ipynb") == (second, "")


def test_a_copy_has_a_session_of_its_own_and_the_original_keeps_its(project: Path) -> None:
    _, session = asked(project, "a.ipynb", *ONE)
    shutil.copy2(project / "a.ipynb", project / "copy.ipynb")

    copy, told = opened(project, "copy.ipynb")

    assert copy != session
    assert told == ""
    assert opened(project, "a.ipynb") == (session, "")


@pytest.mark.soak  # with each commit tests/session/open_sessions/test_notebook_identity.py judges files; this adds one that was not saved
def test_a_file_that_was_not_saved_since_says_nothing(project: Path) -> None:
    notebook = SavedNotebook(project / "a.ipynb")
    notebook.add("first", "1 + 1")
    notebook.save()
    with OpenNotebook(project, "a.ipynb") as kernel:
        kernel.ask(notebook, *ONE, save=False)
        session = kernel.session

    assert opened(project, "a.ipynb") == (session, "")


@pytest.mark.parametrize(
    "content",
    sampled_cases(
        {
            "nothing": b"",
            "half": b"{",
            "a list": b"[]",
            "no cells": b'{"cells": 3}',
            "no text": b"\xff\xfe",
            "deep": b"[" * 100_000,
        },
        "deep",
    ),
)
def test_a_file_that_is_no_notebook_says_nothing(project: Path, content: bytes) -> None:
    _, session = asked(project, "a.ipynb", *ONE)
    (project / "a.ipynb").write_bytes(content)

    assert opened(project, "a.ipynb") == (session, "")


@pytest.mark.soak  # with each commit a new notebook with an old name gets none, above; this adds one with a saved answer of somebody else
def test_a_notebook_that_only_names_a_session_does_not_get_it(project: Path) -> None:
    """Somebody sent a notebook with the saved answer of one cell that was published; the rest is theirs."""
    notebook, session = asked(project, "a.ipynb", *ONE)
    published = notebook.cells["a-2"]
    notebook.path.unlink()
    sent = SavedNotebook(project / "sent.ipynb")
    sent.add("x", "print('theirs')", published["outputs"])
    sent.save()

    found, told = opened(project, "sent.ipynb")

    assert found != session
    assert told == ""


def test_a_moved_notebook_whose_session_another_kernel_has_is_said_to_be_held(
    project: Path,
) -> None:
    notebook = SavedNotebook(project / "a.ipynb")
    with OpenNotebook(project, "a.ipynb") as first:
        first.ask(notebook, *ONE)
        by_mv(project, "a.ipynb", "b.ipynb")
        with OpenNotebook(project, "b.ipynb") as second:
            run = second.kernel.client.run("%%agent\nAnd now?", cellId="b-1")
            assert run.status == "error"
            assert "Another kernel" in str(run.reply["content"])
        assert first.ask(notebook, "And here?", save=False) == ""


@pytest.mark.soak  # with each commit a moved notebook goes on with its session, above; this adds a move into another project
def test_a_session_of_another_project_is_not_found(project: Path, tmp_path: Path) -> None:
    notebook, session = asked(project, "a.ipynb", *ONE)
    other = tmp_path / "other"
    other.mkdir()
    notebook.path.rename(other / "a.ipynb")

    assert opened(other, "a.ipynb")[0] != session


@pytest.mark.soak  # with each commit a copy has a session of its own, above; this adds a link
def test_a_linked_notebook_is_another_name_as_before(project: Path) -> None:
    _, session = asked(project, "a.ipynb", *ONE)
    (project / "link.ipynb").symlink_to("a.ipynb")

    assert opened(project, "link.ipynb")[0] != session
    assert opened(project, "a.ipynb") == (session, "")
