"""Take snapshots of the project's files without git, so that changes by Python and bash are included.

Checks every file, and reads only those whose size, times or inode changed since the last snapshot.
A file whose content is not stored (too large, unreadable, not a regular file) still has an entry with a
stamp, so that a path without an entry did not exist. If a project is too large, no snapshot is taken, and an error
reports it: in a partial snapshot, files would look deleted.

Border: follows no links, and never uses git or changes a repository's index.
"""

import hashlib
import os
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from palimpsest.store.blobs.blob_storage import PackedObjects
from palimpsest.store.file_snapshots.trees import (
    Tree,
    TreeEntry,
    encode_root,
    encode_tree,
    read_tree,
)
from palimpsest.transcript.errors import StorageFailed, UserError
from palimpsest.transcript.strings.disk_words import disk_reason
from palimpsest.transcript.strings.relative_paths import disk_name, recorded_name

MAX_FILE_BYTES = 2 << 20
"""Maximum bytes of a file; larger ones are usually data rather than work, and would fill the disk."""
MAX_TOTAL_BYTES = 256 << 20
"""Maximum bytes of all files of a snapshot together."""
MAX_FILES = 20_000
"""Maximum files of a snapshot; checking more would take over a quarter of a second at every step."""
MAX_IGNORED = 1_000
"""Maximum names of ignored files that a snapshot lists."""
RECHECK_SECONDS = 600.0
"""Seconds after which a project that was too large is checked again; at once when its .gitignore changes."""
RACY_NS = 50_000_000
"""A file that changed less than this before it was read may change again with the same timestamp, since the
clock of a file system ticks every 4 to 10 ms."""
COARSE_NS = 2_000_000_000
"""The same for a file system that counts whole seconds."""
MAX_CACHED_TREES = 8
"""Number of read snapshots that are cached, for the newest steps."""

PROGRAM_FOLDERS = frozenset(
    {".ipython", ".jupyter", ".local", ".config", ".conda", ".npm", ".ssh", ".gnupg", ".aws"}
)
"""Folders of programs and keys in a home directory, which are never included: they change without the user,
such as IPython's history with every cell, and keys must not be copied."""

Stamp = tuple[int, ...]


class SnapshotIgnoreRules(Protocol):
    """Decides which paths are left out of the snapshot of a folder.

    Contract: pure except for reading the rules' own files.
    """

    def rules_below(self, folder: Path) -> "SnapshotIgnoreRules":
        """Return the rules that apply in a folder inside this one."""

    def is_ignored(self, path: Path, *, is_dir: bool) -> bool:
        """Return whether a path is left out."""


@dataclass(frozen=True, slots=True)
class SnapshotLimits:
    """The maximum size of a snapshot: bytes of one file, bytes of all, and number of files."""

    file_bytes: int = MAX_FILE_BYTES
    total_bytes: int = MAX_TOTAL_BYTES
    files: int = MAX_FILES


class SnapshotsOff(UserError):
    """No snapshot can be taken here; the message gives the reason."""


@dataclass(slots=True)
class _FolderRules:
    """The cached rules of a folder and their verdicts, valid while the rule files are unchanged."""

    folder_stamp: tuple[object, ...]
    rules: SnapshotIgnoreRules
    ignore_verdicts: dict[tuple[str, bool], bool] = field(default_factory=dict)


@dataclass(slots=True)
class _ProjectScan:
    """The options and counters of one scan of the project."""

    leave_out: frozenset[str]
    began_ns: int
    counts_only: bool = False
    """Whether the scan only checks if the project is too large, and reads and stores nothing."""
    entry_count: int = 0
    small_file_bytes: int = 0
    ignored_paths: list[str] = field(default_factory=list)
    is_list_cut: bool = False
    """Whether ``ignored_paths`` lacks some, since there are too many."""


