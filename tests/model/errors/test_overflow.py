"""An overflow error is recognised by its wording, in any field, and by nothing else."""

import time
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.context.budget.request_tokens import BudgetCheck, is_silently_truncated
from palimpsest.context.budget.window_guard import window_refusal
from palimpsest.context.presets import PRESETS
from palimpsest.loop.model_requests.request_failures import too_large_error
from palimpsest.model.errors.classification import overflow_error
from palimpsest.model.errors.overflow_detection import is_overflow, observed_tokens
from palimpsest.model.errors.refusal_patterns import TABLES
from palimpsest.transcript.context_values.policies import OverflowPolicy, Refusals
from palimpsest.transcript.values import ModelInfo, ModelRef, Usage

INFO = ModelInfo(ref=ModelRef(provider="p", name="m"), window=1_000, output_limit=100)

KNOWN = [
    "prompt is too long: 277403 tokens > 200000 maximum",
    "This model's maximum context length is 8192 tokens.",
    "Your input exceeds the context window of this model.",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    "the request exceeds the available context size, try increasing it",
    "Input is too long for requested model.",
    "上下文过长",
]
OTHERS = [
    "Rate limit reached",
    "429 Too Many Requests",
    "Limit 6000 tokens per minute (TPM)",
    "You exceeded your current quota",
    "ThrottlingException",
    "Your credit balance is too low.",
    "Reasoning is mandatory for this endpoint",
]
PLAIN = st.text(alphabet='abcdefghij .,:{}"\n', max_size=60)


@given(st.sampled_from(KNOWN), PLAIN, PLAIN)
def test_known_words_count_wherever_they_stand(words: str, before: str, after: str) -> None:
    assert is_overflow(f"{before} {words} {after}")


@given(st.sampled_from(KNOWN), st.sampled_from(OTHERS), PLAIN)
def test_what_speaks_of_something_else_is_never_one(known: str, other: str, between: str) -> None:
    """A compaction would cost money and not help."""
    assert not is_overflow(f"{known} {between} {other}")
    assert not is_overflow(f"{other} {between} {known}")


@pytest.mark.parametrize("policy", PRESETS.values(), ids=str)
def test_the_guards_own_sentence_is_none(policy: object) -> None:
    rule = PRESETS[getattr(policy, "name", "")]
    words = window_refusal(INFO, rule.guard)

    assert words is not None
    assert not is_overflow(words)
    assert not is_overflow(words, refusals=rule.overflow.refusals)


def test_every_table_has_a_name_that_a_policy_can_give() -> None:
    assert set(TABLES) == set(get_args(Refusals))


def test_our_own_sentence_about_a_request_that_does_not_fit_is_an_error_already() -> None:
    error = too_large_error(BudgetCheck(fits=False, tokens=2_000, budget=900), INFO)

    assert (error.tokens, error.budget) == (2_000, 900)


@pytest.mark.parametrize(
    ("words", "tokens"),
    [
        ("prompt is too long: 277,403 tokens > 200000 maximum", 277_403),
        ("However, you requested about 300000 tokens (290000 of text input)", 300_000),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", 210_000),
        ("400 request (66202 tokens) exceeds the available context size (65536 tokens)", 66_202),
        ("The input token count (1196265) exceeds the maximum number of tokens", 1_196_265),
        ("Input length (265330) exceeds model's maximum context length (262144).", 265_330),
        ("prompt is too long", None),
    ],
)
def test_the_providers_own_count_is_kept(words: str, tokens: int | None) -> None:
    assert observed_tokens(words) == tokens
    assert overflow_error(words).tokens == tokens


def test_a_refusal_that_speaks_of_a_compaction_says_so() -> None:
    words = "Summarization failed: prompt is too long: 305687 tokens > 200000 maximum"

    assert overflow_error(words).compaction_failed
    assert not overflow_error(KNOWN[0]).compaction_failed


@pytest.mark.parametrize("refusals", TABLES)
def test_a_server_that_sends_the_request_back_costs_no_time(refusals: Refusals) -> None:
    words = "context input prompt request length token " * 50_000
    began = time.process_time()

    is_overflow(words, refusals=refusals)
    observed_tokens(words, refusals)

    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(
    ("usage", "finish", "cut"),
    [
        (Usage(input=900, cache_read=101, output=5), "stop", True),
        (Usage(input=900, cache_read=100, output=5), "stop", False),
        (Usage(input=500, cache_write=501, output=5), "stop", True),
        (Usage(input=990), "length", True),
        (Usage(input=990, output=1), "length", False),
        (Usage(input=989), "length", False),
        (Usage(input=5_000, estimated=True), "stop", False),
        (Usage(input=5_000), "tool-calls", False),
    ],
)
def test_a_prompt_that_was_cut_in_silence_is_known_by_what_was_counted(
    usage: Usage,
    finish: str,
    cut: bool,  # noqa: FBT001 - a row of the table
) -> None:
    assert is_silently_truncated(usage, finish, INFO, OverflowPolicy()) is cut
