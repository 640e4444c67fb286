"""What a recording says of requests: the messages that each answer was given to, from what is read."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.recordings.formats.sample_files import sample

from palimpsest.recordings.reading.importer import Importer
from palimpsest.recordings.reading.recorded import (
    Call,
    CompactionRead,
    MessageRead,
    Recorded,
    ReducedRead,
    RemovedRead,
    ResultRead,
    Text,
)
from palimpsest.recordings.reading.sources import head_of

SAMPLES = Path(__file__).with_name("samples")


def unpacked(name: str, into: Path) -> Path:
    """Write a packed sample into a folder, and return its path."""
    return sample(name, into)


def read_all(importer: Importer, path: Path) -> tuple[list[Recorded], list[tuple[str, str]]]:
    """Return all that an importer reads from a source that it recognises, and what it reports."""
    assert importer.recognises(head_of(path))
    reports: list[tuple[str, str]] = []
    return list(importer.read(path, lambda place, what: reports.append((place, what)))), reports


@dataclass(frozen=True)
class Shown:
    """A message of a request as the model saw it."""

    role: str
    text: str
    calls: tuple[tuple[str, str, str], ...] = ()
    """Id, tool and input of each."""
    result_of: str = ""


class Context:
    """The messages that the next request would have."""

    def __init__(self) -> None:
        self.messages: dict[str, Shown] = {}
        self.whole: dict[str, str] = {}

    def now(self) -> tuple[Shown, ...]:
        """Return the messages, without outputs that were left out."""
        return tuple(
            message for message in self.messages.values() if message.text or not message.result_of
        )

    def apply(self, said: Recorded) -> None:
        """Add or change what a recorded value says."""
        match said:
            case MessageRead():
                text = "".join(part.text for part in said.parts if isinstance(part, Text))
                calls = [part for part in said.parts if isinstance(part, Call)]
                call_facts = tuple((call.id, call.tool, repr(call.input)) for call in calls)
                self.messages[said.id] = Shown(said.role, text, call_facts)
            case ResultRead():
                self.messages[f"> {said.call}"] = Shown("tool", said.output, (), said.call)
                self.whole[said.call] = said.output
            case ReducedRead():
                text = self.whole[said.call] if said.restored else said.shown_text
                self.messages[f"> {said.call}"] = Shown("tool", text, (), said.call)
            case RemovedRead():
                for removed in said.messages:
                    self.messages.pop(removed, None)
            case CompactionRead():
                names = list(self.messages)
                kept = said.keeps_from in names and names[names.index(said.keeps_from) :]
                tail = {name: self.messages[name] for name in kept or ()}
                self.messages = {said.id: Shown("user", said.summary or ""), **tail}
            case _:
                pass


def requests_of(recorded: Iterable[Recorded]) -> list[tuple[Shown, ...]]:
    """Return the messages of each request, and last those that the next one would have had."""
    context, found = Context(), []
    for said in recorded:
        if isinstance(said, MessageRead) and said.role == "assistant":
            found.append(context.now())
        context.apply(said)
    return [*found, context.now()]


def common_prefix(first: tuple[Shown, ...], other: tuple[Shown, ...]) -> int:
    """Return how many messages two requests have in common at their beginnings."""
    pairs = enumerate(zip(first, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(first), len(other)))
