"""The sessions of a recording, or of a project's folder, opened for review.

A recording is imported into memory, or if it is larger than ``MAX_MEMORY_BYTES`` into a store in a private temporary
folder, which is removed when no review reads from it any more. A project's own folder is read in place. Nothing is
written next to either, and no content is executed.
"""

import shutil
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, overload

from palimpsest.home_paths import home_path
from palimpsest.paused_collection import collection_paused
from palimpsest.recordings.formats.built_in import REGISTRY
from palimpsest.recordings.import_journal.importer_errors import errors_folder
from palimpsest.recordings.import_journal.journal_writer import size_of
from palimpsest.recordings.reading.reading_budget import counted_spending
from palimpsest.render.content.phrases import counted_noun
from palimpsest.review.prices.offline_prices import offline_price
from palimpsest.review.prices.price_file import PriceWords, price_words
from palimpsest.review.prices.prices import PriceOf
from palimpsest.review.recorded_sessions.recording_review import RecordingReview
from palimpsest.review.recorded_sessions.stored_review import AnyReview, ReviewMaker, review_made_by
from palimpsest.review.session_review import GetPolicy, policy_named
from palimpsest.store.disk import temporary_folder
from palimpsest.store.exchange.import_report import ImportControl, ImportReport
from palimpsest.store.interface import Problem, Store
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.project_folder.names import FOLDER
from palimpsest.store.session_notes import NoteFiles, no_notes, project_notes, recording_notes
from palimpsest.transcript.errors import NotFound, UserError

if TYPE_CHECKING:
    from palimpsest.review.recorded_sessions.session_answers import SessionAnswers

MAX_MEMORY_BYTES = 64_000_000
"""Maximum bytes of a recording's values in memory, as an import counts them; they take about a third more."""
VALUES_PER_BYTE = 3
"""Bytes of values per byte of a file in most recordings; a file that comes to more than the limit is not tried."""


class Recording(Sequence[AnyReview]):
    """The sessions of one recording; a sequence of reviews, each made on demand.

    Responsibilities: return the sessions by number or id, list what could not be read, and remove the temporary folder
    when the recording is closed or no review of it exists.
    """

    def __init__(
        self,
        store: Store,
        ids: Sequence[str],
        problems: Sequence[Problem] = (),
        *,
        review: ReviewMaker[AnyReview],
        get_policy: GetPolicy = policy_named,
        price_of: PriceOf = offline_price,
        price: str | None = None,
        remove: Callable[[], object] = lambda: None,
        reads_log: bool = False,
        own_only: bool = False,
        note_files: NoteFiles | None = None,
    ) -> None:
        """``price`` are the user's prices for all sessions, as words; ``problems`` are those of an import.

        With ``reads_log`` each session's problems are read from its log; with ``own_only`` a fork has only its own requests.
        """
        self._store = store
        self.ids = tuple(ids)
        """The sessions' ids, in the order in which they were recorded."""
        self._problems = tuple(problems)
        self._reads_log = reads_log
        self._own_only = own_only
        self._review_maker = review
        self._get_policy = get_policy
        self._price_of = price_of
        self._price = price
        self._remove = remove
        self.note_files = note_files or no_notes()
        """The files with the notes on its sessions."""

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """The places that could not be read."""
        if not self._reads_log:
            return self._problems
        return tuple(
            problem for session_id in self.ids for problem in self._store.problems(session_id)
        )

    @overload
    def __getitem__(self, key: int | str) -> AnyReview: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[AnyReview]: ...

    def __getitem__(self, key: int | str | slice) -> AnyReview | Sequence[AnyReview]:
        """Return a session by its number from 0 or by its id; raises IndexError or NotFound."""
        if isinstance(key, slice):
            return [self._review_of_session(session_id) for session_id in self.ids[key]]
        if isinstance(key, int):
            if not -len(self) <= key < len(self):
                raise IndexError(
                    f"The recording has no session {key}; {self._count_text()}, counted from 0."
                )
            return self._review_of_session(self.ids[key])
        if key not in self.ids:
            raise NotFound(f"The recording has no session {key!r}; it has {', '.join(self.ids)}.")
        return self._review_of_session(key)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[AnyReview]:
        return (self._review_of_session(session_id) for session_id in self.ids)

    def answers(self, session: str = "") -> "SessionAnswers":
        """Return the object for questions about a session, by default the first; raises NotFound."""
        from palimpsest.review.recorded_sessions.session_answers import SessionAnswers

        if not self.ids or (session and session not in self.ids):
            raise NotFound(f"The recording has no session {session!r}; {self._count_text()}.")
        return SessionAnswers(
            self._store,
            session or self.ids[0],
            self._price_of,
            get_policy=self._get_policy,
            problems_of=self._problems_of,
            note_files=self.note_files,
        )

    def _count_text(self) -> str:
        return f"it has {counted_noun(len(self), 'session')}"

    @collection_paused()
    def _review_of_session(self, session_id: str) -> AnyReview:
        return review_made_by(
            self._review_maker,
            self._store,
            session_id,
            self._price_of,
            self._get_policy,
            problems=self._problems_of(session_id),
            price=self._price,
            own_only=self._own_only,
            # A project's session may be opened without those of its subagents.
            is_alone=len(self) == 1 and not self._reads_log,
            note_files=self.note_files,
        )

    def _problems_of(self, session_id: str) -> Sequence[Problem]:
        """Return the places that could not be read, of a project's session or of the whole import."""
        return self._store.problems(session_id) if self._reads_log else self._problems

    def close(self) -> None:
        """Remove the temporary folder; texts of its sessions can no longer be read."""
        self._remove()

    def __enter__(self) -> "Recording[AnyReview]":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Recording({len(self)} sessions: {', '.join(self.ids[:3])}{', ...' if len(self) > 3 else ''})"


