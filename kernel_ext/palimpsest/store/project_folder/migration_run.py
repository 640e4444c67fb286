"""Migrate a folder to the newest layout; after a kill or a full disk, the old or the new layout is intact.

The files that a step changes are copied first, and the copies are changed. Then the old files are
renamed into ``before-layout-<n>`` and the new ones renamed to their places; ``layout`` records the stage
reached, so the next opening continues. The migrating kernel holds the folder's lock and its lease; others
wait, or raise an error that says what to do. Hard links are not used, since logs are appended to.
"""

import errno
import os
import shutil
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from palimpsest.store.disk import open_regular, sync, write_atomically
from palimpsest.store.project_folder.layout_file import (
    COPY,
    FILE,
    LayoutFile,
    MigrationProgress,
    ended,
    entry_names,
    layout_content,
    read_layout,
    write_layout,
)
from palimpsest.store.project_folder.lease import (
    HEARTBEAT_SECONDS,
    POLL_SECONDS,
    WATCH_SECONDS,
    Heartbeat,
    Lease,
    LeaseFile,
    is_dead,
    is_running,
    process_start_time,
    this_owner,
)
from palimpsest.store.project_folder.migrations import (
    SESSIONS,
    LayoutStep,
    StepRefused,
    newest_version,
)
from palimpsest.store.project_folder.project_id import find_project_id
from palimpsest.transcript.errors import LayoutTooNew
from palimpsest.transcript.strings.disk_words import disk_reason

WAIT_SECONDS = 30.0
"""How long a kernel waits for another that migrates; copying a gigabyte of logs takes ten seconds."""

DONE = "The sessions of this project were brought to a newer layout ({said})."
COPY_KEPT = " What was changed is kept as it was in {copies}: delete it when all is well."
BUSY = (
    "{root!r} is being brought to another layout by process {pid} on {host}; start this kernel again when "
    "that is done"
)
HELD = (
    "{root!r} has layout {old} and cannot be brought to layout {new} while process {pid} on {host} writes a "
    "session in it; close that kernel, and start this one again"
)
FAILED = "{root!r} has layout {old} and could not be brought to layout {new}: {why}"
AS_IT_WAS = "; nothing was changed; {advice}"
HALF = "; what it held is whole, in it and in {copy!r}; {advice}"
ADVICE = "mend that, and start the kernel again, which goes on with it"
TOO_NEW = (
    "{root!r} was written by a newer Palimpsest (layout {found}, this one knows {known}); update Palimpsest to "
    "open it."
)

_ONE_AT_A_TIME = threading.Lock()
"""A file lock excludes other processes, but not other threads of this one."""


class LayoutNotReady(OSError):
    """The folder has an older layout and cannot be migrated now; the message says what to do."""


def refuse_newer(root: Path, known: int) -> LayoutFile:
    """Return a folder's layout; raises LayoutTooNew if its version is above ``known``."""
    found = read_layout(root)
    if found.version > known:
        raise LayoutTooNew(TOO_NEW.format(root=str(root), found=found.version, known=known))
    return found


def migrate(root: Path, steps: Sequence[LayoutStep]) -> str:
    """Migrate a folder to the newest layout; returns a message for the user, empty if nothing was done.

    Raises LayoutTooNew, and LayoutNotReady when it fails or another kernel is in the way.
    """
    old = refuse_newer(root, newest_version(steps)).version
    try:
        with _holding(root):
            return _Migration(root, steps).run()
    except (LayoutNotReady, LayoutTooNew):
        raise
    except OSError as error:
        raise LayoutNotReady(
            _failed(root, old, newest_version(steps), disk_reason(error))
        ) from error


def being_migrated(root: Path) -> str:
    """Return a sentence if another kernel migrates the folder now, else the empty string."""
    file = LeaseFile(root)
    held = file.read() if read_layout(root).migration is not None else None
    if held is None or is_dead(held) or not file.is_fresh(WATCH_SECONDS):
        return ""
    return _busy(root, held)


