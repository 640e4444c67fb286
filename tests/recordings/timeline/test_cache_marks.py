"""Cache marks stand after the items that their blocks became; a mark whose block is not known is told in words."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness, ask, requested
from tests.recordings.formats.captures import response, tap_line, user, write_lines
from tests.recordings.formats.imported import import_file
from tests.review.request_contents.reviewed import pi_review

from palimpsest.model.script import calls, says
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.timeline import Timeline

Json = dict[str, Any]
EPHEMERAL = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def marked(value: Json, mark: Json = EPHEMERAL) -> Json:
    """Return a message with a mark on its last block."""
    *blocks, last = value["content"]
    return {**value, "content": [*blocks, {**last, "cache_control": mark}]}


def answered(call: str) -> Json:
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": call, "name": "read", "input": {"path": call}}],
    }


def result(call: str) -> Json:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": call, "content": f"text of {call}"}],
    }


def captured(folder: Path, *requests: Sequence[Json], **body: Any) -> Timeline:
    """Return the timeline of a captured session; each request's answer is the assistant's next message."""
    exchanges = []
    for number, messages in enumerate(requests, 1):
        following = requests[number][len(messages)] if number < len(requests) else None
        answer = response(number, "Done.")
        if following is not None:
            answer |= {"content": following["content"]}
        exchanges.append(tap_line(number, messages, answer, **body))
    store, report = import_file(write_lines(folder / "capture.jsonl", *exchanges))
    return timeline_of(store, report.sessions[0].id)


def placed(timeline: Timeline, request: int) -> list[tuple[str, str]]:
    """Return the place of each mark of a request, and what its item is."""
    sent = timeline.requests[request]
    return [
        (place, "" if item < 0 else f"{timeline.items[item].kind} {timeline.items[item].label}")
        for place, item in zip(sent.cache_marks, sent.mark_items, strict=True)
    ]


def test_captured_marks_stand_after_tools_system_prompt_results_and_texts(tmp_path: Path) -> None:
    first = user("Look.")
    timeline = captured(
        tmp_path,
        [marked(first)],
        [first, answered("toolu_1"), marked(result("toolu_1"))],
        [
            first,
            answered("toolu_1"),
            result("toolu_1"),
            marked(answered("toolu_2")),
            result("toolu_2"),
        ],
        tools=[{"name": "read", "input_schema": {}, "cache_control": HOUR}],
        system=[{"type": "text", "text": "Be brief.", "cache_control": HOUR}],
    )

    fixed = [
        ("tool 1 for 1h", "tools Tool definitions"),
        ("system block 1 for 1h", "system System prompt"),
    ]
    assert placed(timeline, 0) == [*fixed, ("message 1, block 1", "user Look.")]
    assert placed(timeline, 1) == [*fixed, ("message 3, block 1", "output toolu_1")]
    assert placed(timeline, 2) == [*fixed, ("message 4, block 1", "call toolu_2")]


@pytest.mark.parametrize("at", [0, 2, 4])
def test_of_equal_texts_the_marked_one_is_meant(at: int, tmp_path: Path) -> None:
    messages = [user("Go on."), answered("toolu_1"), result("toolu_1")]
    messages[2]["content"].append({"type": "text", "text": "Go on."})
    messages += [answered("toolu_2"), result("toolu_2")]
    messages[4]["content"].append({"type": "text", "text": "Go on."})
    plain = [messages[:1], messages[:3]]
    timeline = captured(
        tmp_path,
        *plain,
        [marked(value) if index == at else value for index, value in enumerate(messages)],
    )

    [item] = timeline.requests[2].mark_items
    equal = [found.index for found in timeline.items if found.label == "Go on."]
    assert len(equal) == 3
    assert item == equal[at // 2]


def test_a_mark_of_a_block_that_is_no_item_is_told_in_words(tmp_path: Path) -> None:
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "x"},
    }
    timeline = captured(
        tmp_path, [{"role": "user", "content": [{**picture, "cache_control": EPHEMERAL}]}]
    )

    assert placed(timeline, 0) == [("message 1, block 1", "")]


async def test_marks_of_ours_stand_after_the_system_prompt_and_the_newest_messages(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("one line")
    model = ScriptedModel(calls("read", path="a.txt"), calls("read", path="a.txt"), says("Well."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    await ask(session, "Look at it.", model="anthropic/claude-opus-4-8")
    sent = [event.request for event in requested(await harness.records(session))]

    timeline = timeline_of(harness.store, session.id)

    steps = [request for request in sent if request.purpose == "step"]
    assert [len(request.marks) for request in steps] == [
        len(request.mark_items) for request in timeline.requests
    ]
    kinds = [
        [timeline.items[item].kind for item in request.mark_items if item >= 0]
        for request in timeline.requests
    ]
    assert all(kind[0] == "system" for kind in kinds)
    assert [kind[-1] for kind in kinds] == ["user", "output", "output"]
    assert kinds[-1][-2:] == ["call", "output"]
    newest = timeline.requests[-1]
    assert newest.mark_items[-1] == max(
        item.index for item in timeline.items[: newest.items] if item.kind == "output"
    )


def test_where_no_mark_is_recorded_none_is_told() -> None:
    assert all(
        not request.cache_marks and not request.mark_items
        for request in pi_review().timeline.requests
    )
