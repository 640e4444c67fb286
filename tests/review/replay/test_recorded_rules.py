"""A preset that is the rule of a recording makes the recorded requests."""

from pathlib import Path

from tests.review.importers.imported import bring
from tests.review.importers.sample_files import sample

from palimpsest.review.policies.masking import SweAgentLastN
from palimpsest.review.replay.ruler import Ruler
from palimpsest.review.replay.simulation import simulate
from palimpsest.review.timeline.journal_timeline import timeline_of


def test_last_n_over_the_whole_observations_shows_what_swe_agent_sent(tmp_path: Path) -> None:
    store, report = bring(sample("marshmallow-1867.traj", tmp_path))
    timeline = timeline_of(store, report.sessions[0].id)

    simulation = simulate(timeline, SweAgentLastN(n=5), Ruler())

    recorded = [(one.item, one.request, one.shown) for one in timeline.transitions]
    assert len(recorded) == 7
    assert [
        (one.item, one.request, one.shown) for one in simulation.timeline.transitions
    ] == recorded
