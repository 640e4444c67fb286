"""Reported usage is counted, and priced, as in the recorded OpenCode.

``normalise`` and ``cost`` are what every live step goes through. Differences on purpose, each a
rule over the case:

- a report without a number is no report: the tokens are then our own estimate, never zero;
- thinking that exceeds the answer was counted apart from it, so the answer keeps its own count.
"""

from typing import Any

import pytest
from tests.golden.data import load, only

from palimpsest.model.adapter.usage import normalise_usage
from palimpsest.transcript.values import Price, PriceTier, Usage

Case = dict[str, Any]

LONG_PROMPT = 200_000


def report(case: Case) -> dict[str, Any]:
    """Rename the fields of a usage report to litellm's."""
    usage = case["usage"]
    written = usage.get("cacheWriteInputTokens") or _written(case["metadata"] or {})
    return {
        "prompt_tokens": usage.get("inputTokens"),
        "completion_tokens": usage.get("outputTokens"),
        "total_tokens": usage.get("totalTokens"),
        "completion_tokens_details": {"reasoning_tokens": usage.get("reasoningTokens")},
        "cache_read_input_tokens": usage.get("cacheReadInputTokens"),
        "cache_creation_input_tokens": written,
    }


def _written(metadata: dict[str, Any]) -> int | None:
    """Return the cache writes that a provider reports beside the usage, under any of their names."""
    for provider in metadata.values():
        for name in ("cacheCreationInputTokens", "cacheWriteInputTokens"):
            found = provider.get(name) or (provider.get("usage") or {}).get(name)
            if found:
                return int(found)
    return None


def price(recorded: dict[str, Any]) -> Price:
    only(recorded, "input", "output", "cache", "experimentalOver200K", "tiers", "tier")
    over = recorded.get("experimentalOver200K")
    tiers = [PriceTier(above=LONG_PROMPT, price=price(over))] if over else []
    for one in recorded.get("tiers") or []:
        limit = only(one["tier"], "type", "size")
        assert limit.get("type", "context") == "context", limit
        tiers.append(PriceTier(above=limit["size"], price=price(one)))
    return Price(
        input=recorded["input"],
        output=recorded["output"],
        cache_read=recorded["cache"]["read"],
        cache_write=recorded["cache"]["write"],
        tiers=tuple(sorted(tiers, key=lambda tier: tier.above)),
    )


def is_no_report(case: Case) -> bool:
    usage = case["usage"]
    return not usage.get("inputTokens") and not usage.get("outputTokens")


def thinks_apart(case: Case) -> bool:
    usage = case["usage"]
    return (usage.get("reasoningTokens") or 0) > (usage.get("outputTokens") or 0)


def expected(case: Case) -> tuple[Usage, float]:
    tokens, dollars = case["result"]["tokens"], case["result"]["cost"]
    output = tokens["output"]
    if thinks_apart(case):
        output = case["usage"]["outputTokens"]
        dollars += output * case["cost"]["output"] / 1_000_000
    usage = Usage(
        input=tokens["input"],
        output=output,
        reasoning=tokens["reasoning"],
        cache_read=tokens["cache"]["read"],
        cache_write=tokens["cache"]["write"],
        total=tokens.get("total"),
    )
    return usage, dollars


def test_every_report_is_counted_and_priced_alike() -> None:
    compared = 0
    for case in load("opencode", "usage"):
        ours = normalise_usage(report(case))
        if is_no_report(case):
            assert ours is None
            continue
        usage, dollars = expected(case)

        assert ours == usage, case["usage"]
        assert ours.cost(price(case["cost"])) == pytest.approx(dollars)
        compared += 1
    assert compared
