"""Read a recording with its importer, and pick from what was read."""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from palimpsest.recordings.reading.importer import Importer
from palimpsest.recordings.reading.recorded import Call, MessageRead, Recorded, Text
from palimpsest.recordings.reading.sources import head_of

Kind = TypeVar("One")


def read_all(importer: Importer, path: Path) -> tuple[list[Recorded], list[str]]:
    """Return what an importer reads from a source that it recognises, and what it reports."""
    assert importer.recognises(head_of(path))
    reports: list[str] = []
    return list(
        importer.read(path, lambda place, what: reports.append(f"{place}: {what}"))
    ), reports


def only(kind: type[Kind], found: Iterable[object]) -> list[Kind]:
    return [entry for entry in found if isinstance(entry, kind)]


def answers_of(found: Iterable[object]) -> list[MessageRead]:
    return [message for message in only(MessageRead, found) if message.role == "assistant"]


def line_of(message: MessageRead) -> str:
    """Return a message in a line: its text, then the tools that it called."""
    words = [part.text for part in message.parts if isinstance(part, Text)]
    calls = [f"{part.tool}()" for part in message.parts if isinstance(part, Call)]
    return " ".join((*words, *calls))


def input_tokens(found: Iterable[object]) -> list[int | None]:
    """Return the whole prompt of each request, None where no usage was recorded."""
    return [request.usage.prompt if request.usage else None for request in answers_of(found)]
