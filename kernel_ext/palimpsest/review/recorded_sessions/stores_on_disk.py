"""Stores of recorded sessions on the disk: a project's folder, which is only read, and a temporary folder.

Border: imported where one is opened, since most recordings are read into memory.
"""

from pathlib import Path

from palimpsest.store.disk import storage_errors
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import Layout, open_project_folder
from palimpsest.store.project_folder.layout_file import read_layout
from palimpsest.store.project_folder.migration_run import refuse_newer
from palimpsest.store.project_folder.migrations import STEPS, is_older, newest_version
from palimpsest.transcript.errors import NotFound, UserError


def temporary_store(folder: Path) -> JsonlStore:
    """Return a store in a folder that is removed after use; raises StorageFailed."""
    with storage_errors(folder):
        return _TemporaryStore(open_project_folder(folder))


class _TemporaryStore(JsonlStore):
    """A store that is removed after use, so that no checkpoint is written for opening it faster."""

    opens_from_checkpoint = False


def project_store(root: Path, session_id: str) -> JsonlStore:
    """Return a read-only store of a project's folder."""
    refuse_newer(root, newest_version(STEPS))
    if is_older(root, STEPS):
        raise UserError(
            f"{str(root)!r} was written by an older version; open a notebook of the project once, and it is renewed."
        )
    if (root / "blobs").is_symlink():
        raise UserError(f"{str(root / 'blobs')!r} is a link, so it is not read.")
    store = JsonlStore(_ReadOnlyLayout(root, read_layout(root).project_id))
    if session_id and not store.layout.session(session_id).is_dir():
        raise NotFound(f"There is no session {session_id!r} in {str(root)!r}.")
    return store


class _ReadOnlyLayout(Layout):
    """A project's layout in which the list of sessions is never written."""

    @property
    def index(self) -> Path:
        """A path in a folder that does not exist, so that the list is computed and not stored."""
        return self.root / "index.json" / "not written"
