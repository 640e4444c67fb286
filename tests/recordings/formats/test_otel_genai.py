"""OpenTelemetry: spans made by the conventions' own handler, as OTLP JSON and as the SDK prints them."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.reading import answers_of, input_tokens, line_of, only, read_all
from tests.recordings.formats.sample_files import SAMPLES

from palimpsest.recordings.formats.otel_genai import OtelGenAiImporter
from palimpsest.recordings.reading.recorded import (
    CompactionRead,
    GapRead,
    MessageRead,
    ReducedRead,
    RemovedRead,
    ResultRead,
    SessionBegin,
    Thinking,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import Usage

FORMS = [SAMPLES / "otel_genai.json", SAMPLES / "otel_genai.jsonl"]


def spans(*requests_: dict[str, Any], **more: Any) -> str:
    """Return request spans in the SDK's form, one a line."""
    lines = []
    for n, about in enumerate(requests_):
        names = {f"gen_ai.{name}": value for name, value in about.items()}
        lines.append(
            {
                "name": "chat",
                "context": {"trace_id": "t", "span_id": f"s{n}"},
                "start_time": f"2026-01-01T00:00:0{n}Z",
                "attributes": {"gen_ai.operation.name": "chat", **names},
                **more,
            }
        )
    return "".join(json.dumps(line) + "\n" for line in lines)


def talk(*words: str) -> list[dict[str, Any]]:
    """Return messages, the user's first, then in turn."""
    return [
        {"role": ("user", "assistant")[n % 2], "parts": [{"type": "text", "content": word}]}
        for n, word in enumerate(words)
    ]


def asked(*words: str, answer: str, **more: Any) -> dict[str, Any]:
    output = [{"role": "assistant", "parts": [{"type": "text", "content": answer}]}]
    return {"input.messages": talk(*words), "output.messages": output, **more}


def test_the_spans_of_a_single_line_are_found_behind_other_fields(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps({"pad": "x" * 250, **json.loads(FORMS[0].read_text())}))

    assert only(MessageRead, read_all(OtelGenAiImporter(), path)[0])


@pytest.mark.parametrize("path", FORMS, ids=["otlp", "sdk"])
def test_a_conversation_is_a_session_and_an_agent_in_a_tool_its_subagent(path: Path) -> None:
    values, reports = read_all(OtelGenAiImporter(), path)
    main, counter = only(SessionBegin, values)

    assert reports == []
    assert (main.id, main.title, main.system, main.parent) == (
        "conv-1",
        "lead",
        "You are the lead.",
        None,
    )
    assert (counter.title, counter.parent, counter.parent_call) == ("counter", "conv-1", "call-b")
    assert [tool.name for tool in main.tools or ()] == ["read"]
    assert [line_of(message) for message in only(MessageRead, values)] == [
        "What do a and b hold?",
        "I read a. read()",
        "I read b. read()",
        "a and b.",
        "Which is longer?",
        "Neither.",
        "Count b.",
        "800",
    ]


@pytest.mark.parametrize("path", FORMS, ids=["otlp", "sdk"])
def test_the_input_counts_cached_tokens(path: Path) -> None:
    values, _ = read_all(OtelGenAiImporter(), path)

    assert input_tokens(values) == [1_000, 4_000, 3_500, 600, 300]
    assert answers_of(values)[1].usage == Usage(
        input=2_600, output=40, cache_read=900, cache_write=500
    )
    assert [request.finish for request in answers_of(values)][:3] == [
        "tool-calls",
        "tool-calls",
        "stop",
    ]
    assert only(Thinking, answers_of(values)[0].parts) == [Thinking("I need a.")]


@pytest.mark.parametrize("path", FORMS, ids=["otlp", "sdk"])
def test_what_changed_between_requests_is_a_reduction(path: Path) -> None:
    values, _ = read_all(OtelGenAiImporter(), path)
    answers = answers_of(values)
    (compacted,) = only(CompactionRead, values)

    assert [(reduced.call, reduced.shown_text) for reduced in only(ReducedRead, values)] == [
        ("call-a", "[cleared]")
    ]
    assert only(ResultRead, values)[0].output == "a holds " + "a " * 800
    assert compacted.summary == "Summary: a and b were read."
    assert compacted.replaced_messages == ("m1", answers[0].id, answers[1].id)
    assert values.index(compacted) < values.index(answers[3])


def test_a_question_that_was_asked_anew_takes_the_former_one_back(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(
        spans(
            asked("one", answer="1"),
            asked("one", "1", "two", answer="2"),
            asked("one", "1", "three", answer="3"),
        )
    )

    values, _ = read_all(OtelGenAiImporter(), path)

    assert [removed.messages for removed in only(RemovedRead, values)] == [("m2", "s1")]
    assert only(CompactionRead, values) == []


def test_dropped_oldest_messages_are_a_compaction_without_a_summary(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(
        spans(asked("one", "1", "two", answer="2"), asked("two", "2", "three", answer="3"))
    )

    values, _ = read_all(OtelGenAiImporter(), path)

    assert [
        (compaction.summary, compaction.replaced_messages)
        for compaction in only(CompactionRead, values)
    ] == [("", ("m1", "m2"))]
    assert [gap.message for gap in only(GapRead, values)] == ["m2"]


def test_spans_without_contents_give_usage_and_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    usage = {"usage.input_tokens": 10, "usage.output_tokens": 2}
    path.write_text(spans(usage, {**usage, "usage.cache_read.input_tokens": 90}))

    values, _ = read_all(OtelGenAiImporter(), path)

    assert [begin.id for begin in only(SessionBegin, values)] == ["trace t"]
    assert input_tokens(values) == [10, 100]
    assert [gap.sentence[:42] for gap in only(GapRead, values)] == [
        "The texts of the messages were not recorde"
    ]


def test_a_failed_request_says_why(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    status = {"status_code": "ERROR", "description": "overloaded"}
    path.write_text(spans({"input.messages": talk("one")}, status=status))

    values, _ = read_all(OtelGenAiImporter(), path)

    assert [(request.finish, request.error) for request in answers_of(values)] == [
        ("error", "overloaded")
    ]


def test_calls_that_were_recorded_without_ids_keep_their_results(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    call = {"type": "tool_call", "name": "f", "arguments": {"a": 1}}
    made = {"role": "assistant", "parts": [call]}
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "response": {"b": 2}}]}
    path.write_text(
        spans(
            {"input.messages": talk("go"), "output.messages": [made]},
            {"input.messages": [*talk("go"), made, back], "output.messages": [made]},
            {"input.messages": [*talk("go"), made, back, made, back], "output.messages": []},
        )
    )

    values, _ = read_all(OtelGenAiImporter(), path)

    assert [(result.call, result.output) for result in only(ResultRead, values)] == [
        ("call1", '{"b": 2}'),
        ("call2", '{"b": 2}'),
    ]
    assert (
        only(CompactionRead, values) + only(RemovedRead, values) + only(ReducedRead, values) == []
    )


def test_spans_of_other_programs_alone_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text('{"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "a"}]}]}]}')

    with pytest.raises(UserError, match="holds no requests of a model"):
        read_all(OtelGenAiImporter(), path)
