"""How long the cache kept a prefix is taken from the recording, else from its pauses."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.context_policies.pi_session import pi_timeline
from tests.recordings.formats.imported import import_file

from palimpsest.context_policies.prompt_cache.cache_lifetime import cache_lifetime
from palimpsest.context_policies.registry import get
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.session_figures import session_figures
from palimpsest.review.session_review import SessionReview
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import Price, PriceTier, ServicePrice, Usage

OPUS = Price(
    input=5,
    output=25,
    cache_read=0.5,
    cache_write=6.25,
    cache_write_hour=10,
    services=(
        ServicePrice(
            service_tier="batch",
            price=Price(input=2.5, output=12.5, cache_read=0.25, cache_write=3.125),
        ),
    ),
)


def claude(
    tmp_path: Path, *, hour: bool = False, step: int = 20, tier: str = "standard"
) -> Timeline:
    """Return a session of Claude Code of six requests, ``step`` seconds apart, each of which read all before it."""
    rows: list[dict[str, Any]] = []
    last, held = None, 0
    for number in range(6):
        written = 1_000 if number else 20_000
        kept = {"ephemeral_5m_input_tokens": 0 if hour else written, "ephemeral_1h_input_tokens": written if hour else 0}  # fmt: skip
        usage = {
            "input_tokens": 10, "cache_read_input_tokens": held, "cache_creation_input_tokens": written,
            "output_tokens": 500, "cache_creation": kept, "service_tier": tier,
        }  # fmt: skip
        asked = {"role": "user", "content": f"please do step {number} " + "word " * 300}
        said = {
            "id": f"m{number}", "type": "message", "role": "assistant", "model": "claude-opus-4-8",
            "content": [{"type": "text", "text": "text " * 300}], "stop_reason": "end_turn", "usage": usage,
        }  # fmt: skip
        rows += [
            record(f"u{number}", last, "user", asked, step * number),
            record(f"a{number}", f"u{number}", "assistant", said, step * number + 5),
        ]
        held += written
        last = f"a{number}"
    path = tmp_path / "claude.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    store, report = import_file(path)
    return timeline_of(store, report.sessions[0].id)


def record(uuid: str, parent: str | None, kind: str, message: dict[str, Any], at: int) -> dict[str, Any]:  # fmt: skip
    time = f"2026-08-01T{10 + at // 3_600:02d}:{at // 60 % 60:02d}:{at % 60:02d}.000Z"
    return {
        "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/w", "sessionId": "s1",
        "version": "2.1.200", "gitBranch": "", "type": kind, "message": message, "uuid": uuid, "timestamp": time,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("made", "by_hand"),
    [
        # 25,000 written, 110,000 read, 60 in plain, 3,000 out, at 5 / 0.5 / 6.25 or 10 / 25.
        ({}, 0.28655),
        ({"hour": True}, 0.3803),
        ({"hour": True, "step": 600}, 0.3803),
        ({"tier": "batch"}, 0.143275),
    ],
)
def test_the_row_that_repeats_the_recording_costs_what_the_recording_cost(
    made: dict[str, Any], by_hand: float, tmp_path: Path
) -> None:
    review = SessionReview(claude(tmp_path, **made), get, lambda _model: OPUS)

    facts, recorded = review.compare(["recorded"]).table.records()

    assert session_figures(review).cost == pytest.approx(by_hand)
    assert facts["cost"] == pytest.approx(by_hand)
    assert recorded["cost"] == pytest.approx(by_hand, rel=0.01)
    assert len(review.breaks()) == 0


def test_a_recording_that_asks_for_an_hour_is_believed(tmp_path: Path) -> None:
    lifetime = cache_lifetime(claude(tmp_path, hour=True))

    assert lifetime.seconds == 3_600
    assert "as the recorded writes asked for" in lifetime.sentence


def test_pauses_after_which_all_was_read_tell_a_longer_lifetime(tmp_path: Path) -> None:
    lifetime = cache_lifetime(claude(tmp_path, step=600))

    assert lifetime.seconds == 3_600
    assert "after a pause of 600 s it was still read" in lifetime.sentence


def test_pauses_after_which_nothing_was_read_outweigh_one_that_was_lucky() -> None:
    """In pi's recording most pauses over five minutes lost the cache."""
    assert cache_lifetime(pi_timeline()).seconds == 300


def test_nothing_known_is_five_minutes_and_said_to_be_assumed(tmp_path: Path) -> None:
    timeline = claude(tmp_path)
    silent = replace(timeline, requests=tuple(replace(request, usage=None) for request in timeline.requests))  # fmt: skip

    assert cache_lifetime(silent).seconds == 300
    assert "assumed" in cache_lifetime(silent).sentence


def test_hours_tiers_and_services_add_up_in_a_usage() -> None:
    usage = Usage(input=10, cache_read=100, cache_write=1_000, cache_write_hour=400, output=5)
    long = PriceTier(above=1_000, price=Price(input=10, output=50, cache_read=1, cache_write=12.5, cache_write_hour=20))  # fmt: skip

    assert usage.cost(OPUS) == pytest.approx((10 * 5 + 100 * 0.5 + 600 * 6.25 + 400 * 10 + 5 * 25) / 1e6)  # fmt: skip
    assert usage.cost(OPUS.model_copy(update={"tiers": (long,)})) == pytest.approx(
        (10 * 10 + 100 + 600 * 12.5 + 400 * 20 + 5 * 50) / 1e6
    )
    batch = usage.model_copy(update={"service_tier": "batch", "cache_write_hour": 0})
    assert batch.cost(OPUS) == pytest.approx((10 * 2.5 + 100 * 0.25 + 1_000 * 3.125 + 5 * 12.5) / 1e6)  # fmt: skip
