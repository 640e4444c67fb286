"""Encode and read snapshots as trees of hashes, one small object for each folder.

An unchanged folder is the same object as in the snapshot before, so a step that writes one file adds
that file and the folders above it. Objects that no session refers to any more are swept. Nothing here reads the
project's files.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

from palimpsest.store.blobs.blob_storage import (
    SHORT_HASH_CHARS,
    PackCleanup,
    PackedObjects,
    sweep_packs,
)
from palimpsest.store.blobs.blob_sweep import named_hashes
from palimpsest.store.project_folder.layout import Layout
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.strings.relative_paths import path_problem

TREE_VERSION = 1
_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")

Kind = Literal["file", "link", "folder", "unkept"]
KINDS: Mapping[str, Kind] = {word: word for word in get_args(Kind)}
MAX_ENTRIES = 200_000
"""Maximum entries of a snapshot, ten times as many as Palimpsest takes; a small malicious tree could expand endlessly."""
MAX_NUMBER = 1 << 63
"""Upper bound of sizes in bytes and of modes in a valid entry."""
NO_SNAPSHOT = "the snapshot {name} is not used: it is none"


class TreeEntry(NamedTuple):
    """One path of a snapshot: a file, link or folder, or a file whose content is not stored."""

    kind: Kind
    mode: int
    """Permission bits; 0 for a link or folder."""
    key: str
    """Hash of a file's content or of a folder's tree, target of a link, or a stamp of an unkept file."""
    size: int = 0

    @property
    def name(self) -> str:
        """The entry as one string, ``kind:mode:key``, which is equal only for equal content."""
        return f"{self.kind}:{self.mode:o}:{self.key}"


@dataclass(frozen=True)
class Tree:
    """A snapshot that was read: its entries by path."""

    id: str
    entries: Mapping[str, TreeEntry]
    """By path relative to the project, including folders."""
    ignored_paths: tuple[str, ...] = ()
    """Paths that existed and were left out by an ignore rule."""
    has_unlisted_paths: bool = False
    """Whether more paths were left out than are listed."""

    @cached_property
    def filled_folders(self) -> frozenset[str]:
        """The folders that were not empty."""
        return frozenset(path.rpartition("/")[0] for path in self.entries)

    def get(self, path: str) -> TreeEntry | None:
        """Return the entry of a path; None if the snapshot has none."""
        return self.entries.get(path)

    def is_left_out(self, path: str) -> bool:
        """Return whether an ignore rule left this path out, so that its state is unknown.

        Where not all ignored paths are listed, the state of every path without an entry is unknown.
        """
        if self.has_unlisted_paths and path not in self.entries:
            return True
        return any(f"{path}/".startswith(f"{ignored}/") for ignored in self.ignored_paths)


def encode_tree(entries: Mapping[str, TreeEntry]) -> bytes:
    """Return one folder's entries as the bytes of its object."""
    return _json_bytes(dict(sorted(entries.items())))


def encode_root(tree_hash: str, ignored_paths: list[str], *, is_cut: bool) -> bytes:
    """Return the bytes of a snapshot's root object, which names the tree of the project folder."""
    return _json_bytes(
        {"v": TREE_VERSION, "tree": tree_hash, "ignored": ignored_paths, "cut": is_cut}
    )


