"""Inform the user, once per project and provider, which data is sent with a prompt.

Shown notices are recorded in the user's own folder, outside the project, so that a copy of a project shows them
again. Where nothing can be stored there, a notice is shown once in this process.
"""

import hashlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from palimpsest.session.config.state_folder import state_folder, state_folder_problem
from palimpsest.store.disk import create_file
from palimpsest.tools.tool import Detail
from palimpsest.transcript.context_values.cell_runs import NotebookDetail

SHOWN_NOTICES_FOLDER = "told"
"""The folder, inside the state folder, with a file for each shown notice."""
LOCAL_PROVIDERS = frozenset({"rehearsal", "replay", "scripted"})
"""Providers that run in this kernel, so that nothing is sent."""

NOTICE = (
    "From this project to {provider}, from now on: prompts, what tools return, instruction files, this "
    "folder's path, of your variables {detail}, and {cells}. {values}The settings variables and "
    "notebook change that. Said once; docs: What is sent where."
)
VARIABLE_PHRASES: dict[Detail, str] = {
    "names": "the names",
    "names and types": "names and types",
    "values": "names, types and short values",
}
CELL_PHRASES: dict[NotebookDetail, str] = {
    "none": "nothing of the cells that you run",
    "errors": "the cells that fail, with their errors",
    "all": "the cells that you run or edit, with what they print, show and raise",
}
VALUES_SENTENCE = "Values go along of those that you or a tool call name. "

_SHOWN_HASHES: set[str] = set()
"""Hashes of the notices that this process has shown."""


@dataclass(frozen=True)
class FirstRequestNotice:
    """Returns the notice for the first request of a project to a provider, and records that it was shown."""

    project: Path
    detail: Detail
    """What is sent of the user's variables."""
    folder: Path | None = None
    """Where shown notices are recorded; None for the user's state folder."""
    cells: NotebookDetail = "all"
    """What is sent of the cells that the user runs."""

    def notice_text(self, provider: str) -> str:
        """Return the notice before the first request to a provider; empty from the second time on."""
        if provider in LOCAL_PROVIDERS:
            return ""
        project = os.path.realpath(self.project)
        notice_identity = json.dumps(["sent", project, provider, self.detail, self.cells])
        if not self._record_shown(hashlib.sha256(notice_identity.encode()).hexdigest(), provider):
            return ""
        values_sentence = VALUES_SENTENCE if self.detail != "values" else ""
        variable_phrase, cell_phrase = VARIABLE_PHRASES[self.detail], CELL_PHRASES[self.cells]
        return NOTICE.format(
            provider=provider, detail=variable_phrase, cells=cell_phrase, values=values_sentence
        )

    def _record_shown(self, notice_hash: str, provider: str) -> bool:
        """Record that the notice is shown now; return whether it was not shown before."""
        if notice_hash in _SHOWN_HASHES:
            return False
        _SHOWN_HASHES.add(notice_hash)
        folder = self.folder or state_folder() / SHOWN_NOTICES_FOLDER
        # Nothing is recorded in an untrusted folder: the next kernel shows the notice again.
        if state_folder_problem(folder.parent, self.project) or state_folder_problem(folder):
            return True
        shown_at_seconds, project = int(time.time()), os.path.realpath(self.project)
        content = json.dumps(
            {"project": project, "provider": provider, "at": shown_at_seconds}
        ).encode()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            create_file(folder / f"{notice_hash}.json", content)
        except FileExistsError:
            return False
        except OSError:  # a full disk: without the file, the next kernel shows the notice again
            return True
        return True