class _Migration:
    """Migrates one folder; the caller holds its lock and lease."""

    def __init__(self, root: Path, steps: Sequence[LayoutStep]) -> None:
        self._root = root
        self._steps = steps
        self._said: list[str] = []
        self._copies: list[str] = []

    def run(self) -> str:
        """Continue an unfinished migration and run each step that is due; returns the message for the user."""
        found = refuse_newer(self._root, newest_version(self._steps))
        if found.migration is not None and found.migration.stage != "copying":
            self._move(found, found.migration)
        for step in self._steps:
            found = read_layout(self._root)
            if step.number > found.version:
                self._take(step, found)
        found = read_layout(self._root)
        if found.migration is not None:  # a newer version was interrupted while copying
            left = found.migration
            self._give_up(ended(found), _work(self._root, left.to), left.copy)
        if not found.project_id:
            named = replace(ended(found), project_id=find_project_id(self._root))
            write_layout(self._root, named)
        if not self._said:
            return ""
        kept = " and ".join(repr(str(self._root / one)) for one in self._copies)
        told = DONE.format(said="; ".join(self._said))
        return told + (COPY_KEPT.format(copies=kept) if kept else "")

    def _take(self, step: LayoutStep, found: LayoutFile) -> None:
        """Run one step: copy and change the copies, which can still be aborted, then swap old and new."""
        root = self._root
        old = ended(found)
        begun = found.migration
        mine = begun is not None and begun.to == step.number
        copy = begun.copy if begun and mine else _free(root, f"{COPY}{step.number}")
        going = MigrationProgress(step.number, "copying", copy)
        work = _work(root, step.number)
        try:
            write_layout(root, replace(old, migration=going))
            if step.alone:
                self._refuse_writers(old.version, step)
            entries = entry_names(step.entries(root))
            if work.is_symlink() or work.is_file():
                work.unlink()
            elif work.exists():
                shutil.rmtree(work)
            work.mkdir(mode=0o700)
            for name in entries:
                _copy(root / name, work / name)
            step.change(work)
            entries = entry_names((*entries, *sorted(one.name for one in work.iterdir())))
            _sync_all(work)
            folder = _folder(self._root / copy)
            if old != LayoutFile():
                write_atomically(folder / FILE, layout_content(old), durable=True)
            project_id = old.project_id or find_project_id(root)
        except Exception as error:
            self._give_up(old, work, copy)
            if isinstance(error, LayoutNotReady):
                raise
            raise LayoutNotReady(_failed(root, old.version, step.number, _why(error))) from error
        going = replace(going, stage="moving out", entries=entries)
        # From here on an older program refuses the folder, and the next opening continues the migration.
        moving = LayoutFile(step.number, project_id, going)
        write_layout(root, moving)
        self._move(moving, going)

    def _move(self, found: LayoutFile, going: MigrationProgress) -> None:
        """Move the old files into ``copy`` and the new ones to their places, from the recorded stage on."""
        root, work = self._root, _work(self._root, going.to)
        try:
            copy = _folder(root / going.copy)
            _refuse_link(work)
            if going.stage == "moving out":
                for name in going.entries:
                    _set_aside(root / name, copy)
                sync(copy)
                sync(root)
                going = replace(going, stage="moving in")
                write_layout(root, replace(found, migration=going))
            for name in going.entries:
                if os.path.lexists(work / name):
                    _set_aside(root / name, copy)
                    (work / name).rename(root / name)
            sync(root)
            shutil.rmtree(work, ignore_errors=True)
            write_layout(root, ended(found))
        except OSError as error:
            old = f"{going.to - 1}"
            told = FAILED.format(root=str(root), old=old, new=going.to, why=disk_reason(error))
            half = HALF.format(copy=str(root / going.copy), advice=ADVICE)
            raise LayoutNotReady(told + half) from error
        self._note(going)

    def _note(self, going: MigrationProgress) -> None:
        step = next((one for one in self._steps if one.number == going.to), None)
        self._said.append(f"layout {going.to}: {step.sentence if step else 'it is complete'}")
        copy = self._root / going.copy
        with suppress(OSError):
            copy.rmdir()  # only succeeds when it is empty
        if copy.exists():
            self._copies.append(going.copy)

    def _give_up(self, old: LayoutFile, work: Path, copy: str) -> None:
        """Restore the folder as it was, as far as a failing disk allows."""
        shutil.rmtree(work, ignore_errors=True)
        with suppress(OSError):
            if [one.name for one in (self._root / copy).iterdir()] == [FILE]:
                (self._root / copy / FILE).unlink()
            (self._root / copy).rmdir()
        with suppress(OSError):
            if old == LayoutFile():
                (self._root / FILE).unlink()
            else:
                write_layout(self._root, old)

    def _refuse_writers(self, old: int, step: LayoutStep) -> None:
        """Raise LayoutNotReady while a kernel writes a session; a new writer checks ``layout`` first."""
        held = _writing(self._root)
        if held is not None:
            words = HELD.format(root=str(self._root), old=old, new=step.number, **_by(held))
            raise LayoutNotReady(words)


