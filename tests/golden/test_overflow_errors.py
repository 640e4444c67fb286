"""Overflow errors are told from others as in the recorded agents, by the wording alone."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.golden.data import load
from tests.golden.generations import GENERATIONS
from tests.golden.openclaw import NEWEST, OLDEST, plain
from tests.golden.test_live import Trace
from tests.harness.session import SessionHarness, ask

from palimpsest.context.budget.request_tokens import is_silently_truncated
from palimpsest.context.policy_overrides import preset_policy
from palimpsest.model.adapter.litellm_model import LitellmModel
from palimpsest.model.direct.direct_model import DirectModel
from palimpsest.model.errors.overflow_detection import (
    certainly_means_overflow,
    is_billing,
    is_compaction_failure,
    is_overflow,
    is_rate_limit,
    observed_tokens,
)
from palimpsest.model.script import fails
from palimpsest.testing import FaultServer
from palimpsest.transcript.context_values.policies import Refusals
from palimpsest.transcript.errors import ApiError, ContextOverflowError
from palimpsest.transcript.values import ModelInfo, ModelRef, Usage


def ours_of(text: str, refusals: Refusals, recorded: dict[str, Any]) -> dict[str, Any]:
    ours: dict[str, Any] = {
        "isContextOverflowError": certainly_means_overflow(text, refusals),
        "isLikelyContextOverflowError": is_overflow(text, refusals=refusals),
        "isCompactionFailureError": is_compaction_failure(text, refusals),
        "isRateLimitErrorMessage": is_rate_limit(text, refusals),
        "isBillingErrorMessage": is_billing(text, refusals),
        "extractObservedOverflowTokenCount": observed_tokens(text, refusals),
    }
    return {name: value for name, value in ours.items() if name in recorded}


OF_A_PLUGIN = re.compile(
    r"tokens in request more than max tokens allowed|prompt exceeds max length", re.IGNORECASE
)
"""Z.AI's two refusals of a long prompt, which it sends with the codes 1210 and 1261."""

ASKS_PLUGINS = {
    "isContextOverflowError",
    "isLikelyContextOverflowError",
    "isCompactionFailureError",
}


def differs_by_rule(text: str, name: str, version: str) -> bool:
    """Return whether recordings of one release disagree about this text.

    The rule: newer releases of OpenClaw leave some refusals to the plugin of their provider, so what its functions say of
    them depends on the plugins that were loaded while they were recorded. Ours has no plugins and says yes, since a
    prompt that is not known as too long fails again for ever. The code alone says nothing: 1210 is any wrong parameter.
    """
    return version != OLDEST and name in ASKS_PLUGINS and bool(OF_A_PLUGIN.search(text))


def told_alike(cases: list[dict[str, Any]], version: str, preset: str) -> None:
    """Compare what we say of each recorded error with what was recorded."""
    refusals = preset_policy(preset).overflow.refusals
    ours, theirs = {}, {}
    for case in cases:
        text, recorded = case["input"]["errorMessage"], case["expected"][version]
        if not isinstance(text, str):
            continue
        known = {
            name: plain(value)
            for name, value in recorded.items()
            if not differs_by_rule(text, name, version)
        }
        ours[text] = ours_of(text, refusals, known)
        theirs[text] = known

    assert ours == theirs


@pytest.mark.parametrize(("version", "preset"), GENERATIONS)
def test_every_recorded_refusal_is_told_alike(version: str, preset: str) -> None:
    told_alike(load("openclaw", "overflowErrors")["cases"], version, preset)


ZAI = [
    "code 1210: tokens in request more than max tokens allowed",
    '400 {"error":{"code":"1210","message":"tokens in request more than max tokens allowed"}}',
    "code 1261: Prompt exceeds max length",
    '400 {"error":{"code":"1261","message":"Prompt exceeds max length"}}',
]


