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
from itertools import chain, count
from pathlib import Path
from uuid import uuid4

from palimpsest.store.disk import open_regular, sync_to_disk, write_atomically
from palimpsest.store.project_folder.layout_file import (
    COPY_PREFIX,
    LAYOUT_FILE_NAME,
    LayoutFile,
    MigrationProgress,
    entry_names,
    layout_content,
    read_layout,
    without_migration,
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

MAX_WAIT_SECONDS = 30.0
"""How long a kernel waits for another that migrates; copying a gigabyte of logs takes ten seconds."""

DONE_SENTENCE = "The sessions of this project were brought to a newer layout ({said})."
COPY_KEPT = " What was changed is kept as it was in {copies}: delete it when all is well."
BEING_MIGRATED = (
    "{root!r} is being brought to another layout by process {pid} on {host}; start this kernel again when "
    "that is done"
)
SESSION_OPEN = (
    "{root!r} has layout {old} and cannot be brought to layout {new} while process {pid} on {host} writes a "
    "session in it; close that kernel, and start this one again"
)
FAILED_SENTENCE = "{root!r} has layout {old} and could not be brought to layout {new}: {why}"
UNCHANGED_CLAUSE = "; nothing was changed; {advice}"
HALF_MOVED = "; what it held is whole, in it and in {copy!r}; {advice}"
RETRY_ADVICE = "mend that, and start the kernel again, which goes on with it"
TOO_NEW = (
    "{root!r} was written by a newer Palimpsest (layout {found}, this one knows {known}); update Palimpsest to "
    "open it."
)

COPY_BLOCK_BYTES = 1 << 20
_THREAD_LOCK = threading.Lock()
"""A file lock excludes other processes, but not other threads of this one."""


class LayoutNotReady(OSError):
    """The folder has an older layout and cannot be migrated now; the message says what to do."""


def refuse_newer(root: Path, supported_version: int) -> LayoutFile:
    """Return a folder's layout; raises LayoutTooNew if its version is above ``supported_version``."""
    layout = read_layout(root)
    if layout.version > supported_version:
        raise LayoutTooNew(
            TOO_NEW.format(root=str(root), found=layout.version, known=supported_version)
        )
    return layout


def migrate(root: Path, steps: Sequence[LayoutStep]) -> str:
    """Migrate a folder to the newest layout; returns a message for the user, empty if nothing was done.

    Raises LayoutTooNew, and LayoutNotReady when it fails or another kernel is in the way.
    """
    old_version = refuse_newer(root, newest_version(steps)).version
    try:
        with _folder_lock(root):
            return _Migration(root, steps).run()
    except (LayoutNotReady, LayoutTooNew):
        raise
    except OSError as error:
        raise LayoutNotReady(
            _failure_message(root, old_version, newest_version(steps), disk_reason(error))
        ) from error


def running_migration_sentence(root: Path) -> str:
    """Return a sentence if another kernel migrates the folder now, else the empty string."""
    lease_file = LeaseFile(root)
    holder = lease_file.current_lease() if read_layout(root).migration is not None else None
    if holder is None or is_dead(holder) or not lease_file.is_fresh(WATCH_SECONDS):
        return ""
    return _busy_message(root, holder)


class _Migration:
    """Migrates one folder; the caller holds its lock and lease."""

    def __init__(self, root: Path, steps: Sequence[LayoutStep]) -> None:
        self._root = root
        self._steps = steps
        self._sentences: list[str] = []
        self._copies: list[str] = []

    def run(self) -> str:
        """Continue an unfinished migration and run each step that is due; returns the message for the user."""
        layout = refuse_newer(self._root, newest_version(self._steps))
        if layout.migration is not None and layout.migration.stage != "copying":
            self._move_files(layout, layout.migration)
        for step in self._steps:
            layout = read_layout(self._root)
            if step.number > layout.version:
                self._run_step(step, layout)
        layout = read_layout(self._root)
        old_layout = without_migration(layout)
        if layout.migration is not None:  # a newer version was interrupted while copying
            work_folder = _work_folder(self._root, layout.migration.to)
            self._restore_folder(old_layout, work_folder, layout.migration.copy)
        if not layout.project_id:
            write_layout(self._root, replace(old_layout, project_id=find_project_id(self._root)))
        if not self._sentences:
            return ""
        copies = " and ".join(repr(str(self._root / copy)) for copy in self._copies)
        notice = DONE_SENTENCE.format(said="; ".join(self._sentences))
        return notice + (COPY_KEPT.format(copies=copies) if copies else "")

    def _run_step(self, step: LayoutStep, layout: LayoutFile) -> None:
        """Run one step: copy the files and change the copies, which can still be aborted, then swap old and new."""
        root = self._root
        old_layout = without_migration(layout)
        if layout.migration is not None and layout.migration.to == step.number:
            copy_name = layout.migration.copy
        else:
            copy_name = _free_name(root, f"{COPY_PREFIX}{step.number}")
        progress = MigrationProgress(step.number, "copying", copy_name)
        work_folder = _work_folder(root, step.number)
        try:
            write_layout(root, replace(old_layout, migration=progress))
            if step.needs_no_writers:
                self._refuse_writers(old_layout.version, step)
            entries = entry_names(step.entries(root))
            if work_folder.is_symlink() or work_folder.is_file():
                work_folder.unlink()
            elif work_folder.exists():
                shutil.rmtree(work_folder)
            work_folder.mkdir(mode=0o700)
            for name in entries:
                _copy_entry(root / name, work_folder / name)
            step.migrate(work_folder)
            new_names = sorted(entry.name for entry in work_folder.iterdir())
            entries = entry_names((*entries, *new_names))
            _sync_all(work_folder)
            copy_folder = _make_folder(self._root / copy_name)
            if old_layout != LayoutFile():
                write_atomically(
                    copy_folder / LAYOUT_FILE_NAME, layout_content(old_layout), is_durable=True
                )
            project_id = old_layout.project_id or find_project_id(root)
        except Exception as error:
            self._restore_folder(old_layout, work_folder, copy_name)
            if isinstance(error, LayoutNotReady):
                raise
            raise LayoutNotReady(
                _failure_message(root, old_layout.version, step.number, _error_text(error))
            ) from error
        progress = replace(progress, stage="moving out", entries=entries)
        # From here on an older program refuses the folder, and the next opening continues the migration.
        moving_layout = LayoutFile(step.number, project_id, progress)
        write_layout(root, moving_layout)
        self._move_files(moving_layout, progress)

    def _move_files(self, layout: LayoutFile, progress: MigrationProgress) -> None:
        """Move the old files into ``copy_folder`` and the new ones to their places, from the recorded stage on."""
        root, work_folder = self._root, _work_folder(self._root, progress.to)
        try:
            copy_folder = _make_folder(root / progress.copy)
            _refuse_link(work_folder)
            if progress.stage == "moving out":
                for name in progress.entries:
                    _move_into_copy(root / name, copy_folder)
                sync_to_disk(copy_folder)
                sync_to_disk(root)
                progress = replace(progress, stage="moving in")
                write_layout(root, replace(layout, migration=progress))
            for name in progress.entries:
                if os.path.lexists(work_folder / name):
                    _move_into_copy(root / name, copy_folder)
                    (work_folder / name).rename(root / name)
            sync_to_disk(root)
            shutil.rmtree(work_folder, ignore_errors=True)
            write_layout(root, without_migration(layout))
        except OSError as error:
            why, version = disk_reason(error), progress.to
            failure = FAILED_SENTENCE.format(root=str(root), old=version - 1, new=version, why=why)
            half_moved = HALF_MOVED.format(copy=str(root / progress.copy), advice=RETRY_ADVICE)
            raise LayoutNotReady(failure + half_moved) from error
        self._report_step(progress)

    def _report_step(self, progress: MigrationProgress) -> None:
        sentences = {step.number: step.sentence for step in self._steps}
        sentence = sentences.get(progress.to, "it is complete")
        self._sentences.append(f"layout {progress.to}: {sentence}")
        copy_folder = self._root / progress.copy
        with suppress(OSError):
            copy_folder.rmdir()  # only succeeds when it is empty
        if copy_folder.exists():
            self._copies.append(progress.copy)

    def _restore_folder(self, old_layout: LayoutFile, work_folder: Path, copy_name: str) -> None:
        """Restore the folder as it was, as far as a failing disk allows."""
        shutil.rmtree(work_folder, ignore_errors=True)
        with suppress(OSError):
            if [entry.name for entry in (self._root / copy_name).iterdir()] == [LAYOUT_FILE_NAME]:
                (self._root / copy_name / LAYOUT_FILE_NAME).unlink()
            (self._root / copy_name).rmdir()
        with suppress(OSError):
            if old_layout == LayoutFile():
                (self._root / LAYOUT_FILE_NAME).unlink()
            else:
                write_layout(self._root, old_layout)

    def _refuse_writers(self, old_version: int, step: LayoutStep) -> None:
        """Raise LayoutNotReady while a kernel writes a session; a new writer checks ``layout`` first."""
        holder = _lease_of_writer(self._root)
        if holder is not None:
            sentence = SESSION_OPEN.format(
                root=str(self._root), old=old_version, new=step.number, **_holder_fields(holder)
            )
            raise LayoutNotReady(sentence)


def _failure_message(root: Path, old_version: int, new_version: int, reason: str) -> str:
    failure = FAILED_SENTENCE.format(root=str(root), old=old_version, new=new_version, why=reason)
    return failure + UNCHANGED_CLAUSE.format(advice=RETRY_ADVICE)


def _error_text(error: Exception) -> str:
    if isinstance(error, StepRefused):
        return str(error)
    return disk_reason(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"


def _busy_message(root: Path, holder: Lease) -> str:
    return BEING_MIGRATED.format(root=str(root), **_holder_fields(holder))


def _holder_fields(holder: Lease) -> dict[str, object]:
    return {"pid": holder.pid, "host": holder.host.partition(":")[0]}


# Lock and lease


@contextmanager
def _folder_lock(root: Path) -> Iterator[None]:
    """Hold the folder's lock and lease against other migrating kernels; waits for one that migrates."""
    lease_file, deadline = LeaseFile(root), time.monotonic() + MAX_WAIT_SECONDS
    with _THREAD_LOCK:
        while not lease_file.lock():
            _wait_for_lease(root, lease_file, deadline)
        try:
            owner = this_owner(f"migration-{uuid4().hex[:8]}")
            lease = Lease(owner.host, owner.pid, owner.kernel_id, 1, process_start_time(owner.pid))
            while not lease_file.create(lease):
                holder = lease_file.current_lease()
                if holder is None or is_dead(holder) or not lease_file.is_fresh(WATCH_SECONDS):
                    lease_file.write(lease)
                    break
                _wait_for_lease(root, lease_file, deadline)
            heartbeat = Heartbeat(HEARTBEAT_SECONDS)
            heartbeat.add(lease_file, lease)
            try:
                yield
            finally:
                heartbeat.remove(lease_file)
                lease_file.remove(lease)
        finally:
            lease_file.unlock()


def _wait_for_lease(root: Path, lease_file: LeaseFile, deadline: float) -> None:
    if time.monotonic() > deadline:
        holder = lease_file.current_lease()
        if holder is not None:
            raise LayoutNotReady(_busy_message(root, holder))
        raise LayoutNotReady(
            f"Another kernel brings {str(root)!r} to another layout; start this kernel again when that is done"
        )
    time.sleep(POLL_SECONDS)


def _lease_of_writer(root: Path) -> Lease | None:
    """Return the lease of a kernel that writes a session, or None; watches leases that may be stale."""
    uncertain_leases: dict[LeaseFile, Lease] = {}
    for directory in _folders(root / SESSIONS):
        lease_file = LeaseFile(directory)
        lease = lease_file.current_lease()
        if lease is None or is_dead(lease):
            continue
        if is_running(lease):
            return lease
        uncertain_leases[lease_file] = lease
    deadline = time.monotonic() + WATCH_SECONDS
    while uncertain_leases and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        for lease_file, old_lease in uncertain_leases.items():
            if (new_lease := lease_file.current_lease()) not in (None, old_lease):
                return new_lease
    return None


def _folders(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    return []


# Files


def _work_folder(root: Path, number: int) -> Path:
    """Return the path of the folder in which copies are changed."""
    return root / f".layout-{number}"


def _free_name(root: Path, name: str) -> str:
    """Return the name, numbered if it is taken: after a return to an older layout a migration runs again."""
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(free_name for free_name in names if not os.path.lexists(root / free_name))


def _make_folder(path: Path) -> Path:
    """Create a folder unless it exists; raises OSError for a link in its place."""
    path.mkdir(mode=0o700, exist_ok=True)
    _refuse_link(path)
    return path


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise OSError(errno.ELOOP, f"{str(path)!r} is a link")


def _move_into_copy(path: Path, copy_folder: Path) -> None:
    """Move a path into the copy folder if it exists; overwrites nothing there."""
    if os.path.lexists(path):
        path.rename(copy_folder / _free_name(copy_folder, path.name))


def _copy_entry(source: Path, target: Path) -> None:
    """Copy a file, a link as a link, or a folder with its content; pipes and devices are skipped."""
    file_stat = source.lstat()
    if stat.S_ISLNK(file_stat.st_mode):
        target.symlink_to(source.readlink())
        return
    if stat.S_ISDIR(file_stat.st_mode):
        target.mkdir(mode=0o700)
        for entry in source.iterdir():
            _copy_entry(entry, target / entry.name)
    elif stat.S_ISREG(file_stat.st_mode):
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open_regular(source) as source_file, open(fd, "wb") as target_file:  # noqa: PTH123  a descriptor has no path
            shutil.copyfileobj(source_file, target_file, COPY_BLOCK_BYTES)
    else:
        return
    os.utime(target, ns=(file_stat.st_atime_ns, file_stat.st_mtime_ns))


def _sync_all(folder: Path) -> None:
    for folder_path, _, names in os.walk(folder):
        for name in names:
            sync_to_disk(Path(folder_path, name))
        sync_to_disk(Path(folder_path))
