"""What the calls of a session read and wrote: the path in a call's input, and the kinds of tools of many agents."""

from typing import Any

from palimpsest.review.policies.policy import PolicyView
from palimpsest.store.bounded_json import json_value

LONGEST_INPUT = 2_000_000
"""Characters of an input above which it is not looked into."""
PATH_NAMES = (
    "file_path",
    "filePath",
    "path",
    "file",
    "filename",
    "absolute_path",
    "target_file",
    "relative_path",
)
"""Fields of an input that name a file, in the order in which they are looked for."""
READ_TOOLS = frozenset({"read", "read_file", "readfile", "view", "view_file", "open", "open_file"})
WHOLE_WRITE_TOOLS = frozenset(
    {"write", "write_file", "writefile", "write_to_file", "create", "create_file"}
)
"""Tools whose input is a whole file; one that edits tells only what it changes."""


def is_read(tool: str) -> bool:
    """Return whether a tool reads a file, by its name."""
    return tool.lower() in READ_TOOLS


def writes_whole(tool: str) -> bool:
    """Return whether a tool writes a whole file, by its name; one that edits a file does not."""
    return tool.lower() in WHOLE_WRITE_TOOLS


def path_of(view: PolicyView, call: int) -> str:
    """Return the path that a call names; empty where it names none."""
    item = view.item(call)
    if item.chars > LONGEST_INPUT:
        return ""
    try:
        given: Any = json_value(view.read(call).removeprefix(item.tool))
    except (ValueError, RecursionError):
        return ""
    if not isinstance(given, dict):
        return ""
    return next(
        (found for name in PATH_NAMES if isinstance(found := given.get(name), str) and found), ""
    )
