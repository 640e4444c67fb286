"""A session that is written as ATIF and read again is the same, and so is what ATIF gave."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.recordings.formats.recording import SAMPLES, read_all, requests_of, unpacked
from tests.recordings.formats.session_values import values_of

from palimpsest.recordings.formats.atif import AtifImporter
from palimpsest.recordings.formats.swe_agent import SweAgentImporter
from palimpsest.recordings.reading.recorded import (
    Call,
    CompactionRead,
    GapRead,
    Media,
    MessageRead,
    Recorded,
    ReducedRead,
    ResultRead,
    SessionBegin,
    Text,
    Thinking,
    TotalsRead,
)
from palimpsest.transcript.values import ToolSpec, Usage

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
TIMES = st.integers(1, 4_000_000_000_000)
COUNTS = st.integers(0, 10**6)
USAGES = st.builds(
    Usage, input=COUNTS, output=COUNTS, reasoning=COUNTS, cache_read=COUNTS, cache_write=COUNTS
)
IMAGES = st.builds(
    Media, mime=st.sampled_from(["image/png", "image/webp"]), data=st.sampled_from(["", "QUJD"])
)
FILES = st.builds(Media, st.just("application/pdf"), st.just("QUJD"), st.none() | st.just("a.pdf"))
INPUTS = st.dictionaries(TEXTS, TEXTS | COUNTS | st.lists(st.booleans(), max_size=2), max_size=2)
MODELS = st.sampled_from(["openai/gpt-5", "anthropic/claude-x", "unknown/local"])


@st.composite
def recordings(draw: st.DrawFn) -> list[Recorded]:
    """Return a recorded session in the order and with the ids that the importer gives."""
    begin = SessionBegin(
        id=draw(TEXTS),
        format="atif",
        format_version="ATIF-v1.7",
        title=draw(st.just("") | TEXTS),
        model=draw(MODELS),
        window=draw(st.none() | st.integers(1, 10**6)),
        system=draw(st.none() | TEXTS),
        tools=draw(
            st.none()
            | st.lists(
                st.builds(ToolSpec, name=TEXTS, description=TEXTS, parameters=INPUTS), max_size=2
            ).map(tuple)
        ),
    )
    made: list[Recorded] = []
    messages: list[str] = []
    """Those in the context that a compaction may keep, without summaries."""
    answered: list[str] = []
    for number in range(1, draw(st.integers(1, 9))):
        name = f"step-{number}"
        kind: str = draw(st.sampled_from(["user", "answer", "answer", "compaction"]))
        match kind:
            case "user":
                prompt: MessageRead = draw(asked(name))
                made.append(prompt)
                messages.append(name)
            case "answer":
                if answered:
                    made += draw(st.lists(reduced(answered), max_size=2))
                answer, results = draw(answers(name))
                made += [answer, *results]
                answered += [result.call for result in results if not result.is_error]
                messages.append(name)
            case _:
                at = draw(st.integers(0, len(messages)))
                kept = messages[at:]
                made.append(draw(compactions(name, kept[0] if kept else None)))
                messages = kept
    return [begin, *made]


def asked(name: str) -> st.SearchStrategy[MessageRead]:
    said: st.SearchStrategy[list[Text | Media]] = st.lists(
        TEXTS.map(Text) | IMAGES, min_size=1, max_size=3
    )
    files = st.lists(FILES, max_size=1)
    return st.builds(
        MessageRead,
        st.just(name),
        st.just("user"),
        st.builds(with_files, said, files),
        created=TIMES,
        by_program=st.booleans(),
    )


def with_files(parts: list[Text | Media], files: list[Media]) -> tuple[Text | Media, ...]:
    return (*parts, *files)


@st.composite
def answers(draw: st.DrawFn, name: str) -> tuple[MessageRead, list[ResultRead]]:
    calls = [
        Call(f"{name}/c{number}", draw(TEXTS), draw(INPUTS))
        for number in range(draw(st.integers(0, 3)))
    ]
    thought = draw(st.lists(TEXTS.map(Thinking), max_size=1))
    said: list[Text] = draw(st.lists(TEXTS.map(Text), max_size=2))
    parts: tuple[Text | Thinking | Media | Call, ...] = (*thought, *said, *calls)
    usage = draw(st.none() | USAGES)
    answer = MessageRead(
        name,
        "assistant",
        parts,
        created=draw(TIMES),
        completed=draw(st.none() | TIMES),
        model=draw(MODELS),
        effort=draw(st.none() | st.sampled_from(["low", "high"])),
        usage=usage,
        cost=draw(st.none() | st.sampled_from([0.25, 1e-06])) if usage else None,
        finish=draw(st.sampled_from(["stop", "tool-calls", "length", "error"])),
        error=draw(st.none() | TEXTS),
    )
    return answer, [draw(result(call.id)) for call in calls if draw(st.booleans())]


@st.composite
def result(draw: st.DrawFn, call: str) -> ResultRead:
    failed = draw(st.booleans())
    media = (
        ()
        if failed
        else tuple(draw(st.lists(IMAGES, max_size=1)) + draw(st.lists(FILES, max_size=1)))
    )
    return ResultRead(
        call,
        draw(st.just("") | TEXTS),
        is_error=failed,
        started=draw(TIMES),
        ended=draw(st.none() | TIMES),
        media=media,
    )


def reduced(calls: list[str]) -> st.SearchStrategy[ReducedRead]:
    return st.builds(
        ReducedRead,
        st.sampled_from(calls),
        st.just("") | TEXTS,
        st.just("") | TEXTS,
        restored=st.booleans(),
    )


def compactions(name: str, keeps_from: str | None) -> st.SearchStrategy[CompactionRead]:
    return st.builds(
        CompactionRead,
        st.just(name),
        TEXTS,
        keeps_from=st.just(keeps_from),
        created=TIMES,
        is_automatic=st.booleans(),
        tokens_before=st.none() | COUNTS,
        tokens_after=st.none() | COUNTS,
        usage=st.none() | USAGES,
        model=MODELS,
    )


def write_trajectories(recorded: list[Recorded], folder: Path) -> list[Path]:
    """Write each session of a recording as ATIF."""
    found = []
    for number, session in enumerate(values_of(recorded)):
        path = folder / f"{number}.json"
        path.write_text(json.dumps(session.trajectory()))
        found.append(path)
    return found


def comparable(recorded: list[Recorded]) -> list[Recorded]:
    """Return what ATIF has a place for: no gaps, no empty texts, no times of a session; sums are made when it is written."""
    kept: list[Recorded] = []
    for entry in recorded:
        if isinstance(entry, SessionBegin):
            kept.append(replace(entry, created=None, parent=None, parent_call=None))
        elif not isinstance(entry, GapRead | TotalsRead):
            kept.append(entry)
    return kept


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(recordings())
def test_what_is_written_is_read_again_without_loss(
    tmp_path: Path, recorded: list[Recorded]
) -> None:
    (path,) = write_trajectories(recorded, tmp_path)

    again, reports = read_all(AtifImporter(), path)

    assert reports == []
    assert comparable(again) == recorded


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(recordings())
def test_what_was_read_is_written_again_to_the_byte(
    tmp_path: Path, recorded: list[Recorded]
) -> None:
    (first,) = write_trajectories(recorded, tmp_path)
    text = first.read_text()

    (second,) = write_trajectories(read_all(AtifImporter(), first)[0], tmp_path)

    assert second.read_text() == text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(recordings())
def test_the_sums_count_each_request_once(tmp_path: Path, recorded: list[Recorded]) -> None:
    (path,) = write_trajectories(recorded, tmp_path)
    value = json.loads(path.read_text())

    known = [
        entry.usage
        for entry in recorded
        if isinstance(entry, MessageRead | CompactionRead) and entry.usage
    ]
    assert value["final_metrics"]["total_prompt_tokens"] == sum(usage.prompt for usage in known)
    assert value["final_metrics"]["total_cached_tokens"] == sum(usage.cache_read for usage in known)
    assert [step["step_id"] for step in value["steps"]] == list(range(1, len(value["steps"]) + 1))


def test_a_recording_of_another_agent_survives_the_way_through_atif(tmp_path: Path) -> None:
    recorded, _ = read_all(SweAgentImporter(), unpacked("marshmallow-1867.traj", tmp_path))
    (path,) = write_trajectories(recorded, tmp_path)

    again, reports = read_all(AtifImporter(), path)

    def texts(of: list[Recorded]) -> list[Any]:
        return [
            [(shown_message.role, shown_message.text) for shown_message in request]
            for request in requests_of(of)
        ]

    assert reports == []
    assert texts(again)[:13] == texts(recorded)[:13]
    assert [len(text) for text in texts(again)] == [len(text) for text in texts(recorded)]


@pytest.mark.parametrize("name", ["trajectory.json", "trajectory.summarization-1-summary.json"])
def test_sessions_of_the_real_writer_survive_a_round_trip(tmp_path: Path, name: str) -> None:
    recorded, _ = read_all(AtifImporter(), SAMPLES / "atif" / name)
    paths = write_trajectories(recorded, tmp_path)

    again = [read for path in paths for read in read_all(AtifImporter(), path)[0]]

    def known(of: list[Recorded]) -> list[Any]:
        calls = {
            part.id: (part.tool, part.input)
            for entry in of
            if isinstance(entry, MessageRead)
            for part in entry.parts
            if isinstance(part, Call)
        }
        usage = [entry.usage for entry in of if isinstance(entry, MessageRead)]
        results = [(entry.call, entry.output) for entry in of if isinstance(entry, ResultRead)]
        summaries = [entry.summary for entry in of if isinstance(entry, CompactionRead)]
        said = [
            "".join(part.text for part in entry.parts if isinstance(part, Text))
            for entry in of
            if isinstance(entry, MessageRead)
        ]
        return [calls, usage, results, summaries, said]

    assert known(again) == known(recorded)
