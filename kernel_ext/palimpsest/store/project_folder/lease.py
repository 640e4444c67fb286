"""Leases: hold a session for one kernel, and detect when the holder is gone.

A lease is fresh when its counter changes while it is watched. Clocks do not count, since two hosts do not share one,
nor does a bare process id, which is reused. The lease is advisory; the segments (segment_writer.py) protect the log,
since a suspended kernel resumes without knowing that its lease is lost.
"""

import errno
import fcntl
import json
import os
import socket
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from palimpsest.store.disk import NOFOLLOW, create_file, read_json, scratch_file, write_atomically
from palimpsest.store.interface import Owner

HEARTBEAT_SECONDS = 1.0
WATCH_SECONDS = 3.5
"""Seconds for which a lease is watched: three and a half heartbeats, so that a kernel stalled by garbage collection
keeps its lease."""

RUNNING_HOLDER_FACTOR = 4
"""Factor on the watch time for a holder that certainly runs on this host: its heartbeats are late when
the disk is busy."""

POLL_SECONDS = 0.05

_STATE_FIELD, _START_TIME_FIELD = 0, 19
"""Indexes of the fields of ``/proc/PID/stat`` that are read, from the state on."""
_MAX_NUMBER = 1 << 53

MAX_LEASE_BYTES = 64 << 10
"""Maximum bytes of a lease file; a larger one was not written by this module and is ignored."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The record of the process that writes a session."""

    host: str
    pid: int
    kernel_id: str
    epoch: int
    started: str | None = None
    """Start time of the process in the system's units; distinguishes a reused process id."""
    counter: int = 0


def this_owner(kernel_id: str) -> Owner:
    """Return this process as an owner; its host name includes boot id and process namespace."""
    return Owner(host=_host(), pid=os.getpid(), kernel_id=kernel_id)


def _host() -> str:
    boot_id = ""
    with suppress(OSError):
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()[:8]
    namespace = ""
    with suppress(OSError):
        # The link is named such as "pid:[4026531836]".
        namespace = str(Path("/proc/self/ns/pid").readlink())[5:-1]
    return ":".join(name for name in (socket.gethostname(), boot_id, namespace) if name)


def process_start_time(pid: int) -> str | None:
    """Return a process's start time from ``/proc``; None if it is gone or there is no ``/proc``."""
    fields = _process_fields(pid)
    return None if fields is None or fields[_STATE_FIELD] == "Z" else fields[_START_TIME_FIELD]


