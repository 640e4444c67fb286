"""The store on disk passes the tests of every store."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from tests.store.conformance import StoreConformance
from tests.store.record_builders import OWNER, SESSION, assistant, text, tool

from palimpsest.store.log.journal import Journal
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.project_folder.lease import this_owner
from palimpsest.store.session_state.state import State
from palimpsest.transcript.errors import SessionHeld
from palimpsest.transcript.parts import Span, TextPart, ToolPart, ToolRunning


class TestJsonlStore(StoreConformance):
    """The tests of every store, on disk."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> JsonlStore:
        """Return a new store."""
        return JsonlStore(open_project_folder(tmp_path), heartbeat_seconds=0.02, watch_seconds=0.1)


@pytest.mark.parametrize("here", [True, False])
def test_a_kernel_of_this_host_keeps_its_session_when_its_beats_are_late(
    tmp_path: Path, *, here: bool
) -> None:
    owner = this_owner("kernel-a")
    owner = owner if here else replace(owner, host="elsewhere")
    late = JsonlStore(open_project_folder(tmp_path), heartbeat_seconds=1.0)
    writer = late.acquire(SESSION, owner, create=True)
    other = JsonlStore(open_project_folder(tmp_path), watch_seconds=0.5)

    with pytest.raises(SessionHeld) if here else nullcontext():
        other.acquire(SESSION, this_owner("kernel-b")).close()

    writer.close()


def test_half_characters_and_odd_values_do_not_stop_the_log(tmp_path: Path) -> None:
    store = JsonlStore(open_project_folder(tmp_path))
    book = Journal(
        store.acquire(SESSION, OWNER, create=True), State(), clock=lambda: 1, tick_seconds=0.5
    )
    odd = {"half": "\ud800", "object": slice(1, 2), "key": {1: (2, None)}, "nan": float("inf")}
    running = ToolRunning(input=odd, time=Span(start=1))
    book.append(assistant("msg_1"), text("prt_1", "msg_1"), tool("prt_2", "msg_1", running))
    for words in ("a \ud83d", "\udc27 b", "\ud800"):
        book.delta("msg_1", "prt_1", "text", words)
    assert book.flush_sync()
    book.close()
    state = store.load(SESSION)

    words, call = state.part("msg_1", "prt_1"), state.part("msg_1", "prt_2")
    assert isinstance(words, TextPart)
    assert words.text == "a \U0001f427 b\ufffd"
    assert isinstance(call, ToolPart)
    assert call.state.input == {
        "half": "\ufffd",
        "object": "slice(1, 2, None)",
        "key": {"1": [2, None]},
        "nan": float("inf"),
    }
    assert store.problems(SESSION) == []
