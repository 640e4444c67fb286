"""Store the user's permission grants for one project, in the user's own folder: the project itself grants nothing.

Grants in a log, an index or a file of the project are only history. Grants are stored in
``<state>/palimpsest/grants``, in a file named after the project's real path and also bound to the
project's own number, so neither a copy nor another project at the same path has any of
them. Where that folder cannot be written or trusted, grants last until this kernel ends.

Where a project was moved, the user is asked once whether to keep the grants of its old path. The project's number
shows that it is the same project, but anybody with a copy knows that number. So no grant is carried over without
a question that names all of them, and where the old path still exists this project is a copy.

Border: stores, finds, carries over and returns records; ``effective_rules`` interprets them, the session asks.
"""

import asyncio
import contextlib
import functools
import hashlib
import itertools
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest.render.safety.escaping import one_line
from palimpsest.session.config.state_folder import (
    distrusted_status,
    state_folder,
    state_folder_problem,
)
from palimpsest.session.engine import call_off_loop
from palimpsest.session.permissions.recorded_claims import (
    budget_text,
    granted_budget,
    granted_rules,
)
from palimpsest.store.disk import NOFOLLOW, READ_FLAGS, write_atomically
from palimpsest.store.project_folder.layout import ProjectNumber
from palimpsest.transcript.strings.disk_words import disk_reason
from palimpsest.transcript.values import Reply

try:
    import fcntl
except ImportError:  # Windows: there, atomic replacement is the only protection
    fcntl = None  # type: ignore[assignment]

VERSION = 1
MAX_FILE_BYTES = 10_000_000
UNREADABLE_SENTENCE = (
    "What you allowed in this project could not be read from {path} ({reason}), so it is asked again; "
    "the file is kept, and set aside when the next answer is written."
)
UNWRITTEN_SENTENCE = "What you allow holds until this kernel ends, because {reason}. It is written as soon as it can, and so is what you revoke."

Change = Callable[[Sequence["Grant"]], Sequence["Grant"]]

MAX_GRANT_FILES = 2_000
MAX_CARRIED_GRANTS = 20
"""Maximum number of grants that are carried over, each named in the question."""
MAX_PATH_CHARS = 200
MAX_GRANT_CHARS = 120
MOVED_KEY = "moved"
MOVE_QUESTION = "This project moved here from {before}. Keep what you allowed there: {names}?"
LEFT_BEHIND_TEXT = " ({count} more are left behind.)"


@dataclass(frozen=True, slots=True)
class Grant:
    """One permission that the user granted."""

    key: str
    """``allow`` (a rule), ``mode``, ``budget``, ``model`` or ``agent``."""
    value: Any
    session: str | None = None
    """Id of the session in which it applies; None for every session of the project."""
    granted_by: str = ""
    granted_at_ms: int = 0
    """Milliseconds since 1970."""

    @property
    def permission(self) -> tuple[str, Any, str | None]:
        """What it allows, without author and time."""
        return self.key, self.value, self.session


