"""The file of one session's review in the project's folder: named by the content of its log, and extended over time.

``.palimpsest/review/<session>/<hash of the log>.<version>`` is derived and may be deleted. A file that is broken, of
another version or of another log is ignored and replaced. It contains no texts of items; those stay in the log. The
folder is bounded in size, has no files of deleted sessions, and never lies behind a link.
"""

import hashlib
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from palimpsest import __version__
from palimpsest.model.tokenizer import rough_count_sentences
from palimpsest.recordings.timeline.item_texts import ItemTexts
from palimpsest.recordings.timeline.journal_timeline import TIMELINE_EVENTS, CounterOf, PriceOfModel
from palimpsest.review.review_files.columns import KeptValue
from palimpsest.review.review_files.kept_references import KeptReferences
from palimpsest.review.review_files.kept_timeline import KeptTimeline
from palimpsest.review.tables.references import References
from palimpsest.store.disk import read_small, write_atomically
from palimpsest.store.interface import Store
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.segments import lines_forward
from palimpsest.store.log_lines import type_of
from palimpsest.store.project_folder.layout import SAFE_NAME, Layout
from palimpsest.transcript.errors import PalimpsestError
from palimpsest.transcript.timeline import CHARS4, Timeline
from palimpsest.transcript.values import Price

FILE_VERSION = 3
"""Version of the file's form."""
MIN_LOG_BYTES = 200_000
"""Size of a log below which no file is written, since building its timeline is faster."""
MAX_FILE_BYTES = 64_000_000
MAX_FOLDER_BYTES = 256_000_000
"""Maximum bytes of all files together; the oldest files are removed for a new one."""
MAX_WEIGHT = 1 << 40
"""Tokens of an item are below this number."""


class _FileValues(KeptValue):
    """The content of a file."""

    made_by: str
    """The version of this package that wrote the file."""
    timeline: KeptTimeline
    prices: dict[str, Price | None]
    """The prices of the session's models; the file is valid only with the same prices."""
    blobs: dict[str, Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]]
    """Blob names of items that are not parts, by the items' ids."""
    weights: dict[str, tuple[Annotated[int, Field(ge=0, lt=MAX_WEIGHT)], ...]]
    """Tokens of each item, by estimator."""
    references: KeptReferences | None


@dataclass(frozen=True)
class StoredReview:
    """The timeline and the references that a file holds, as a review takes them."""

    timeline: Timeline
    references: References | None


class ReviewFile:
    """Reads and writes the file of a session's review for the current log, and limits the size of the folder."""

    def __init__(self, store: JsonlStore, session_id: str, price_of: PriceOfModel) -> None:
        self._store = store
        self._session_id = session_id
        self._price_of = price_of
        self._folder = store.layout.review(session_id)
        self._digest = self._log_digest()
        self._written_values: frozenset[str] = frozenset()
        """Names of the values that the file already contains: estimators, and ``references``."""

    @property
    def path(self) -> Path:
        """The path of the file, which may not exist."""
        return self._folder / f"{self._digest}.{FILE_VERSION}"

    def load(self, counter_of: CounterOf | None) -> StoredReview | None:
        """Return the file's content; None where there is no valid file for this log."""
        if not self._digest or not _is_unlinked_folder(self._folder):
            return None
        try:
            stored_review = self._read_review(read_small(self.path, MAX_FILE_BYTES), counter_of)
        except (OSError, ValueError, PalimpsestError):
            return None
        self._written_values = _known_values(stored_review.timeline, stored_review.references)
        return stored_review

    def _read_review(self, content: bytes, counter_of: CounterOf | None) -> StoredReview:
        file_values = _FileValues.model_validate_json(content, strict=True)
        timeline, items = file_values.timeline.timeline, file_values.timeline.items
        is_current = (
            file_values.made_by == __version__
            and timeline.session == self._session_id
            and file_values.prices == self._model_prices(timeline)
            and all(len(weights) == len(items) for weights in file_values.weights.values())
        )
        if not is_current:
            raise ValueError("It is of another version or session, or a price has changed.")
        texts = ItemTexts(self._store, self._session_id, lambda index: items[index].id)
        texts.blob_by_item = file_values.blobs
        return StoredReview(
            replace(timeline, read=texts, count=counter_of, _weights=file_values.weights),
            None if file_values.references is None else file_values.references.references(timeline),
        )

    def store_review(self, timeline: Timeline, references: References | None) -> None:
        """Write the known values of the session if some are not in the file; a disk error is ignored."""
        known_values = _known_values(timeline, references)
        if not self._digest or known_values <= self._written_values:
            return
        if not isinstance(timeline.read, ItemTexts):
            return
        # A failed attempt is not repeated.
        self._written_values |= known_values
        file_values = _FileValues.model_construct(
            made_by=__version__,
            timeline=KeptTimeline.of(timeline),
            prices=self._model_prices(timeline),
            blobs=timeline.read.blob_by_item,
            weights=_exact_weights(timeline),
            references=None if references is None else KeptReferences.of(references),
        )
        try:
            content = file_values.model_dump_json().encode()
            if self._read_review(content, None).timeline != timeline:
                return
        except ValueError:  # a value would be rejected when the file is read
            return
        # Records written meanwhile may be in the timeline but not in the hash.
        if len(content) <= MAX_FILE_BYTES and self._log_digest() == self._digest:
            with suppress(OSError):
                make_room(self._store.layout, self._folder, self.path, len(content))
                write_atomically(self.path, content)

    def _model_prices(self, timeline: Timeline) -> dict[str, Price | None]:
        models = sorted({request.model for request in timeline.requests if request.model})
        return {model: self._price_of(model) for model in models}

    def _log_digest(self) -> str:
        """Return the digest of the records from which a timeline is built; empty for a small or unreadable log."""
        digest = hashlib.blake2b(self._session_id.encode(), digest_size=20)
        byte_count = 0
        try:
            for segment_range in self._store.segments.segment_ranges(self._session_id):
                for _, line in lines_forward(segment_range):
                    if type_of(line) in TIMELINE_EVENTS:
                        digest.update(line + b"\n")
                        byte_count += len(line)
        except OSError:
            return ""
        return digest.hexdigest() if byte_count >= MIN_LOG_BYTES else ""


