"""Compute the differences of files between two snapshots: line counts and patches.

Equal beginnings and ends are removed first, so that a long file with one change costs little. A file
that is not text, or has too many changed lines, gets a note and at most line counts, but no patch.
"""

import difflib
from collections.abc import Iterable

from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.store.file_snapshots.trees import TreeEntry
from palimpsest.transcript.context_values.hidden_cells import BrokenNotebook, without_hidden_cells
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.session_record.reverts import ChangeStatus, FileDiff

MAX_COMPARED_LINES = 2_000
"""Maximum lines between the first and last change; comparing more takes too long."""
MAX_PATCH_CHARS = 20_000
"""Maximum characters of one file's patch; a longer one is truncated, with a note."""
CONTEXT_LINES = 3
MAX_BINARY_CHECK_BYTES = 8_000
"""Bytes in which a null byte shows that a file is not text."""

NOT_TEXT = "no text"
TOO_MANY_LINES = "too many lines changed to show them"
NOT_KEPT = "not kept"
HIDDEN_CELLS = "only cells that are kept from the agent, which are not shown"
SOME_HIDDEN_CELLS = "cells that are kept from the agent are not shown"
HIDDEN_LINES = "it usually holds keys, so its lines are not shown"


def snapshot_diffs(
    snapshots: Snapshots, old_snapshot: str, new_snapshot: str, files: Iterable[str] | None = None
) -> tuple[FileDiff, ...]:
    """Return the differences of files between two snapshots, by default of all that differ."""
    old_tree = snapshots.snapshot_tree(old_snapshot)
    new_tree = snapshots.snapshot_tree(new_snapshot)
    paths = snapshots.changed_paths(old_snapshot, new_snapshot) if files is None else files
    diffs = (
        file_diff(snapshots, path, old_tree.get(path), new_tree.get(path)) for path in sorted(paths)
    )
    return tuple(diff for diff in diffs if diff is not None)


def file_diff(
    snapshots: Snapshots, path: str, old_entry: TreeEntry | None, new_entry: TreeEntry | None
) -> FileDiff | None:
    """Return the difference of one file; None when it is unchanged."""
    old_file, new_file = _without_folder(old_entry), _without_folder(new_entry)
    if old_file == new_file:
        return None
    status: ChangeStatus = "modified"
    if old_file is None or new_file is None:
        status = "added" if old_file is None else "deleted"
    diff = FileDiff(
        file=path,
        status=status,
        before=old_file.name if old_file else None,
        after=new_file.name if new_file else None,
    )
    try:
        texts = _entry_text(snapshots, old_file), _entry_text(snapshots, new_file)
    except NotFound:
        return diff.model_copy(update={"note": NOT_KEPT})
    if any(entry is not None and entry.kind == "unkept" for entry in (old_file, new_file)):
        return diff.model_copy(update={"note": NOT_KEPT})
    if texts[0] is None or texts[1] is None:
        return diff.model_copy(update={"note": NOT_TEXT})
    try:
        visible_texts = _visible_text(texts[0], path), _visible_text(texts[1], path)
    except BrokenNotebook:
        return diff.model_copy(update={"note": HIDDEN_CELLS})
    if visible_texts[0] == visible_texts[1] and texts[0] != texts[1]:
        return diff.model_copy(update={"note": HIDDEN_CELLS})
    fields = _compared_fields(path, visible_texts[0], visible_texts[1], old_file, new_file)
    if visible_texts != texts:
        fields.setdefault("note", SOME_HIDDEN_CELLS)
    if snapshots.hides_content(path):
        fields |= {"patch": None, "note": HIDDEN_LINES}
    return diff.model_copy(update=fields)


def entry_named(name: str | None) -> TreeEntry | None:
    """Return the entry of a ``TreeEntry.name``, with size 0; None for None."""
    if name is None:
        return None
    kind, mode, key = name.split(":", 2)
    return TreeEntry(kind, int(mode, 8), key)  # type: ignore[arg-type]  # as it was written


