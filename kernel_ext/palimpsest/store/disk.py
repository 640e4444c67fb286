"""Access to the disk: regular files only, atomic writes, errors as sentences, and a watch for writes that hang.

A folder that was copied or unpacked may contain anything under the names that are read here: a pipe that blocks
forever, a folder, a link or a device. Anything but a regular file counts as missing, so that callers that can
do without the file continue. Written files can be read by this user only, and a reader finds the old or
the new content, also after a kill. The caller chooses the path.

A disk can hang without an error (a network home whose server is gone, a stuck mount), and then the writing thread
cannot report it. One thread watches all writers of this process; it sleeps while nothing is written.
"""

import errno
import json
import logging
import os
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any
from uuid import uuid4

from palimpsest.transcript.errors import StorageFailed
from palimpsest.transcript.strings.disk_words import disk_reason

NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
READ_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | NOFOLLOW
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)

MAX_SMALL_BYTES = 64 << 20
"""Maximum bytes of a file that is read at once: lists, leases, settings."""

LOG = logging.getLogger(__name__)

STALL_SECONDS = 0.7
"""Seconds after which a write counts as stalled, so that the user is notified within a second; a busy disk that works
needs a tenth of this."""


DISK_STALLED = (
    "The disk does not answer: a write to the log of session {session!r} does not return. Nothing is sent until it "
    "does. Look after the disk that holds the project, or stop the turn."
)
LISTENER_STALLED = (
    "What listens to session {session!r} in this kernel does not return, so its log is not written. Nothing is "
    "sent until it does; if it stays so, restart the kernel."
)


NO_TEMPORARY = (
    "{reason}: no folder for temporary files can be made. Make room there, or name another one in the environment "
    "variable TMPDIR, and start again."
)


class NoFile(FileNotFoundError):
    """The path is not a regular file."""


class TooLarge(OSError):
    """A file is larger than its limit."""


def open_regular(path: Path, *, follow: bool = False) -> FileIO:
    """Open a file for unbuffered reading; raises NoFile if it is not a regular file, or OSError.

    With ``follow`` a link is followed, for a path that the user named.
    """
    try:
        fd = os.open(path, READ_FLAGS & ~NOFOLLOW if follow else READ_FLAGS)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO, errno.EMLINK}:
            raise NoFile(errno.ENOENT, "It is no file", str(path)) from error
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise NoFile(errno.ENOENT, "It is no file", str(path))
    return FileIO(fd, "rb")


def is_regular(path: Path) -> bool:
    """Return whether a path is a regular file, and not a link."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def file_stamp(path: Path) -> tuple[int, int, int] | None:
    """Return inode, size and modification time in nanoseconds of a path itself; None where it cannot be looked at."""
    try:
        file_stat = path.lstat()
    except OSError:
        return None
    return file_stat.st_ino, file_stat.st_size, file_stat.st_mtime_ns


def read_small(path: Path, max_bytes: int = MAX_SMALL_BYTES, *, follow: bool = False) -> bytes:
    """Return the content of a file; raises TooLarge, before reading, if it exceeds ``max_bytes`` bytes."""
    with open_regular(path, follow=follow) as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise TooLarge(errno.EFBIG, f"It is larger than {max_bytes >> 20} MB", str(path))
        content = bytearray()
        while len(content) <= max_bytes and (block := file.read(max_bytes + 1 - len(content))):
            content += block
    return bytes(content)


def read_json(path: Path, max_bytes: int = MAX_SMALL_BYTES) -> Any:
    """Return the JSON value in a file; raises OSError, or ValueError if it is not JSON."""
    try:
        return json.loads(read_small(path, max_bytes))
    except RecursionError as error:
        raise ValueError("It is nested too deeply.") from error


DISK_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Error numbers of a full disk, which can still delete."""


def is_full(error: BaseException) -> bool:
    """Return whether an error, or its cause, is that of a full disk."""
    return any(
        isinstance(problem, OSError) and problem.errno in DISK_FULL_ERRNOS
        for problem in (error, error.__cause__)
    )


@contextmanager
def ignore_full_disk() -> Iterator[None]:
    """Suppress the error of a full disk in the block, for writes that may be left out."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into a StorageFailed that names the path."""
    try:
        yield
    except OSError as error:
        raise StorageFailed(f"{disk_reason(error)}: {str(path)!r} cannot be written.") from error


def create_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Create a file with its whole content, or none; raises OSError, FileExistsError where the path exists already."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        write_fully(fd, content)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


def scratch_file(directory: Path, content: bytes) -> Path:
    """Write content to a new temporary file, to be renamed or linked into place; returns its path."""
    path = directory / f".{uuid4().hex}.tmp"
    create_file(path, content)
    return path


def write_atomically(target: Path, content: bytes, *, is_durable: bool = False) -> None:
    """Replace a file so that a reader sees the old or the new content, never a part.

    With ``is_durable`` it returns when the new content and its name are on the disk.
    """
    scratch_path = scratch_file(target.parent, content)
    try:
        if is_durable:
            sync_to_disk(scratch_path)
        scratch_path.replace(target)
    except BaseException:
        scratch_path.unlink(missing_ok=True)
        raise
    if is_durable:
        sync_to_disk(target.parent)


