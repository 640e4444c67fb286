"""An importer whose values a test lists, and the import of them."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from palimpsest.recordings.import_journal.registry import ImporterRegistry
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.recorded import (
    Call,
    MessageRead,
    Recorded,
    ResultRead,
    SessionBegin,
    Text,
)
from palimpsest.store.exchange.import_report import ImportControl, ImportReport
from palimpsest.store.interface import Store
from palimpsest.transcript.values import Usage

NOW = 1_790_000_000_000
BEGIN = SessionBegin(id="one", format="listed", created=1_000, model="anthropic/claude-sonnet-4-5")
ONE_REQUEST = Usage(input=10, output=2, cache_read=100)


class ListedValuesImporter:
    """An importer whose recording is the list of values that a test gives."""

    name = "listed"
    title = "Listed values"
    tried_on = "hand-made files"

    def __init__(self, values: Iterable[Recorded]) -> None:
        self.values = list(values)

    def recognises(self, head: Head) -> bool:
        return head.start.startswith(b"listed")

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:  # noqa: ARG002
        yield from self.values


def no_other_importers() -> Sequence[ListedValuesImporter]:
    return ()


def load(
    store: Store, folder: Path, *values: Recorded, control: ImportControl | None = None
) -> ImportReport:
    """Import these values as a recording in a folder."""
    path = folder / "recording.listed"
    path.write_text("listed")
    registry = ImporterRegistry([ListedValuesImporter(values)], no_other_importers)
    return registry.import_from(store, path, lambda: NOW, control)


def user(name: str, words: str, created: int | None = 1_000) -> MessageRead:
    return MessageRead(name, "user", (Text(words),), created=created)


def answer(name: str, *parts: str | Call, created: int | None = 2_000) -> MessageRead:
    """Return an answer with usage and cost."""
    contents = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return MessageRead(name, "assistant", contents, created=created, usage=ONE_REQUEST, cost=0.5)


def read_call(name: str) -> Call:
    return Call(name, "read", {"path": f"{name}.py"})


def result(name: str, output: str, *, is_error: bool = False) -> ResultRead:
    return ResultRead(name, output, is_error=is_error, ended=3_000)
