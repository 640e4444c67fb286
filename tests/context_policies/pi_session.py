"""The recorded session of pi as a timeline, imported once, and the ruler and price of the first exhibit."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample

from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, Ruler
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.transcript.timeline import CHARS4, Timeline

SONNET = PriceProfile(input=3, output=15, read=0.30, write=3.75)
RULER = Ruler(estimator=CHARS4, unseen_tokens=1_600, prefix="message")


@cache
def pi_timeline() -> Timeline:
    """Return the timeline of the pi sample."""
    with TemporaryDirectory() as folder:
        store, report = import_file(sample("pi_large_session.jsonl", Path(folder)))
    return timeline_of(store, report.sessions[0].id, counter)
