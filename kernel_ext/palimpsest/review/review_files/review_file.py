"""The file of one session's review in the project's folder: found by the content of its log, written when more is known.

``.palimpsest/review/<session>/<hash of the log>.<version>`` is derived and may be deleted. A file that is broken, of another
version or of another log is passed over and replaced. It holds no texts of items; those stay in the log.
"""

import hashlib
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from palimpsest import __version__
from palimpsest.review.comparison.references import References
from palimpsest.review.review_files.columns import KeptValue
from palimpsest.review.review_files.kept_references import KeptReferences
from palimpsest.review.review_files.kept_timeline import KeptTimeline
from palimpsest.review.review_files.stored_files import is_folder, make_room
from palimpsest.review.timeline.item_texts import ItemTexts
from palimpsest.review.timeline.journal_timeline import READ, CounterOf, PriceOfModel
from palimpsest.store.disk import read_small, write_atomically
from palimpsest.store.interface import Store
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.segments import lines_forward
from palimpsest.store.log_lines import type_of
from palimpsest.transcript.errors import PalimpsestError
from palimpsest.transcript.timeline import CHARS4, Timeline
from palimpsest.transcript.values import Price

FILE_VERSION = 2
"""Raised when a file is written otherwise."""
LEAST_LOG_BYTES = 200_000
"""The timeline of a smaller log is made in less time than a file takes."""
MOST_FILE_BYTES = 64_000_000
LARGEST_WEIGHT = 1 << 40


class _Content(KeptValue):
    """The whole of a file."""

    made_by: str
    timeline: KeptTimeline
    prices: dict[str, Price | None]
    """What the session's models cost; what is kept holds only while they cost the same."""
    blobs: dict[str, Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]]
    """Those of items that are no parts, by the items' ids."""
    weights: dict[str, tuple[Annotated[int, Field(ge=0, lt=LARGEST_WEIGHT)], ...]]
    """Of each item, by estimator."""
    references: KeptReferences | None


@dataclass(frozen=True)
class StoredReview:
    """What a file holds of a session."""

    timeline: Timeline
    references: References | None


class ReviewFile:
    """Reads and writes the file of a session as its log is now.

    Responsibilities: name it by the log, check what is read, write it again when more is known, keep the folder small.
    """

    def __init__(self, store: JsonlStore, session_id: str, price: PriceOfModel) -> None:
        self._store = store
        self._session_id = session_id
        self._price = price
        self._folder = store.layout.review(session_id)
        self._digest = self._log_digest()
        self._written: frozenset[str] = frozenset()
        """What the file has: names of estimators, and ``references``."""

    @property
    def path(self) -> Path:
        """Where the file lies, or would."""
        return self._folder / f"{self._digest}.{FILE_VERSION}"

    def load(self, count: CounterOf | None) -> StoredReview | None:
        """Return what the file holds; None where there is none, or none that was written for this log."""
        if not self._digest or not is_folder(self._folder):
            return None
        try:
            found = self._read(read_small(self.path, MOST_FILE_BYTES), count)
        except (OSError, ValueError, PalimpsestError):
            return None
        self._written = _known(found.timeline, found.references)
        return found

    def _read(self, content: bytes, count: CounterOf | None) -> StoredReview:
        kept = _Content.model_validate_json(content, strict=True)
        timeline, items = kept.timeline.timeline, kept.timeline.items
        is_current = (
            kept.made_by == __version__
            and timeline.session == self._session_id
            and kept.prices == self._prices(timeline)
            and all(len(one) == len(items) for one in kept.weights.values())
        )
        if not is_current:
            raise ValueError("It is of another version or session, or a price has changed.")
        texts = ItemTexts(self._store, self._session_id, lambda index: items[index].id)
        texts.blobs = kept.blobs
        return StoredReview(
            replace(timeline, read=texts, count=count, _weights=kept.weights),
            None if kept.references is None else kept.references.references(timeline),
        )

    def keep(self, timeline: Timeline, references: References | None) -> None:
        """Write what is known of the session, if it is more than the file has; where the disk refuses, it is not kept."""
        known = _known(timeline, references)
        if not self._digest or known <= self._written or not isinstance(timeline.read, ItemTexts):
            return
        # Not tried again, whether or not it succeeds.
        self._written |= known
        made = _Content.model_construct(
            made_by=__version__,
            timeline=KeptTimeline.of(timeline),
            prices=self._prices(timeline),
            blobs=timeline.read.blobs,
            weights=dict(timeline.counted),
            references=None if references is None else KeptReferences.of(references),
        )
        try:
            content = made.model_dump_json().encode()
            if self._read(content, None).timeline != timeline:
                return
        except ValueError:  # it holds something that would not be read again
            return
        # Records that were written meanwhile may be in the timeline and are not in the name.
        if len(content) <= MOST_FILE_BYTES and self._log_digest() == self._digest:
            with suppress(OSError):
                make_room(self._store.layout, self._folder, self.path, len(content))
                write_atomically(self.path, content)

    def _prices(self, timeline: Timeline) -> dict[str, Price | None]:
        models = sorted({one.model for one in timeline.requests if one.model})
        return {model: self._price(model) for model in models}

    def _log_digest(self) -> str:
        """Return the digest of what a timeline is made of; empty where that is little, or cannot be read.

        What opening and closing a session writes into its log is no part of it.
        """
        found = hashlib.blake2b(self._session_id.encode(), digest_size=20)
        total = 0
        try:
            for piece in self._store.segments.pieces(self._session_id):
                for _, line in lines_forward(piece):
                    if type_of(line) in READ:
                        found.update(line + b"\n")
                        total += len(line)
        except OSError:
            return ""
        return found.hexdigest() if total >= LEAST_LOG_BYTES else ""


def review_file(store: Store, session_id: str, price: PriceOfModel) -> ReviewFile | None:
    """Return the file of a session's review; None where sessions lie in no folder of ours."""
    return ReviewFile(store, session_id, price) if isinstance(store, JsonlStore) else None


def _known(timeline: Timeline, references: References | None) -> frozenset[str]:
    counted = {CHARS4, *timeline.counted}
    return frozenset({*counted, *(() if references is None else ("references",))})