@collection_paused()
def open_recording(
    path: str | Path,
    *,
    session: str = "",
    get_policy: GetPolicy = policy_named,
    price_of: PriceOf = offline_price,
    price: PriceWords | None = None,
    lifetime: str | float | None = None,
    control: ImportControl | None = None,
    review: ReviewMaker[RecordingReview] = RecordingReview,
    without_subagents: bool = False,
    captured: str | Path | None = None,
) -> Recording[RecordingReview]:
    """Open the sessions of a recording, of a folder of recordings, or of a project, for review.

    The path may be any recording that can be imported (docs/import.md), or a project (a folder with ``.palimpsest``), of
    which all sessions are read, or only ``session``. Nothing is written next to it. ``price`` and ``lifetime`` hold for all
    sessions: ``price`` is a model's id, ``units``, ``MODEL=in/out/read/write`` or a price file, or a list of these, and
    ``lifetime`` is the seconds for which the cache keeps a prefix. ``review`` makes the review of a timeline. With ``without_subagents``
    other recordings are not searched for subagents, and a fork has only its own requests. ``captured`` is a capture of the
    recording's requests (HAR, claude-tap), with which it is joined. Raises UserError with one sentence.
    """
    make_recording = partial(
        Recording[RecordingReview],
        review=review,
        get_policy=get_policy,
        price_of=price_of,
        price=price_words(price, lifetime),
    )
    recording_path = home_path(path)
    project_folder = project_root(recording_path)
    if project_folder is not None:
        if captured is not None:
            raise UserError(
                "A project's own sessions have all that was sent; give a recording to --captured."
            )
        from palimpsest.review.recorded_sessions.stores_on_disk import project_store

        project = project_store(project_folder, session)
        session_ids = [session] if session else [info.id for info in project.list()]
        note_files = project_notes(project.layout)
        return make_recording(
            project, session_ids, reads_log=True, own_only=without_subagents, note_files=note_files
        )
    import_into = partial(
        REGISTRY.import_from,
        path=recording_path,
        clock=lambda: time.time_ns() // 1_000_000,
        without_subagents=without_subagents,
        errors_in=errors_folder,
        captured=None if captured is None else home_path(captured),
    )
    control = control or ImportControl()
    opened_in_memory = _import_into_memory(recording_path, import_into, control)
    store, report, remove = opened_in_memory or _import_into_folder(import_into, control)
    return make_recording(
        store,
        [imported_session.id for imported_session in report.sessions],
        report.problems,
        remove=remove,
        note_files=recording_notes(recording_path),
    )


_Opened = tuple[Store, ImportReport, Callable[[], object]]
"""The store of a recording, what its import reported, and a function that removes the store."""


@collection_paused()
def _import_into_memory(
    path: Path, import_into: Callable[..., ImportReport], control: ImportControl
) -> _Opened | None:
    """Return a recording imported into memory; None where it is too large for that."""
    if path.exists() and size_of(path) * VALUES_PER_BYTE > MAX_MEMORY_BYTES:
        return None
    store = MemoryStore()
    with counted_spending() as counted_bytes:

        def is_too_large() -> bool:
            return counted_bytes() > MAX_MEMORY_BYTES

        is_cancelled = control.is_cancelled
        limited_control = replace(
            control, is_cancelled=lambda: is_too_large() or is_cancelled(), is_kept=False
        )
        report = import_into(store, control=limited_control)
    if not is_too_large():
        return store, report, store.clear
    store.clear()
    return None


def _import_into_folder(
    import_into: Callable[..., ImportReport], control: ImportControl
) -> _Opened:
    from palimpsest.review.recorded_sessions.stores_on_disk import temporary_store

    folder = temporary_folder("palimpsest-recording-")
    try:
        store = temporary_store(folder)
        remove = weakref.finalize(store, shutil.rmtree, folder, ignore_errors=True)
        return store, import_into(store, control=replace(control, is_kept=False)), remove
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def project_root(path: Path) -> Path | None:
    """Return the ``.palimpsest`` folder at or in a path, if it has sessions; links are not followed."""
    for root in (path, path / FOLDER):
        sessions = root / "sessions"
        if root.name == FOLDER and sessions.is_dir() and not root.is_symlink():
            return None if sessions.is_symlink() else root
    return None
