"""The interface of an importer, and the sources it reads from.

An importer is a module-level object with a name, a test by content and a reader. It runs nothing that it
reads, opens nothing but its source, and lets a broken line cost only itself.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from palimpsest.review.importing.recorded import Recorded


@dataclass(frozen=True, slots=True)
class Head:
    """What a format is recognised by."""

    path: Path
    """A file or a folder."""
    names: tuple[str, ...] = ()
    """Of a folder: the names in it, at most 1,000, sorted."""
    start: bytes = b""
    """Of a file: its first 64 KiB."""


Report = Callable[[str, str], None]
"""Called with a place (``line 12``) and a sentence for each thing that could not be read."""


class Importer(Protocol):
    """Reads one format."""

    name: str
    """``pi``, ``claude-code``, ...: shown to users and stored with the session."""
    title: str
    """How people call it: "pi", "Claude Code"."""
    tried_on: str
    """``real sessions``, ``files of the real writer`` or ``hand-made files``."""

    def recognises(self, head: Head) -> bool:
        """Return whether a source is of this format, by its content alone; never raises."""
        ...

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield what is recorded, in order; raises UserError with one sentence where nothing can be read."""
        ...
