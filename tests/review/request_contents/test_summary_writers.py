"""The request that wrote a summary is linked to the compaction, with what it took."""

from pathlib import Path

import pytest
from tests.recordings.formats.sample_files import sample
from tests.sample_size import sampled_cases

from palimpsest.review.recorded_sessions.recording import open_recording


@pytest.mark.soak  # with each commit a compaction without such a request names none, below; this adds real sessions that have it
@pytest.mark.parametrize(
    ("session", "read"),
    sampled_cases([("8463c716", 169_910), ("ae4a77f8", 139_534)], ("ae4a77f8", 139_534)),
)
def test_the_request_that_wrote_a_summary_is_told_with_its_cost(
    session: str, read: int, tmp_path: Path
) -> None:
    (path,) = sample("claude_code_spotter", tmp_path).glob(f"{session}*.jsonl")
    with open_recording(path) as recording:
        review = recording[0]
        (compaction,) = review.compactions()
        (run,) = [written for written in review.subagent_runs() if written.totals.input == read]

    writer = compaction.writer
    assert writer is not None
    assert (writer.session, writer.requests, writer.input) == (run.timeline.session, 1, read)
    assert writer.cost == run.totals.cost > 0
    sentence = next(sentence for sentence in compaction.sentences if "written by" in sentence)
    assert f"1 request, {read:,} tokens read" in sentence
    assert "~" in sentence
    assert "USD" in sentence
    assert compaction.json()["writer"]["session"] == writer.session


def test_a_compaction_whose_request_is_not_recorded_names_none(tmp_path: Path) -> None:
    with open_recording(sample("claude_code/compaction_session.jsonl", tmp_path)) as recording:
        (compaction,) = recording[0].compactions()

    assert compaction.writer is None
    assert not [sentence for sentence in compaction.sentences if "written by" in sentence]
