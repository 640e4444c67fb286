"""A replay says from which request on it is an estimate, and keeps no usage beyond that."""

from pathlib import Path

from tests.context_policies.pi_session import RULER, pi_timeline
from tests.recordings.decision_sessions import SCENES
from tests.recordings.import_journal.recordings import BEGIN, answer, load, read_call, result, user

from palimpsest.context_policies.calibration.fit import fit_ruler, recorded_simulation
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.registry import get
from palimpsest.context_policies.replay.simulation import simulate
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.reading.recorded import CompactionRead, ReducedRead
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.transcript.timeline import Timeline


def test_usage_is_kept_until_the_first_request_that_differs() -> None:
    timeline = pi_timeline()

    simulated = simulate(timeline, get("opencode.prune"), RULER)

    until = simulated.facts_until
    assert until == 339
    assert simulated.timeline.requests[:until] == timeline.requests[:until]
    assert all(
        request.usage is None and request.cost is None
        for request in simulated.timeline.requests[until:]
    )
    assert simulate(timeline, None, RULER).facts_until is None


def test_a_session_whose_recorded_reductions_are_left_out_differs_where_they_were(
    tmp_path: Path,
) -> None:
    store = MemoryStore()
    report = load(
        store,
        tmp_path,
        BEGIN,
        user("u1", "Look."),
        answer("a1", read_call("one")),
        result("one", "a long output"),
        answer("a2", "Seen."),
        ReducedRead("one", "gone", "last_n"),
        answer("a3", "So."),
        user("u2", "On."),
        CompactionRead("c", "It was seen.", keeps_from="u2"),
        answer("a4", "Yes."),
    )
    timeline = timeline_of(store, report.sessions[0].id)

    raw = simulate(timeline, None, Ruler())

    assert recorded_simulation(timeline, Ruler()).facts_until is None
    assert raw.facts_until == 2
    summary = next(item.index for item in timeline.items if item.kind == "summary")
    assert raw.timeline.state(summary, 3) == "out"
    assert [size.total for size in raw.sizes] == sorted(size.total for size in raw.sizes)


async def test_what_a_person_pinned_stays_under_every_policy(tmp_path: Path) -> None:
    harness, session = await SCENES["edited"](tmp_path)
    timeline = timeline_of(harness.store, session.id, counter)
    pinned = next(item.index for item in timeline.items if item.pinned and item.kind == "output")

    simulated = simulate(timeline, get("sweagent.last_n", n=0), Ruler())

    last = len(timeline.requests) - 1
    assert simulated.firing_requests
    assert simulated.timeline.state(pinned, last) == "whole"


def test_a_session_without_requests_is_replayed_to_nothing() -> None:
    empty = Timeline("ses_none")

    assert fit_ruler(empty) == Ruler()
    assert simulate(empty, get("opencode.prune"), Ruler()).sizes == ()
