"""A fork has the recorded messages up to the named one, and the model sees the same of them.

OpenCode copies messages under new ids and maps references to them; our forks refer to the parent's log, so
the ids are the same. Apart from ids there is one difference: OpenCode drops a ``tail_start_id`` that names
no copied message, and ours keeps it. The history holds neither, so both cut at the marker (rule
``names_a_message_that_is_not_there``).
"""

import itertools
from pathlib import Path
from typing import Any

import pytest
from tests.golden.data import load
from tests.golden.upstream import message
from tests.sample_size import sample_size

from palimpsest.context.visible_messages import fold, marker
from palimpsest.session.revert.fork import forked_session as begin_fork
from palimpsest.session.runs.title_writer import default_title
from palimpsest.store.interface import Store
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.project_folder.lease import this_owner
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.session_record.events import (
    Event,
    MessageUpdated,
    PartUpdated,
    Record,
    SessionCreated,
)
from palimpsest.transcript.session_record.sessions import SessionInfo, SessionTime, Spent
from palimpsest.transcript.values import Usage

OURS = SessionInfo(
    id="ses_parent",
    project_id="project",
    directory="/",
    title=default_title(0),
    version="0",
    time=SessionTime(created=1, updated=1),
    metadata={"kept": "by forks"},
    cost=1.5,
    tokens=Usage(input=10),
    unpriced=1,
    below=Spent(cost=0.5),
)


def written(store: Store, messages: Messages, parent: SessionInfo = OURS) -> None:
    """Write a recorded session as a log of ours."""
    events: list[Event] = [SessionCreated(session=parent)]
    for one in messages:
        events += [MessageUpdated(info=one.info), *(PartUpdated(part=part) for part in one.parts)]
    writer = store.acquire(parent.id, this_owner("kernel"), create=True)
    writer.append([Record(seq=n, ts=n, event=event) for n, event in enumerate(events, 1)])
    writer.close()


def fork_at(store: Store, parent_id: str, name: str, before: str | None) -> Messages:
    begun = begin_fork(store, parent_id, lambda: name, 9, message=before)
    return store.load(begun.id).messages()


def modulo_ids(messages: Messages) -> list[dict[str, Any]]:
    """Return messages with their ids numbered in order of appearance, since OpenCode copies under new ids."""
    numbers: dict[str, int] = {}
    counted = itertools.count()

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            named = {"session_id": "", "message_id": None}
            return {key: plain(one) for key, one in value.items() if key not in named}
        if isinstance(value, list | tuple):
            return [plain(one) for one in value]
        if isinstance(value, str) and value in numbers:
            return numbers[value]
        return value

    for one in messages:
        numbers.setdefault(one.id, next(counted))
        for part in one.parts:
            numbers.setdefault(part.id, next(counted))
    return [plain(one.model_dump(mode="json")) for one in messages]


def copied(messages: Messages) -> Messages:
    """Return messages as upstream copies them: under other ids, with what names them mapped."""
    ids = {one.id: f"copy_{one.id}" for one in messages}
    made = []
    for one in messages:
        info = one.info.model_copy(update={"id": ids[one.id]})
        parent = getattr(info, "parent_id", None)
        if parent in ids:
            info = info.model_copy(update={"parent_id": ids[parent]})
        parts = [
            part.model_copy(update={"id": f"copy_{part.id}", "message_id": ids[one.id]})
            for part in one.parts
        ]
        made.append(Message(info=info, parts=tuple(_tail(part, ids) for part in parts)))
    return tuple(made)


def _tail(part: Any, ids: dict[str, str]) -> Any:
    start = getattr(part, "tail_start_id", None)
    return part.model_copy(update={"tail_start_id": ids.get(start)}) if start is not None else part


def places(some: Messages, messages: Messages) -> list[int]:
    """Return which messages these are, counted from the first."""
    ids = [one.id for one in messages]
    return [ids.index(one.id) for one in some]


def names_a_message_that_is_not_there(messages: Messages) -> bool:
    ids = {one.id for one in messages}
    tails = (found.tail_start_id for one in messages if (found := marker(one)) is not None)
    return any(start is not None and start not in ids for start in tails)


@pytest.mark.soak  # with each commit a fork of a fork shares the log, beside it; this adds every message of every recorded session
def test_a_fork_at_any_message_has_all_that_came_before() -> None:
    apart = 0
    for name, recorded in load("opencode", "sessions").items():
        messages = tuple(message(one) for one in recorded)
        store = MemoryStore()
        written(store, messages)
        for at, before in enumerate([*(one.id for one in messages), None]):
            ours = fork_at(store, OURS.id, f"ses_{at}", before)
            theirs = copied(messages[:at])
            if names_a_message_that_is_not_there(messages[:at]):
                apart += 1
                assert [one.parts[0].type if one.parts else "" for one in ours] == [
                    one.parts[0].type if one.parts else "" for one in theirs
                ]
                continue
            assert modulo_ids(ours) == modulo_ids(theirs), (name, at)
            assert places(fold(ours), ours) == places(fold(theirs), theirs), (name, at)
    assert apart < 20


def test_a_fork_of_a_fork_and_forks_around_a_compaction_share_the_log(tmp_path: Path) -> None:
    sessions = load("opencode", "sessions")
    for name in [session for session in sessions if "compaction" in session or "fuzz" in session][
        : sample_size(8, 24)
    ]:
        messages = tuple(message(one) for one in sessions[name])
        parent = OURS.model_copy(update={"id": f"ses_{name}"})
        store = JsonlStore(open_project_folder(tmp_path))
        written(store, messages, parent)
        ids = [one.id for one in messages]
        for at in range(len(ids)):
            first = begin_fork(
                store, parent.id, lambda name=name, at=at: f"ses_{name}_{at}", 5, message=ids[at]
            )
            assert first.forked_from is not None
            whole = fork_at(store, first.id, f"ses_{name}_{at}_all", None)
            assert [one.id for one in whole] == ids[:at]
            if at:
                part = fork_at(store, first.id, f"ses_{name}_{at}_part", ids[at - 1])
                assert [one.id for one in part] == ids[: at - 1]


@pytest.mark.parametrize("store", [MemoryStore()])
def test_a_fork_is_a_session_of_its_own(store: Store) -> None:
    written(store, ())

    first = begin_fork(store, OURS.id, lambda: "ses_one", 77)
    second = begin_fork(store, first.id, lambda: "ses_two", 78)

    assert (first.title, second.title) == (f"{OURS.title} (fork #1)", f"{OURS.title} (fork #2)")
    assert first.metadata == OURS.metadata
    assert (first.parent_id, first.share, first.time.created) == (None, None, 77)
    # What was spent before it, it did not spend.
    assert (first.cost, first.tokens, first.unpriced, first.below) == (None, Usage(), None, None)
