"""Subagents of Codex come in as children of the session that began them, and nothing else of its folders does."""

import itertools
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.imported import dialogue, import_file, info_of, messages_of, sums_of
from tests.recordings.formats.sample_files import sample
from tests.recordings.formats.test_codex import line, message, usage

from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.review.timeline_view.timeline_view import timeline_view
from palimpsest.store.interface import Problem

DAY = "2026/01/02"


def thread(number: int) -> str:
    """Return a thread's id; they sort by their numbers, as the program's do."""
    return f"01a20000-{number:04x}-7000-8000-000000000000"


def spawned(parent: str) -> dict[str, Any]:
    return {"subagent": {"thread_spawn": {"parent_thread_id": parent, "depth": 1}}}


def spawn(child: str, call: str = "c1") -> list[dict[str, Any]]:
    asked = line(
        "response_item",
        type="function_call",
        name="spawn_agent",
        arguments=json.dumps({"message": "Look"}),
        call_id=call,
    )
    begun = json.dumps({"agent_id": child})
    return [
        asked,
        line("response_item", type="function_call_output", call_id=call, output=begun),
    ]


def rollout(root: Path, own: str, *lines: dict[str, Any], day: str = DAY, **meta: Any) -> Path:
    """Write a rollout where the program puts it."""
    folder = root / "sessions" / day
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rollout-{day.replace('/', '-')}T10-00-00-{own}.jsonl"
    head = line("session_meta", id=own, cwd="/home/ada", cli_version="0.120.0", **meta)
    context = line("turn_context", model="gpt-5.4", effort="high")
    path.write_text("".join(json.dumps(record) + "\n" for record in (head, context, *lines)))
    return path


def talk(words: str) -> list[dict[str, Any]]:
    return [message("user", words), message("assistant", f"{words}, yes."), usage(10)]


def parent_of(root: Path, *children: str) -> Path:
    calls = [line for n, child in enumerate(children) for line in spawn(child, f"c{n}")]
    return rollout(root, thread(1), message("user", "Begin"), *calls, usage(10))


def rollouts(version: str, into: Path) -> list[Path]:
    return sorted(sample(f"codex_subagents/{version}", into).rglob("*.jsonl"))


@pytest.mark.parametrize(
    ("version", "names", "returned"),
    [
        (
            "v1",
            ["Count the tests", "Name the modules"],
            ["There are 12 tests.", "a.py, then b.py."],
        ),
        ("v2", ["count_tests", "name_modules"], ["All of them pass.", "a.py, then b.py."]),
    ],
)
def test_each_stands_at_the_call_that_began_it(
    version: str, names: list[str], returned: list[str], tmp_path: Path
) -> None:
    path = rollouts(version, tmp_path)[0]

    with open_recording(path) as recording:
        first = recording[0]
        rows = first.subagents.table.records()
        assert (len(recording), recording.problems) == (3, ())
        assert [row["subagent"] for row in rows] == names
        assert [row["returned"] for row in rows] == returned
        assert [(row["request"], row["calls"], row["requests"]) for row in rows] == [
            (1, 2, 2),
            (1, 1, 1),
        ]
        assert {session.timeline.parent for session in recording[1:]} == {first.timeline.session}
        # The provider counted 1,000 tokens more for each request of any of them.
        assert first.subagents.all_totals.input == sum(range(1_000, 9_000, 1_000))


def test_a_review_is_a_subagent_that_no_call_began(tmp_path: Path) -> None:
    path = rollouts("review", tmp_path)[0]

    with open_recording(path) as recording:
        (child,) = recording[0].subagents
        assert (child.call, child.totals.requests, child.totals.input) == (None, 1, 1_000)
        rows = recording[0].requests_with_subagents.records()
        # The only answer of the session itself was written after the review.
        assert [row["subagent"] for row in rows] == [child.name, ""]


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_inspector_tells_them_and_their_requests_in_the_order_of_time(
    version: str, tmp_path: Path
) -> None:
    with open_recording(rollouts(version, tmp_path)[0]) as recording:
        first = recording[0]
        subagents = timeline_view(first).subagents
        assert [run.session for run in subagents] == [
            session.timeline.session for session in recording[1:]
        ]
        assert [(run.request, run.requests) for run in subagents] == [(0, 2), (0, 1)]
        rows = first.requests_with_subagents.records()
        assert len(rows) == 5 + 2 + 1
        groups = itertools.groupby(rows, key=lambda row: row["request"])
        for _, group in groups:
            at = [int(str(row["started"])) for row in group]
            assert at == sorted(at)


