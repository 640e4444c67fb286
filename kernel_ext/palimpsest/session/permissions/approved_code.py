"""Record which Python of a session ran here with the user's approval, outside the project.

An approval noted in a log is not trusted, since logs are shared: only
code that this user approved in this project on this machine is run again without a question.

Border: stores checksums in ``<state>/palimpsest/approved_code``, and beside them the texts, without keys, with which
a question compares new code; asks and runs nothing itself. Both files of a session keep
their newest lines only, so that a question costs the same after a year of use.
"""

import hashlib
import json
import os
import threading
from contextlib import suppress
from pathlib import Path

from palimpsest.session.config.state_folder import (
    distrusted_status,
    state_folder,
    state_folder_problem,
)
from palimpsest.store.disk import NOFOLLOW, READ_FLAGS, write_atomically
from palimpsest.store.project_folder.layout import ProjectNumber
from palimpsest.tools.execution.python import ObservedRunner
from palimpsest.tools.tool import PythonOutcome, PythonRunner
from palimpsest.transcript.redaction.secret_patterns import scrub
from palimpsest.transcript.redaction.secret_removal import secret_values

CHECKSUMS_SUFFIX = ".txt"
TEXTS_SUFFIX = ".texts"
MAX_TEXT_CHARS = 40_000
"""Maximum characters of code whose text is stored."""
MAX_TEXTS = 50
"""Maximum number of a session's texts that are read, the newest ones."""
MAX_FILE_BYTES = 1_000_000
"""Maximum bytes of one file of a session: 15,000 checksums, or the newest texts; a larger file keeps its newest half."""
MAX_READ_BYTES = 10 * MAX_FILE_BYTES
"""Maximum bytes that are read; a larger file was not written by this module, and is replaced at the next addition."""


class ApprovedCode:
    """The checksums of the Python that ran with approval, by session.

    Contract: from any thread; raises nothing. Where the folder cannot be written or trusted, the code that ran in
    this kernel is known until the kernel ends.
    """

    def __init__(
        self,
        project: Path | None = None,
        number: ProjectNumber | None = None,
        *,
        folder: Path | None = None,
    ) -> None:
        self._project = project.resolve() if project is not None else None
        self._number = number
        self._folder = folder or state_folder() / "approved_code"
        self._checksums_of_kernel: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def add(self, session_id: str, code: str) -> None:
        """Record that code ran in a session with the user's approval."""
        checksum = code_checksum(code)
        with self._lock:
            if (session_id, checksum) in self._checksums_of_kernel:
                return
            is_known = self.is_approved(session_id, code)
            self._checksums_of_kernel.add((session_id, checksum))
            if is_known:
                return
            with suppress(OSError):
                self._append_line(session_id, checksum, CHECKSUMS_SUFFIX)
                text = scrub(code, secret_values(os.environ))
                if len(text) <= MAX_TEXT_CHARS:
                    self._append_line(session_id, json.dumps(text), TEXTS_SUFFIX)

    def observed_runner(self, runner: PythonRunner, session_id: str) -> PythonRunner:
        """Return a Python runner of a session that records code that ran to its end; it was approved before it ran."""

        def add_ended_code(code: str, _call_id: str, outcome: PythonOutcome) -> None:
            if not outcome.was_interrupted:
                self.add(session_id, code)

        return ObservedRunner(runner, add_ended_code)

    def approved_texts(self, session_id: str) -> tuple[str, ...]:
        """Return the newest code that ran in a session with the user's approval, without keys, oldest first."""
        with suppress(OSError, ValueError):
            lines = self._read_file(session_id, TEXTS_SUFFIX).splitlines()[-MAX_TEXTS:]
            texts = [json.loads(line) for line in lines]
            return tuple(text for text in texts if isinstance(text, str))
        return ()

    def is_approved(self, session_id: str, code: str) -> bool:
        """Return whether exactly this code ran in the session with the user's approval."""
        checksum = code_checksum(code)
        if (session_id, checksum) in self._checksums_of_kernel:
            return True
        with suppress(OSError, ValueError):
            return checksum in self._read_file(session_id, CHECKSUMS_SUFFIX).split()
        return False

    def forget_session(self, session_id: str) -> None:
        """Remove the records of a session that is deleted."""
        self._checksums_of_kernel = {
            entry for entry in self._checksums_of_kernel if entry[0] != session_id
        }
        for suffix in (CHECKSUMS_SUFFIX, TEXTS_SUFFIX):
            path = self._path(session_id, suffix)
            if path is not None:
                with suppress(OSError):
                    path.unlink()

    def _path(self, session_id: str, suffix: str, *, number: str = "") -> Path | None:
        number = number or (self._number.known_number() if self._number is not None else "")
        if self._project is None or not number or not session_id.replace("_", "").isalnum():
            return None
        project_hash = hashlib.sha256(os.fsencode(self._project)).hexdigest()
        return self._folder / f"{project_hash[:32]}-{number}" / f"{session_id}{suffix}"

    def _append_line(self, session_id: str, line: str, suffix: str) -> None:
        if self._number is None:
            return
        path = self._path(session_id, suffix, number=self._number.make())
        if path is None:
            return
        self._folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (self._folder, path.parent):
            folder.mkdir(mode=0o700, exist_ok=True)
        if self._is_distrusted(path):
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NOFOLLOW
        with open(os.open(path, flags, 0o600), "ab") as file:  # noqa: PTH123  # by its descriptor
            status = os.fstat(file.fileno())
            if distrusted_status(status, path):
                return
            file.write(f"{line}\n".encode())
        if status.st_size > MAX_FILE_BYTES:
            self._shorten_file(session_id, suffix, path)

    def _shorten_file(self, session_id: str, suffix: str, path: Path) -> None:
        """Keep the newest half of a file; code that another kernel adds in this moment is asked about again."""
        lines = self._read_file(session_id, suffix).splitlines(keepends=True) or [""]
        newest_lines = [lines.pop()]
        size = len(newest_lines[0].encode())
        while lines and size + len(lines[-1].encode()) <= MAX_FILE_BYTES // 2:
            size += len(lines[-1].encode())
            newest_lines.append(lines.pop())
        write_atomically(path, "".join(reversed(newest_lines)).encode())

    def _read_file(self, session_id: str, suffix: str) -> str:
        path = self._path(session_id, suffix)
        if path is None or self._is_distrusted(path):
            return ""
        with open(os.open(path, READ_FLAGS), "rb") as file:  # noqa: PTH123  # by its descriptor
            if distrusted_status(os.fstat(file.fileno()), path):
                return ""
            content = file.read(MAX_READ_BYTES + 1)
        return "" if len(content) > MAX_READ_BYTES else content.decode()

    def _is_distrusted(self, path: Path) -> bool:
        """Return whether another user could have written here, or replaced a folder above."""
        folders = (path.parent, path.parent.parent, path.parent.parent.parent)
        return any(state_folder_problem(folder, self._project) for folder in folders)


def code_checksum(code: str) -> str:
    """Return the SHA-256 of code, as hexadecimal digits."""
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
