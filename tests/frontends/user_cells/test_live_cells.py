"""What a page shows of a notebook is what the agent reads of it: edits, deletions, order; and says that it is the page's."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.user_cells.test_user_cells import MODEL, sent
from tests.harness.kernel import Kernel
from tests.harness.notebook_page import NotebookPage
from tests.harness.served_home import served_home

from palimpsest.model.script import calls, says
from palimpsest.testing import FaultServer

pytestmark = pytest.mark.slow

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


PATIENCE = """import palimpsest.frontends.page_channel.page_cells as pages
import palimpsest.session.turn_setup.notebook_updates as updates
import palimpsest.tools.notebook.notebook_tool as tool
pages.MAX_OTHER_PAGES_SECONDS = updates.PAGE_SECONDS = tool.MAX_PAGE_SECONDS = {seconds}"""
"""How long pages are waited for: these answer in time, except on a machine that has more to do than it can."""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, server: FaultServer) -> Iterator[Kernel]:
    """A kernel with the extension and a model server."""
    home = tmp_path_factory.mktemp("home")
    env = served_home(
        home,
        MODEL,
        server.openai_base,
        "titles = false\n",
        # Equal prompts in quick succession are no Run All here.
        PALIMPSEST_REPLAY="never",
        JPY_SESSION_NAME=str(Path("work") / "a.ipynb"),
    )
    with Kernel(cwd=tmp_path_factory.mktemp("project"), env=env) as kernel:
        kernel.run("%load_ext palimpsest")
        kernel.run(PATIENCE.format(seconds=60))
        yield kernel


@pytest.fixture
def session(kernel: Kernel, server: FaultServer) -> Kernel:
    """The kernel with a new session that was told of all that ran before."""
    server.script(says("Ready."))
    kernel.run("%agent --new are you there?")
    server.requests.clear()
    return kernel


def read(session: Kernel, server: FaultServer, **arguments: Any) -> str:
    """Return what the notebook tool tells the model."""
    server.script(calls("notebook", **arguments), says("Read."))
    session.run("%agent read it")
    return str(
        [message["content"] for message in sent(server)["messages"] if message["role"] == "tool"][
            -1
        ]
    )


def number_of(session: Kernel) -> str:
    return session.value("get_ipython().execution_count - 1")


def test_an_outline_is_the_live_page_s_with_the_record_of_what_ran(
    session: Kernel, server: FaultServer
) -> None:
    session.run("total = 'RAN-' + 'FIRST'\nprint(total)", cellId="cell-2")
    first = number_of(session)
    session.run("print('GONE-' + 'CELL')", cellId="cell-gone")
    gone = number_of(session)
    with NotebookPage(session) as page:
        page.shows(
            "unrun = 'NOT-RUN'",
            "total = 'EDITED'",
            text={"source": "# Title", "kind": "markdown"},
            kept={"hidden": True},
        )
        page.deleted = ["cell-gone"]
        outline = read(session, server)

    lines = outline.splitlines()
    assert "live page" in lines[0]
    assert lines[1] == " [ ] id=cell-1 not run: unrun = 'NOT-RUN'"
    assert (
        lines[2]
        == f"~[{first}] id=cell-2 edited since it ran: total = 'EDITED'  -> stdout 9 characters"
    )
    assert lines[3] == " [md] id=text: # Title"
    assert f"Deleted from the notebook since they ran: [{gone}] print('GONE-'" in outline
    assert "(1 cell kept from you by the user.)" in outline


def test_an_edited_cell_is_read_with_both_its_sources(session: Kernel, server: FaultServer) -> None:
    session.run("print('RAN-' + 'THEN')", cellId="cell-1")
    with NotebookPage(session) as page:
        page.shows("print('HELD NOW')")
        cell_text = read(session, server, cell="cell-1")

    assert (
        "edited since it ran, source from the live page, outputs as this kernel recorded"
        in cell_text
    )
    assert cell_text.index("[source now, on the live page; it did not run]\nprint('HELD NOW')") < (
        cell_text.index("[source that ran, to which the outputs belong]\nprint('RAN-' + 'THEN')")
    )
    assert "[stdout]\nRAN-THEN" in cell_text


def test_outputs_of_a_cell_that_did_not_run_here_are_asked_of_the_page(
    session: Kernel, server: FaultServer
) -> None:
    output = {
        "output_type": "display_data",
        "data": {"text/plain": "SHOWN-BEFORE", "image/png": DOT},
    }
    with NotebookPage(session) as page:
        page.shows(old={"source": "plot()", "number": 900, "outputs": [output]})
        cell_text = read(session, server, cell="900")
        asked = page.asked[-1]

    assert "not run since the agent was loaded, source and outputs from the live page" in cell_text
    assert "SHOWN-BEFORE" in cell_text
    assert (asked["cell"], asked["images"]) == ("old", True)
    assert "image_url" in json.dumps(sent(server)["messages"])


@pytest.mark.soak  # with each commit a page that answers is asked, above; this adds one that sleeps
def test_a_page_that_sleeps_is_waited_for_in_one_turn_and_the_record_is_read(
    session: Kernel, server: FaultServer
) -> None:
    session.run("print('RECORDED')", cellId="cell-awake")
    with NotebookPage(session) as page:
        page.awake = False
        session.run(PATIENCE.format(seconds=0.1))
        session.run("tool.MAX_PAGE_SECONDS = 0.2")
        first = read(session, server)
        second = read(session, server)
        session.run(PATIENCE.format(seconds=60))

    assert "no page answers" in first
    assert "id=cell-awake" in second
    assert len(page.asked) == 2, "by the first prompt, and by its call"


def test_two_notebooks_of_one_kernel_are_told_apart(session: Kernel, server: FaultServer) -> None:
    with NotebookPage(session, "other.ipynb") as other, NotebookPage(session) as own:
        other.shows(theirs="print('THEIRS')")
        own.shows(ours="print('OURS')")
        outline = read(session, server)

    assert "In a.ipynb:\n [ ] id=ours" in outline
    assert "In other.ipynb:\n [ ] id=theirs" in outline
    assert outline.index("OURS") < outline.index("THEIRS")


def test_a_prompt_tells_what_was_edited_and_deleted_without_being_run(
    session: Kernel, server: FaultServer
) -> None:
    server.script(says("One."), says("Two."), says("Three."))
    session.run("x = 1", cellId="cell-1")
    session.run("y = 2", cellId="cell-2")
    number = number_of(session)
    with NotebookPage(session) as page:
        page.shows("x = 1", "y = 2", kept={"hidden": True})
        session.run("%agent go on")
        page.shows("x = 'EDITED-NOW'", kept={"hidden": True})
        session.run("%agent and now?")
        session.run("%agent and then?")

    messages = [message for message in sent(server)["messages"] if message["role"] == "user"]
    second, third = json.dumps(messages[-2]), json.dumps(messages[-1])
    assert "EDITED-NOW" in second
    assert f'<deleted number=\\"{number}\\" id=\\"cell-2\\">y = 2</deleted>' in second
    assert "<notebook>" not in third
    before = sent(server, 1)["messages"]
    assert sent(server, 2)["messages"][: len(before)] == before