def _json_bytes(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("utf-8", "surrogatepass")


class UnsafeTree(NotFound):
    """A snapshot that is malformed or has unsafe paths; nothing of it is used."""


def read_tree(objects: PackedObjects, snapshot: str, excluded: Collection[str] = ()) -> Tree:
    """Read a snapshot; raises NotFound, and UnsafeTree if it is malformed or has unsafe paths.

    ``excluded`` are file and folder names that no snapshot includes.
    """
    tree_hash, ignored_paths, is_cut = _root_fields(objects, snapshot)
    entries: dict[str, TreeEntry] = {}
    unread_folders = [("", tree_hash)]
    while unread_folders:
        prefix, sha256 = unread_folders.pop()
        for name, entry in _folder_entries(objects, sha256).items():
            problem = None if _is_plain(name, excluded) else path_problem(name, excluded)
            if problem or "/" in name:
                raise UnsafeTree(
                    f"the snapshot {snapshot[:SHORT_HASH_CHARS]} is not used: it names {prefix + name!r:.80}, and "
                    f"{problem or 'it does not stay in its folder'}"
                )
            entries[prefix + name] = entry
            if entry.kind == "folder":
                unread_folders.append((f"{prefix}{name}/", entry.key))
        if len(entries) > MAX_ENTRIES:
            raise UnsafeTree(
                f"the snapshot {snapshot[:SHORT_HASH_CHARS]} is not used: it names more than {MAX_ENTRIES:,} files"
            )
    return Tree(snapshot, entries, ignored_paths, is_cut)


def _root_fields(objects: PackedObjects, snapshot: str) -> tuple[str, tuple[str, ...], bool]:
    """Return a snapshot's tree hash, the ignored paths, and whether that list is cut; raises NotFound."""
    fields = _object(objects, snapshot)
    tree_hash, ignored_paths = fields.get("tree"), fields.get("ignored", [])
    if (
        not isinstance(tree_hash, str)
        or not isinstance(ignored_paths, list)
        or not all(isinstance(ignored_path, str) for ignored_path in ignored_paths)
    ):
        raise UnsafeTree(NO_SNAPSHOT.format(name=snapshot[:SHORT_HASH_CHARS]))
    return tree_hash, tuple(ignored_paths), bool(fields.get("cut"))


def _folder_entries(objects: PackedObjects, sha256: str) -> dict[str, TreeEntry]:
    """Return the entries of one folder's tree by name; raises NotFound."""
    return {name: _entry(fields, sha256) for name, fields in _object(objects, sha256).items()}


def _entry(fields: Any, sha256: str) -> TreeEntry:
    if not isinstance(fields, list) or len(fields) not in (3, 4):
        raise UnsafeTree(NO_SNAPSHOT.format(name=sha256[:SHORT_HASH_CHARS]))
    kind_name, mode, key, size = (*fields, 0)[:4]
    kind = KINDS.get(kind_name) if isinstance(kind_name, str) else None
    are_valid = (isinstance(number, int) and 0 <= number < MAX_NUMBER for number in (mode, size))
    if kind is None or not isinstance(key, str) or not all(are_valid):
        raise UnsafeTree(NO_SNAPSHOT.format(name=sha256[:SHORT_HASH_CHARS]))
    return TreeEntry(kind, mode, key, size)


def _object(objects: PackedObjects, sha256: str) -> dict[str, Any]:
    try:
        fields = json.loads(objects.get(sha256))
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise UnsafeTree(NO_SNAPSHOT.format(name=sha256[:SHORT_HASH_CHARS]))
    return fields


def _is_plain(name: str, excluded: Collection[str]) -> bool:
    """Return whether a name is certainly safe; a fast check that most names pass."""
    return _SAFE_NAME.fullmatch(name) is not None and name not in excluded


def add_reachable(objects: PackedObjects, snapshot: str, reached_hashes: set[str]) -> None:
    """Add the hashes of all objects that a snapshot needs to ``reached_hashes``; missing objects are skipped."""
    unread_folders = [(snapshot, True)]
    while unread_folders:
        sha256, is_root = unread_folders.pop()
        if sha256 in reached_hashes:
            continue
        reached_hashes.add(sha256)
        try:
            if is_root:
                unread_folders.append((_root_fields(objects, sha256)[0], False))
                continue
            entries = _folder_entries(objects, sha256).values()
        except NotFound:
            continue
        for entry in entries:
            if entry.kind == "folder":
                unread_folders.append((entry.key, False))
            elif entry.kind == "file":
                reached_hashes.add(entry.key)


def sweep_snapshots(layout: Layout, now: float, days: float, *, delete: bool) -> PackCleanup:
    """Return the unused bytes of the snapshots, and with ``delete`` rewrite the packs without them.

    Every hash in a log may be a snapshot, whose objects are then needed. Packs that were used within the given days are
    kept, since the step that needs them may not be in a log yet.
    """
    if not layout.snapshots.is_dir():
        return PackCleanup()
    objects = PackedObjects(layout.snapshots)
    needed_hashes: set[str] = set()
    for sha256 in named_hashes(layout.sessions):
        if objects.is_in_pack(sha256):
            add_reachable(objects, sha256, needed_hashes)
    return sweep_packs(layout.snapshots, needed_hashes, now, days=days, delete=delete)