class Snapshots:
    """Takes and reads snapshots of one project; from any thread, one at a time."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        *,
        rules: Callable[[Path], SnapshotIgnoreRules],
        excluded_folders: frozenset[str],
        limits: SnapshotLimits | None = None,
        protection: Callable[[str], str | None] = lambda _path: None,
    ) -> None:
        self.root = root
        self.objects = PackedObjects(folder)
        self._rules_of_root = rules
        self.excluded_folders = excluded_folders | PROGRAM_FOLDERS
        """File and folder names that no snapshot includes."""
        self._protection = protection
        """Returns for a path why its file is protected, such as ``key``; None where it is not."""
        self._own_snapshots: set[str] = set()
        """Names of the snapshots that this process took; others are not trusted with protected files."""
        self._limits = limits or SnapshotLimits()
        self._lock = threading.Lock()
        self._hashes: dict[str, tuple[Stamp, str]] = {}
        """The stamp and the content's hash of each file that was read, by path."""
        self._folders: dict[str, _FolderRules] = {}
        self._tree_cache: dict[str, Tree] = {}
        self._fits_limits = False
        """Whether the last scan found that the project is not too large."""
        self._too_large: tuple[float, Stamp | None, str] | None = None
        """When the project was found too large, the stamp of its .gitignore then, and the error message."""

    def take_snapshot(self, leave_out: frozenset[str] = frozenset()) -> str:
        """Take a snapshot and return its name, a hash; ``leave_out`` paths are skipped.

        Raises SnapshotsOff when the project is too large, and StorageFailed when the disk fails.
        """
        with self._lock:
            self._check_size(leave_out)
            scan = _ProjectScan(leave_out, time.time_ns())
            try:
                self.objects.begin_snapshot()
                tree_hash = self._store_folder(scan, "", None)
                root = encode_root(tree_hash, sorted(scan.ignored_paths), is_cut=scan.is_list_cut)
                name = self.objects.put(root)
                self.objects.commit()
                self._own_snapshots.add(name)
            except SnapshotsOff as problem:
                self._note_too_large(problem)
                raise
            except OSError as problem:
                raise StorageFailed(
                    f"{disk_reason(problem)}: the files could not be kept. What the agent does to them now cannot "
                    "be taken back."
                ) from None
            return name

    def snapshot_tree(self, snapshot: str) -> Tree:
        """Return a snapshot; raises NotFound."""
        with self._lock:
            tree = self._tree_cache.pop(snapshot, None)
            tree = tree or read_tree(self.objects, snapshot, self.excluded_folders)
            self._tree_cache[snapshot] = tree
            while len(self._tree_cache) > MAX_CACHED_TREES:
                del self._tree_cache[next(iter(self._tree_cache))]
            return tree

    def asks_before_restore(self, path: str, snapshot: str) -> bool:
        """Return whether a protected file is only restored from a snapshot if the user names it."""
        return snapshot not in self._own_snapshots and self._protection(path) is not None

    def hides_content(self, path: str) -> bool:
        """Return whether a file usually contains keys, so that its lines are never shown."""
        return self._protection(path) == "key"

    def changed_paths(self, old_snapshot: str, new_snapshot: str) -> tuple[str, ...]:
        """Return the paths that differ between two snapshots, sorted: files, and empty folders that are gone.

        Other folders are not included: they are created and deleted with their files.
        """
        if old_snapshot == new_snapshot:
            return ()
        old_tree, new_tree = self.snapshot_tree(old_snapshot), self.snapshot_tree(new_snapshot)
        paths = old_tree.entries.keys() | new_tree.entries.keys()
        changed_paths = []
        for path in paths:
            old_entry, new_entry = old_tree.get(path), new_tree.get(path)
            kinds = {entry.kind for entry in (old_entry, new_entry) if entry is not None}
            is_reported = kinds != {"folder"} or (
                new_entry is None and path not in old_tree.filled_folders
            )
            if old_entry != new_entry and is_reported and not _is_unknown(path, old_tree, new_tree):
                changed_paths.append(path)
        return tuple(sorted(changed_paths))

    def content(self, sha256: str) -> bytes:
        """Return a file's content; raises NotFound."""
        with self._lock:
            return self.objects.get(sha256)

    def store_entry(self, path: str) -> TreeEntry | None:
        """Store a path's content in memory and return its entry; None for a folder, or if nothing is there."""
        disk_path = self.root / disk_name(path)
        try:
            file_stat = disk_path.lstat()
            with self._lock:
                if stat.S_ISDIR(file_stat.st_mode):
                    return None
                now_ns = time.time_ns()
                return self._entry_at(str(disk_path), path, file_stat, now_ns, stores_content=True)
        except OSError:
            return None

    def current_entry(self, path: str) -> TreeEntry | None:
        """Return the entry of a path now; None if nothing is there."""
        disk_path = self.root / disk_name(path)
        try:
            file_stat = disk_path.lstat()
        except OSError:
            return None
        with self._lock:
            if stat.S_ISDIR(file_stat.st_mode):
                return TreeEntry("folder", 0, "")
            now_ns = time.time_ns()
            return self._entry_at(str(disk_path), path, file_stat, now_ns, stores_content=False)

    # The methods below are called with the lock held.

    def _check_size(self, leave_out: frozenset[str]) -> None:
        """Raise SnapshotsOff, before any file is read, if the project is or was recently found too large."""
        if self._too_large is not None:
            checked_at, rules_stamp, reason = self._too_large
            is_recent = time.monotonic() - checked_at < RECHECK_SECONDS
            if is_recent and rules_stamp == self._rules_stamp():
                raise SnapshotsOff(reason)
        if self._fits_limits:
            return
        try:
            self._store_folder(_ProjectScan(leave_out, time.time_ns(), counts_only=True), "", None)
        except SnapshotsOff as problem:
            self._note_too_large(problem)
            raise
        self._fits_limits, self._too_large = True, None

    def _note_too_large(self, problem: SnapshotsOff) -> None:
        """Remember that the project is too large, and drop everything cached about it."""
        self._too_large = time.monotonic(), self._rules_stamp(), str(problem)
        self._fits_limits = False
        self.objects.drop_uncommitted()
        self._hashes.clear()
        self._folders.clear()

    def _rules_stamp(self) -> Stamp | None:
        try:
            return _file_stamp((self.root / ".gitignore").lstat())
        except OSError:
            return None

    def _store_folder(self, scan: _ProjectScan, prefix: str, parent: _FolderRules | None) -> str:
        """Store one folder with everything below it; returns the hash of its tree."""
        folder_path = self.root / disk_name(prefix) if prefix else self.root
        try:
            with os.scandir(folder_path) as scanned:
                dir_entries = sorted(scanned, key=lambda listed_entry: listed_entry.name)
        except OSError:
            dir_entries = []
        folder = self._folder_rules(prefix, dir_entries, parent)
        entries: dict[str, TreeEntry] = {}
        for listed_entry in dir_entries:
            name = recorded_name(listed_entry.name)
            if listed_entry.name in self.excluded_folders or f"{prefix}{name}" in scan.leave_out:
                continue
            try:
                entry = self._scan_entry(scan, listed_entry, prefix, folder)
            except FileNotFoundError:  # deleted meanwhile
                continue
            if entry is not None:
                entries[name] = entry
        return "" if scan.counts_only else self.objects.put(encode_tree(entries))

    def _scan_entry(
        self,
        scan: _ProjectScan,
        listed_entry: "os.DirEntry[str]",
        prefix: str,
        folder: _FolderRules,
    ) -> TreeEntry | None:
        """Return the tree entry of one directory entry; None when a rule leaves it out.

        Raises SnapshotsOff when a limit is exceeded.
        """
        path = f"{prefix}{recorded_name(listed_entry.name)}"
        is_dir = listed_entry.is_dir(follow_symlinks=False)
        key = (listed_entry.name, is_dir)
        is_ignored = folder.ignore_verdicts.get(key)
        if is_ignored is None:
            is_ignored = folder.rules.is_ignored(self.root / disk_name(path), is_dir=is_dir)
            folder.ignore_verdicts[key] = is_ignored
        if is_ignored:
            scan.is_list_cut = scan.is_list_cut or len(scan.ignored_paths) >= MAX_IGNORED
            if not scan.is_list_cut:
                scan.ignored_paths.append(path)
            return None
        scan.entry_count += 1
        if scan.entry_count > self._limits.files:
            raise SnapshotsOff(
                f"Changes of files are not kept here: the project has more than {self._limits.files:,} files. "
                "Name what does not belong to the work in a .gitignore."
            )
        if is_dir:
            return TreeEntry("folder", 0, self._store_folder(scan, f"{path}/", folder))
        file_stat = listed_entry.stat(follow_symlinks=False)
        if scan.counts_only:
            is_kept = file_stat.st_size <= self._limits.file_bytes and stat.S_ISREG(
                file_stat.st_mode
            )
            entry = TreeEntry("file" if is_kept else "unkept", 0, "", file_stat.st_size)
        else:
            now_ns = scan.began_ns
            entry = self._entry_at(listed_entry.path, path, file_stat, now_ns, stores_content=True)
        scan.small_file_bytes += entry.size if entry.kind == "file" else 0
        if scan.small_file_bytes > self._limits.total_bytes:
            raise SnapshotsOff(
                f"Changes of files are not kept here: the project has more than "
                f"{self._limits.total_bytes >> 20:,} MiB of small files. Name what does not belong to the "
                "work in a .gitignore."
            )
        return entry

    def _folder_rules(
        self, prefix: str, dir_entries: "list[os.DirEntry[str]]", parent: _FolderRules | None
    ) -> _FolderRules:
        """Return the rules that apply in a folder, cached while no rule file changed."""
        own_rules = (entry for entry in dir_entries if entry.name == ".gitignore")
        own_stamps = (_file_stamp(entry.stat(follow_symlinks=False)) for entry in own_rules)
        own_stamp = next(own_stamps, None)
        parent_stamp = () if parent is None else parent.folder_stamp
        stamp = parent_stamp if own_stamp is None else (parent_stamp, prefix, own_stamp)
        cached = self._folders.get(prefix)
        may_change_unnoticed = own_stamp is not None and _is_racy(own_stamp, time.time_ns())
        if cached is not None and cached.folder_stamp == stamp and not may_change_unnoticed:
            return cached
        if parent is None:
            rules = self._rules_of_root(self.root)
        elif own_stamp is not None:
            rules = parent.rules.rules_below(self.root / disk_name(prefix))
        else:
            rules = parent.rules
        new_folder = self._folders[prefix] = _FolderRules(stamp, rules)
        return new_folder

    def _entry_at(
        self,
        disk_path: str,
        path: str,
        file_stat: os.stat_result,
        now_ns: int,
        *,
        stores_content: bool,
    ) -> TreeEntry:
        """Return the tree entry of a path that is no folder; with ``stores_content`` a file's content is stored."""
        mode = stat.S_IMODE(file_stat.st_mode)
        if stat.S_ISLNK(file_stat.st_mode):
            return TreeEntry("link", 0, recorded_name(str(Path(disk_path).readlink())))
        if not stat.S_ISREG(file_stat.st_mode):
            return TreeEntry("unkept", mode, "special")
        if file_stat.st_size > self._limits.file_bytes:
            return TreeEntry("unkept", mode, f"large:{file_stat.st_size}:{file_stat.st_mtime_ns}")
        stamp = _file_stamp(file_stat)
        cached_stamp, sha256 = self._hashes.get(path, (None, ""))
        is_stored = not stores_content or self.objects.has_content(sha256)
        if cached_stamp == stamp and is_stored:
            return TreeEntry("file", mode, sha256, file_stat.st_size)
        try:
            content = _read_content(disk_path)
        except FileNotFoundError:
            raise
        except OSError:
            key = f"unreadable:{file_stat.st_size}:{file_stat.st_mtime_ns}"
            return TreeEntry("unkept", mode, key)
        if stores_content:
            sha256 = self.objects.put(content)
        else:
            sha256 = hashlib.sha256(content).hexdigest()
        if not _is_racy(stamp, now_ns) and len(content) == file_stat.st_size:
            self._hashes[path] = (stamp, sha256)
        else:
            self._hashes.pop(path, None)
        return TreeEntry("file", mode, sha256, len(content))


