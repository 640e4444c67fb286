"""``session.view()`` in a real kernel: what the cell stores, and the messages to the page's widget."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness.kernel import Kernel, Message
from tests.waiting import eventually

pytestmark = pytest.mark.slow

KEY = "sk-test-0123456789abcdef0123"
SETUP = """
%load_ext palimpsest
import palimpsest
from palimpsest.rehearsal.scenario import register_scenario
from palimpsest.model.script import calls, says
register_scenario("three", [says("It is three."), says("It is four.")])
register_scenario("tells", [says("The key is sk-test-0123456789abcdef0123, and abcdefgh-secret.")])
"""
ASK = "%agent --model rehearsal/three How many?"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("view")
    env = {
        "PALIMPSEST_REHEARSAL_DELAY": "0",
        "JPY_SESSION_NAME": str(folder / "a.ipynb"),
        "SOME_TOKEN": "abcdefgh-secret",
    }
    with Kernel(cwd=folder, env=env) as kernel:
        assert kernel.client.run(SETUP).status == "ok"
        yield kernel


@pytest.fixture
def kernel(shared: Kernel) -> Kernel:
    """The kernel with a new session."""
    known = shared.client.value("palimpsest.current_session().id")
    shared.client.request(type="new", client="test")
    eventually(lambda: shared.client.value("palimpsest.current_session().id") != known)
    return shared


def comm(kernel: Kernel) -> str:
    """Return the id of the newest view's comm that belongs to a session."""
    kernel.client.wait(lambda m: "session" in opened(m))
    [*_, newest] = [m for m in kernel.client.iopub if "session" in opened(m)]
    return str(newest["content"]["comm_id"])


def opened(message: Message) -> Message:
    """Return the initial state of a widget."""
    if message["header"]["msg_type"] != "comm_open":
        return {}
    found: Message = message["content"]["data"]["state"]
    return found


def say(kernel: Kernel, to: str, content: Message, subshell: str | None = None) -> None:
    """Send a message as the view's page does."""
    client = kernel.client
    data = {"method": "custom", "content": content}
    message = client.session.msg("comm_msg", {"comm_id": to, "data": data})
    if subshell is not None:
        message["header"]["subshell_id"] = subshell
    client.session.send(client._sockets["shell"], message)


def told(kernel: Kernel, kind: str, *, since: int = 0, **fields: Any) -> Message:
    """Wait until the page receives a message of one kind."""

    def fits(message: Message) -> bool:
        if message["header"]["msg_type"] != "comm_msg":
            return False
        found = message["content"]["data"].get("content", {})
        return found.get("kind") == kind and all(
            found.get(name) == value for name, value in fields.items()
        )

    notice: Message = kernel.client.wait(fits, since=since)["content"]["data"]["content"]
    return notice


def test_a_cell_keeps_words_and_no_widget_and_the_words_follow_the_session(kernel: Kernel) -> None:
    view = kernel.client.run("palimpsest.current_session().view()")

    [output] = view.outputs()
    assert set(output["data"]) == {"text/html", "text/plain"}
    assert "Nothing was said" in output["data"]["text/html"]
    display = view.of("display_data")[0]["transient"]["display_id"]
    before = len(kernel.client.iopub)
    assert kernel.client.run(ASK).status == "ok"
    update = kernel.client.wait(
        lambda m: (
            m["header"]["msg_type"] == "update_display_data"
            and m["content"]["transient"]["display_id"] == display
        ),
        since=before,
    )
    assert "It is three." in update["content"]["data"]["text/html"]
    assert "It is three." in update["content"]["data"]["text/plain"]
    assert "1 model request to rehearsal/three" in update["content"]["data"]["text/html"]
    # It belongs to the cell that shows the view, whatever cell ran the turn.
    assert update["parent_header"]["msg_id"] == view.id


def test_a_page_that_watches_is_told_the_whole_session_and_what_comes(kernel: Kernel) -> None:
    kernel.client.run(ASK)
    kernel.client.run("view = palimpsest.current_session().view()")
    at = comm(kernel)
    since = len(kernel.client.iopub)

    say(kernel, at, {"kind": "watch"})
    head = told(kernel, "current", since=since)["session"]
    say(kernel, at, {"kind": "resync", "id": "1", "after": None})
    picture = told(kernel, "session-state", since=since, last=True)
    since = len(kernel.client.iopub)
    kernel.client.run(ASK)
    records = told(kernel, "records", since=since)["records"]
    say(kernel, at, {"kind": "resync", "id": "2", "after": picture["seq"]})
    missed = told(kernel, "records", since=since, resync="2", last=True)["records"]

    assert head["session"] == picture["session"]
    assert [m["info"]["role"] for m in picture["messages"]] == ["user", "assistant"]
    assert records[0]["seq"] == picture["seq"] + 1
    assert [record["seq"] for record in missed[: len(records)]] == [r["seq"] for r in records]


