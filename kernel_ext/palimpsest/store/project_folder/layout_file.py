"""Read and write the file ``layout``: layout version, project id, and progress of a migration.

Its content is untrusted, since the folder may come from another person: a migration that it records is
continued only for names that stay in the folder.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from palimpsest.store.disk import TooLarge, read_json, write_atomically

LAYOUT_FILE_NAME = "layout"
MAX_LAYOUT_BYTES = 64 << 10
"""Maximum bytes of the file; a larger one was not written by this package and is ignored."""
COPY_PREFIX = "before-layout-"
"""Prefix of the folder that keeps the files a migration changed."""
_COPY_NAME = re.compile(rf"{COPY_PREFIX}\d+(-\d+)?")
_ENTRY_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_PROTECTED_NAMES = frozenset({LAYOUT_FILE_NAME, "lock", "lease.json"})
"""Files that the migration itself uses; no step may change them."""

UNREADABLE_ERRORS = (ValueError, KeyError, TypeError, AttributeError, OverflowError)
"""Errors of a file with other content."""

Stage = Literal["copying", "moving out", "moving in"]
STAGES: tuple[Stage, ...] = ("copying", "moving out", "moving in")


@dataclass(frozen=True, slots=True)
class MigrationProgress:
    """Progress of a migration that has not finished."""

    to: int
    stage: Stage
    """*copying*: nothing has changed yet. *moving out*: the old files are moved to ``copy``. *moving in*:
    the new files are moved to their places."""
    copy: str
    """Name of the folder that keeps the old files."""
    entries: tuple[str, ...] = ()
    """Names of the files and folders that are changed."""


@dataclass(frozen=True, slots=True)
class LayoutFile:
    """The content of the file."""

    version: int = 0
    project_id: str = ""
    migration: MigrationProgress | None = None


def read_layout(root: Path) -> LayoutFile:
    """Read a folder's layout; version 0 if the file is missing or cannot be read."""
    try:
        data = read_json(root / LAYOUT_FILE_NAME, MAX_LAYOUT_BYTES)
        version = int(data["version"])
        project_id = data.get("project_id")
    except (FileNotFoundError, TooLarge, *UNREADABLE_ERRORS):
        return LayoutFile()
    known_id = project_id if isinstance(project_id, str) else ""
    return LayoutFile(max(version, 0), known_id, _progress(data.get("migration")))


def write_layout(root: Path, layout: LayoutFile) -> None:
    """Write the file atomically and sync it to the disk; raises OSError."""
    write_atomically(root / LAYOUT_FILE_NAME, layout_content(layout), is_durable=True)


def layout_content(layout: LayoutFile) -> bytes:
    """Return the bytes of the file: one line of JSON."""
    data = asdict(layout)
    if layout.migration is None:
        del data["migration"]
    return json.dumps(data).encode() + b"\n"


def without_migration(layout: LayoutFile) -> LayoutFile:
    """Return the layout without its migration."""
    return replace(layout, migration=None)


def entry_names(names: Iterable[Any]) -> tuple[str, ...]:
    """Return those names, each once, that a migration may change: plain names directly in the folder."""
    valid_names = (name for name in names if isinstance(name, str) and _ENTRY_NAME.fullmatch(name))
    changeable_names = (
        name for name in valid_names if name not in _PROTECTED_NAMES and COPY_PREFIX not in name
    )
    return tuple(dict.fromkeys(changeable_names))


def _progress(data: Any) -> MigrationProgress | None:
    if not isinstance(data, dict):
        return None
    version, copy_name, entries = data.get("to"), data.get("copy"), data.get("entries")
    stage = next((name for name in STAGES if name == data.get("stage")), None)
    has_copy = isinstance(copy_name, str) and _COPY_NAME.fullmatch(copy_name) is not None
    if type(version) is not int or stage is None or not has_copy or not isinstance(entries, list):
        return None
    return MigrationProgress(version, stage, str(copy_name), entry_names(entries))
