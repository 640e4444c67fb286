"""Truncate shortens one tool output, and the whole text stays in the transcript."""

from hypothesis import given
from hypothesis import strategies as st
from tests.builders import Builder

from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.reduction.truncation import (
    RECALL_HINT,
    TASK_HINT,
    WHOLE_OUTPUT_HINT,
    apply_truncation,
    choose_ends,
    truncate,
)
from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.policies import Policy, TruncatePolicy
from palimpsest.transcript.parts import ToolCompleted, ToolPart

FACTS = Facts(now=0, estimator="chars/4", window=200_000, reserve=8_000)
POLICY = TruncatePolicy(max_lines=10, max_bytes=200)


def decide(text: str, policy: TruncatePolicy = POLICY, facts: Facts = FACTS):  # noqa: ANN201
    return truncate("dec_1", "prt_1", "msg_1", text, policy, facts, lambda words: len(words) // 4)


def test_leaves_a_small_output_alone() -> None:
    assert decide("one\ntwo") is None


def test_keeps_whole_lines_of_the_head() -> None:
    text = "\n".join(f"line {n}" for n in range(30))

    decision = decide(text)

    assert decision is not None
    shown_text = apply_truncation(text, decision.numbers)
    assert shown_text.startswith("line 0\nline 1\n")
    assert "...20 lines truncated..." in shown_text
    assert shown_text.endswith(TASK_HINT.format(name="1"))
    assert "line 10" not in shown_text


def test_names_recall_only_where_it_is_offered_and_older_decisions_keep_their_words() -> None:
    text = "\n".join(f"line {n}" for n in range(30))

    decision = decide(text, POLICY.model_copy(update={"recall": False}))

    assert decision is not None
    assert "recall" not in decision.numbers
    assert apply_truncation(text, decision.numbers).endswith(WHOLE_OUTPUT_HINT)


def test_a_policy_that_was_recorded_before_tasks_were_named_names_none() -> None:
    whole = TruncatePolicy().model_dump()
    older = {name: value for name, value in whole.items() if name != "task"}

    assert TruncatePolicy.model_validate(whole).task
    assert not TruncatePolicy.model_validate(older).task
    assert not Policy.model_validate({**Policy().model_dump(), "truncate": older}).truncate.task


def test_names_a_task_only_where_it_is_offered() -> None:
    text = "\n".join(f"line {n}" for n in range(30))

    decision = decide(text, POLICY.model_copy(update={"task": False}))

    assert decision is not None
    assert apply_truncation(text, decision.numbers).endswith(RECALL_HINT.format(name="1"))


def test_applying_twice_changes_nothing_more() -> None:
    build = Builder()
    text = "\n".join(f"line {n}" for n in range(30))
    part = build.ran("python", text)
    message = build.assistant(part)
    decision = truncate("dec_1", part.id, message.id, text, POLICY, FACTS, len)
    assert decision is not None
    view = View((message,), (decision,))

    once = apply_decisions(view.messages, view)

    assert apply_decisions(view.messages, view) == once
    state = once[0].parts[0]
    assert isinstance(state, ToolPart)
    assert isinstance(state.state, ToolCompleted)
    assert state.state.output == apply_truncation(text, decision.numbers)
    assert message.parts[0] == part.model_copy(update={"message_id": message.id})


def test_its_report_adds_up() -> None:
    text = "\n".join(f"line {n}" for n in range(30))

    decision = decide(text)

    assert decision is not None
    assert decision.tokens_before == len(text) // 4
    assert decision.tokens_after == len(apply_truncation(text, decision.numbers)) // 4


def test_keeps_head_and_tail_when_the_tail_holds_an_error() -> None:
    text = "\n".join(f"line {n}" for n in range(100)) + "\nValueError: no such column"

    decision = decide(text)

    assert decision is not None
    shown_text = apply_truncation(text, decision.numbers)
    assert shown_text.startswith("line 0\n")
    assert "ValueError: no such column" in shown_text


def test_cuts_inside_a_line_that_is_longer_than_the_cap() -> None:
    text = "é" * 5_000

    decision = decide(text)

    assert decision is not None
    assert apply_truncation(text, decision.numbers).startswith("é" * 100)
    assert decision.numbers["omitted"] == 10_000 - 200


def test_takes_at_most_a_share_of_a_small_window() -> None:
    small = Facts(now=0, estimator="chars/4", window=100, reserve=10)

    assert decide("x" * 120, TruncatePolicy(), small) is not None
    assert decide("x" * 120, TruncatePolicy(), FACTS) is None


@given(st.text(alphabet="ab\né ", max_size=400), st.integers(1, 20), st.integers(1, 200))
def test_what_is_kept_is_within_the_caps(text: str, max_lines: int, max_bytes: int) -> None:
    for from_end in (False, True):
        ends = choose_ends(text, max_lines, max_bytes, from_end=from_end)
        if ends is None:
            assert len(text.split("\n")) <= max_lines
            assert len(text.encode()) <= max_bytes
            continue
        piece = text[len(text) - ends.tail_chars :] if from_end else text[: ends.head_chars]
        assert len(piece.split("\n")) <= max_lines
        assert len(piece.encode()) <= max_bytes


@given(st.text(max_size=600))
def test_any_text_can_be_shortened(text: str) -> None:
    decision = decide(text)
    if decision is not None:
        assert apply_truncation(text, decision.numbers).endswith(TASK_HINT.format(name="1"))
