"""The recorded session of pi as a timeline, imported through the front door and made once."""

import tempfile
from functools import cache
from pathlib import Path

from tests.review.importers.imported import bring
from tests.review.importers.sample_files import sample

from palimpsest.review.timeline.journal_timeline import timeline_of
from palimpsest.transcript.timeline import Timeline


@cache
def pi_timeline() -> Timeline:
    """Return the timeline of the pi sample."""
    with tempfile.TemporaryDirectory() as folder:
        store, report = bring(sample("pi_large_session.jsonl", Path(folder)))
        return timeline_of(store, report.sessions[0].id)
