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
# Names of tools in small letters
READ_TOOLS = frozenset({"read", "read_file", "readfile", "view", "view_file", "open", "open_file"})
WHOLE_WRITE_TOOLS = frozenset(
    {"write", "write_file", "writefile", "write_to_file", "create", "create_file"}
)
"""Tools whose input is a whole file; one that edits tells only what it changes."""
EDIT_TOOLS = frozenset({"edit", "multiedit", "notebookedit", "edit_file", "replace", "str_replace"})
"""Tools that change a part of a file."""
FILE_TOOLS = READ_TOOLS | WHOLE_WRITE_TOOLS | EDIT_TOOLS
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


def is_of_server(tool: str) -> bool:
    """Return whether a tool is one of an MCP server, by its name: ``mcp__server__tool``, ``server__tool``."""
    return tool.startswith(("mcp_", "mcp.")) or "__" in tool.strip("_")


def was_sent_as_users(view: PolicyView, result: int) -> bool:
    """Return whether a result was sent in a user's message: that of a command which was written as text."""
    call = call_of_result(view, result)
    if call is None or view.item(call).tool != TEXT_COMMAND:
        return False
    return view.item(call).chars <= len(f"{TEXT_COMMAND}{{}}")


def path_of(view: PolicyView, result: int) -> str:
    """Return the path that the call of a result names; empty where it names none."""
    call = call_of_result(view, result)
    given = input_of(view, call) if call is not None else {}
    return next(
        (found for name in PATH_NAMES if isinstance(found := given.get(name), str) and found), ""
    )


def input_of(view: PolicyView, call: int) -> Mapping[str, Any]:
    """Return the input of a call; empty where it is no JSON object, or very long."""
    item = view.item(call)
    return {} if item.chars > LONGEST_INPUT else call_input(view.timeline, call)
