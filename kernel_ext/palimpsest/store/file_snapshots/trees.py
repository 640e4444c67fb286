"""Keep the state of a folder as trees of hashes, one small object for each folder in it.

A folder in which nothing changed is the very object of the snapshot before, so that a step that
writes one file adds that file and the folders above it. Nothing here looks at the project.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

from palimpsest.store.blobs.packs import PackedObjects
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.strings.relative_paths import path_problem

TREE_VERSION = 1
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")

Kind = Literal["file", "link", "folder", "unkept"]
KINDS: Mapping[str, Kind] = {one: one for one in get_args(Kind)}
MOST_ENTRIES = 200_000
"""Ten times as many files as a snapshot of ours takes; a small planted tree can unfold without end."""
LARGEST = 1 << 63
"""Bytes; no file is as large."""
NO_SNAPSHOT = "the snapshot {name} is not used: it is none"


class TreeEntry(NamedTuple):
    """What stands at one path."""

    kind: Kind
    mode: int
    """Permission bits; 0 for what has none of its own."""
    key: str
    """Hash of a file's content or of a folder's tree, target of a link, or a stamp of what is not kept."""
    size: int = 0

    @property
    def name(self) -> str:
        """Return what tells this content from any other, in one word."""
        return f"{self.kind}:{self.mode:o}:{self.key}"


@dataclass(frozen=True)
class Tree:
    """A snapshot, read: what stood where."""

    id: str
    entries: Mapping[str, TreeEntry]
    """By path below the project, folders too."""
    ignored: tuple[str, ...] = ()
    """What was there and left out by a rule."""
    ignored_cut: bool = False
    """More was left out than is listed."""

    @cached_property
    def unkept(self) -> dict[str, TreeEntry]:
        """What was there and is not kept, with the reason in its key."""
        return {path: entry for path, entry in self.entries.items() if entry.kind == "unkept"}

    @cached_property
    def filled(self) -> frozenset[str]:
        """The folders in which something stood."""
        return frozenset(path.rpartition("/")[0] for path in self.entries)

    def get(self, path: str) -> TreeEntry | None:
        """Return what stood at a path; None for nothing."""
        return self.entries.get(path)

    def left_out(self, path: str) -> bool:
        """Tell whether a rule left this path out, so that nothing is known of it."""
        return any(path == one or path.startswith(f"{one}/") for one in self.ignored)


def encode(entries: Mapping[str, TreeEntry]) -> bytes:
    """Return one folder as it is kept."""
    return json.dumps(dict(sorted(entries.items())), separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def encode_root(tree: str, ignored: list[str], *, cut: bool) -> bytes:
    """Return a snapshot as it is kept."""
    fields = {"v": TREE_VERSION, "tree": tree, "ignored": ignored, "cut": cut}
    return json.dumps(fields, separators=(",", ":")).encode("utf-8", "surrogatepass")


class UnsafeTree(NotFound):
    """A snapshot that names what no snapshot of ours could; nothing of it is used."""


def read_tree(objects: PackedObjects, snapshot: str, never: Collection[str] = ()) -> Tree:
    """Read a snapshot; raises NotFound, and UnsafeTree for one with a name that leads elsewhere.

    ``never`` are names that no snapshot holds.
    """
    tree, ignored, cut = _root(objects, snapshot)
    found: dict[str, TreeEntry] = {}
    waiting = [("", tree)]
    while waiting:
        prefix, sha256 = waiting.pop()
        for name, entry in _folder(objects, sha256).items():
            problem = None if _is_plain(name, never) else path_problem(name, never)
            if problem or "/" in name:
                raise UnsafeTree(
                    f"the snapshot {snapshot[:12]} is not used: it names {prefix + name!r:.80}, and "
                    f"{problem or 'it does not stay in its folder'}"
                )
            found[prefix + name] = entry
            if entry.kind == "folder":
                waiting.append((f"{prefix}{name}/", entry.key))
        if len(found) > MOST_ENTRIES:
            raise UnsafeTree(
                f"the snapshot {snapshot[:12]} is not used: it names more than {MOST_ENTRIES:,} files"
            )
    return Tree(snapshot, found, ignored, cut)


def _root(objects: PackedObjects, snapshot: str) -> tuple[str, tuple[str, ...], bool]:
    """Return the tree of a snapshot, what was left out, and whether more was; raises NotFound."""
    fields = _table(objects, snapshot)
    tree, ignored = fields.get("tree"), fields.get("ignored", [])
    if (
        not isinstance(tree, str)
        or not isinstance(ignored, list)
        or not all(isinstance(one, str) for one in ignored)
    ):
        raise UnsafeTree(NO_SNAPSHOT.format(name=snapshot[:12]))
    return tree, tuple(ignored), bool(fields.get("cut"))


def _folder(objects: PackedObjects, sha256: str) -> dict[str, TreeEntry]:
    """Return what one folder held; raises NotFound."""
    return {name: _entry(fields, sha256) for name, fields in _table(objects, sha256).items()}


def _entry(fields: Any, sha256: str) -> TreeEntry:
    if not isinstance(fields, list) or len(fields) not in (3, 4):
        raise UnsafeTree(NO_SNAPSHOT.format(name=sha256[:12]))
    word, mode, key, size = (*fields, 0)[:4]
    kind = KINDS.get(word) if isinstance(word, str) else None
    numbers = all(isinstance(one, int) and 0 <= one < LARGEST for one in (mode, size))
    if kind is None or not isinstance(key, str) or not numbers:
        raise UnsafeTree(NO_SNAPSHOT.format(name=sha256[:12]))
    return TreeEntry(kind, mode, key, size)


def _table(objects: PackedObjects, sha256: str) -> dict[str, Any]:
    try:
        fields = json.loads(objects.get(sha256))
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise UnsafeTree(NO_SNAPSHOT.format(name=sha256[:12]))
    return fields


def _is_plain(name: str, never: Collection[str]) -> bool:
    """Tell quickly that a name is one of the many in which nothing can be wrong."""
    return _PLAIN.fullmatch(name) is not None and name not in never


def reachable(objects: PackedObjects, snapshot: str, known: set[str]) -> None:
    """Add every object that a snapshot needs; what is not there is passed over."""
    waiting = [(snapshot, True)]
    while waiting:
        sha256, is_root = waiting.pop()
        if sha256 in known:
            continue
        known.add(sha256)
        try:
            if is_root:
                waiting.append((_root(objects, sha256)[0], False))
                continue
            entries = _folder(objects, sha256).values()
        except NotFound:
            continue
        for entry in entries:
            if entry.kind == "folder":
                waiting.append((entry.key, False))
            elif entry.kind == "file":
                known.add(entry.key)
