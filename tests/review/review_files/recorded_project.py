"""A recorded session in a project's folder, and the file of its review."""

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample

from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.review_files.review_file import ReviewFile, StoredReview
from palimpsest.review.tables.references import References
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.transcript.values import Price

SHORT, LONG = "gemini_cli.jsonl", "pi_large_session.jsonl"
"""Samples: one with transitions, events and names, and one with hundreds of requests."""
PRICE = Price(input=3, output=15)


@cache
def _project(name: str) -> TemporaryDirectory[str]:
    """Import the sample once; every test works on a copy."""
    folder = TemporaryDirectory(prefix="recorded-project-", ignore_cleanup_errors=True)
    with TemporaryDirectory() as other:
        store = JsonlStore(open_project_folder(Path(folder.name)))
        import_file(sample(name, Path(other)), store)
    return folder


@cache
def made_review(name: str = SHORT) -> StoredReview:
    """Return the session's review as it is made from its log."""
    store = JsonlStore(open_project_folder(Path(_project(name).name)))
    (session,) = (info.id for info in store.list())
    timeline = timeline_of(store, session, counter, lambda _model: PRICE)
    timeline.weights("tiktoken/o200k_base")
    return StoredReview(timeline, References.of(timeline))


class RecordedProject:
    """A project with one recorded session, opened as often as a test wants."""

    def __init__(self, root: Path, name: str = SHORT) -> None:
        self.name = name
        self.root = root / "project"
        shutil.copytree(_project(name).name, self.root)
        self.price: Price | None = PRICE
        self.store = JsonlStore(open_project_folder(self.root))
        (self.session,) = (info.id for info in self.store.list())

    @property
    def folder(self) -> Path:
        """Where the files of the session's review lie."""
        return self.root / ".palimpsest" / "review" / self.session

    def file(self) -> ReviewFile:
        """Return the file for the log as it is now."""
        return ReviewFile(self.store, self.session, lambda _model: self.price)

    def load(self) -> StoredReview | None:
        """Return what is kept, in a kernel that has just started."""
        return self.file().load(counter)

    def kept(self) -> tuple[StoredReview, Path]:
        """Keep the review as it is made, and return it with its file."""
        made, file = made_review(self.name), self.file()
        file.store_review(made.timeline, made.references)
        return made, file.path
