"""Open the store of a project, or an in-memory store with a sentence that gives the reason."""

from collections.abc import Sequence
from pathlib import Path

from palimpsest.store.interface import Store
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.project_folder.layout import ForeignFolder, find_project, open_project_folder
from palimpsest.store.project_folder.migration_run import LayoutNotReady
from palimpsest.store.project_folder.migrations import STEPS, LayoutStep
from palimpsest.transcript.strings.disk_words import disk_reason

__all__ = ["find_project", "open_store"]

IN_MEMORY = "this kernel keeps its sessions in memory only, and they end with it."


def open_store(
    project: Path, steps: Sequence[LayoutStep] | None = None
) -> tuple[Store, str | None]:
    """Open the project's store; the sentence is None, or explains to the user why the store is in memory.

    A folder of an older layout is migrated to the newest one, which the layout's ``notice`` reports.
    Raises LayoutTooNew when a newer version wrote the folder.
    """
    try:
        return JsonlStore(open_project_folder(project, STEPS if steps is None else steps)), None
    except (ForeignFolder, LayoutNotReady) as problem:
        return MemoryStore(), f"{problem}; {IN_MEMORY}"
    except OSError as error:
        reason = disk_reason(error)
        return MemoryStore(), f"{reason}: {str(project)!r} cannot be written; {IN_MEMORY}"
