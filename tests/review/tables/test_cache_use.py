"""What the cache spared, by the pause before each request, and whether an hour's cache would pay."""

from dataclasses import replace

import pytest
from tests.context_policies.made_timeline import TimelineMaker
from tests.context_policies.pi_session import SONNET, pi_timeline

from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, Ruler
from palimpsest.review.tables.cache_use import cache_use
from palimpsest.transcript.timeline import Timeline, TimelineEvent
from palimpsest.transcript.values import Usage

PRICE = PriceProfile(1e6, 5e6, 0.1e6, 1.25e6, unit="units")
"""A token costs 1, 0.1 read, 1.25 written, and 2 written for an hour."""
# Seconds since the request before, tokens read, tokens written.
SENT = ((0, 0, 1_000), (10, 1_000, 200), (600, 0, 1_300), (4_000, 0, 1_400), (None, 1_400, 100))


def timeline() -> Timeline:
    """Return five requests of 1,000 to 1,500 tokens, the fourth right after a compaction."""
    maker = TimelineMaker()
    for _ in SENT:
        maker.prompt("Go on.")
        maker.answer("Done.")
    requests, clock = [], 0
    for request, (pause, read, written) in zip(maker.requests, SENT, strict=True):
        clock += (pause or 0) * 1_000
        usage = Usage(cache_read=read, cache_write=written, output=10)
        ended = clock + 1_000
        times = (
            {"started": None, "ended": None}
            if pause is None
            else {"started": clock, "ended": ended}
        )
        requests.append(replace(request, usage=usage, **times))
        clock = ended
    events = (TimelineEvent(3, "compact", "automatic"),)
    return replace(maker.made(), requests=tuple(requests), events=events)


def test_requests_are_grouped_by_the_pause_before_them() -> None:
    use = cache_use(timeline(), Ruler(unseen_tokens=300), PRICE)

    rows = [(row.pause, row.requests, row.input, row.fresh, row.hit) for row in use.rows]
    assert rows == [
        ("first request", 1, 1_000, 1_000, 0.0),
        ("up to 1 minute", 1, 1_200, 200, 1_000 / 1_200),
        ("5 minutes to 1 hour", 1, 1_300, 1_300, 0.0),
        ("over 1 hour", 1, 1_400, 1_400, 0.0),
        ("not known", 1, 1_500, 100, 1_400 / 1_500),
    ]


def test_fresh_tokens_are_compared_with_those_that_were_new() -> None:
    use = cache_use(timeline(), Ruler(unseen_tokens=300), PRICE)

    assert (use.input, use.fresh, use.appended) == (6_400, 4_000, 1_500)
    assert use.amplification == pytest.approx(4_000 / 1_500)
    assert use.beginning_share == pytest.approx(5 * 300 / 6_400)
    assert use.idle_compactions == 1
    assert use.table.notes[:3] == (
        "4,000 of 6,400 tokens were fresh (62.5 %), 2.7 times the 1,500 that were new.",
        "System prompt and tools are ~23 % of all input.",
        "1 compaction came after a pause that had lost the cache.",
    )


def test_an_hour_of_cache_costs_its_writes_and_saves_the_pauses_within_the_hour() -> None:
    use = cache_use(timeline(), Ruler(), PRICE)

    assert use.hour is not None
    assert use.hour.added_cost == pytest.approx(4_000 * (2 - 1.25))
    # The pause of ten minutes alone; the prefix of 1,200 tokens would have been read instead of written.
    assert (use.hour.pauses, use.hour.saved_cost) == (1, pytest.approx(1_200 * (1.25 - 0.1)))
    assert use.hour.break_even == 3
    assert use.table.notes[-1].endswith(
        "in 1 pause of five minutes to an hour; it would pay from 3 such pauses on."
    )


def test_where_the_lifetime_has_no_price_nothing_is_said_of_an_hour() -> None:
    flat = PriceProfile(1e6, 5e6, 0.1e6, 1e6, unit="units")

    assert cache_use(timeline(), Ruler(), flat).hour is None


def test_one_request_tells_no_growth_and_no_usage_no_row() -> None:
    one = replace(timeline(), requests=timeline().requests[:1], events=())
    unknown = replace(one, requests=(replace(one.requests[0], usage=None),))

    assert cache_use(one, Ruler(unseen_tokens=900), PRICE).amplification is None
    assert cache_use(one, Ruler(unseen_tokens=900), PRICE).beginning_share is None
    assert cache_use(unknown, Ruler(), PRICE).rows == ()


def test_the_largest_sample_was_processed_many_times_over() -> None:
    use = cache_use(pi_timeline(), Ruler(), SONNET)

    reads = sum(row.read for row in use.rows)
    assert use.input == 47_526_750
    assert reads + use.fresh == use.input
    assert use.fresh == 4_297_281
