"""Overflow is detected as in the recorded agents: by the answer's usage, and by an estimate before sending."""

from typing import Any, Literal

import pytest
from tests.golden.data import load
from tests.golden.openclaw import NEWEST, OLDEST, plain

from palimpsest.context.budget.conservative_estimate import conservative_tokens
from palimpsest.context.budget.precheck import count_reducible_chars, precheck, result_chars
from palimpsest.context.budget.request_tokens import (
    answer_token_limit,
    quarter_chars,
    usable_tokens,
    usage_overflows,
)
from palimpsest.context.policy_overrides import preset_policy
from palimpsest.model.tokenizer import counter
from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.context_values.policies import OverflowPolicy
from palimpsest.transcript.values import ModelInfo, ModelRef, Usage


def model_of(limits: dict[str, int]) -> ModelInfo:
    return ModelInfo(
        ref=ModelRef(provider="p", name="m"),
        window=limits["context"],
        input_limit=limits.get("input"),
        output_limit=limits["output"],
    )


def usage_of(tokens: dict[str, Any]) -> Usage:
    cache = tokens["cache"]
    plain_counts = {name: tokens[name] for name in ("input", "output", "reasoning")}
    return Usage(
        **plain_counts,
        cache_read=cache["read"],
        cache_write=cache["write"],
        total=tokens.get("total"),
    )


def policy_of(preset: str, case: dict[str, Any]) -> OverflowPolicy:
    configured = case["cfg"].get("compaction", {})
    update = {name: configured[name] for name in ("auto", "reserved") if name in configured}
    if "outputTokenMax" in case:
        update["output_cap"] = case["outputTokenMax"]
    return preset_policy(preset).overflow.model_copy(update=update)


def test_every_recorded_usage_overflows_alike() -> None:
    ours, theirs = {}, {}
    for number, case in enumerate(load("opencode", "overflow")):
        model, rule = model_of(case["limit"]), policy_of("opencode-1.18", case)
        ours[number] = (
            usable_tokens(model, rule),
            answer_token_limit(model, rule),
            [usage_overflows(usage_of(one["tokens"]), model, rule) for one in case["cases"]],
        )
        theirs[number] = (
            case["usable"],
            case["maxOutputTokens"],
            [one["overflow"] for one in case["cases"]],
        )

    assert ours == theirs


def test_every_recorded_usage_of_the_seeds_era_overflows_alike() -> None:
    ours, theirs = {}, {}
    for number, case in enumerate(load("opencode", "seed-era-1.1.34/overflow")):
        rule = policy_of("opencode-1.1", case)
        ours[number] = usage_overflows(usage_of(case["tokens"]), model_of(case["limit"]), rule)
        theirs[number] = case["overflow"]

    assert ours == theirs


def test_a_later_release_of_the_seeds_era_differs_only_where_it_is_the_newest_rule() -> None:
    """Release 1.1.65 has the newest version's rule, which is the preset ``opencode-1.18``."""
    recorded = load("opencode", "seed-era-1.1.65/overflow")

    apart = 0
    for case in recorded:
        usage, model = usage_of(case["tokens"]), model_of(case["limit"])
        oldest = usage_overflows(usage, model, policy_of("opencode-1.1", case))
        newest = usage_overflows(usage, model, policy_of("opencode-1.18", case))
        assert case["overflow"] == newest
        apart += oldest != newest

    assert 0 < apart < len(recorded) / 4


@pytest.mark.parametrize("preset", ["opencode-1.1", "opencode-1.18"])
def test_every_recorded_text_is_estimated_alike(preset: str) -> None:
    recorded = load("opencode", "token_estimate")
    counters = (counter(preset_policy(preset).estimator), quarter_chars)

    for count in counters:
        assert [count(case["text"]) for case in recorded] == [case["tokens"] for case in recorded]


@pytest.mark.parametrize(
    ("version", "preset"), [(OLDEST, "openclaw-2026.2"), (NEWEST, "openclaw-2026.9")]
)
def test_every_recorded_window_gives_a_result_as_much_room(version: str, preset: str) -> None:
    recorded = load("openclaw", "calculateMaxToolResultChars")["cases"]

    ours = [
        result_chars(case["input"]["contextWindowTokens"], preset_policy(preset).recovery)
        for case in recorded
    ]

    assert ours == [case["expected"][version] for case in recorded]


def request_of(sizes: list[int]) -> NeutralMessages:
    """Return the request that a case describes: a negative size is a prompt, others are results."""
    messages = [said("system", "S" * 8_000), said("user", "q")]
    for number, size in enumerate(sizes):
        if size < 0:
            messages.append(said("user", "w" * -size))
            continue
        call = CallBlock(call_id=f"c{number}", tool="read", input={})
        result = ResultBlock(call_id=call.call_id, tool=call.tool, text="z" * size)
        messages.append(NeutralMessage(role="assistant", blocks=(call,)))
        messages.append(NeutralMessage(role="tool", blocks=(result,)))
    return (*messages, said("user", "P" * 400))


def said(role: Literal["system", "user"], words: str) -> NeutralMessage:
    return NeutralMessage(role=role, blocks=(TextBlock(text=words),))


def test_every_recorded_request_is_weighed_and_goes_the_same_way() -> None:
    chosen = preset_policy("openclaw-2026.9")
    ours, theirs = {}, {}
    for number, case in enumerate(
        load("openclaw", "shouldPreemptivelyCompactBeforePrompt")["cases"]
    ):
        given, expected = plain(case["input"]), case["expected"][NEWEST]
        window = given["contextTokenBudget"]
        results = [size for size in given["sizes"] if size > 0]
        result = precheck(
            conservative_tokens(request_of(given["sizes"]), chosen.overflow),
            count_reducible_chars(results, window, chosen.recovery),
            window,
            given["reserveTokens"],
            chosen.overflow,
        )
        ours[f"{number} {case['name']}"] = {
            "route": result.fit_action,
            "shouldCompact": result.fit_action.startswith("compact"),
            "estimatedPromptTokens": result.tokens,
            "promptBudgetBeforeReserve": result.budget,
            "overflowTokens": result.overflow,
            "toolResultReducibleChars": result.reducible_chars,
            "effectiveReserveTokens": result.reserved_tokens,
        }
        theirs[f"{number} {case['name']}"] = {
            name: expected[name] for name in ours[f"{number} {case['name']}"]
        }

    assert ours == theirs
