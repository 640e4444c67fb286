"""A whole compaction in the live loop keeps the same messages and ends in the same way as the recorded one.

The recording ends with the compaction. What the loop does after it is another recording (``test_loop``).
The instructions that ask for a summary are ours.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.golden.data import recorded_cases
from tests.golden.test_compact import policy_of, written_tail
from tests.golden.test_live import Trace
from tests.golden.test_loop import write
from tests.harness.session import SessionHarness, requested
from tests.loop.context_management.test_fit_driver import SUMMARY
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.context.compaction.continuation import continuation_text
from palimpsest.context.compaction.plan import compaction_plan, recorded_plan
from palimpsest.context.conversion.transcript_text import serialize_messages
from palimpsest.context.presets import OPENCODE_1_18
from palimpsest.context.visible_messages import marker
from palimpsest.model.script import ModelAnswer, fails, overflows, says
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.messages import AssistantMessage, Message, UserMessage
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.session_record.events import DecisionMade, PartUpdated, SessionCompacted
from palimpsest.transcript.values import ModelInfo, ModelRef

Case = dict[str, Any]


def answer_of(case: Case) -> ModelAnswer:
    """Return the recorded model's answer: a summary, an overflow, or a failure."""
    if case["result"] == "continue":
        return says(SUMMARY)
    written = [one[1].get("error") for one in case["writes"] if isinstance(one[1], dict)]
    too_long = any(error and error["name"] == "ContextOverflowError" for error in written)
    return overflows() if too_long else fails(400, "no")


def is_played(case: Case) -> bool:
    # Hooks of the recorded agent have another format than ours.
    return "input" in case and case.get("plugin") is None and not any(rule(case) for rule in RULES)


def is_folded_already(case: Case) -> bool:
    """Return whether the recorded history already contains a folded tail.

    The recording starts from the folded messages; a journal holds the unfolded ones, and neither agent
    folds twice. ``test_compact`` compares these cases without a journal.
    """
    older = (part for one in case["input"][:-1] for part in one["parts"])
    return any(part.get("tail_start_id") for part in older)


def waits_for_tasks(case: Case) -> bool:
    """Return whether subtasks are pending, which a loop runs before it compacts (``test_loop``)."""
    return any(part["type"] == "subtask" for one in case["input"] for part in one["parts"])


def is_asked_by_nobody(case: Case) -> bool:
    """Return whether the recorded function threw, since its marker is no user message."""
    return "result" not in case


RULES = (is_folded_already, waits_for_tasks, is_asked_by_nobody)
"""Cases in which the recorded function got an input that a loop never produces."""


def cleared(case: Case) -> Iterator[Decision]:
    """Yield clear decisions for the outputs that the recorded agent had marked as cleared."""
    for one in case["input"]:
        for part in one["parts"]:
            if (part.get("state") or {}).get("time", {}).get("compacted"):
                yield Decision(
                    id=f"dec_{part['id']}",
                    action="clear",
                    rule="prune",
                    part_id=part["id"],
                    message_id=one["info"]["id"],
                )


def said_after(messages: tuple[Message, ...], marker_id: str) -> list[str]:
    """Return the engine's synthetic texts after a compaction."""
    at = [message.id for message in messages].index(marker_id)
    return [
        part.text
        for message in messages[at + 1 :]
        if isinstance(message.info, UserMessage) and marker(message) is None
        for part in message.parts
        if isinstance(part, TextPart)
    ]


@pytest.mark.parametrize("case", recorded_cases("opencode", "compaction_process", is_played))
async def test_a_live_compaction_does_what_was_recorded(tmp_path: Path, case: Case) -> None:
    limit = case["model"]
    info = ModelInfo(
        ref=ModelRef(provider="anthropic", name="claude-test"),
        window=limit["context"],
        output_limit=limit["output"],
    )
    model = ScriptedModel(answer_of(case), *[says("Well.")] * 3)
    harness = SessionHarness(tmp_path, model, info=info)
    policy = OPENCODE_1_18.model_copy(update={"compact": policy_of(case)})
    object.__setattr__(harness.services.rules, "policy", policy)
    # In the recording a person chose this model and these agents; the log alone does not set them.
    for one in case["input"]:
        harness.services.rules.effective_rules.record_choice(
            one["info"].get("agent", "build"), info.ref
        )
    session = await harness.session()
    for one in case["input"]:
        write(session, one)
    session.log.append(*(DecisionMade(decision=one) for one in cleared(case)))
    [part] = session.snapshot().messages[-1].parts
    update = {"auto": case["auto"], "overflow": case["overflow"]}
    session.log.append(PartUpdated(part=part.model_copy(update=update)))
    marker_id = part.message_id

    with Trace(compaction_plan, recorded_plan, serialize_messages, continuation_text) as trace:
        await asyncio.wait_for(session.loop(), LAST_RESORT_SECONDS)

    messages = session.snapshot().messages
    asked = [request for request in model.requests if request.purpose == "compaction"]
    compaction = marker(next(message for message in messages if message.id == marker_id))
    recorded = [
        one[1]["text"]
        for one in case["writes"]
        if one[0] == "updatePart" and one[1]["type"] == "text"
    ]
    assert len(asked) == len(case["llm"])
    assert compaction is not None
    assert compaction.tail_start_id == written_tail(case)
    assert said_after(messages, marker_id) == recorded
    records = await harness.records(session)
    done = [record for record in records if isinstance(record.event, SessionCompacted)]
    assert len(done) == len(case["events"])
    summary = next(
        message.info
        for message in reversed(messages)
        if isinstance(message.info, AssistantMessage) and message.info.summary
    )
    assert (summary.error is None) is (case["result"] == "continue")
    assert {"compaction_plan", "recorded_plan", "serialize_messages"} <= set(trace.seen)
    assert ("continuation_text" in trace.seen) == bool(recorded)
    assert requested(records)[0].request.purpose == "compaction"
