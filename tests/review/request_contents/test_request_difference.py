"""Two requests are compared: what came, went and changed, and what that cost of the cache."""

import json

import pytest
from tests.review.request_contents.reviewed import pi_review
from tests.sample_size import thinned

from palimpsest.review.request_contents.request_difference import request_difference
from palimpsest.transcript.errors import UserError

POLICIES = (
    "recorded",
    "opencode.prune protect=20000",
    "sweagent.last_n",
    "pi.compact window=64000",
)


@pytest.mark.parametrize("policy", thinned(POLICIES, 4))
def test_what_two_requests_share_is_the_prefix_that_the_replay_counts(policy: str) -> None:
    review = pi_review()
    simulation = review.compare(policy)[0]

    for second in range(1, len(simulation.sizes), 3):
        difference = request_difference(simulation, second - 1, second, review.price())
        assert difference.prefix_tokens == pytest.approx(simulation.sizes[second].prefix)


def test_a_break_is_told_with_its_tokens_cost_and_cause_as_a_fact() -> None:
    broken = pi_review().breaks()[0]

    difference = pi_review().difference(broken.request, broken.request + 1)

    assert difference.cache_sentence == (
        "The cache breaks here: 19,615 tokens were written anew, 0.07 USD; "
        "558 s passed since the request before; the cache is kept for 300 s."
    )
    assert difference.sentences[0] == f"As reported: {difference.cache_sentence}"
    assert all(sentence.startswith("Estimate: ") for sentence in difference.sentences[1:])
    assert difference.json()["facts"]["lost"] == broken.loss


def test_a_request_that_read_the_cache_says_how_much() -> None:
    difference = pi_review().difference(300, 301)

    usage = pi_review().timeline.requests[300].usage
    assert usage is not None
    assert difference.loss is None
    assert difference.cache_sentence == (
        f"The cache held: {usage.cache_read:,} of {usage.prompt:,} tokens were read from it."
    )


def test_what_a_policy_changes_is_an_estimate_with_the_first_place_that_differs() -> None:
    simulation = pi_review().compare("pi.compact window=64000")[0]
    acted = simulation.firing_requests[0]

    difference = pi_review().difference(acted, acted + 1, "pi.compact window=64000")

    assert difference.first_differing == 0
    assert (difference.prefix_items, len(difference.of("changed"))) == (0, 1)
    assert {change.state for change in difference.of("went")} == {"summarised"}
    assert difference.written_anew_cost == pytest.approx(difference.written_anew * 3.45 / 1e6)
    assert all(sentence.startswith("Estimate: ") for sentence in difference.sentences)
    by_units = pi_review().difference(acted, acted + 1, "pi.compact window=64000", price="units")
    assert any(", ~" in sentence and "units" in sentence for sentence in by_units.sentences)
    assert not any("~~" in sentence for sentence in by_units.sentences)
    assert difference.json()["facts"]["prompt"] is None


def test_requests_apart_and_backwards_are_compared_too() -> None:
    ahead, back = pi_review().difference(10, 40), pi_review().difference(40, 10)

    assert {change.item for change in ahead.of("came")} == {
        change.item for change in back.of("went")
    }
    assert ahead.prefix_tokens == pytest.approx(back.tokens[1])
    assert ahead.json()["facts"]["prompt"] is None
    assert pi_review().difference(10, 10).changes == ()


def test_the_difference_is_a_table_in_every_form() -> None:
    difference = pi_review().difference(10, 12)

    assert difference.to_dataframe()["change"].tolist() == [
        change.change for change in difference.changes
    ]
    assert difference.markdown.count("\n| ") == len(difference.changes) + 1
    assert difference.html.count("<tr>") == len(difference.changes) + 1
    assert json.loads(json.dumps(difference.json()))["second"] == 12
    with pytest.raises(UserError, match="no request 454"):
        pi_review().difference(1, 454)
