"""A live turn under a preset calls the functions that are compared with recordings."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest
from tests.harness.session import SessionHarness, ask

from palimpsest.context.budget.conservative_estimate import conservative_tokens
from palimpsest.context.budget.precheck import precheck
from palimpsest.context.budget.window_guard import evaluate_guard
from palimpsest.context.conversion.model_transform import transform
from palimpsest.context.conversion.part_conversion import cache_mark_positions, neutral_messages
from palimpsest.context.message_repair.rule_order import (
    anthropic_turns,
    gemini_turns,
    in_turn_order,
    pair_by_rule,
)
from palimpsest.context.message_repair.tool_ids import write_tool_ids
from palimpsest.context.message_repair.turn_order import user_first
from palimpsest.context.message_repair.usable_calls import repair_calls
from palimpsest.context.policy_overrides import preset_policy
from palimpsest.context.reduction.cache_ttl_pruning import prune_cache
from palimpsest.context.reduction.oversized_results import cut_result
from palimpsest.context.reduction.pruning import pruning_function
from palimpsest.context.request_assembly.turn_limit import with_turn_limit
from palimpsest.context.visible_messages import fold
from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import ModelAnswer, calls, says
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.reconstruction.requests import policy_of, rebuild_all
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.values import ModelInfo, ModelRef

INFO = ModelInfo(
    ref=ModelRef(provider="anthropic", name="claude-test"), window=100_000, output_limit=4_000
)


class Trace:
    """Records the policy of each call of some functions, in this thread."""

    def __init__(self, *functions: Callable[..., Any]) -> None:
        self._names: dict[CodeType, str] = {one.__code__: one.__name__ for one in functions}
        self.seen: dict[str, list[Any]] = {}

    def __enter__(self) -> "Trace":
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code in self._names:
            name = self._names[frame.f_code]
            self.seen.setdefault(name, []).append(frame.f_locals.get("policy"))


@pytest.mark.parametrize("preset", ["opencode-1.1", "opencode-1.18"])
async def test_a_turn_goes_through_what_is_compared_and_is_rebuilt(
    tmp_path: Path, preset: str
) -> None:
    chosen = preset_policy(preset)
    model = ScriptedModel(calls("list"), says("Done."))
    harness = SessionHarness(tmp_path, model, info=INFO, policy=preset)
    session = await harness.session()
    count = counter(chosen.estimator)

    with Trace(fold, neutral_messages, transform, cache_mark_positions, count) as trace:
        await ask(session, "Look.", model="anthropic/claude-test")

    assert chosen.compact in trace.seen["fold"]
    assert set(map(id, trace.seen["neutral_messages"])) == {id(chosen.convert)}
    assert set(map(id, trace.seen["transform"])) == {id(chosen.transform)}
    assert len(trace.seen["cache_mark_positions"]) == len(model.requests) == 2
    assert len(trace.seen[count.__name__]) > 10
    rebuilt = list(rebuild_all(harness.store, session.id, await harness.records(session)))
    assert [one.request.messages for one in rebuilt] == [one.messages for one in model.requests]
    assert all(one.matches for one in rebuilt)
    assert {policy_of(harness.store, one.record).name for one in rebuilt} == {preset}


class Preset(NamedTuple):
    """The functions that a turn under a preset must call, for one provider."""

    name: str
    provider: str
    passes: frozenset[str]


OPENCLAW = [
    Preset(
        name,
        provider,
        frozenset(
            {"evaluate_guard", "with_turn_limit", "pruning_function", "cut_result", "repair_calls"}
        )
        | {"pair_by_rule", "in_turn_order"}
        | special,
    )
    for name in ("openclaw-2026.2", "openclaw-2026.9")
    for provider, special in (
        ("anthropic", frozenset({"anthropic_turns", "write_tool_ids"})),
        ("gemini", frozenset({"gemini_turns", "write_tool_ids", "user_first"})),
        ("mistral", frozenset({"write_tool_ids"})),
    )
]


@pytest.mark.parametrize("preset", OPENCLAW, ids=lambda one: f"{one.name}-{one.provider}")
async def test_a_turn_that_runs_out_of_room_goes_through_what_is_compared(
    tmp_path: Path, preset: Preset
) -> None:
    lines = [f"{line} a line of a very long log that nobody reads" for line in range(1_000)]
    for number in range(2):
        (tmp_path / f"log{number}.txt").write_text("\n".join(lines))
    second = 1_000 if preset.name == "openclaw-2026.2" else 100
    left = [calls("read", path="log0.txt").reports_nothing()]
    left += [calls("read", path="log1.txt", limit=second).reports_nothing()]
    left += [says("Read."), says("Still.")]

    def told(request: ModelRequest) -> ModelAnswer:
        return says("Too short.") if request.purpose == "compaction" else left.pop(0)

    model = ScriptedModel(*[told] * 12)
    info = ModelInfo(
        ref=ModelRef(provider=preset.provider, name="model"),
        window=26_000,
        output_limit=4_000,
        caching=True,
    )
    harness = SessionHarness(tmp_path, model, info=info, policy=preset.name)
    session = await harness.session()
    traced = (
        evaluate_guard,
        with_turn_limit,
        pruning_function,
        cut_result,
        repair_calls,
        pair_by_rule,
        in_turn_order,
        user_first,
    )
    turned = (
        anthropic_turns,
        gemini_turns,
        write_tool_ids,
        precheck,
        conservative_tokens,
        prune_cache,
    )

    with Trace(*traced, *turned) as trace:
        answer = await ask(session, "Read the logs.", model=f"{preset.provider}/model")
        harness.clock.now += 10 * 60 * 1000
        again = await ask(session, "Sure?", model=f"{preset.provider}/model")

    assert answer.error is None, answer.error.message
    assert answer.text == "Read."
    assert again.error is None
    assert preset.passes <= set(trace.seen), preset.passes - set(trace.seen)
    assert {"prune_cache"} <= set(trace.seen)
    assert ("precheck" in trace.seen) == (preset.name == "openclaw-2026.9")
    rebuilt = list(rebuild_all(harness.store, session.id, await harness.records(session)))
    assert [one.request.messages for one in rebuilt] == [one.messages for one in model.requests]