def test_what_a_forked_one_was_shown_is_no_request_of_its_own(tmp_path: Path) -> None:
    store, report = import_file(rollouts("v2", tmp_path)[0])

    forked = report.sessions[2].id
    assert (sums_of(store, forked).requests, sums_of(store, forked).input) == (1, 3_000)
    texts = dialogue(store, forked)
    assert texts[-1] == "< a.py, then b.py."
    assert [text[0] for text in texts].count("<") == 1
    assert any(text == "> Look at the tests and the modules." for text in texts)
    assert any(text.startswith('> spawn_agent {"message": "Count the tests"') for text in texts)
    by_program = [
        getattr(message.info, "by_engine", None) for message in messages_of(store, forked)
    ]
    assert by_program == [True] * (len(texts) - 1) + [None]


def test_a_folder_brings_each_of_them_once(tmp_path: Path) -> None:
    for version in ("v1", "v2"):
        sample(f"codex_subagents/{version}", tmp_path)

    store, report = import_file(tmp_path)

    assert report.problems == ()
    assert [session.outcome for session in report.sessions] == ["new"] * 6
    assert len(store.list()) == 6
    _, again = import_file(tmp_path, store)
    assert {session.outcome for session in again.sessions} == {"same"}
    parents = {info_of(store, session.id).parent_id for session in report.sessions}
    assert len(parents - {None}) == 2


def test_one_of_a_later_day_is_found_and_one_of_an_earlier_is_none(tmp_path: Path) -> None:
    path = parent_of(tmp_path, thread(2), thread(3))
    parent = spawned(thread(1))
    rollout(tmp_path, thread(2), *talk("Later"), day="2026/02/01", source=parent)
    rollout(tmp_path, thread(3), *talk("Earlier"), day="2026/01/01", source=parent)

    store, report = import_file(path)

    assert [session.title for session in report.sessions] == ["Begin", "Later"]
    assert report.problems == (
        Problem(path.name, f"The rollout of the subagent {thread(3)} is not beside it."),
    )
    assert info_of(store, report.sessions[1].id).parent_id == report.sessions[0].id


def test_one_under_another_name_is_known_by_its_header(tmp_path: Path) -> None:
    path = parent_of(tmp_path, thread(2))
    child = rollout(tmp_path, thread(2), *talk("Renamed"), source=spawned(thread(1)))
    child.rename(child.with_name("child.jsonl"))

    _, report = import_file(path)

    assert [session.title for session in report.sessions] == ["Begin", "Renamed"]


def test_those_of_an_older_version_are_told_by_events(tmp_path: Path) -> None:
    asked = line(
        "response_item", type="function_call", name="spawn_agent", arguments="{}", call_id="c1"
    )
    begun = line("event_msg", type="collab_agent_spawn_end", call_id="c1", new_thread_id=thread(2))
    output = line("response_item", type="function_call_output", call_id="c1", output="begun")
    path = rollout(tmp_path, thread(1), message("user", "Begin"), asked, begun, output, usage(10))
    rollout(
        tmp_path,
        thread(2),
        *talk("Look"),
        source=spawned(thread(1)),
        forked_from_id=thread(1),
    )

    with open_recording(path) as recording:
        (child,) = recording[0].subagents
        assert child.call is not None
        assert child.call.tool == "spawn_agent"
        gaps = recording[1].timeline.gaps
    assert any("where its own requests begin" in gap for gap in gaps)


def test_subagents_of_subagents_come_in_level_by_level(tmp_path: Path) -> None:
    path = parent_of(tmp_path, thread(2))
    for number in range(2, 13):
        rollout(
            tmp_path,
            thread(number),
            *talk(f"Level {number}"),
            *spawn(thread(number + 1)),
            source=spawned(thread(number - 1)),
        )

    _, report = import_file(path)

    assert [session.title for session in report.sessions] == ["Begin"] + [
        f"Level {number}" for number in range(2, 10)
    ]
    (problem,) = report.problems
    assert problem.what == "Its subagents are deeper than 8 levels and were left out."


# What no program writes


def test_one_that_names_itself_as_its_parent_has_none(tmp_path: Path) -> None:
    path = rollout(tmp_path, thread(1), *talk("Me"), *spawn(thread(1)), source=spawned(thread(1)))

    store, report = import_file(path)

    (session,) = report.sessions
    assert info_of(store, session.id).parent_id is None
    assert [problem.what for problem in report.problems] == [
        "It names itself as the session that began it; that was left out."
    ]


