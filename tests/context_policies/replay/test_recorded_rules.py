"""A preset that is the rule of a recording makes the recorded requests."""

from pathlib import Path

from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample

from palimpsest.context_policies.presets.masking import SweAgentLastN
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.replay.simulation import simulate
from palimpsest.recordings.timeline.journal_timeline import timeline_of


def test_last_n_over_the_whole_observations_shows_what_swe_agent_sent(tmp_path: Path) -> None:
    store, report = import_file(sample("marshmallow-1867.traj", tmp_path))
    timeline = timeline_of(store, report.sessions[0].id)

    simulation = simulate(timeline, SweAgentLastN(n=5), Ruler())

    recorded = [
        (transition.item, transition.request, transition.shown)
        for transition in timeline.transitions
    ]
    assert len(recorded) == 7
    assert [
        (transition.item, transition.request, transition.shown)
        for transition in simulation.timeline.transitions
    ] == recorded
