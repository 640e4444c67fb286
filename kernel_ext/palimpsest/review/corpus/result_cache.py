"""Store the results of each source in files, so that a stopped run continues and a repeated one is fast.

The files are derived and can be deleted. A file's name is a hash of the source's content, the requested result and the
version. It contains numbers and displayed names; a file with anything else is ignored.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from palimpsest import __version__
from palimpsest.review.corpus.session_work import Rows
from palimpsest.store.disk import read_small, write_atomically
from palimpsest.store.project_folder.layout import (
    FOLDER,
    find_project,
    foreign_folder_reason,
    open_project_folder,
)
from palimpsest.transcript.errors import PalimpsestError

CACHE_VERSION = 7
"""Version of the computation; increased when rows are computed differently."""
ROWS_SUFFIX = ".rows"
KEY_CHARS = 40
MAX_FILE_BYTES = 64_000_000


@dataclass(frozen=True)
class ResultCache:
    """Reads and writes rows in one folder; stores nothing without a folder."""

    folder: Path | None

    def get(self, key: str) -> tuple[Rows, tuple[str, ...]] | None:
        """Return stored rows and problems; None where there are none."""
        if self.folder is None:
            return None
        try:
            content = json.loads(read_small(self.folder / f"{key}{ROWS_SUFFIX}", MAX_FILE_BYTES))
        except (OSError, ValueError, RecursionError, PalimpsestError):
            return None
        if not isinstance(content, dict):
            return None
        rows, problems = content.get("rows"), content.get("problems")
        if not _are_rows(rows) or not isinstance(problems, list):
            return None
        return rows, tuple(str(problem) for problem in problems)

    def put(self, key: str, rows: Rows, problems: Sequence[str]) -> None:
        """Store rows; a disk error is ignored."""
        if self.folder is None:
            return
        content = json.dumps({"rows": rows, "problems": list(problems)}).encode()
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(self.folder / f"{key}{ROWS_SUFFIX}", content)


def result_key(content_hash: str, *requested: Any) -> str:
    """Return the name under which a result is stored, from the hash of the source's content and what was requested."""
    key_values = [CACHE_VERSION, __version__, content_hash, *requested]
    return hashlib.sha256(json.dumps(key_values, sort_keys=True, default=str).encode()).hexdigest()[
        :KEY_CHARS
    ]


def default_folder() -> Path | None:
    """Return ``.palimpsest/review`` of the current folder's project; None where it cannot be written."""
    project = find_project(Path.cwd())
    try:
        if foreign_folder_reason(project):
            return None
        if not (project / FOLDER).is_dir():
            open_project_folder(project)
    except (OSError, PalimpsestError):
        return None
    folder = project / FOLDER / "review"
    return None if folder.is_symlink() else folder


def _are_rows(rows: Any) -> TypeGuard[Rows]:
    """Return whether a value has the form of rows: names, numbers and counts."""
    return isinstance(rows, list) and all(
        isinstance(row, dict) and all(_is_cell(cell) for cell in row.values()) for row in rows
    )


def _is_cell(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(number, int) for number in value.values())
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)
