"""The messages a compaction summarises and keeps, and its texts, compared with recordings of OpenCode.

The instructions around the conversation are ours; the conversation inside is compared character by
character.
"""

import re
from typing import Any

from tests.golden.data import load
from tests.golden.upstream import message

from palimpsest.context.budget.request_tokens import json_tokens, usable_tokens
from palimpsest.context.compaction.plan import (
    CompactionPlan,
    compaction_plan,
    completed_compactions,
    recorded_plan,
)
from palimpsest.context.conversion.part_conversion import neutral_messages
from palimpsest.context.conversion.transcript_text import serialize_message, serialize_messages
from palimpsest.context.presets import OPENCODE_1_18
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.visible_messages import View, turn_spans
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import CompactPolicy
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.values import ModelInfo, ModelRef

REF = ModelRef(provider="anthropic", name="claude-test")
INSIDE = re.compile(r"<conversation>\n(.*)\n</conversation>", re.DOTALL)
BEFORE = re.compile(r"<prior-summary>\n(.*?)\n</prior-summary>", re.DOTALL)


def test_every_recorded_message_is_written_alike() -> None:
    sessions = load("opencode", "sessions")
    recorded = load("opencode", "compaction_serialize")

    for name, case in recorded.items():
        messages = seen(sessions[name])
        ours = [serialize_message(one, OPENCODE_1_18.compact.result_chars) for one in messages]
        assert ours == case["serialized"], name


def test_turns_and_completed_compactions_are_found_alike() -> None:
    sessions = load("opencode", "sessions")
    recorded = load("opencode", "compaction_serialize")

    for name, case in recorded.items():
        messages = seen(sessions[name])
        turns = [
            {"start": start, "end": end, "id": messages[start].id}
            for start, end in turn_spans(messages)
        ]
        assert turns == case["turns"], name
        found = [
            {"user": user, "assistant": summary, "summary": words}
            for user, summary, words in completed_compactions(messages)
        ]
        theirs = [
            {
                "user": one["userIndex"],
                "assistant": one["assistantIndex"],
                "summary": one["summary"],
            }
            for one in case["completed"]
        ]
        assert found == theirs, name


def test_every_recorded_compaction_is_planned_alike() -> None:
    # With a marker that nobody asked for, the recorded function threw and sent no request.
    recorded = load("opencode", "compaction_process")["cases"]
    cases = [one for one in recorded if "input" in one and one.get("llm")]

    for case in cases:
        ours = planned_by_us(case)
        prompt = case["llm"][0]["messages"][0]["content"][0]["text"]
        inside, before = INSIDE.search(prompt), BEFORE.search(prompt)
        # A plugin may write the whole prompt, and then the conversation is not in it.
        assert inside is not None or case.get("plugin"), case["name"]
        if inside is not None:
            policy = OPENCODE_1_18.compact
            assert serialize_messages(ours.summarised_messages, policy.result_chars) == inside[1], (
                case["name"]
            )
            assert ours.previous_summary == (before[1] if before else ""), case["name"]
        assert ours.tail_start_id == written_tail(case), case["name"]
    assert cases


def test_a_plan_is_found_again_from_its_marker() -> None:
    for case in load("opencode", "compaction_process")["cases"]:
        if "input" not in case or "result" not in case:
            continue
        ours = planned_by_us(case)
        *history, marked = messages_of(case)
        [part] = marked.parts
        again = marked.model_copy(
            update={"parts": (part.model_copy(update={"tail_start_id": ours.tail_start_id}),)}
        )
        assert recorded_plan((*history, again), policy_of(case)) == ours, case["name"]


def seen(recorded: list[dict[str, Any]]) -> Messages:
    """Return messages with the outputs cleared that the recorded agent had marked as cleared."""
    marked = tuple(
        Decision(id=part["id"], action="clear", rule="prune", part_id=part["id"])
        for one in recorded
        for part in one["parts"]
        if (part.get("state") or {}).get("time", {}).get("compacted")
    )
    messages = tuple(message(one) for one in recorded)
    return apply_decisions(messages, View(messages, marked))


def planned_by_us(case: dict[str, Any]) -> CompactionPlan:
    window = case["model"]
    info = ModelInfo(ref=REF, window=window["context"], output_limit=window["output"])
    room = usable_tokens(info, OPENCODE_1_18.overflow)
    return compaction_plan(messages_of(case), policy_of(case), room, weigh)


def policy_of(case: dict[str, Any]) -> CompactPolicy:
    """Return the preset with the settings of the case."""
    given = case["cfg"].get("compaction", {})
    names = {"tail_turns": "tail_turns", "preserve_recent_tokens": "tail_tokens"}
    update = {ours: given[theirs] for theirs, ours in names.items() if theirs in given}
    return OPENCODE_1_18.compact.model_copy(update=update)


def messages_of(case: dict[str, Any]) -> Messages:
    found = seen(case["input"])
    *history, marked = found
    [part] = marked.parts
    update = {"auto": case["auto"], "overflow": case["overflow"]}
    return (
        *history,
        marked.model_copy(update={"parts": (part.model_copy(update=update),)}),
    )


def written_tail(case: dict[str, Any]) -> str | None:
    tails = [
        write[1].get("tail_start_id")
        for write in case["writes"]
        if write[0] == "updatePart" and write[1]["type"] == "compaction"
    ]
    found: str | None = tails[-1] if tails else None
    return found


def weigh(messages: Messages) -> int:
    return json_tokens(neutral_messages(messages, REF))
