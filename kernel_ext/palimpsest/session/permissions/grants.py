"""What a person allowed in one project, kept in their own folder: the project itself grants nothing.

A log, an index or a file in the project may say what it likes: it is history. What holds lies in
``<state>/palimpsest/grants``, in a file named after the project's real path, and is bound to the
project's own number as well, so neither a copy nor another project at the same place has any of
it. Where that folder cannot be written or is not to be believed, grants hold for this kernel.

Border: keeps records and hands them out; what they mean is told by ``effective_rights``.
"""

import contextlib
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest.session.config.state_folder import (
    distrusted_status,
    state_folder,
    state_folder_problem,
)
from palimpsest.store.disk.file_writing import write_atomically
from palimpsest.store.project_folder.project_number import ProjectNumber

try:
    import fcntl
except ImportError:  # Windows: the atomic replacement alone has to do
    fcntl = None  # type: ignore[assignment]

VERSION = 1
LARGEST_FILE = 10_000_000
BROKEN = (
    "What you allowed in this project could not be read from {path} ({reason}), so it is asked again; "
    "the file is kept, and set aside when the next answer is written."
)
UNWRITTEN = "What you allow holds until this kernel ends, because {reason}."

Change = Callable[[Sequence["Grant"]], Sequence["Grant"]]


@dataclass(frozen=True, slots=True)
class Grant:
    """One thing that a person allowed."""

    key: str
    """``allow`` a rule, ``mode``, ``budget``, ``model`` or ``agent``."""
    value: Any
    session: str | None = None
    """None: in every session of the project."""
    by: str = ""
    at: int = 0
    """Milliseconds since 1970."""

    def same(self, other: "Grant") -> bool:
        """Tell whether another grant allows the very same, whoever said so and when."""
        return (self.key, self.value, self.session) == (other.key, other.value, other.session)


