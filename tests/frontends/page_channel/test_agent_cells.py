"""In a kernel the agent changes cells of the notebook that a page shows, and says in the page where they come from."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from tests.frontends.page_channel.test_channel import record
from tests.frontends.user_cells.test_live_cells import PATIENCE
from tests.frontends.user_cells.test_user_cells import MODEL, sent
from tests.harness.kernel import Kernel
from tests.harness.notebook_page import NotebookPage
from tests.harness.served_home import served_home

from palimpsest.model.script import calls, says
from palimpsest.testing import FaultServer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, server: FaultServer) -> Iterator[Kernel]:
    """A kernel with the extension and a model server."""
    env = served_home(
        tmp_path_factory.mktemp("home"),
        MODEL,
        server.openai_base,
        "titles = false\n",
        PALIMPSEST_REPLAY="never",
        JPY_SESSION_NAME=str(Path("work") / "a.ipynb"),
    )
    with Kernel(cwd=tmp_path_factory.mktemp("project"), env=env) as kernel:
        kernel.run("%load_ext palimpsest")
        kernel.run(PATIENCE.format(seconds=60))
        kernel.run(
            "import palimpsest.tools.notebook.own_notebook as cells\ncells.MAX_PAGE_SECONDS = 60"
        )
        yield kernel


@pytest.fixture
def session(kernel: Kernel, server: FaultServer) -> Kernel:
    """The kernel with a new session."""
    server.script(says("Ready."))
    kernel.run("%agent --new are you there?")
    server.requests.clear()
    return kernel


def change(
    session: Kernel,
    server: FaultServer,
    *changes: dict[str, Any],
    options: str = "--yes",
    cell: str | None = None,
) -> str:
    """Return what the model is told of its call."""
    server.script(calls("cells", changes=list(changes)), says("Done."))
    session.run(f"%agent {options} go on", **({"cellId": cell} if cell else {}))
    told = [message["content"] for message in sent(server)["messages"] if message["role"] == "tool"]
    return str(told[-1])


def test_cells_are_changed_in_the_page_below_the_prompt(
    session: Kernel, server: FaultServer
) -> None:
    with NotebookPage(session) as page:
        page.shows("x = 1", prompt="%agent --yes go on", last="y = 2")
        results = change(
            session,
            server,
            {"action": "insert", "source": "z = x + 1"},
            {"action": "move", "cell": "last", "after": "top"},
            cell="prompt",
        )
        sources = [cell["source"] for cell in page.cells]
        [notice] = page.changed

    assert sources == ["y = 2", "x = 1", "%agent --yes go on", "z = x + 1"]
    assert results.startswith("Changed a.ipynb:\n- inserted new cell")
    origin = notice["origin"]
    assert origin["request"] == 2
    assert origin["session"].startswith("ses_")
    assert notice["notebook"] == "a.ipynb"


def test_a_cell_that_the_model_was_not_told_of_is_shown_first(
    session: Kernel, server: FaultServer
) -> None:
    edit = {"action": "edit", "cell": "unread", "source": "total = 3"}
    with NotebookPage(session) as page:
        page.shows(unread="total = 2")
        results = change(session, server, edit)
        assert page.changed == []
        again = change(session, server, edit)
        assert [cell["source"] for cell in page.cells] == ["total = 3"]

    assert results.endswith("cell unread, which you have not read:\ntotal = 2")
    assert again == "Changed a.ipynb:\n- edited cell unread"


def test_an_edit_that_went_along_with_the_prompt_was_seen(
    session: Kernel, server: FaultServer
) -> None:
    session.run("total = 1", cellId="cell-1")
    with NotebookPage(session) as page:
        page.shows("total = 2")
        change(session, server, {"action": "edit", "cell": "cell-1", "source": "total = 3"})

        assert [cell["source"] for cell in page.cells] == ["total = 3"]


def test_of_two_pages_the_visible_one_changes_its_cells(
    session: Kernel, server: FaultServer
) -> None:
    with NotebookPage(session) as behind, NotebookPage(session) as front:
        behind.visible = False
        behind.shows("x = 1")
        front.shows("x = 1")
        change(session, server, {"action": "insert", "source": "y"})

        assert (len(behind.changed), len(front.changed)) == (0, 1)


def test_without_a_page_the_call_is_refused(session: Kernel, server: FaultServer) -> None:
    results = change(session, server, {"action": "insert", "source": "y"})

    assert results == (
        "No open page shows the user's notebook, so its cells cannot be changed. Ask the user to open it in JupyterLab, "
        "or give the cells in your answer."
    )


def test_modes_answer_for_changes_and_plan_mode_denies_them(
    session: Kernel, server: FaultServer
) -> None:
    with NotebookPage(session) as page:
        page.shows("x = 1")
        session.run("%agent mode accept-edits")
        change(session, server, {"action": "insert", "source": "y"}, options="")
        session.run("%agent mode plan")
        results = change(session, server, {"action": "insert", "source": "z"}, options="")
        session.run("%agent mode default")

        assert [cell["source"] for cell in page.cells] == ["x = 1", "y"]
    assert "cells" in results


def test_a_page_reviews_what_was_changed_without_asking(
    session: Kernel, server: FaultServer
) -> None:
    with NotebookPage(session) as page:
        page.shows("x = 1")
        change(session, server, {"action": "insert", "source": "y"})
        change(session, server, {"action": "insert", "source": "z"})
        listed = session.run("%agent review").markdown()
        markdown = session.run("%agent review accept 1").markdown()
        request = session.request(type="review-cells", all="reject", reason="no z", id="review-1")
        assert request["status"] == "ok"
        notice = session.wait(
            lambda message: (
                message["content"].get("kind") == "outcome"
                and message["content"].get("id") == "review-1"
            )
        )

        assert [cell["source"] for cell in page.cells] == ["x = 1", "y"]
    [reviewed] = notice["content"]["answer"]["changes"]
    assert (reviewed["change"]["state"], reviewed["change"]["reason"]) == ("rejected", "no z")
    assert "a.ipynb" in listed
    assert "1 change was accepted." in markdown
    server.script(says("I see."))
    session.run("%agent and now?")
    assert "Reason: no z" in str(sent(server)["messages"][-1])


def test_what_is_rejected_is_taken_back_in_the_page_that_shows_it(
    session: Kernel, server: FaultServer
) -> None:
    with NotebookPage(session) as page:
        page.shows("x = 1")
        change(session, server, {"action": "insert", "source": "y = 2"})
        page.visible = False
        with NotebookPage(session) as older:
            older.shows("x = 1")
            told = session.run("%agent review reject").markdown()

    assert [cell["source"] for cell in page.cells] == ["x = 1"]
    assert "1 change was taken back in the notebook" in told
    assert "was taken back in another page, which showed the change." in told


@pytest.mark.parametrize("setting", ["refuse", "write"])
def test_without_a_page_the_file_is_changed_where_the_setting_allows_it(
    tmp_path: Path, server: FaultServer, setting: str
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    settings = f'titles = false\nreplay = "never"\ncells_without_page = "{setting}"\n'
    env = served_home(home, MODEL, server.openai_base, settings, JPY_SESSION_NAME="a.ipynb")
    code = nbformat.v4.new_code_cell
    notebook = nbformat.v4.new_notebook(
        cells=[code("%load_ext palimpsest"), code("%%agent --yes\nwrite x = 1")]
    )
    nbformat.write(notebook, project / "a.ipynb")
    server.requests.clear()
    server.script(calls("cells", changes=[{"action": "insert", "source": "x = 1"}]), says("Done."))
    client = NotebookClient(
        notebook, kernel_name="python3", resources={"metadata": {"path": str(project)}}
    )
    client.execute(env={**os.environ, **env})

    saved = nbformat.read(project / "a.ipynb", as_version=4)
    nbformat.validate(saved)
    told = str(sent(server)["messages"][-1]["content"])
    if setting == "write":
        assert told.startswith("Changed a.ipynb:")
        assert [cell.source for cell in saved.cells][-1] == "x = 1"
        assert saved.cells[-1].metadata["palimpsest"]["request"] == 1
    else:
        assert 'set cells_without_page = "write"' in told
        assert len(saved.cells) == 2


def test_a_cell_says_where_its_code_came_from(session: Kernel, server: FaultServer) -> None:
    with NotebookPage(session) as page:
        page.shows("x = 1")
        change(session, server, {"action": "insert", "source": "y = 2"})
        new = page.cells[-1]["id"]
        session.run("y = 2", cellId=new)
        number = session.value("get_ipython().execution_count - 1")
        by_number = session.run(f"%agent why {number}").markdown()
        by_itself = session.run("%agent why", cellId=new).markdown()
        other = session.run("%agent why", cellId="untouched").markdown()

    assert "was written by the agent, in request 2 of session" in by_number
    assert "in answer to 'go on'" in by_number
    assert "It was allowed by --yes. Nobody has looked at it yet: %agent review." in by_number
    assert by_itself.split("was written")[1] == by_number.split("was written")[1]
    assert "was not written or changed by the agent in any session here" in other


def test_a_cell_of_a_former_session_says_which_one_wrote_it_and_how_it_is_opened(
    session: Kernel, server: FaultServer
) -> None:
    with NotebookPage(session) as page:
        page.shows("x = 1")
        change(session, server, {"action": "insert", "source": "y = 2"})
        new = page.cells[-1]["id"]
        writer = page.changed[0]["origin"]["session"]
        server.script(says("Ready."))
        session.run("%agent --new are you there?")
        told = session.run("%agent why", cellId=new).markdown()
        change(session, server, {"action": "edit", "cell": new, "source": "y = 3"})
        by_both = session.run("%agent why", cellId=new).markdown()
        page.cells[-1]["session"] = writer
        by_writer = session.run("%agent why", cellId=new).markdown()

    assert f"was written by the agent, in request 2 of session {writer}" in told
    assert f"%agent open {writer} goes on with it here" in told
    assert "was changed by the agent" in by_both
    assert writer not in by_both
    assert f"%agent open {writer}" in by_writer


def test_a_page_accepts_a_part_and_rejects_another_before_anything_is_changed(
    session: Kernel, server: FaultServer
) -> None:
    inserted = [{"action": "insert", "source": source} for source in ("y = 1", "z = 1")]
    server.script(calls("cells", changes=inserted), says("Done."))
    with NotebookPage(session) as page:
        page.shows("x = 1")
        since = len(session.iopub)
        running = session.send("%agent go on")
        asked = record(session, "permission.asked", since)["ask"]
        assert page.changed == []
        decisions = [
            {"index": 0, "accept": True, "source": "y = 2"},
            {"index": 1, "accept": False, "reason": "no z"},
        ]
        session.request(type="reply", ask_id=asked["id"], answer="once", cells=decisions)
        session.finish(running)

        assert [cell["source"] for cell in page.cells] == ["x = 1", "y = 2"]
    told = str(sent(server)["messages"][-1]["content"])
    assert "holds now:\ny = 2" in told
    assert "Reason: no z" in told


def test_a_cell_is_written_and_run_in_one_call(session: Kernel, server: FaultServer) -> None:
    with NotebookPage(session) as page:
        page.shows("%agent --yes go on")
        results = change(
            session,
            server,
            {"action": "insert", "source": "total = 20 + 22\nprint('total', total)", "name": "sum"},
            {"action": "run", "cell": "sum"},
            cell="cell-1",
        )
        new = page.cells[-1]["id"]

    assert f"[ran new cell {new} id={new} as [" in results
    assert "[stdout]\ntotal 42" in results
    assert session.value("total") == "42"