def _process_fields(pid: int) -> list[str] | None:
    """Return the fields of ``/proc/PID/stat`` from the state on; None if they cannot be read."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return stat.rpartition(")")[2].split()


def is_dead(lease: Lease) -> bool:
    """Return whether the holder certainly ran on this host and is gone."""
    if lease.host != _host():
        return False
    if Path("/proc/self/stat").exists():
        started = process_start_time(lease.pid)
        return started is None or (lease.started is not None and started != lease.started)
    try:
        os.kill(lease.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def is_running(lease: Lease) -> bool:
    """Return whether the holder certainly runs on this host: same process, not stopped."""
    if lease.host != _host() or lease.started is None:
        return False
    fields = _process_fields(lease.pid)
    return (
        fields is not None
        and fields[_STATE_FIELD] not in "ZTt"
        and fields[_START_TIME_FIELD] == lease.started
    )


class LeaseFile:
    """Reads and writes ``lease.json`` of one session, and locks the file ``lock`` beside it."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "lease.json"
        self._lock_path = directory / "lock"
        self._lock: int | None = None

    def current_lease(self) -> Lease | None:
        """Return the lease; None when there is none or the file is damaged."""
        try:
            data = read_json(self.path, MAX_LEASE_BYTES)
            lease = Lease(**{name: data.get(name) for name in Lease.__slots__})
        except (OSError, ValueError, AttributeError, TypeError):
            return None
        numbers = (lease.pid, lease.epoch, lease.counter)
        is_valid = (
            all(type(number) is int and 0 <= number < _MAX_NUMBER for number in numbers)
            and all(isinstance(text, str) for text in (lease.host, lease.kernel_id))
            and isinstance(lease.started, str | None)
        )
        return lease if is_valid else None

    def create(self, lease: Lease) -> bool:
        """Create the lease of a free session; False when another process created it first."""
        scratch_path = scratch_file(self.path.parent, _lease_bytes(lease))
        try:
            os.link(scratch_path, self.path)
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links
            try:
                create_file(self.path, _lease_bytes(lease))
            except OSError:
                return False
        finally:
            scratch_path.unlink(missing_ok=True)
        return True

    def write(self, lease: Lease) -> None:
        """Replace the lease; does nothing if a folder is in its place, and the segments alone protect."""
        with suppress(IsADirectoryError):
            write_atomically(self.path, _lease_bytes(lease))

    def remove(self, lease: Lease) -> None:
        """Delete the lease, unless another kernel holds it by now."""
        stored_lease = self.current_lease()
        own_identity = (lease.kernel_id, lease.epoch)
        if (
            stored_lease is not None
            and (stored_lease.kernel_id, stored_lease.epoch) == own_identity
        ):
            with suppress(OSError):
                self.path.unlink()

    def is_fresh(self, watch_seconds: float) -> bool:
        """Watch the lease: True as soon as it changes, False when it is removed or the time is over."""
        lease_before = self.current_lease()
        deadline = time.monotonic() + watch_seconds
        while time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            lease = self.current_lease()
            if lease is None:
                return False
            if lease != lease_before:
                return True
        return False

    def lock(self) -> bool:
        """Take the file lock, which works within a host; False when another process has it."""
        if self._lock is not None:
            return True
        try:
            fd = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | NOFOLLOW, 0o600)
        except OSError as error:
            if error.errno in {errno.EISDIR, errno.ELOOP}:
                return True  # not a lock file: the lease and the segments alone protect
            raise
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            return False
        self._lock = fd
        return True

    def unlock(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _lease_bytes(lease: Lease) -> bytes:
    return json.dumps(asdict(lease)).encode() + b"\n"


class Heartbeat:
    """One thread that increments the lease counters of all sessions a process holds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._leases: dict[LeaseFile, tuple[Lease, threading.Event]] = {}
        self._lock = threading.Lock()
        self._wake_event = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, file: LeaseFile, lease: Lease) -> threading.Event:
        """Keep a lease fresh; returns an event that is set once another kernel holds it, or it was removed."""
        with self._lock:
            lost_event = threading.Event()
            self._leases[file] = lease, lost_event
            self._wake_event.clear()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="palimpsest-lease", daemon=True
                )
                self._thread.start()
            return lost_event

    def remove(self, file: LeaseFile) -> None:
        """Stop keeping a lease fresh; the thread ends with the last one."""
        with self._lock:
            self._mark_lost(file)
            if not self._leases:
                self._wake_event.set()

    def _mark_lost(self, file: LeaseFile) -> None:
        if file in self._leases:
            self._leases.pop(file)[1].set()

    def _run(self) -> None:
        while True:
            self._wake_event.wait(self._seconds)
            with self._lock:
                if not self._leases:
                    self._wake_event.clear()
                    self._thread = None
                    return
                leases = list(self._leases.items())
            for file, (lease, _) in leases:
                self._beat(file, lease)

    def _beat(self, file: LeaseFile, lease: Lease) -> None:
        stored_lease = file.current_lease()
        # An earlier holder may write its lease once more just after it lost it.
        is_stolen = stored_lease is not None and (stored_lease.epoch or 0) > lease.epoch
        renewed_lease = replace(lease, counter=lease.counter + 1)
        with self._lock:
            if file not in self._leases:
                return
            if is_stolen:
                self._mark_lost(file)
                return
            self._leases[file] = renewed_lease, self._leases[file][1]
            with suppress(OSError):  # a full disk: the session is guarded by its segments
                file.write(renewed_lease)
