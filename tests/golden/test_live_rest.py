"""A live turn calls the other compared functions: compactions, truncation, limits, reasoning."""

from pathlib import Path

import pytest
from tests.golden.test_live import Trace
from tests.harness.session import SessionHarness, ask
from tests.loop.context_management.test_fit_driver import SUMMARY, make_fit_harness, rebuilt

from palimpsest.context.budget.precheck import count_reducible_chars, result_chars
from palimpsest.context.budget.request_tokens import (
    answer_token_limit,
    json_tokens,
    quarter_chars,
    usable_tokens,
    usage_overflows,
)
from palimpsest.context.compaction.plan import compaction_plan, completed_compactions, recorded_plan
from palimpsest.context.conversion.transcript_text import serialize_message, serialize_messages
from palimpsest.context.message_repair.rule_order import call_rule, with_tool_ids, without_thinking
from palimpsest.context.message_repair.thinking_removal import drop_thinking
from palimpsest.context.message_repair.tool_ids import tool_id
from palimpsest.context.policy_overrides import policy_with_changes
from palimpsest.context.presets import PRESETS
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.reduction.opencode_pruning import prune_behind_newest
from palimpsest.context.reduction.oversized_results import cut_result
from palimpsest.context.reduction.truncation import apply_truncation, truncate
from palimpsest.context.request_assembly.turn_limit import history_limit, with_turn_limit
from palimpsest.context.visible_messages import turn_spans
from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import ModelAnswer, calls, says, thinks
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.values import ModelInfo, ModelRef


def long_answers(*later: ModelAnswer) -> tuple[ModelAnswer, ...]:
    return (
        calls("bash", command="seq 1 4000"),
        *[says("word " * 3_000).in_pieces(4_000)] * 3,
        *later,
    )


@pytest.mark.parametrize("preset", ["opencode-1.1", "opencode-1.18"])
async def test_a_compaction_prunes_truncates_plans_and_writes_what_is_compared(
    tmp_path: Path, preset: str
) -> None:
    full = says("Well.").reports(input=200_000, output=20)
    later = (full, says(SUMMARY), says("Gone on."), says("And now."))
    harness, model = make_fit_harness(
        tmp_path, *long_answers(*later), window=100_000, policy=preset
    )
    session = await harness.session()
    newer = {
        compaction_plan,
        recorded_plan,
        json_tokens,
        quarter_chars,
        serialize_messages,
        completed_compactions,
        turn_spans,
    }
    always = {
        apply_decisions,
        usage_overflows,
        usable_tokens,
        answer_token_limit,
        truncate,
        apply_truncation,
        compaction_plan,
        recorded_plan,
    }
    wanted = always | (newer if preset == "opencode-1.18" else {prune_behind_newest})

    with Trace(*wanted, serialize_message) as trace:
        await ask(session, "Count.", yes=True)
        for question in ("One?", "Two?", "Three?"):
            await ask(session, question)
        await ask(session, "Four?")

    assert {one.__name__ for one in wanted} <= set(trace.seen)
    assert "compaction" in {request.purpose for request in model.requests}
    await rebuilt(harness, session, model)


OLD = "claude-3-7-sonnet"


@pytest.mark.parametrize(
    ("preset", "model_id", "drops"),
    [
        ("openclaw-2026.2", f"github_copilot/{OLD}", True),
        ("openclaw-2026.2", f"anthropic/{OLD}", False),
        ("openclaw-2026.9", "github_copilot/claude-opus-4-5", True),
        ("openclaw-2026.9", f"anthropic/{OLD}", True),
        ("openclaw-2026.9", "anthropic/claude-opus-4-5", False),
        ("openclaw-2026.9", "anthropic/claude-sonnet-20-1", False),
        ("palimpsest", f"anthropic/{OLD}", False),
        ("opencode-1.18", f"anthropic/{OLD}", False),
    ],
)
async def test_thoughts_are_left_out_for_the_models_that_want_none(
    tmp_path: Path, preset: str, model_id: str, *, drops: bool
) -> None:
    """The newest recorded version of OpenClaw keeps the reasoning of the newest answer."""
    answers = [thinks(f"Thought {n}.").calls("list") for n in range(2)]
    model = ScriptedModel(*answers, thinks("Thought 2.").says("Done."), says("Yes."))
    info = ModelInfo(
        ref=ModelRef(provider="any", name="x"), window=100_000, output_limit=4_000, caching=True
    )
    harness = SessionHarness(tmp_path, model, info=info, policy=preset)
    session = await harness.session()

    with Trace(without_thinking, drop_thinking) as trace:
        await ask(session, "Look.", model=model_id)
        await ask(session, "Sure?", model=model_id)

    assert set(trace.seen) == ({"without_thinking", "drop_thinking"} if drops else set())
    if model_id.startswith("anthropic"):
        kept = {n for n in range(3) if f"Thought {n}." in str(model.requests[-1].messages)}
        assert kept == ({2} if drops else {0, 1, 2})
    await rebuilt(harness, session, model)


@pytest.mark.parametrize("preset", ["openclaw-2026.2", "openclaw-2026.9"])
async def test_limits_of_a_key_and_caps_of_results_are_those_that_are_compared(
    tmp_path: Path, preset: str
) -> None:
    lines = [f"{line} a line of a very long log that nobody reads" for line in range(1_000)]
    (tmp_path / "long.txt").write_text("\n".join(lines))
    policy = policy_with_changes(PRESETS[preset], {"compact.judge": True})
    left = [calls("read", path="long.txt").reports_nothing()] * 2 + [says("Read."), says("Still.")]

    def told(request: ModelRequest) -> ModelAnswer:
        return says("Too short.") if request.purpose == "compaction" else left.pop(0)

    harness, model = make_fit_harness(
        tmp_path, *[told] * 12, window=26_000, policy=policy, provider="mistral"
    )
    object.__setattr__(harness.services.agents, "history_limits", {"dm_history_limit": 3})
    session = await harness.session()
    wanted = {
        history_limit,
        with_turn_limit,
        cut_result,
        result_chars,
        call_rule,
        with_tool_ids,
        tool_id,
    }
    wanted |= {count_reducible_chars} if preset == "openclaw-2026.9" else set()

    with Trace(*wanted) as trace:
        await ask(session, "Read the log.", model="mistral/model")
        await ask(session, "Sure?", model="mistral/model")

    assert {one.__name__ for one in wanted} <= set(trace.seen)
    await rebuilt(harness, session, model)