@pytest.mark.parametrize("with_plugin", [True, False])
@pytest.mark.parametrize("text", ZAI)
def test_recordings_that_disagree_about_a_plugins_refusal_are_both_taken(
    text: str, *, with_plugin: bool
) -> None:
    said = {"isContextOverflowError": with_plugin, "isLikelyContextOverflowError": with_plugin}
    other = {"isRateLimitErrorMessage": False, "isBillingErrorMessage": False}

    told_alike(
        [{"input": {"errorMessage": text}, "expected": {NEWEST: {**said, **other}}}],
        NEWEST,
        "openclaw-2026.9",
    )


@pytest.mark.parametrize("text", ZAI)
def test_a_plugins_refusal_is_known_to_the_newest_and_to_ours(text: str) -> None:
    assert is_overflow(text, refusals="openclaw-2026.9")
    assert is_overflow(text)


def test_the_code_alone_says_nothing() -> None:
    for text in ("code 1210: Invalid API parameter, please check the documentation.", "code 1210"):
        for refusals in ("union", "opencode", "openclaw-2026.2", "openclaw-2026.9"):
            assert not is_overflow(text, "1210", 400, refusals), (text, refusals)


WORDS_OF_OPENCODE = [
    "tokens in request more than max tokens allowed",
    "Requested token count exceeds the model's maximum context length of 131072 tokens.",
    "Input length (265330) exceeds model's maximum context length (262144).",
    "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
    "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
    "Prompt has 5,958,968 tokens, but the configured context size is 256,000 tokens",
]


@pytest.mark.parametrize("text", WORDS_OF_OPENCODE)
def test_opencodes_newest_words_are_known_under_its_preset(text: str) -> None:
    assert is_overflow(text, refusals="opencode")
    assert is_overflow(text)
    assert not is_overflow(text, refusals="none")


@pytest.mark.parametrize("refusals", ["opencode", "union"])
def test_every_recorded_code_settles_it_alike(refusals: Refusals) -> None:
    recorded = {
        case["desc"].partition("code=")[2]: case["result"]["name"]
        for case in load("opencode", "error_mapping")
        if "code=" in case["desc"]
    }

    ours = {code: is_overflow("msg", code, None, refusals) for code in recorded}

    assert ours == {code: name == "ContextOverflowError" for code, name in recorded.items()}


MEASURE = re.compile(r"too (?:long|large|many)|exceed|maximum|limit|greater than|no body|[过超]")
"""An error without any of these words is no overflow, whatever else it mentions."""


def test_the_default_knows_what_anybody_knows_and_is_not_fooled() -> None:
    """Never a rate limit, a billing error or the guard's own message; else whatever any agent recognises."""
    sure = {
        case["input"]["message"].get("errorMessage"): any(case["expected"].values())
        for case in load("openclaw", "pi/isContextOverflow")["cases"]
    }
    wrong = {}
    for case in load("openclaw", "overflowErrors")["cases"]:
        text = case["input"]["errorMessage"]
        if not isinstance(text, str):
            continue
        told = [plain(one) for one in case["expected"].values()]
        known = sure.get(text) or any(one["isContextOverflowError"] for one in told)
        other = "too small" in text or any(
            one["isRateLimitErrorMessage"] or one["isBillingErrorMessage"] for one in told
        )
        ours = is_overflow(text)
        missed = known and not other and not ours
        fooled = ours and (other or not (known or MEASURE.search(text)))
        if missed or fooled:
            wrong[text] = ours

    assert wrong == {}


def test_the_default_reads_every_number_that_was_read() -> None:
    recorded = {
        case["input"]["errorMessage"]: plain(
            case["expected"][NEWEST].get("extractObservedOverflowTokenCount")
        )
        for case in load("openclaw", "overflowErrors")["cases"]
        if isinstance(case["input"]["errorMessage"], str)
    }

    ours = {text: observed_tokens(text) for text, tokens in recorded.items() if tokens}

    assert ours == {text: tokens for text, tokens in recorded.items() if tokens}