def append_lines(path: Path, content: bytes, max_bytes: int, mode: int = 0o600) -> None:
    """Add lines to the end of a file in one write, created where it is missing; raises StorageFailed in one sentence.

    A file whose last line has no end, as after a crash, gets one first. A link is not followed, and no file grows
    beyond ``max_bytes`` bytes.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | NOFOLLOW | getattr(os, "O_NONBLOCK", 0)
    if path.is_symlink():
        raise StorageFailed(f"{str(path)!r} is a link, so nothing is written to it.")
    with storage_errors(path):
        fd = os.open(path, flags | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0), mode)
        try:
            file_stat = os.fstat(fd)
            if not stat.S_ISREG(file_stat.st_mode):
                raise StorageFailed(f"{str(path)!r} is no file, so nothing is written to it.")
            if file_stat.st_size + len(content) > max_bytes:
                problem = f"would be larger than {max_bytes // 1_000_000} MB; nothing is added."
                raise StorageFailed(f"{str(path)!r} {problem}")
            if file_stat.st_size:
                os.lseek(fd, -1, os.SEEK_END)
                content = content if os.read(fd, 1) == b"\n" else b"\n" + content
            write_fully(fd, content)
        finally:
            os.close(fd)


def temporary_folder(prefix: str) -> Path:
    """Create a folder for temporary files, which the caller removes; raises StorageFailed on a failure."""
    try:
        return Path(tempfile.mkdtemp(prefix=prefix))
    except OSError as error:
        raise StorageFailed(NO_TEMPORARY.format(reason=disk_reason(error))) from error


def write_fully(fd: int, content: bytes) -> None:
    """Write all bytes to a file descriptor, continuing after a short write."""
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]


def sync_to_disk(path: Path) -> None:
    """Sync a file, or the names in a folder, to the disk; a path that cannot be opened is skipped."""
    try:
        fd = os.open(path, READ_FLAGS)
    except OSError:
        return
    try:
        os.fsync(fd)
    except OSError:
        # Some network disks cannot sync a folder.
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            raise
    finally:
        os.close(fd)


class WriteWatch:
    """Calls back once for each write that takes too long."""

    def __init__(self, seconds: float = STALL_SECONDS) -> None:
        self._seconds = seconds
        self._condition = threading.Condition()
        self._running_writes: dict[int, tuple[float, Callable[[], None]]] = {}
        """By the number of the write: the monotonic time at which it counts as stalled, and the callback."""
        self._last_number = 0
        self._is_asleep = True
        self._thread: threading.Thread | None = None

    def begin_write(self, on_stall: Callable[[], None]) -> int:
        """Register a write; ``on_stall`` is called on the watching thread if it does not end in time.

        Returns its number for ``end_write``.
        """
        with self._condition:
            self._last_number += 1
            self._running_writes[self._last_number] = time.monotonic() + self._seconds, on_stall
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="palimpsest-write-watch", daemon=True
                )
                self._thread.start()
            elif self._is_asleep:
                self._condition.notify()
            return self._last_number

    def end_write(self, number: int) -> None:
        """Unregister a write that has ended."""
        with self._condition:
            self._running_writes.pop(number, None)

    def _run(self) -> None:
        while True:
            for callback in self._stalled_callbacks():
                callback()

    def _stalled_callbacks(self) -> list[Callable[[], None]]:
        """Wait until the first deadline; returns the callbacks of writes that are stalled."""
        with self._condition:
            while not self._running_writes:
                self._is_asleep = True
                self._condition.wait()
            self._is_asleep = False
            first_deadline = min(deadline for deadline, _ in self._running_writes.values())
            seconds_left = first_deadline - time.monotonic()
            if seconds_left > 0:
                self._condition.wait(seconds_left)
            now = time.monotonic()
            writes = list(self._running_writes.items())
            late_numbers = [number for number, (deadline, _) in writes if deadline <= now]
            return [self._running_writes.pop(number)[1] for number in late_numbers]


WRITES = WriteWatch()
"""Watches every journal of this process."""


class Stall:
    """Tracks whether the newest write of one journal is stalled, and notifies listeners of it."""

    def __init__(self, session_id: Callable[[], str], watch: WriteWatch = WRITES) -> None:
        self.sentence = ""
        """One sentence for the user while a write is stalled, else empty."""
        self.since_seconds = 0.0
        """Monotonic time in seconds at which the stall was detected."""
        self.is_calling_subscribers = False
        """Whether subscribers are being called, so that a stall is caused by one of them."""
        self._session_id = session_id
        self._watch = watch
        self._is_writing = False
        self._lock = threading.Lock()
        self._listeners: tuple[Callable[[], None], ...] = ()

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back, on any thread, when ``sentence`` changed; returns a function that ends this."""
        with self._lock:
            self._listeners = (*self._listeners, callback)

        def remove_listener() -> None:
            with self._lock:
                listeners = self._listeners
                self._listeners = tuple(other for other in listeners if other is not callback)

        return remove_listener

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the write in this block."""
        with self._lock:
            self._is_writing = True
        number = self._watch.begin_write(self._report_stall)
        try:
            yield
        finally:
            self._watch.end_write(number)
            with self._lock:
                self._is_writing = False
                was_stalled, self.sentence = bool(self.sentence), ""
            if was_stalled:
                self.notify()

    def _report_stall(self) -> None:
        sentence = LISTENER_STALLED if self.is_calling_subscribers else DISK_STALLED
        with self._lock:
            if not self._is_writing:
                return
            self.since_seconds = time.monotonic()
            self.sentence = sentence.format(session=self._session_id())
        LOG.warning("%s", self.sentence)
        self.notify()

    def notify(self) -> None:
        """Call the listeners."""
        for listener in self._listeners:
            try:
                listener()
            except Exception:
                LOG.exception("A listener of the journal failed; the others go on.")
