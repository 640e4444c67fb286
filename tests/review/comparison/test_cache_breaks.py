"""Where pi's session lost the cache, why, and for how much."""

from tests.review.policies.pi_session import SONNET, pi_timeline

from palimpsest.review.comparison.cache_breaks import cache_breaks
from palimpsest.review.comparison.links import link_to, parse_link


def test_the_breaks_of_pi_are_the_measured_ones() -> None:
    breaks = cache_breaks(pi_timeline(), SONNET)

    assert len(breaks) == 37
    assert breaks.causes == {"idle": 4, "effort": 5, "unexplained": 28}
    assert round(breaks.cost, 2) == 14.21
    assert breaks.followers == 438


def test_what_nothing_explains_is_said_so_with_what_else_is_true_of_it() -> None:
    breaks = cache_breaks(pi_timeline(), SONNET)

    assert breaks.correlations == (
        "27 of 28 unexplained breaks come right after a prompt; 42 of 78 such requests lost nothing.",
    )
    assert {one.words for one in breaks if one.cause == "unexplained"} == {
        "nothing in the recording explains it"
    }


def test_each_break_has_its_numbers_and_a_link() -> None:
    breaks = cache_breaks(pi_timeline(), SONNET)
    idle = next(one for one in breaks if one.cause == "idle")

    assert idle.loss == idle.expected - idle.read
    assert "the cache is kept for 300 s" in idle.words
    session, request, item = parse_link(breaks.table.links[0])
    assert (session, request, item) == (pi_timeline().session, breaks[0].request, None)
    assert link_to(session, request) == breaks.table.links[0]
    frame = breaks.to_dataframe()
    assert list(frame["loss"]) == [one.loss for one in breaks]


def test_a_level_that_was_changed_and_changed_back_is_told_so() -> None:
    words = [one.words for one in cache_breaks(pi_timeline(), SONNET) if one.cause == "effort"]

    assert "the reasoning effort was changed 15 times and is off again" in words
    assert "the reasoning effort changed from off to low" in words