def review_file(store: Store, session_id: str, price_of: PriceOfModel) -> ReviewFile | None:
    """Return the file of a session's review; None where the store is no folder."""
    return ReviewFile(store, session_id, price_of) if isinstance(store, JsonlStore) else None


def _exact_weights(timeline: Timeline) -> dict[str, tuple[int, ...]]:
    """Return the weights without those of estimators that count only roughly on this computer."""
    return {
        estimator: weights
        for estimator, weights in timeline.counted_weights.items()
        if not rough_count_sentences([estimator])
    }


def _known_values(timeline: Timeline, references: References | None) -> frozenset[str]:
    """Return the names of the values that are known: the exact estimators, and ``references``."""
    estimators = {CHARS4, *_exact_weights(timeline)}
    return frozenset({*estimators, *(() if references is None else ("references",))})


def _is_unlinked_folder(path: Path) -> bool:
    """Return whether a session's folder and its parent are folders, not links."""
    try:
        return all(stat.S_ISDIR(folder.lstat().st_mode) for folder in (path.parent, path))
    except OSError:
        return False


def make_room(layout: Layout, folder: Path, new_file: Path, size_bytes: int) -> None:
    """Create a session's folder for a new file, and remove the replaced file and the oldest files; raises OSError."""
    if not folder.parent.is_symlink():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_unlinked_folder(folder):
        raise NotADirectoryError(f"{str(folder)!r} is no folder.")
    for file in folder.iterdir():
        if file != new_file:
            file.unlink(missing_ok=True)
    dated_files: list[tuple[float, int, Path]] = []
    session_folders = (
        session_folder
        for session_folder in folder.parent.iterdir()
        if SAFE_NAME.fullmatch(session_folder.name)
    )
    for other_folder in filter(_is_unlinked_folder, session_folders):
        if not (layout.sessions / other_folder.name).is_dir():
            shutil.rmtree(other_folder, ignore_errors=True)
        elif other_folder != folder:
            dated_files += _dated_files(other_folder)
    total_bytes = size_bytes + sum(file_bytes for _, file_bytes, _ in dated_files)
    for _, file_bytes, path in sorted(dated_files):
        if total_bytes <= MAX_FOLDER_BYTES:
            break
        path.unlink(missing_ok=True)
        total_bytes -= file_bytes


def _dated_files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """Yield for each file when it was changed, in seconds since 1970, its bytes, and its path."""
    with suppress(OSError):
        for file in folder.iterdir():
            status = file.lstat()
            if stat.S_ISREG(status.st_mode):
                yield status.st_mtime, status.st_size, file
