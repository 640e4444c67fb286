"""Import OpenCode's storage folder, database and exported sessions, and Palimpsest's own exports.

These sessions have the form of Palimpsest's own, so they are not converted to recorded values: ``store/exchange``
imports and exports them without loss, and they can be continued.
"""

import re
from collections.abc import Callable, Collection
from pathlib import Path

from palimpsest.recordings.reading.importer import Head
from palimpsest.store.exchange.import_database import MAGIC, is_opencode_database
from palimpsest.store.exchange.import_report import ImportControl, ImportReport
from palimpsest.store.exchange.importer import import_sessions
from palimpsest.store.interface import Store

EXPORT_START = re.compile(rb'\s*\{\s*"info"\s*:\s*\{')
MARKING_FOLDERS = frozenset({"session", "message"})
"""Folders of OpenCode's storage by which it is recognised."""
STORAGE_FOLDER = "storage"
STORAGE_FOLDERS = MARKING_FOLDERS | {STORAGE_FOLDER, "part", "project", "session_diff", "todo"}
"""The folders of OpenCode's storage, and the one that holds them."""
OTHER_ENTRIES = frozenset({"auth.json", "mcp-auth.json", "bin", "snapshot", "tool-output"})
"""Entries of OpenCode's folder without sessions: keys, programs, states of files and long outputs."""
DATABASE_NAME = re.compile(r"opencode(-[a-z0-9]+)?\.db")
"""Name of the database in OpenCode's folder; it contains the release channel, unless that is the stable one."""


class OpenCodeImporter:
    """Imports sessions of OpenCode and of Palimpsest."""

    name = "opencode"
    title = "OpenCode (and Palimpsest)"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a source is a storage folder, a database with OpenCode's tables or an export."""
        if head.path.is_dir():
            return _database_in(head) is not None or _is_storage_folder(head)
        if head.start.startswith(MAGIC):
            return is_opencode_database(head.path)
        return EXPORT_START.match(head.start) is not None

    def own_files(self, names: Collection[str]) -> Collection[str]:
        """Return OpenCode's databases, the folders that hold its sessions, and what else it keeps beside them."""
        return {*STORAGE_FOLDERS, *OTHER_ENTRIES, *filter(DATABASE_NAME.match, names)}

    def import_whole(
        self,
        store: Store,
        path: Path,
        clock: Callable[[], int],
        control: ImportControl | None = None,
    ) -> ImportReport:
        """Import the sessions; from a folder with a database, those of the database, which is newer."""
        names = tuple(child.name for child in path.iterdir()) if path.is_dir() else ()
        database = _database_in(Head(path, names=names))
        return import_sessions(store, database or path, clock, control)


def _is_storage_folder(head: Head) -> bool:
    if MARKING_FOLDERS & set(head.names):
        return any((head.path / name).is_dir() for name in MARKING_FOLDERS)
    return STORAGE_FOLDER in head.names and (head.path / STORAGE_FOLDER / "session").is_dir()


def _database_in(head: Head) -> Path | None:
    """Return the database in OpenCode's own folder; None where there is none."""
    for name in sorted(head.names):
        path = head.path / name
        if DATABASE_NAME.fullmatch(name) and path.is_file() and is_opencode_database(path):
            return path
    return None