class Grants:
    """The grants of one project.

    Responsibilities: read the grants that any kernel wrote; write atomically, one kernel at a time; while writing is
    not possible, continue in memory, report it in one sentence, and write as soon as it is possible again.
    """

    def __init__(
        self,
        project: Path | None = None,
        number: ProjectNumber | None = None,
        *,
        folder: Path | None = None,
        author: str = "",
    ) -> None:
        self.project = project.resolve() if project is not None else None
        self.number = number
        self.author = author
        self.folder = folder or state_folder() / "grants"
        self._path = grants_file(self.folder, self.project) if self.project is not None else None
        self._lock = threading.RLock()
        self._file_signature: tuple[object, ...] | None = None
        self._stored_grants: tuple[Grant, ...] = ()
        self._has_file = False
        self._grants_of_kernel: tuple[Grant, ...] = ()
        self._is_in_memory = self._path is None or number is None
        self._unwritten_changes: list[Change] = []
        """Changes that the disk refused, in their order; they are tried again at the next read or change."""
        self.problem = ""
        """Why the stored grants are not used, or no longer stored; empty where nothing is wrong."""

    def list(self, session: str | None = None, key: str | None = None) -> tuple[Grant, ...]:
        """Return the grants of a session (None: of the whole project); those that end with this kernel come first."""
        with self._lock:
            self._refresh()
            grants = (*self._grants_of_kernel, *self._stored_grants)
            return tuple(grant for grant in grants if _is_granted_under(grant, session, key))

    def granted_values(self, key: str, session: str | None) -> tuple[Any, ...]:
        """Return the values that were granted under a key, for the whole project or for this session."""
        with self._lock:
            self._refresh()
            grants = (*self._grants_of_kernel, *self._stored_grants)
            return tuple(g.value for g in grants if g.key == key and g.session in (None, session))

    def newest_value(self, session: str, key: str) -> Any:
        """Return the value that was granted last under a key; None where none was."""
        grants = self.list(session, key)
        return grants[-1].value if grants else None

    @property
    def is_settled(self) -> bool:
        """Whether grants are stored for this project at this path, or cannot be stored at all."""
        with self._lock:
            self._refresh()
            return self._is_in_memory or self._has_file

    def add(self, *new_grants: Grant) -> None:
        """Add grants; one that is already given keeps its time and author."""

        def with_new_grants(stored: Sequence[Grant]) -> Sequence[Grant]:
            known_permissions = [grant.permission for grant in stored]
            return [
                *stored,
                *(grant for grant in new_grants if grant.permission not in known_permissions),
            ]

        self._change_stored(with_new_grants)

    def put(self, key: str, value: Any, session: str) -> None:
        """Grant a value in one session, replacing what was granted there under this key."""
        grant = self.new_grant(key, value, session)
        self._change_stored(
            lambda stored_grants: [
                *(
                    stored_grant
                    for stored_grant in stored_grants
                    if not _is_granted_under(stored_grant, session, key)
                ),
                grant,
            ]
        )

    def drop_grants(self, session: str | None, key: str | None = None, value: Any = None) -> bool:
        """Remove grants: all of a session, all under a key, or one value; returns whether stored ones were removed."""

        def is_removed(grant: Grant) -> bool:
            return _is_granted_under(grant, session, key) and value in (None, grant.value)

        with self._lock:
            self._refresh()
            self._grants_of_kernel = tuple(
                grant for grant in self._grants_of_kernel if not is_removed(grant)
            )
            if not any(is_removed(grant) for grant in self._stored_grants):
                return False
            self._change_stored(lambda stored: [grant for grant in stored if not is_removed(grant)])
            return True

    def add_for_kernel(self, *new_grants: Grant) -> None:
        """Add grants until this kernel ends, such as those that a child session has from its parent."""
        with self._lock:
            self._grants_of_kernel += new_grants

    def new_grant(self, key: str, value: Any, session: str | None) -> Grant:
        """Return a grant with this user and the present time."""
        return Grant(key, value, session, self.author, time.time_ns() // 1_000_000)

    def replace_grants(self, grants: Sequence[Grant]) -> None:
        """Replace all grants, such as with those carried over from the path where the project was before."""
        self._change_stored(lambda _stored: grants)

    # Storage

    def _change_stored(self, change: Change) -> None:
        """Apply a change to the newest stored grants, which another kernel may have written, and write all."""
        with self._lock:
            if self._is_in_memory:
                self._stored_grants = tuple(change(self._stored_grants))
            else:
                self._unwritten_changes.append(change)
                self._write_changes()

    def _write_changes(self) -> None:
        """Write the unwritten changes; where the disk refuses, they hold in this kernel and are tried again later."""
        try:
            self._write_file()
        except OSError as error:
            reason = error.strerror or str(error)
            if error.errno:
                why = disk_reason(error)
                path = error.filename or self._path
                reason = f"{why[0].lower()}{why[1:]}: {path} cannot be written"
            self._load_file()
            self._stored_grants = self._with_unwritten_changes()
            self._file_signature = None
            self.problem = UNWRITTEN_SENTENCE.format(reason=reason)
        else:
            self._unwritten_changes.clear()

    def _with_unwritten_changes(self) -> tuple[Grant, ...]:
        """Return the grants as read, with the unwritten changes applied."""
        grants = self._stored_grants
        for change in self._unwritten_changes:
            grants = tuple(change(grants))
        return grants

    @property
    def unwritten(self) -> str:
        """Why the newest changes hold only until this kernel ends, in one sentence; empty where all are stored."""
        with self._lock:
            self._refresh()
            return self.problem if self._unwritten_changes else ""

    def _write_file(self) -> None:
        path, number = self._path, self.number
        assert path is not None
        assert number is not None
        project_number = number.make()
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        # The parent folder is checked too: a user who can write there could replace this folder.
        for folder in (self.folder, self.folder.parent):
            if reason := state_folder_problem(folder, self.project):
                raise OSError(0, reason)
        with locked_file(path):
            self._file_signature = None
            self.problem = ""
            self._load_file()
            if self.problem:
                path.rename(_unused_name(path))
                self.problem = ""
            grants = self._with_unwritten_changes()
            data = {
                "version": VERSION,
                "project": str(self.project),
                "number": project_number,
                "grants": [_grant_entry(grant, str(self.project)) for grant in grants],
            }
            write_atomically(path, json.dumps(data, indent=1).encode())
            self._file_signature = None
            self._load_file()

    def _refresh(self) -> None:
        """Read the file if it changed since the last read; unwritten changes are written first."""
        if self._unwritten_changes:
            self._write_changes()
        if not self._unwritten_changes:
            self._load_file()

    def _load_file(self) -> None:
        path, number = self._path, self.number
        if self._is_in_memory or path is None or number is None:
            return
        try:
            status = path.stat()
            project_number = number.known_number()
            signature = (status.st_mtime_ns, status.st_size, status.st_ino, project_number)
            if signature == self._file_signature:
                return
            self._stored_grants, self.problem = (), ""
            grants = _read_stored(path, self.project, project_number)
            self._stored_grants, self._has_file = grants or (), grants is not None
            self._file_signature = signature
        except FileNotFoundError:
            self._stored_grants, self.problem, self._file_signature = (), "", None
            self._has_file = False
        except UntrustedGrantsError as error:
            self._stored_grants, self._file_signature = (), None
            self.problem = f"{error}; what you allowed before is asked again."
        except (OSError, ValueError) as error:
            self._stored_grants, self._file_signature = (), None
            reason = getattr(error, "strerror", None) or str(error)
            self.problem = UNREADABLE_SENTENCE.format(path=path, reason=reason)


class UntrustedGrantsError(Exception):
    """A file or folder of grants may have been written by another user."""


def grants_file(folder: Path, project: Path) -> Path:
    """Return the path of the file that holds a project's grants."""
    return folder / f"{hashlib.sha256(os.fsencode(project)).hexdigest()}.json"


def _read_stored(path: Path, project: Path | None, number: str) -> tuple[Grant, ...] | None:
    """Return the grants of a file if it is about this project; None where it is about another one."""
    data = read_grants(path, project)
    if not number or data.get("number") != number or data.get("project") != str(project):
        return None
    return tuple(grants_of(data))


def read_grants(path: Path, project: Path | None) -> dict[str, Any]:
    """Read a file of grants; raises UntrustedGrantsError, OSError or ValueError."""
    for folder in (path.parent, path.parent.parent):
        if reason := state_folder_problem(folder, project):
            raise UntrustedGrantsError(reason)
    with open(os.open(path, READ_FLAGS), "rb") as file:  # noqa: PTH123  # by its descriptor
        if reason := distrusted_status(os.fstat(file.fileno()), path):
            raise UntrustedGrantsError(reason)
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise ValueError("it is larger than 10 MB")
    try:
        data = json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if isinstance(data, dict) and isinstance(data.get("grants"), list):
        return data
    raise ValueError("it holds no list of grants")


def grants_of(data: dict[str, Any]) -> Iterator[Grant]:
    """Yield the valid grants in a file's data for the project that the data names."""
    for entry in data["grants"]:
        if not isinstance(entry, dict) or entry.get("project") != str(data.get("project")):
            continue
        key, session, recorded_at = entry.get("key"), entry.get("session"), entry.get("at")
        if isinstance(key, str) and (session is None or isinstance(session, str)):
            granted_at_ms = recorded_at if isinstance(recorded_at, int) else 0
            yield Grant(key, entry.get("value"), session, str(entry.get("by") or ""), granted_at_ms)


def _grant_entry(grant: Grant, project: str) -> dict[str, Any]:
    scope_fields = {"project": project, "session": grant.session}
    return scope_fields | {
        "key": grant.key,
        "value": grant.value,
        "by": grant.granted_by,
        "at": grant.granted_at_ms,
    }


def _is_granted_under(grant: Grant, session: str | None, key: str | None) -> bool:
    return grant.session == session and key in (None, grant.key)


def _unused_name(path: Path) -> Path:
    """Return an unused name to which an unreadable file is renamed."""
    names = (path.with_name(f"{path.name}.broken-{number}") for number in itertools.count(1))
    return next(name for name in names if not name.exists())


@contextlib.contextmanager
def locked_file(path: Path) -> Iterator[None]:
    """Hold a lock file, so that other kernels do not write meanwhile."""
    lock_path = path.with_name(f".{path.name}.lock")
    flags = os.O_RDWR | os.O_CREAT | NOFOLLOW
    with open(os.open(lock_path, flags, 0o600), "ab") as file:  # noqa: PTH123  # by its descriptor
        # Some network file systems have no locks; there, atomic replacement is the only protection.
        if fcntl is not None:
            with contextlib.suppress(OSError):
                fcntl.lockf(file, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True, slots=True)
class ProjectMove:
    """The path where a project was before, and the grants given there."""

    previous_path: Path
    file: Path
    grants: tuple[Grant, ...]

    @property
    def question(self) -> str:
        """The question for the user, with the old path and the grants."""
        names = "; ".join(grant_text(grant) for grant in self.grants[:MAX_CARRIED_GRANTS])
        text = MOVE_QUESTION.format(
            before=one_line(str(self.previous_path), MAX_PATH_CHARS), names=names
        )
        left_count = len(self.grants) - MAX_CARRIED_GRANTS
        return text + (LEFT_BEHIND_TEXT.format(count=left_count) if left_count > 0 else "")


class ProjectMoveWatch:
    """Detects that the project of this kernel was moved, until the user has decided about its grants."""

    def __init__(self, grants: Grants) -> None:
        self.ask_lock = asyncio.Lock()
        """Lock held while one session asks, so that the question is asked once even if several sessions continue."""
        self._stored_grants = grants
        self._is_searched = False
        self._project_move: ProjectMove | None = None

    async def undecided_move(self) -> ProjectMove | None:
        """Return the move that the user has not decided about yet; None where there is none."""
        if not self._is_searched:
            self._is_searched = True
            self._project_move = await call_off_loop(
                functools.partial(find_move, self._stored_grants)
            )
        return self._project_move

    def apply_reply(self, reply: Reply) -> bool:
        """Apply the user's answer; returns whether grants were carried over."""
        project_move, self._project_move = self._project_move, None
        if project_move is None or reply.by == "headless":
            return False  # the user has not decided, so the next kernel asks again
        carried_over = project_move.grants[:MAX_CARRIED_GRANTS] if reply.answer != "reject" else ()
        self._stored_grants.replace_grants(carried_over)
        if carried_over and not self._stored_grants.problem:
            with suppress(OSError):
                project_move.file.unlink()
        return bool(carried_over)


def find_move(grants: Grants) -> ProjectMove | None:
    """Find grants given to this very project at a path that no longer exists."""
    project, number = grants.project, grants.number
    if project is None or number is None or grants.is_settled:
        return None
    with suppress(OSError):
        for file in sorted(grants.folder.glob("*.json"))[:MAX_GRANT_FILES]:
            project_number = number.known_number()
            move = _project_move(file, project, project_number) if project_number else None
            if move is not None:
                return move
    return None


def _project_move(file: Path, project: Path, project_number: str) -> ProjectMove | None:
    try:
        data = read_grants(file, project)
    except (OSError, ValueError, UntrustedGrantsError):
        return None
    old_project = Path(str(data.get("project")))
    is_own_file = file.name == grants_file(file.parent, old_project).name
    if data.get("number") != project_number or not is_own_file:
        return None
    if old_project == project or os.path.lexists(old_project):
        return None
    grants = tuple(grant for grant in grants_of(data) if grant_text(grant))
    return ProjectMove(old_project, file, grants) if grants else None


def grant_text(grant: Grant) -> str:
    """Return a short text for a grant; empty for one that allows nothing."""
    scope_text = " in one session" if grant.session is not None else ""
    match grant.key:
        case "allow":
            rules = granted_rules([grant.value])
            texts = [f"{rule.permission}: {rule.pattern}" for rule in rules]
        case "mode" | "model" | "agent":
            texts = [f"{grant.key} {grant.value}"]
        case "budget":
            budget = granted_budget(grant.value)
            texts = [f"spending limit {budget_text(budget)}"] if budget is not None else []
        case _:
            texts = []
    return f"{one_line(texts[0], MAX_GRANT_CHARS)}{scope_text}" if texts else ""
