"""Say once for each project and provider what goes along with a prompt.

What was said is kept in the user's own folder, outside the project, so that a copy of a project is
told of anew. Where nothing can be kept there, it is said once in this process.
"""

import hashlib
import json
import os
import time
from pathlib import Path

from palimpsest.session.config.state_folder import state_folder, state_folder_problem
from palimpsest.tools.tool import Detail

FOLDER = "told"
SENDS_NOTHING = frozenset({"rehearsal", "replay", "scripted"})
"""Providers that are part of this kernel."""

WORDS = (
    "From this project to {provider}, from now on: prompts, what tools return, instruction files, this "
    "folder's path, and of your variables {detail}. {values}The setting `variables` changes that. "
    "Said once; docs: What is sent where."
)
DETAILS: dict[Detail, str] = {
    "names": "the names",
    "names and types": "names and types",
    "values": "names, types and short values",
}
VALUES = "Values go along of those that you or a tool call name. "

_SAID: set[str] = set()
"""What this process said where nothing can be kept."""


class FirstRequestNotice:
    """Knows what a person was told about a project."""

    def __init__(self, project: Path, detail: Detail, folder: Path | None = None) -> None:
        self._project = project
        self._detail = detail
        self._folder = folder

    def words(self, provider: str) -> str:
        """Return what is to be said before the first request to a provider; nothing a second time."""
        if provider in SENDS_NOTHING:
            return ""
        said = json.dumps(["sent", os.path.realpath(self._project), provider, self._detail])
        if not self._note(hashlib.sha256(said.encode()).hexdigest(), provider):
            return ""
        values = VALUES if self._detail != "values" else ""
        return WORDS.format(provider=provider, detail=DETAILS[self._detail], values=values)

    def _note(self, name: str, provider: str) -> bool:
        """Note that it is said now; false where it was before."""
        if name in _SAID:
            return False
        _SAID.add(name)
        folder = self._folder or state_folder() / FOLDER
        # A folder that is not believed is not written either: it is said again by the next kernel.
        if state_folder_problem(folder.parent, self._project) or state_folder_problem(folder):
            return True
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
            file = os.open(folder / f"{name}.json", flags, 0o600)
        except FileExistsError:
            return False
        except OSError:
            return True
        with os.fdopen(file, "w") as opened:
            at = int(time.time())
            project = os.path.realpath(self._project)
            json.dump({"project": project, "provider": provider, "at": at}, opened)
        return True
