"""Read a recording with its importer, and pick from what was read."""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from palimpsest.review.importing.importer import Importer
from palimpsest.review.importing.recorded import Call, MessageRead, Recorded, Text
from palimpsest.review.importing.sources import head_of

SAMPLES = Path(__file__).with_name("samples")
One = TypeVar("One")


def recorded(importer: Importer, path: Path) -> tuple[list[Recorded], list[str]]:
    """Return what an importer reads from a source that it recognises, and what it reports."""
    assert importer.recognises(head_of(path))
    reports: list[str] = []
    return list(
        importer.read(path, lambda place, what: reports.append(f"{place}: {what}"))
    ), reports


def only(kind: type[One], found: Iterable[object]) -> list[One]:
    return [one for one in found if isinstance(one, kind)]


def requests(found: Iterable[object]) -> list[MessageRead]:
    return [one for one in only(MessageRead, found) if one.role == "assistant"]


def said(message: MessageRead) -> str:
    """Return a message in a line: its text, then the tools that it called."""
    words = [one.text for one in message.parts if isinstance(one, Text)]
    calls = [f"{one.tool}()" for one in message.parts if isinstance(one, Call)]
    return " ".join((*words, *calls))


def input_tokens(found: Iterable[object]) -> list[int | None]:
    """Return the whole prompt of each request, None where no usage was recorded."""
    return [one.usage.prompt if one.usage else None for one in requests(found)]