def test_a_page_that_does_not_watch_is_told_nothing(kernel: Kernel) -> None:
    kernel.client.run("view = palimpsest.current_session().view()")
    comm(kernel)
    since = len(kernel.client.iopub)

    kernel.client.run(ASK)
    kernel.client.run("1")

    kinds = [m["header"]["msg_type"] for m in kernel.client.iopub[since:]]
    assert "comm_msg" not in kinds


@pytest.mark.soak  # with each commit tests/frontends/inspector/test_inspector_widget.py is answered while a cell runs; this adds a figure that is half drawn
def test_a_page_is_answered_while_a_cell_runs_and_figures_stay_whole(kernel: Kernel) -> None:
    """The comm's own handling would flush a half-drawn figure."""
    kernel.client.run("view = palimpsest.current_session().view()\nview")
    at = comm(kernel)
    kernel.client.run("%matplotlib inline\nimport matplotlib.pyplot as plt")
    gate = kernel.client.gate()
    cell = kernel.client.send(
        f"plt.plot([1, 2])\nprint('half', flush=True)\n{gate.blocking}\nplt.plot([2, 1])"
    )
    gate.reached()
    kernel.client.wait_text("half")
    since = len(kernel.client.iopub)
    with kernel.client.subshell() as subshell:
        say(kernel, at, {"kind": "watch"}, subshell)
        told(kernel, "current", since=since)
        say(kernel, at, {"kind": "resync", "id": "1", "after": None}, subshell)
        told(kernel, "session-state", since=since)
        gate.open()
        run = kernel.client.finish(cell)

    assert len([output for output in run.outputs() if "image/png" in output["data"]]) == 1
    drawn = [m for m in kernel.client.iopub[since:] if "image/png" in str(m["content"])]
    assert len(drawn) == 1


def test_one_session_has_one_widget_and_leaves_nothing_behind_in_the_namespace(
    kernel: Kernel,
) -> None:
    names = kernel.client.value("sorted(n for n in globals() if not n.startswith('_'))")
    kernel.client.run("palimpsest.current_session().view()")

    same = "palimpsest.current_session().view() is palimpsest.current_session().view()"
    assert kernel.client.value(same) == "True"
    assert kernel.client.value("sorted(n for n in globals() if not n.startswith('_'))") == names


def test_no_key_reaches_the_notebook(kernel: Kernel) -> None:
    kernel.client.run(f"%agent --model rehearsal/tells Say {KEY} and abcdefgh-secret")

    [output] = kernel.client.run("palimpsest.current_session().view()").outputs()

    assert "[redacted]" in str(output["data"])
    assert KEY not in str(output["data"])
    assert "abcdefgh-secret" not in str(output["data"])


def test_nonsense_from_a_page_harms_nothing(kernel: Kernel) -> None:
    kernel.client.run("view = palimpsest.current_session().view()")
    at = comm(kernel)

    for nonsense in (None, 7, {}, {"kind": "resync"}, {"kind": "resync", "id": "1", "after": "x"}):
        say(kernel, at, nonsense)  # type: ignore[arg-type]
    since = len(kernel.client.iopub)
    say(kernel, at, {"kind": "watch"})

    assert told(kernel, "current", since=since)["session"]["title"]
    assert kernel.client.run("1").status == "ok"
    kinds = [m["header"]["msg_type"] for m in kernel.client.iopub[since:]]
    assert "error" not in kinds
    assert "stream" not in kinds


def test_a_view_that_was_closed_is_made_anew(kernel: Kernel) -> None:
    run = kernel.client.run(
        "first = palimpsest.current_session().view()\nfirst.close()\n"
        "second = palimpsest.current_session().view()\nprint(second is first)"
    )

    assert run.stream() == "False\n"


def test_the_session_of_the_notebook_is_waited_for(tmp_path: Path) -> None:
    """Loading finishes in the background; code that runs earlier must not get a session of its own."""
    env = {"PALIMPSEST_REHEARSAL_DELAY": "0", "JPY_SESSION_NAME": str(tmp_path / "a.ipynb")}
    with Kernel(cwd=tmp_path, env=env) as kernel:
        run = kernel.client.run(
            "%load_ext palimpsest\nimport palimpsest\nfirst = palimpsest.current_session().id"
        )
        assert run.status == "ok"
        kernel.client.run("%agent hello")

        assert kernel.client.value("first == palimpsest.current_session().id") == "True"
