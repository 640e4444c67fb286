"""Store which files of a project the user trusts, in the user's own folder.

Trust is bound to the project's path and to the contents of its settings, the files that its hooks and servers run, and
each agent, command or skill that sets more than an untrusted project may. A changed file needs trust again, and so does
a copy of the folder elsewhere. ``untrusted_allow_list`` defines which settings apply without trust.

Border: stores answers; upper layers ask the user.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from palimpsest.session.config.setting_files import Layer
from palimpsest.session.config.state_folder import state_folder_problem
from palimpsest.session.trust.bound_files import bound_files
from palimpsest.store.disk import write_atomically
from palimpsest.transcript.errors import StorageFailed
from palimpsest.transcript.strings.disk_words import disk_reason

FILE_NAME = "trusted.json"
MAX_ANSWERS = 5_000
"""Maximum number of stored answers; the oldest are dropped first."""
RUNNING_SETTINGS = ("hooks", "mcp")
"""Settings that name commands or code to run."""


def digest_of(layers: Sequence[Layer], start_folders: Sequence[Path], repository: Path) -> str:
    """Return a hash that identifies a project's settings and the files they run; empty where it has no settings.

    ``start_folders`` are folders in which programs run and modules are searched; ``repository`` is the repository that contains
    the project.
    """
    if not layers:
        return ""
    layer_values = [[os.path.realpath(layer.folder), layer.origin, layer.data] for layer in layers]
    commands = [
        layer.data[name] for layer in layers for name in RUNNING_SETTINGS if name in layer.data
    ]
    base_folders = [*start_folders, *(layer.folder for layer in layers)]
    files = bound_files(commands, base_folders, repository) if commands else {}
    return _digest(["settings", layer_values, files])


def definition_digest(path: Path, content: str) -> str:
    """Return a hash of the path and content of an agent, command or skill file."""
    return _digest(["definition", os.path.realpath(path), content])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, default=str).encode()).hexdigest()


_ENTRIES_IN_MEMORY: dict[str, Any] = {}
"""Trust given in this process where it cannot be stored."""


UNWRITTEN_SENTENCE = "This trust ends with this kernel. {reason}"
_UNWRITTEN_REASONS: dict[str, str] = {}
"""Why trust could not be stored, by the real path of the project."""


class TrustStore:
    """Stores which project settings and definition files the user trusted.

    Where nothing can be stored, trust lasts as long as the process.
    """

    def __init__(self, folder: Path | None, project: Path | None = None) -> None:
        self._path = folder / FILE_NAME if folder is not None else None
        self._project = project

    def is_trusted(self, digest: str) -> bool:
        """Return whether the settings or file with this digest were trusted."""
        return bool(digest) and digest in self._read_file() | _ENTRIES_IN_MEMORY

    def add(self, digests: Iterable[str], files: Sequence[str], project: Path) -> None:
        """Trust the settings and files with these digests from now on."""
        entry: dict[str, Any] = {
            "project": os.path.realpath(project),
            "files": list(files),
            "at": int(time.time()),
        }
        added_entries = dict.fromkeys(filter(None, digests), entry)
        try:
            self._write_file(dict(list((self._read_file() | added_entries).items())[-MAX_ANSWERS:]))
            _UNWRITTEN_REASONS.pop(entry["project"], None)
        except StorageFailed as refused:
            _ENTRIES_IN_MEMORY.update(added_entries)
            _UNWRITTEN_REASONS[entry["project"]] = UNWRITTEN_SENTENCE.format(reason=refused)

    def unwritten(self, project: Path) -> str:
        """Return why trust in a project ends with this process, in sentences; empty where it is stored."""
        return _UNWRITTEN_REASONS.get(os.path.realpath(project), "")

    def remove(self, project: Path) -> bool:
        """Remove all trust in a project; returns False when it had none."""
        real_path = os.path.realpath(project)
        _UNWRITTEN_REASONS.pop(real_path, None)
        entries = self._read_file()
        remaining_entries = {
            key: entry for key, entry in entries.items() if entry.get("project") != real_path
        }
        digests_in_memory = [
            key for key, entry in _ENTRIES_IN_MEMORY.items() if entry.get("project") == real_path
        ]
        for key in digests_in_memory:
            del _ENTRIES_IN_MEMORY[key]
        if len(remaining_entries) < len(entries):
            self._write_file(remaining_entries)
        return bool(digests_in_memory) or len(remaining_entries) < len(entries)

    def _read_file(self) -> dict[str, Any]:
        path = self._path
        if path is None or state_folder_problem(path.parent, self._project):
            return {}
        if state_folder_problem(path):
            return {}
        try:
            data = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}  # Nothing is trusted then, and the user is asked again.
        trusted_entries = data.get("trusted") if isinstance(data, dict) else None
        if not isinstance(trusted_entries, dict):
            return {}
        return {key: entry for key, entry in trusted_entries.items() if isinstance(entry, dict)}

    def _write_file(self, entries: dict[str, Any]) -> None:
        path = self._path
        if path is None or state_folder_problem(path.parent, self._project):
            raise StorageFailed("There is no folder of your own to keep this in.")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            data = json.dumps({"version": 2, "trusted": entries}, indent=1)
            write_atomically(path, data.encode())
        except OSError as error:
            raise StorageFailed(f"{disk_reason(error)}: {path} cannot be written.") from None
