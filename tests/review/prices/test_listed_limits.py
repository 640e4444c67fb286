"""The limit of a model is a list's where the recording tells none, and no request was larger."""

from dataclasses import replace

from tests.review.tables.test_cache_breaks import pi_timeline

from palimpsest.review.prices.offline_prices import ListedLimits, listed_limits
from palimpsest.transcript.timeline import Timeline, TimelineRequest
from palimpsest.transcript.values import Usage

SONNET = "anthropic/claude-sonnet-4-5"


def with_requests(*changed: TimelineRequest) -> Timeline:
    return replace(pi_timeline(), requests=changed)


def test_models_have_the_limits_of_the_list_and_a_sentence_says_so() -> None:
    first = pi_timeline().requests[0]
    limits = listed_limits(
        with_requests(replace(first, model=SONNET), replace(first, model="somebody/no-such-model"))
    )

    assert limits.by_model == {SONNET: 200_000}
    assert "not in the recording, but from litellm" in limits.source_sentence
    assert limits.source_sentence.endswith(f"200,000 tokens of {SONNET}.")


def test_a_limit_that_was_recorded_or_passed_is_no_lists() -> None:
    first = replace(pi_timeline().requests[0], model=SONNET)

    assert listed_limits(with_requests(replace(first, window=1_000_000))) == ListedLimits()
    assert (
        listed_limits(with_requests(first, replace(first, usage=Usage(input=200_001))))
        == ListedLimits()
    )
