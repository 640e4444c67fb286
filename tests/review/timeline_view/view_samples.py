"""Views, tracks and sentences of recorded sessions, with which the inspector's front end is tested.

``python -m tests.review.timeline_view.view_samples`` writes them to ``labextension/tests/inspector/samples``;
``test_view_samples.py`` holds them to what the kernel answers.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample
from tests.review.timeline_view.cut_store import CutStore

from palimpsest.context_policies.prompt_cache.ruler import PriceProfile
from palimpsest.context_policies.registry import get
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.prices.offline_prices import ListedLimits
from palimpsest.review.recorded_sessions.session_answers import GROWTH_EVENTS
from palimpsest.review.session_review import SessionReview
from palimpsest.review.timeline_view.timeline_view import timeline_view
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_patch import patch_of
from palimpsest.review.timeline_view.view_queries import AskCompaction, AskTrack, AskView
from palimpsest.review.timeline_view.view_values import TimelineView

FOLDER = Path(__file__).parents[3] / "labextension" / "tests" / "inspector" / "samples"
OPUS = PriceProfile(input=5, output=25, read=0.5, write=6.25, name="anthropic/claude-opus-4-5")
"""Handed in, so that the samples do not change with the table of prices."""
LIMITS = ListedLimits({"anthropic/claude-sonnet-4-5": 200_000}, "The limit is from a list.")
"""Neither do these change with it."""
RECORDINGS = {
    "pi": "pi_large_session.jsonl",
    "claude_code": "claude_code",
    "swe_agent": "marshmallow-1867.traj",
    "cline": "cline",
}
STATES = 12
"""So many states of a recording are kept."""
TRACKS: tuple[tuple[str, dict[str, float]], ...] = (
    ("raw", {}),
    ("sweagent.last_n", {"n": 10, "polling": 10}),
    ("opencode.prune", {"protect": 20_000}),
    ("opencode.compact", {"window": 100_000}),
)


def samples(name: str) -> dict[str, Any]:
    """Return a recording's view, its tracks, and why items are, or are not, in some requests."""
    with TemporaryDirectory() as folder:
        store, report = import_file(sample(RECORDINGS[name], Path(folder)))
        timeline = timeline_of(store, report.sessions[0].id, counter)
        review = SessionReview(timeline, get, lambda _model: None)
        answers = ViewAnswers(_Priced(review))
        view = answers.answer(AskView()).view
        tracks = [
            answers.answer(AskTrack(policy=policy, numbers=of)).track for policy, of in TRACKS
        ]
        asked = [AskCompaction(number=number) for number in range(len(review.compactions()))]
        compactions = [answers.answer(query).compaction for query in asked]
    assert view is not None
    return {
        "view": view.model_dump(mode="json"),
        "tracks": [track.model_dump(mode="json") for track in tracks if track is not None],
        "compactions": [
            compaction.model_dump(mode="json")
            for compaction in compactions
            if compaction is not None
        ],
        "why": [*_why(review)],
    }


class _Priced(SessionReview):
    """A review whose prices are given, whatever is asked for."""

    def __init__(self, review: SessionReview) -> None:
        super().__init__(review.timeline, get, lambda _model: None, ruler=review.ruler)

    def price(self, price: str | PriceProfile | None = None) -> PriceProfile:  # noqa: ARG002
        return OPUS

    def listed_limits(self) -> ListedLimits:
        return LIMITS


def _why(review: SessionReview) -> Iterator[dict[str, Any]]:
    """Yield sentences for about two hundred pairs of an item and a request, spread over both."""
    items, requests = len(review.timeline.items), len(review.timeline.requests)
    for number in range(200):
        item, request = number * 7_919 % items, number * 104_729 % requests
        yield {"item": item, "request": request, "words": review.why(item + 1, request + 1)}


def patches() -> list[dict[str, Any]]:
    """Return views of a recording as it grew: the first one, and what differs from each to the next."""
    with TemporaryDirectory() as folder:
        store, report = import_file(sample(RECORDINGS["claude_code"], Path(folder)))
        session = report.sessions[0].id
        cut = CutStore(store, session)
        ruler = SessionReview(timeline_of(store, session, counter), get, lambda _model: None).ruler
        found: list[dict[str, Any]] = []
        before: TimelineView | None = None
        records = [record.seq for record in store.read(session, only=GROWTH_EVENTS)][1:]
        for seq in [*records[:: max(len(records) // STATES, 1)], records[-1]]:
            cut.until = seq
            timeline = timeline_of(cast("Any", cut), session, counter)
            review = SessionReview(timeline, get, lambda _model: None, ruler=ruler)
            view = timeline_view(_Priced(review), seq=seq, epoch="one")
            patch = None if before is None else patch_of(before, view)
            found.append(
                {
                    "view": view.model_dump(mode="json", exclude_none=True),
                    "patch": None
                    if patch is None
                    else patch.model_dump(mode="json", exclude_none=True),
                }
            )
            before = view
    return found


def packed(name: str) -> bytes:
    """Return a recording's samples as they are stored."""
    return compressed(samples(name))


def compressed(value: Any) -> bytes:
    """Return a value as it is stored."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode(), 9, mtime=0)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in RECORDINGS:
        (FOLDER / f"{name}.json.gz").write_bytes(packed(name))
    (FOLDER / "patches.json.gz").write_bytes(compressed(patches()))