class Grants:
    """What holds in one project.

    Responsibilities: read what this person allowed, whichever kernel wrote it; write atomically, one
    kernel at a time; go on in memory where that is not possible, and say so in one sentence.
    """

    def __init__(
        self,
        project: Path | None = None,
        number: ProjectNumber | None = None,
        *,
        folder: Path | None = None,
        by: str = "",
    ) -> None:
        self.project = project.resolve() if project is not None else None
        self.number = number
        self.by = by
        self.folder = folder or state_folder() / "grants"
        self._path = grants_file(self.folder, self.project) if self.project is not None else None
        self._lock = threading.RLock()
        self._seen: tuple[object, ...] | None = None
        self._kept: tuple[Grant, ...] = ()
        self._is_here = False
        self._lent: tuple[Grant, ...] = ()
        self._in_memory = self._path is None or number is None
        self.problem = ""
        """Why what was kept is not used, or is not kept any more; empty where nothing is wrong."""

    def list(self, session: str | None = None, key: str | None = None) -> tuple[Grant, ...]:
        """Return what was allowed in a session (None: in the whole project), as it was said."""
        with self._lock:
            self._read()
            return tuple(
                one
                for one in (*self._lent, *self._kept)
                if one.session == session and key in (None, one.key)
            )

    def newest(self, session: str, key: str) -> Any:
        """Return what was allowed last under a key; None where nothing was."""
        found = self.list(session, key)
        return found[-1].value if found else None

    @property
    def everything(self) -> tuple[Grant, ...]:
        """What was allowed in the project and in each of its sessions, but for what is lent."""
        with self._lock:
            self._read()
            return self._kept

    @property
    def is_kept(self) -> bool:
        """Whether something is kept for this very project at this very place, or nothing can be."""
        with self._lock:
            self._read()
            return self._in_memory or self._is_here

    def add(self, *new: Grant) -> None:
        """Allow more; what is allowed already stays as it was said."""
        self._change(
            lambda kept: [*kept, *(n for n in new if not any(n.same(one) for one in kept))],
        )

    def put(self, key: str, value: Any, session: str) -> None:
        """Allow something in the place of what was allowed under this key."""
        made = self.made(key, value, session)
        self._change(lambda kept: [*(k for k in kept if not _is(k, session, key)), made])

    def drop(self, session: str | None, key: str | None = None, value: Any = None) -> bool:
        """Allow something no more: all of a session, all under a key, or one value."""

        def gone(one: Grant) -> bool:
            return _is(one, session, key) and value in (None, one.value)

        with self._lock:
            self._read()
            self._lent = tuple(one for one in self._lent if not gone(one))
            if not any(gone(one) for one in self._kept):
                return False
            self._change(lambda kept: [one for one in kept if not gone(one)])
            return True

    def lend(self, *new: Grant) -> None:
        """Allow something as long as this kernel runs: what a session has from who began it."""
        with self._lock:
            self._lent += new

    def made(self, key: str, value: Any, session: str | None) -> Grant:
        """Return a grant that is given now."""
        return Grant(key, value, session, self.by, time.time_ns() // 1_000_000)

    def replace(self, grants: Sequence[Grant]) -> None:
        """Let exactly this hold, such as what is taken along from where the project was before."""
        self._change(lambda _kept: grants)

    # How it is kept

    def _change(self, change: Change) -> None:
        """Change what another kernel may have written meanwhile, and write it whole."""
        with self._lock:
            if not self._in_memory:
                try:
                    self._write(change)
                except OSError as error:
                    reason = error.strerror or str(error)
                    named = f"{error.filename or self._path} cannot be written: {reason}"
                    self._stay_in_memory(reason if error.errno == 0 else named)
                else:
                    return
            self._kept = tuple(change(self._kept))

    def _stay_in_memory(self, reason: str) -> None:
        self._read()
        self._in_memory = True
        self.problem = UNWRITTEN.format(reason=reason)

    def _write(self, change: Change) -> None:
        path, number = self._path, self.number
        assert path is not None
        assert number is not None
        made = number.make()
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        # One level up too, since who may write there could put another folder in this one's place.
        for folder in (self.folder, self.folder.parent):
            if reason := state_folder_problem(folder, self.project):
                raise OSError(0, reason)
        with alone(path):
            self._seen = None
            self._read()
            if self.problem:
                path.rename(_aside(path))
                self.problem = ""
            kept = change(self._kept)
            data = {
                "version": VERSION,
                "project": str(self.project),
                "number": made,
                "grants": [_record(one, str(self.project)) for one in kept],
            }
            write_atomically(path, json.dumps(data, indent=1).encode())
            self._seen = None
            self._read()

    def _read(self) -> None:
        """Read the file if it is another than the one that was read last."""
        path, number = self._path, self.number
        if self._in_memory or path is None or number is None:
            return
        known = number.known()
        try:
            status = path.stat()
            seen = (status.st_mtime_ns, status.st_size, status.st_ino, known)
            if seen == self._seen:
                return
            self._kept, self.problem = (), ""
            found = _read_kept(path, self.project, known)
            self._kept, self._is_here = found or (), found is not None
            self._seen = seen
        except FileNotFoundError:
            self._kept, self.problem, self._seen = (), "", None
            self._is_here = False
        except UntrustedGrantsError as error:
            self._kept, self._seen = (), None
            self.problem = f"{error}; what you allowed before is asked again."
        except (OSError, ValueError) as error:
            self._kept, self._seen = (), None
            reason = getattr(error, "strerror", None) or str(error)
            self.problem = BROKEN.format(path=path, reason=reason)


class UntrustedGrantsError(Exception):
    """Somebody else may have written it."""


def grants_file(folder: Path, project: Path) -> Path:
    """Return where what was allowed in a project is kept."""
    return folder / f"{hashlib.sha256(os.fsencode(project)).hexdigest()}.json"


def _read_kept(path: Path, project: Path | None, number: str) -> tuple[Grant, ...] | None:
    """Return what a file says of this very project; None where it is about another one."""
    data = read_grants(path, project)
    if not number or data.get("number") != number or data.get("project") != str(project):
        return None
    return tuple(_grants(data, str(project)))


def read_grants(path: Path, project: Path | None) -> dict[str, Any]:
    """Read a file of grants; raises UntrustedGrantsError, OSError or ValueError."""
    for folder in (path.parent, path.parent.parent):
        if reason := state_folder_problem(folder, project):
            raise UntrustedGrantsError(reason)
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(path, flags), "rb") as file:  # noqa: PTH123  # by its descriptor
        if reason := distrusted_status(os.fstat(file.fileno()), path):
            raise UntrustedGrantsError(reason)
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ValueError("it is larger than 10 MB")
    try:
        data = json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if isinstance(data, dict) and isinstance(data.get("grants"), list):
        return data
    raise ValueError("it holds no list of grants")


def grants_of(data: dict[str, Any]) -> tuple[Grant, ...]:
    """Return what a file of grants says, of whatever project."""
    return tuple(_grants(data, str(data.get("project"))))


def _grants(data: dict[str, Any], project: str) -> Iterator[Grant]:
    for one in data["grants"]:
        if not isinstance(one, dict) or one.get("project") != project:
            continue
        key, session, at = one.get("key"), one.get("session"), one.get("at")
        if isinstance(key, str) and (session is None or isinstance(session, str)):
            moment = at if isinstance(at, int) else 0
            yield Grant(key, one.get("value"), session, str(one.get("by") or ""), moment)


def _record(one: Grant, project: str) -> dict[str, Any]:
    named = {"project": project, "session": one.session, "key": one.key, "value": one.value}
    return named | {"by": one.by, "at": one.at}


def _is(one: Grant, session: str | None, key: str | None) -> bool:
    return one.session == session and key in (None, one.key)


def _aside(path: Path) -> Path:
    """Return a free name for a file that cannot be read."""
    number = 1
    while (found := path.with_name(f"{path.name}.broken-{number}")).exists():
        number += 1
    return found


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep other kernels from writing meanwhile."""
    lock = path.with_name(f".{path.name}.lock")
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(lock, flags, 0o600), "a") as file:  # noqa: PTH123  # by its descriptor
        # Some network homes know no locks; there the atomic replacement alone has to do.
        if fcntl is not None:
            with contextlib.suppress(OSError):
                fcntl.lockf(file, fcntl.LOCK_EX)
        yield
