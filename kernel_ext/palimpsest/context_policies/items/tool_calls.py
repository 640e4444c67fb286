"""The files that calls read and wrote: the path in a call's input, and the kinds of tools of many agents."""

from collections.abc import Mapping
from typing import Any

from palimpsest.context_policies.interface.policy import PolicyView
from palimpsest.context_policies.items.engine_sizes import call_input
from palimpsest.context_policies.items.reducible import call_of_result
from palimpsest.transcript.timeline import TimelineItem

MAX_INPUT_CHARS = 2_000_000
"""Maximum characters of an input that is parsed."""
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
"""Fields of an input that name a file, in their order of precedence."""
# Names of tools in lower case
READ_TOOLS = frozenset({"read", "read_file", "readfile", "view", "view_file", "open", "open_file"})
WHOLE_WRITE_TOOLS = frozenset(
    {"write", "write_file", "writefile", "write_to_file", "create", "create_file"}
)
"""Tools whose input is a whole file; the input of an edit has only the change."""
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
"""The tool of a command that an agent without tool calls wrote as text, with the output as a user message."""


def is_of_server(tool: str) -> bool:
    """Return whether a tool's name is that of an MCP server's tool: ``mcp__server__tool``, ``server__tool``."""
    return tool.startswith(("mcp_", "mcp.")) or "__" in tool.strip("_")


def is_text_command_output(view: PolicyView, result_index: int) -> bool:
    """Return whether a result is the output of a command that was written as text, so that a user message contains it."""
    call_index = call_of_result(view, result_index)
    return call_index is not None and is_text_command(view.item(call_index))


def is_text_command(call: TimelineItem) -> bool:
    """Return whether a call is a command that was written as text, so that the call itself has no input."""
    return call.tool == TEXT_COMMAND and call.chars <= len(f"{TEXT_COMMAND}{{}}")


def path_of(view: PolicyView, result_index: int) -> str:
    """Return the path that the call of a result names; empty where it names none. Each input is parsed once."""
    paths: dict[int, str] = view.timeline.of_items("paths of results", lambda _timeline: {})
    if (path := paths.get(result_index)) is None:
        call_index = call_of_result(view, result_index)
        path = paths[result_index] = (
            "" if call_index is None else named_path(input_of(view, call_index))
        )
    return path


def named_path(tool_input: Mapping[str, Any]) -> str:
    """Return the path that the input of a call names; empty where it names none."""
    named_values = (tool_input.get(name) for name in PATH_NAMES)
    return next((path for path in named_values if isinstance(path, str) and path), "")


def input_of(view: PolicyView, call_index: int) -> Mapping[str, Any]:
    """Return the input of a call; empty where it is no JSON object, or very long."""
    item = view.item(call_index)
    return {} if item.chars > MAX_INPUT_CHARS else call_input(view.timeline, call_index)