def _failed(root: Path, old: int, new: int, why: str) -> str:
    told = FAILED.format(root=str(root), old=old, new=new, why=why)
    return told + AS_IT_WAS.format(advice=ADVICE)


def _why(error: Exception) -> str:
    if isinstance(error, StepRefused):
        return str(error)
    return disk_reason(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"


def _busy(root: Path, held: Lease) -> str:
    return BUSY.format(root=str(root), **_by(held))


def _by(held: Lease) -> dict[str, object]:
    return {"pid": held.pid, "host": held.host.partition(":")[0]}


# Lock and lease


@contextmanager
def _holding(root: Path) -> Iterator[None]:
    """Hold the folder's lock and lease against other migrating kernels; waits for one that migrates."""
    file, until = LeaseFile(root), time.monotonic() + WAIT_SECONDS
    with _ONE_AT_A_TIME:
        while not file.lock():
            _wait(root, file, until)
        try:
            owner = this_owner(f"migration-{uuid4().hex[:8]}")
            lease = Lease(owner.host, owner.pid, owner.kernel_id, 1, process_start_time(owner.pid))
            while not file.create(lease):
                held = file.read()
                if held is None or is_dead(held) or not file.is_fresh(WATCH_SECONDS):
                    file.write(lease)
                    break
                _wait(root, file, until)
            beat = Heartbeat(HEARTBEAT_SECONDS)
            beat.add(file, lease)
            try:
                yield
            finally:
                beat.remove(file)
                file.remove(lease)
        finally:
            file.unlock()


def _wait(root: Path, file: LeaseFile, until: float) -> None:
    if time.monotonic() > until:
        held = file.read()
        if held is not None:
            raise LayoutNotReady(_busy(root, held))
        raise LayoutNotReady(
            f"Another kernel brings {str(root)!r} to another layout; start this kernel again when that is done"
        )
    time.sleep(POLL_SECONDS)


def _writing(root: Path) -> Lease | None:
    """Return the lease of a kernel that writes a session, or None; watches leases that may be stale."""
    unsure: dict[LeaseFile, Lease] = {}
    for directory in _folders(root / SESSIONS):
        file = LeaseFile(directory)
        lease = file.read()
        if lease is None or is_dead(lease):
            continue
        if is_running(lease):
            return lease
        unsure[file] = lease
    until = time.monotonic() + WATCH_SECONDS
    while unsure and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
        for file, before in unsure.items():
            if (now := file.read()) not in (None, before):
                return now
    return None


def _folders(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(one for one in folder.iterdir() if one.is_dir() and not one.is_symlink())
    return []


# Files


def _work(root: Path, number: int) -> Path:
    """Return the path of the folder in which copies are changed."""
    return root / f".layout-{number}"


def _free(root: Path, name: str) -> str:
    """Return the name, numbered if it is taken: after a return to an older layout a migration runs again."""
    number = 1
    found = name
    while os.path.lexists(root / found):
        number += 1
        found = f"{name}-{number}"
    return found


def _folder(path: Path) -> Path:
    """Create a folder unless it exists; raises OSError for a link in its place."""
    path.mkdir(mode=0o700, exist_ok=True)
    _refuse_link(path)
    return path


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise OSError(errno.ELOOP, f"{str(path)!r} is a link")


def _set_aside(path: Path, copy: Path) -> None:
    """Move a path into the copy folder if it exists; overwrites nothing there."""
    if os.path.lexists(path):
        path.rename(copy / _free(copy, path.name))


def _copy(source: Path, target: Path) -> None:
    """Copy a file, a link as a link, or a folder with its content; pipes and devices are skipped."""
    found = source.lstat()
    if stat.S_ISLNK(found.st_mode):
        target.symlink_to(source.readlink())
        return
    if stat.S_ISDIR(found.st_mode):
        target.mkdir(mode=0o700)
        for one in source.iterdir():
            _copy(one, target / one.name)
    elif stat.S_ISREG(found.st_mode):
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open_regular(source) as read, open(fd, "wb") as write:  # noqa: PTH123  a descriptor has no path
            shutil.copyfileobj(read, write, 1 << 20)
    else:
        return
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def _sync_all(folder: Path) -> None:
    """Sync everything below a folder to the disk."""
    for place, _, names in os.walk(folder):
        for name in names:
            sync(Path(place, name))
        sync(Path(place))