def join_diffs(older_diff: FileDiff, newer_diff: FileDiff, snapshots: Snapshots) -> FileDiff | None:
    """Return the combined difference of two successive changes of a file; None if they cancel out."""
    old_entry, new_entry = entry_named(older_diff.before), entry_named(newer_diff.after)
    return file_diff(snapshots, newer_diff.file, old_entry, new_entry)


def _without_folder(entry: TreeEntry | None) -> TreeEntry | None:
    return None if entry is None or entry.kind == "folder" else entry


def _entry_text(snapshots: Snapshots, entry: TreeEntry | None) -> str | None:
    """Return the text of an entry; empty for None, None for what is not text."""
    if entry is None:
        return ""
    if entry.kind == "link":
        return f"{entry.key}\n"
    if entry.kind != "file":
        return None
    content = snapshots.content(entry.key)
    if b"\0" in content[:MAX_BINARY_CHECK_BYTES]:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _visible_text(text: str, path: str) -> str:
    """Return a file's text as a difference may show it; raises BrokenNotebook."""
    return without_hidden_cells(text, path, keep_lines=False).text


def _compared_fields(
    path: str,
    old_text: str,
    new_text: str,
    old_file: TreeEntry | None,
    new_file: TreeEntry | None,
) -> dict[str, object]:
    old_lines, new_lines = old_text.splitlines(), new_text.splitlines()
    if old_lines == new_lines:
        modes = {entry.mode for entry in (old_file, new_file) if entry is not None}
        return {"note": "only its permissions" if len(modes) > 1 else "only the ends of its lines"}
    common_start = _common_length(old_lines, new_lines)
    common_end = _common_length(old_lines[common_start:][::-1], new_lines[common_start:][::-1])
    old_end, new_end = len(old_lines) - common_end, len(new_lines) - common_end
    old_part, new_part = old_lines[common_start:old_end], new_lines[common_start:new_end]
    if max(len(old_part), len(new_part)) > MAX_COMPARED_LINES:
        counts = {"additions": len(new_part), "deletions": len(old_part)}
        return {**counts, "note": TOO_MANY_LINES}
    first_line = max(0, common_start - CONTEXT_LINES)
    lines_before = old_lines[first_line:common_start]
    lines_after = old_lines[old_end : old_end + CONTEXT_LINES]
    lines = list(
        difflib.unified_diff(
            lines_before + old_part + lines_after,
            lines_before + new_part + lines_after,
            "/dev/null" if old_file is None else f"a/{path}",
            "/dev/null" if new_file is None else f"b/{path}",
            lineterm="",
            n=CONTEXT_LINES,
        )
    )
    fields: dict[str, object] = {
        "additions": sum(line.startswith("+") for line in lines[2:]),
        "deletions": sum(line.startswith("-") for line in lines[2:]),
    }
    text = "\n".join(_shift_line_numbers(line, first_line) for line in lines)
    if len(text) > MAX_PATCH_CHARS:
        text = text[:MAX_PATCH_CHARS].rpartition("\n")[0]
        fields["note"] = "the rest of its lines is not shown"
    return fields | {"patch": text}


def _common_length(lines: list[str], other_lines: list[str]) -> int:
    for index, (left, right) in enumerate(zip(lines, other_lines, strict=False)):
        if left != right:
            return index
    return min(len(lines), len(other_lines))


def _shift_line_numbers(line: str, offset: int) -> str:
    """Return a patch line; in a hunk header, the line numbers are increased by ``offset``."""
    if offset == 0 or not line.startswith("@@"):
        return line
    header_parts = line.split(" ")
    for index in (1, 2):
        sign, rest = header_parts[index][0], header_parts[index][1:]
        start, comma, length = rest.partition(",")
        header_parts[index] = f"{sign}{int(start) + offset}{comma}{length}"
    return " ".join(header_parts)
