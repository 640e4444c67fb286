"""What the calls of a session read and wrote: the path in a call's input, and the kinds of tools of many agents."""

from collections.abc import Mapping
from typing import Any

from palimpsest.review.policies.engine_sizes import call_input
from palimpsest.review.policies.policy import PolicyView
from palimpsest.review.policies.reducible import call_of_result

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
    "notebook_path",
)
"""Fields of an input that name a file, in the order in which they are looked for."""
READ_TOOLS = frozenset({"read", "read_file", "readfile", "view", "view_file", "open", "open_file"})
WHOLE_WRITE_TOOLS = frozenset(
    {"write", "write_file", "writefile", "write_to_file", "create", "create_file"}
)
"""Tools whose input is a whole file; one that edits tells only what it changes."""
EDIT_TOOLS = frozenset({"edit", "multiedit", "notebookedit", "edit_file", "replace", "str_replace"})
"""Tools that change a part of a file."""
SHELL_TOOLS = frozenset(
    {
        "run_shell_command",
        "bash",
        "shell",
        "local_shell",
        "exec",
        "exec_command",
        "execute_bash",
        "execute_command",
        "run_command",
        "run_in_terminal",
        "terminal",
    }
)
TEXT_COMMAND = "command"
"""The tool of a command that an agent without tool calls wrote as text, and got the output of as a user's message."""


def is_read(tool: str) -> bool:
    """Return whether a tool reads a file, by its name."""
    return tool.lower() in READ_TOOLS


def writes_whole(tool: str) -> bool:
    """Return whether a tool writes a whole file, by its name; one that edits a file does not."""
    return tool.lower() in WHOLE_WRITE_TOOLS


def changes_file(tool: str) -> bool:
    """Return whether a tool writes or edits a file, by its name."""
    return writes_whole(tool) or tool.lower() in EDIT_TOOLS


def is_shell(tool: str) -> bool:
    """Return whether a tool runs a command in a shell, by its name."""
    return tool.lower() in SHELL_TOOLS


def is_of_server(tool: str) -> bool:
    """Return whether a tool is one of an MCP server, by its name: ``mcp__server__tool``, ``server__tool``."""
    return tool.startswith(("mcp_", "mcp.")) or "__" in tool.strip("_")


def was_sent_as_users(view: PolicyView, result: int) -> bool:
    """Return whether a result was sent in a user's message: that of a command which was written as text."""
    call = call_of_result(view, result)
    if call is None or view.item(call).tool != TEXT_COMMAND:
        return False
    return view.item(call).chars <= len(f"{TEXT_COMMAND}{{}}")


def path_of(view: PolicyView, call: int) -> str:
    """Return the path that a call names; empty where it names none."""
    given = input_of(view, call)
    return next(
        (found for name in PATH_NAMES if isinstance(found := given.get(name), str) and found), ""
    )


def input_of(view: PolicyView, call: int) -> Mapping[str, Any]:
    """Return the input of a call; empty where it is no JSON object, or very long."""
    item = view.item(call)
    return {} if item.chars > LONGEST_INPUT else call_input(view.timeline, call)
