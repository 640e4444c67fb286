"""Every decision rule has one sentence, and every view shows the same one."""

import json
from collections.abc import Callable
from typing import Any, get_args

import pytest
from tests.render import reader_samples as told
from tests.render.sample_parts import assistant

from palimpsest.context.presets import PRESETS
from palimpsest.frontends.protocol.page_records import page_record
from palimpsest.frontends.protocol.segments import SegmentCut
from palimpsest.frontends.turn_output.mime_bundle import SEGMENT_MIME, TurnFacts, segment_bundle
from palimpsest.frontends.turn_output.segments import Segment
from palimpsest.render.content import decision_reasons
from palimpsest.render.content.outline import OutlineNotes, outline_parts
from palimpsest.render.formats import html, markdown, text
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.prune_policy import PRUNE_RULE
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import FormedPart, NotedPart
from palimpsest.transcript.session_record.events import DecisionMade, Record

TOLD: dict[str, Any] = json.loads(told.FIXTURE.read_text("utf-8"))
DECISIONS = [
    (Decision.model_validate(case["decision"]), case["strip"]) for case in TOLD["decisions"]
]
STRIPS = [(decision, strip) for decision, strip in DECISIONS if strip]


def named(decided: list[tuple[Decision, str]]) -> list[str]:
    return [f"{decision.rule} {decision.id}" for decision, _ in decided]


def test_the_samples_that_the_page_is_tested_by_are_current() -> None:
    assert told.FIXTURE.read_text("utf-8") == told.written(), (
        "Run `python -m tests.render.reader_samples` and look at what changed."
    )


def test_there_is_a_sample_of_every_rule_and_of_every_type_of_part() -> None:
    types = {
        model.model_fields["type"].default
        for model in (*get_args(FormedPart), *get_args(NotedPart))
    }

    assert {rule for rule, _, _ in told.SAMPLES} >= set(told.RULES)
    assert {part.type for part in told.PARTS} == types


@pytest.mark.parametrize("rule", told.RULES)
def test_every_rule_has_a_sentence(rule: str) -> None:
    for decision, _ in DECISIONS:
        if decision.rule == rule:
            assert decision_reasons.reason_from_numbers(decision).endswith(".")


@pytest.mark.parametrize("preset", PRESETS)
def test_the_rule_that_a_preset_prunes_by_has_a_sentence(preset: str) -> None:
    rule = PRESETS[preset].prune.rule

    assert rule == "none" or f"{PRUNE_RULE}{rule}" in told.RULES


@pytest.mark.parametrize(("decision", "strip"), STRIPS, ids=named(STRIPS))
@pytest.mark.parametrize("view", [text, markdown, html], ids=lambda one: one.__name__)
def test_every_view_shows_the_same_words(view: Any, decision: Decision, strip: str) -> None:
    made: str = view.render_message(
        told.message_of(decision), notes=OutlineNotes(decisions=(decision,))
    )

    assert told.words(made.replace("\\", "")).count(strip) == 1


@pytest.mark.parametrize(("decision", "strip"), STRIPS, ids=named(STRIPS))
def test_a_saved_notebook_and_a_page_are_sent_the_words(decision: Decision, strip: str) -> None:
    bare = decision.model_copy(update={"words": None})
    message = told.message_of(decision)
    saved = segment_bundle(
        [message],
        Segment(0, SegmentCut()),
        TurnFacts("ses_1", "msg_1", (1, 2)),
        notes=OutlineNotes(decisions=(bare,)),
        scrub=str,
    )

    assert [saved_decision["words"] for saved_decision in saved[SEGMENT_MIME]["decisions"]] == [
        strip
    ]
    assert strip in told.words(saved["text/plain"])


@pytest.mark.parametrize(("decision", "strip"), STRIPS, ids=named(STRIPS))
def test_the_context_window_gives_the_same_reason(decision: Decision, strip: str) -> None:
    by_hand = decision.rule in (
        "user/pin",
        "user/exclude",
    )  # the action says who did it
    told_why = decision_reasons.reason_from_numbers(decision)

    assert by_hand or told_why in strip
    assert decision_reasons.reason(decision) == (
        told_why or f"Decided by the rule {decision.rule}."
    )


@pytest.mark.parametrize(("decision", "_strip"), DECISIONS, ids=named(DECISIONS))
def test_a_page_is_told_the_words_and_the_log_keeps_none(decision: Decision, _strip: str) -> None:
    made = decision.model_copy(update={"words": None})
    record = Record(seq=1, ts=1, event=DecisionMade(decision=made))

    assert page_record(record)["decision"].get("words", "") == (decision.words or "")
    assert "words" not in json.loads(record.line())["decision"]


def test_words_that_are_saved_hold_no_key() -> None:
    decision = Decision(
        id="dec_1",
        action="summarise",
        rule="compact",
        message_id="msg_2",
        numbers={"retention": {"identifiers": {"found": 1, "lost": 1, "names": ["sk-secret"]}}},
    )
    scrub: Callable[[str], str] = lambda words: words.replace("sk-secret", "[key]")  # noqa: E731
    notes = OutlineNotes(decisions=(decision,))
    message = told.message_of(decision)
    saved = segment_bundle(
        [message], Segment(0, SegmentCut()), TurnFacts("s", "m", (1, 2)), notes=notes, scrub=scrub
    )

    assert "sk-secret" not in json.dumps(saved)
    assert "[key]" in saved[SEGMENT_MIME]["decisions"][0]["words"]


@pytest.mark.parametrize("part", told.PARTS, ids=lambda part: f"{part.type} {part.id}")
def test_what_html_shows_of_a_part_text_and_markdown_show(part: Any) -> None:
    [sample] = [
        case
        for case in TOLD["parts"]
        if case["part"] == part.model_dump(mode="json", exclude_none=True)
    ]
    said = [bool(view.render_message(assistant(part)).strip()) for view in (text, markdown)]

    assert said == [sample["shown"]] * 2
    assert bool(outline_parts([part])) == sample["shown"]


@pytest.mark.parametrize("end", TOLD["ends"], ids=lambda end: end["by"])
@pytest.mark.parametrize("view", [text, markdown, html], ids=lambda one: one.__name__)
def test_every_view_says_why_a_turn_ended(view: Any, end: dict[str, Any]) -> None:
    made: str = view.render_message(Message.model_validate(end["message"]))

    assert told.words(made.replace("\\", "")).count(end["sentence"]) == 1