def test_two_that_name_each_other_are_one_below_the_other(tmp_path: Path) -> None:
    first = rollout(
        tmp_path, thread(1), *talk("First"), *spawn(thread(2)), source=spawned(thread(2))
    )
    rollout(tmp_path, thread(2), *talk("Second"), *spawn(thread(1)), source=spawned(thread(1)))

    store, report = import_file(first)

    session, other = report.sessions
    assert (info_of(store, session.id).parent_id, info_of(store, other.id).parent_id) == (
        None,
        session.id,
    )
    with open_recording(first) as recording:
        assert [run.name for run in recording[0].subagents] == ["Second"]


def test_a_circle_that_no_order_of_ids_tells_ends_where_it_began(tmp_path: Path) -> None:
    names = [f"00000000-000{number}-4000-8000-000000000000" for number in (1, 2)]
    first, _ = (
        rollout(tmp_path, own, *talk("Round"), *spawn(other), source=spawned(other))
        for own, other in (names, names[::-1])
    )

    with open_recording(first) as recording:
        assert len(recording) == 2
        assert [len(session.subagents) for session in recording] == [1, 1]


@pytest.mark.parametrize(
    "name",
    ["../../outside", "..", "/etc/passwd", "a\0b", thread(2).upper(), f"{thread(2)}/../x", ""],
)
def test_a_name_that_is_no_thread_opens_nothing(name: str, tmp_path: Path) -> None:
    outside = rollout(tmp_path / "other", thread(2), *talk("Outside"), source=spawned(thread(1)))
    shutil.copy(outside, tmp_path / "outside")
    path = parent_of(tmp_path / "mine", name)

    _, report = import_file(path)

    assert [session.title for session in report.sessions] == ["Begin"]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    parent = spawned(thread(1))
    outside = rollout(tmp_path / "other", thread(2), *talk("Outside"), source=parent)
    other_day = rollout(
        tmp_path / "other", thread(3), *talk("Day"), day="2026/01/03", source=parent
    )
    path = parent_of(tmp_path / "mine", thread(2), thread(3))
    (path.parent / outside.name).symlink_to(outside)
    (path.parent.parent / "03").symlink_to(other_day.parent)

    _, report = import_file(path)

    assert [session.title for session in report.sessions] == ["Begin"]
    assert len(report.problems) == 2


def test_one_that_names_another_parent_is_left_out_and_named(tmp_path: Path) -> None:
    path = parent_of(tmp_path, thread(2))
    child = rollout(tmp_path, thread(2), *talk("Stranger"), source="cli")

    _, report = import_file(path)

    assert [session.title for session in report.sessions] == ["Begin"]
    (problem,) = report.problems
    assert problem.where == f"{path.name}, {child.name}"
    assert problem.what.startswith("It does not name")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b'{"type": "session_meta"}\n'])
def test_a_broken_one_costs_only_itself(content: bytes, tmp_path: Path) -> None:
    path = parent_of(tmp_path, thread(2), thread(3))
    broken = rollout(tmp_path, thread(2), source=spawned(thread(1)))
    broken.write_bytes(content)
    rollout(tmp_path, thread(3), *talk("Whole"), source=spawned(thread(1)))

    _, report = import_file(path)

    assert [session.title for session in report.sessions] == ["Begin", "Whole"]
    assert report.problems == (
        Problem(
            f"{path.name}, {broken.name}", "It is no rollout that can be read, and was left out."
        ),
    )


@pytest.mark.soak  # with each commit tests/recordings/formats/test_openhands_subagents.py reads the first of a thousand; this adds codex's
@pytest.mark.slow
def test_of_a_thousand_the_first_are_read(tmp_path: Path) -> None:
    children = [thread(number) for number in range(2, 1_002)]
    path = parent_of(tmp_path, *children)
    for child in children:
        rollout(tmp_path, child, message("user", "Hi"), source=spawned(thread(1)))

    _, report = import_file(path)

    assert len(report.sessions) == 201
    assert report.problems == (
        Problem(path.name, "Only the first 200 of its subagents were read."),
    )


@pytest.mark.slow
def test_one_of_200_megabytes_is_read_and_a_larger_one_is_named(tmp_path: Path) -> None:
    path = parent_of(tmp_path, thread(2), thread(3))
    parent = spawned(thread(1))
    long = rollout(tmp_path, thread(2), *talk("Long"), source=parent)
    larger = rollout(tmp_path, thread(3), *talk("Larger"), source=parent)
    os.truncate(long, 200_000_000)  # one line that is not believed, and takes no room on disk
    os.truncate(larger, 300_000_000)

    _, report = import_file(path)

    assert [session.title for session in report.sessions] == ["Begin", "Long"]
    assert {problem.where: problem.what for problem in report.problems} == {
        f"{path.name}, {long.name}, line 6": "It is longer than 64 MB and was left out.",
        f"{path.name}, {larger.name}": "It is larger than 244 MB; import it by itself.",
    }


# The command line
