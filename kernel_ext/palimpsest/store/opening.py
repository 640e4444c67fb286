"""Open the store of a project, or a store in memory with one sentence that says why."""

import os
from pathlib import Path

from palimpsest.store.jsonl import JsonlStore
from palimpsest.store.layout import ForeignFolder, find_project, prepare
from palimpsest.store.memory import MemoryStore
from palimpsest.store.store import Store

__all__ = ["find_project", "open_store"]

IN_MEMORY = "this kernel keeps its sessions in memory only, and they end with it."


def open_store(project: Path) -> tuple[Store, str | None]:
    """Open the project's store; the sentence is for a person when it had to be in memory.

    Raises LayoutTooNew when a newer version wrote the folder.
    """
    try:
        return JsonlStore(prepare(project)), None
    except ForeignFolder as problem:
        return MemoryStore(), f"{problem}; {IN_MEMORY}"
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        return MemoryStore(), (f"{str(project)!r} cannot be written ({why}); {IN_MEMORY}")