@pytest.mark.parametrize(
    ("version", "preset"),
    [("pi-0.66.1", "openclaw-2026.2"), ("openclaw-2026.9.6", "openclaw-2026.9")],
)
def test_every_recorded_usage_shows_a_prompt_cut_in_silence_alike(
    version: str, preset: str
) -> None:
    rule = preset_policy(preset).overflow
    ours, theirs = {}, {}
    for case in load("openclaw", "pi/isContextOverflow")["cases"]:
        given = plain(case["input"])
        message = given["message"]
        if message["stopReason"] == "error":
            continue
        counted = message["usage"]
        usage = Usage(
            input=counted["input"],
            output=counted["output"],
            cache_read=counted["cacheRead"],
            cache_write=counted["cacheWrite"],
        )
        info = ModelInfo(
            ref=ModelRef(provider="p", name="m"),
            window=given.get("contextWindow") or 0,
            output_limit=1,
        )
        ours[case["name"]] = is_silently_truncated(usage, message["stopReason"], info, rule)
        theirs[case["name"]] = case["expected"][version]

    assert ours == theirs


REFUSED_AS: list[tuple[str, str, type[ApiError | ContextOverflowError], int | None]] = [
    ("palimpsest", "prompt is too long: 277,403 tokens > 200000 maximum", ContextOverflowError, 277_403),
    ("openclaw-2026.2", "prompt is too long: 277403 tokens > 200000 maximum", ContextOverflowError, None),
    ("openclaw-2026.9", "prompt is too long: 277403 tokens > 200000 maximum", ContextOverflowError, 277_403),
    ("openclaw-2026.2", "Input is too long for this model", ApiError, None),
    ("openclaw-2026.9", "Input is too long for this model", ContextOverflowError, None),
    ("opencode-1.18", "prompt is too long: 277403 tokens > 200000 maximum", ContextOverflowError, None),
    ("opencode-1.1", "prompt is too long: 277403 tokens > 200000 maximum", ApiError, None),
]  # fmt: skip


def make_harness(folder: Path, server: FaultServer, preset: str) -> SessionHarness:
    """Return a harness whose model is asked over HTTP."""
    info = ModelInfo(
        ref=ModelRef(provider="openai", name="gpt-test"),
        window=100_000,
        output_limit=4_000,
        api_base=server.openai_base,
    )
    return SessionHarness(folder, DirectModel(LitellmModel()), info=info, policy=preset)


@pytest.mark.usefixtures("litellm")
@pytest.mark.parametrize(("preset", "words", "kind", "tokens"), REFUSED_AS)
async def test_a_live_turn_hears_a_refusal_as_its_policy_does(
    tmp_path: Path,
    preset: str,
    words: str,
    kind: type[ApiError | ContextOverflowError],
    tokens: int | None,
) -> None:
    with FaultServer() as server:
        server.script(*(fails(400, words) for _ in range(4)))
        session = await make_harness(tmp_path, server, preset).session()

        with Trace(is_overflow, certainly_means_overflow) as trace:
            answer = await ask(session, "Go.", model="openai/gpt-test")

    assert trace.seen["is_overflow"]
    assert trace.seen["certainly_means_overflow"]
    assert isinstance(answer.error, kind)
    assert getattr(answer.error, "tokens", None) == tokens


@pytest.mark.usefixtures("litellm")
@pytest.mark.parametrize("preset", ["palimpsest", "openclaw-2026.2", "openclaw-2026.9"])
async def test_a_live_turn_tells_a_bill_from_haste_as_its_policy_does(
    tmp_path: Path, preset: str
) -> None:
    with FaultServer() as server:
        haste = fails(400, "Quota exceeded for this minute.", retry_after=0)
        server.script(haste, fails(402, "Your credit balance is too low."))
        session = await make_harness(tmp_path, server, preset).session()

        with Trace(is_rate_limit, is_billing) as trace:
            answer = await ask(session, "Go.", model="openai/gpt-test")

    assert trace.seen["is_rate_limit"]
    assert trace.seen["is_billing"]
    assert len(server.requests) == 2
    assert isinstance(answer.error, ApiError)
    assert "no credit left" in answer.error.message
