"""Compute the differences of files between two snapshots: line counts and patches.

Equal beginnings and ends are removed first, so that a long file with one change costs little. A file
that is not text, or has too many changed lines, gets a note, and counts at most, instead of a patch.
"""

import difflib
from collections.abc import Iterable

from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.store.file_snapshots.trees import TreeEntry
from palimpsest.transcript.context_values.hidden_cells import (
    BrokenNotebook,
    without_hidden_cells,
)
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.session_record.reverts import ChangeStatus, FileDiff

MOST_LINES = 2_000
"""Maximum lines between the first and last change; comparing more takes too long."""
PATCH_CHARS = 20_000
"""Maximum characters of one file's patch; a longer one is truncated, with a note."""
CONTEXT_LINES = 3

NO_TEXT = "no text"
TOO_LONG = "too many lines changed to show them"
NOT_KEPT = "not kept"
HIDDEN_CELLS = "only cells that are kept from the agent, which are not shown"
SOME_HIDDEN_CELLS = "cells that are kept from the agent are not shown"
HIDDEN = "it usually holds keys, so its lines are not shown"


def diffs(
    snapshots: Snapshots, before: str, after: str, files: Iterable[str] | None = None
) -> tuple[FileDiff, ...]:
    """Return the differences of files between two snapshots, by default of all that differ."""
    one, other = snapshots.read(before), snapshots.read(after)
    paths = snapshots.changed(before, after) if files is None else files
    found = (file_diff(snapshots, path, one.get(path), other.get(path)) for path in sorted(paths))
    return tuple(diff for diff in found if diff is not None)


def file_diff(
    snapshots: Snapshots, path: str, before: TreeEntry | None, after: TreeEntry | None
) -> FileDiff | None:
    """Return the difference of one file; None when it is unchanged."""
    was, now = _of_file(before), _of_file(after)
    if was == now:
        return None
    status: ChangeStatus = "modified"
    if was is None or now is None:
        status = "added" if was is None else "deleted"
    diff = FileDiff(
        file=path,
        status=status,
        before=was.name if was else None,
        after=now.name if now else None,
    )
    try:
        texts = _text(snapshots, was), _text(snapshots, now)
    except NotFound:
        return diff.model_copy(update={"note": NOT_KEPT})
    if any(entry is not None and entry.kind == "unkept" for entry in (was, now)):
        return diff.model_copy(update={"note": NOT_KEPT})
    if texts[0] is None or texts[1] is None:
        return diff.model_copy(update={"note": NO_TEXT})
    try:
        seen = _seen(texts[0], path), _seen(texts[1], path)
    except BrokenNotebook:
        return diff.model_copy(update={"note": HIDDEN_CELLS})
    if seen[0] == seen[1] and texts[0] != texts[1]:
        return diff.model_copy(update={"note": HIDDEN_CELLS})
    found = _compared(path, seen[0], seen[1], was, now)
    if seen != texts:
        found.setdefault("note", SOME_HIDDEN_CELLS)
    if snapshots.hides(path):
        found |= {"patch": None, "note": HIDDEN}
    return diff.model_copy(update=found)


def entry_named(name: str | None) -> TreeEntry | None:
    """Return the entry of a ``TreeEntry.name``, with size 0; None for None."""
    if name is None:
        return None
    kind, mode, key = name.split(":", 2)
    return TreeEntry(kind, int(mode, 8), key)  # type: ignore[arg-type]  # as it was written


def joined(older: FileDiff, newer: FileDiff, snapshots: Snapshots) -> FileDiff | None:
    """Return the combined difference of two successive changes of a file; None if they cancel out."""
    return file_diff(snapshots, newer.file, entry_named(older.before), entry_named(newer.after))


def _of_file(entry: TreeEntry | None) -> TreeEntry | None:
    return None if entry is None or entry.kind == "folder" else entry


def _text(snapshots: Snapshots, entry: TreeEntry | None) -> str | None:
    """Return the text of an entry; empty for None, None for what is not text."""
    if entry is None:
        return ""
    if entry.kind == "link":
        return f"{entry.key}\n"
    if entry.kind != "file":
        return None
    content = snapshots.content(entry.key)
    if b"\0" in content[:8_000]:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _seen(text: str, path: str) -> str:
    """Return a file's text as a difference may show it; raises BrokenNotebook."""
    return without_hidden_cells(text, path, keep_lines=False).text


def _compared(
    path: str, before: str, after: str, was: TreeEntry | None, now: TreeEntry | None
) -> dict[str, object]:
    old, new = before.splitlines(), after.splitlines()
    if old == new:
        mode = was is not None and now is not None and was.mode != now.mode
        return {"note": "only its permissions" if mode else "only the ends of its lines"}
    first = _same_from(old, new)
    last = _same_from(old[first:][::-1], new[first:][::-1])
    middle = (old[first : len(old) - last], new[first : len(new) - last])
    if max(len(middle[0]), len(middle[1])) > MOST_LINES:
        return {"additions": len(middle[1]), "deletions": len(middle[0]), "note": TOO_LONG}
    context = (max(0, first - CONTEXT_LINES), min(CONTEXT_LINES, last))
    head, tail = old[context[0] : first], old[len(old) - last : len(old) - last + context[1]]
    lines = list(
        difflib.unified_diff(
            head + middle[0] + tail,
            head + middle[1] + tail,
            "/dev/null" if was is None else f"a/{path}",
            "/dev/null" if now is None else f"b/{path}",
            lineterm="",
            n=CONTEXT_LINES,
        )
    )
    body = [_moved(line, context[0]) for line in lines]
    counted = lines[2:]
    found: dict[str, object] = {
        "additions": sum(line.startswith("+") for line in counted),
        "deletions": sum(line.startswith("-") for line in counted),
    }
    text = "\n".join(body)
    if len(text) > PATCH_CHARS:
        text = text[:PATCH_CHARS].rpartition("\n")[0]
        found["note"] = "the rest of its lines is not shown"
    return found | {"patch": text}


def _same_from(one: list[str], other: list[str]) -> int:
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))


def _moved(line: str, by: int) -> str:
    """Return a patch line; in a hunk header, the line numbers are increased by ``by``."""
    if by == 0 or not line.startswith("@@"):
        return line
    words = line.split(" ")
    for at in (1, 2):
        sign, rest = words[at][0], words[at][1:]
        start, comma, length = rest.partition(",")
        words[at] = f"{sign}{int(start) + by}{comma}{length}"
    return " ".join(words)