def reason_unkept(entry: TreeEntry) -> str:
    """Return why the content of an ``unkept`` entry is not stored."""
    match entry.key.partition(":")[0]:
        case "large":
            return f"larger than {MAX_FILE_BYTES >> 20} MiB"
        case "unreadable":
            return "it cannot be read"
        case _:
            return "it is no file"


def has_content_to_lose(entry: TreeEntry) -> bool:
    """Return whether an ``unkept`` entry has content that would be lost with the file."""
    return entry.key.partition(":")[0] in ("large", "unreadable")


def _is_unknown(path: str, old_tree: Tree, new_tree: Tree) -> bool:
    """Return whether an ignore rule left the path out of one snapshot, so that its state there is unknown."""
    if old_tree.ignored_paths == new_tree.ignored_paths and not old_tree.has_unlisted_paths:
        return False
    return any(tree.get(path) is None and tree.is_left_out(path) for tree in (old_tree, new_tree))


def _file_stamp(file_stat: os.stat_result) -> Stamp:
    return (
        file_stat.st_ino,
        file_stat.st_dev,
        file_stat.st_size,
        file_stat.st_mtime_ns,
        file_stat.st_ctime_ns,
        file_stat.st_mode,
    )


def _is_racy(stamp: Stamp, now_ns: int) -> bool:
    """Return whether the file could change again without a change of its stamp."""
    modified_ns, changed_ns = stamp[3], stamp[4]
    tick = COARSE_NS if modified_ns % 1_000_000 == 0 else RACY_NS
    return max(modified_ns, changed_ns) + tick > now_ns


def _read_content(disk_path: str) -> bytes:
    """Return a file's content; raises OSError for a link that replaced it."""
    fd = os.open(disk_path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:  # noqa: PTH123  a descriptor has no path
        return file.read()
