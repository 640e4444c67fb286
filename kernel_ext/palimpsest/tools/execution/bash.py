"""The bash tool: run a shell command with progress and cancellation, without the kernel's keys.

Border: asks for permission, runs the command through ``process.py``, and formats the output.
"""

import asyncio
import os
import re
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from palimpsest.tools.calls.progress import MAX_PREVIEW_CHARS, Progress
from palimpsest.tools.execution.process import CommandResult, HeadAndTail, ShellCommand
from palimpsest.tools.execution.python import first_line
from palimpsest.tools.file_access.paths import resolve_permitted, resolve_permitted_folder
from palimpsest.tools.permission_rules.shell_commands import paths_touched
from palimpsest.tools.permission_rules.shell_files import (
    outside_files,
    process_dependent_paths,
    protected_files,
)
from palimpsest.tools.permission_rules.shell_rules import always_patterns
from palimpsest.tools.tool import ToolContext, ToolOutcome
from palimpsest.transcript.errors import Aborted, UserError
from palimpsest.transcript.redaction.secret_names import is_secret_name
from palimpsest.transcript.redaction.secret_removal import contains_secret, secret_values

DEFAULT_TIMEOUT_SECONDS = 120.0
MAX_TIMEOUT_SECONDS = 3_600.0
MAX_COMMAND_BYTES = 100_000
"""Maximum bytes of a command; Linux accepts 128 KB in one argument."""

MAX_STOPPED_OUTPUT_CHARS = 30_000
"""Maximum characters of the output of a stopped command in its call's metadata."""

NON_INTERACTIVE_VARIABLES = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "EDITOR": "true",
    "DEBIAN_FRONTEND": "noninteractive",
    "TERM": "dumb",
    "NO_COLOR": "1",
}
"""Variables that prevent programs from opening a pager or editor or asking for a password."""

UNSAFE_VARIABLES = frozenset(
    {"BASH_ENV", "ENV", "PROMPT_COMMAND", "PYTHONSTARTUP", "SHELLOPTS", "BASHOPTS", "PS4"}
)
"""Variables that would run code before the approved command, or change its meaning."""

ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class BashArguments(BaseModel):
    """Input of the bash tool."""

    command: str = Field(min_length=1, description="What bash runs.")
    timeout_seconds: float = Field(
        default=DEFAULT_TIMEOUT_SECONDS,
        gt=0,
        le=MAX_TIMEOUT_SECONDS,
        description="Everything it started is ended after this.",
    )
    workdir: str | None = Field(
        default=None, description="Folder to run in, instead of cd; the working folder if left out."
    )


class BashTool:
    """The bash tool, which runs shell commands."""

    name = "bash"
    description = (
        "Run a shell command in a new process, without stdin and without the kernel's variables; use python for "
        "work with the user's data, and read, grep, glob and edit for files. Returns stdout and stderr together, "
        "then the exit code. Processes left in the background go on until the kernel ends."
    )
    arguments: type[BaseModel] = BashArguments
    concurrent = False
    permission = "bash"

    def __init__(self) -> None:
        self._background_commands: list[ShellCommand] = []

    async def run(self, arguments: BashArguments, context: ToolContext) -> ToolOutcome:
        """Ask for permission, run the command, and return its output and exit code."""
        command = arguments.command
        if len(command.encode()) > MAX_COMMAND_BYTES:
            raise UserError(
                "The command is too long for a shell. Write it into a file and run that."
            )
        shell = shutil.which("bash") or shutil.which("sh")
        if shell is None or os.name != "posix":
            raise UserError("There is no Unix shell on this machine. Use the python tool.")
        folder = await resolve_permitted_folder(context, arguments.workdir or ".")
        title = first_line(command)
        await _ask_for_files(context, command, folder.path, title)
        await context.ask(self.permission, [command], title=title, always=always_patterns(command))
        if context.abort.is_set():
            raise Aborted(context.abort.reason)
        self._background_commands = [
            shell_command
            for shell_command in self._background_commands
            if not shell_command.close_if_ended()
        ]
        scrub = context.scrubber()
        output = HeadAndTail()
        progress = Progress(context, lambda: scrub(output.newest_text(MAX_PREVIEW_CHARS)))

        def on_output(data: bytes) -> None:
            output.add(data)
            progress.schedule_update()

        environment = child_environment(context.environment)
        try:
            shell_command = ShellCommand(
                command, shell=shell, cwd=folder.path, environment=environment, on_output=on_output
            )
        except OSError as error:
            raise UserError(f"The command could not be started: {error}.") from error
        try:
            result = await shell_command.run(context.abort, arguments.timeout_seconds)
        finally:
            progress.close()
            if not shell_command.close_if_ended():
                self._background_commands.append(shell_command)
        text = await asyncio.to_thread(
            lambda: scrub(without_control_characters(output.kept_text()))
        )
        if result.ended_by == "stopped":
            context.metadata(title, {"output": _shortened_output(text), "interrupted": True})
            raise Aborted(context.abort.reason)
        coloured_output = scrub(output.newest_text(MAX_PREVIEW_CHARS))
        metadata = _metadata(result, output, coloured_output)
        return ToolOutcome(title, command_text(text, result, arguments.timeout_seconds), metadata)

    def end_background(self) -> None:
        """End every process that earlier commands left running."""
        for shell_command in self._background_commands:
            shell_command.kill_background()
        self._background_commands = []


async def _ask_for_files(context: ToolContext, command: str, folder: Path, title: str) -> None:
    """Ask for the paths outside the project and the protected files that a command visibly uses."""
    for path in paths_touched(command):
        await resolve_permitted(context, str(folder / path) if not path.startswith("~") else path)
    for path in await asyncio.to_thread(process_dependent_paths, command, folder):
        question = f"A place of the running system: {path}"
        await context.ask("external_directory", [path], title=question, always=[])
    for path in await asyncio.to_thread(outside_files, command, folder, context.root):
        await resolve_permitted(context, path)
    for permission, path in await asyncio.to_thread(protected_files, command, folder, context.root):
        verb = "Read" if permission == "read" else "Write"
        await context.ask(permission, [path], title=f"{verb} {path} by a command: {title}")


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a child process, without variables whose name or value shows a secret."""
    secrets = secret_values(environment)
    safe_variables = {
        name: value
        for name, value in environment.items()
        if name not in UNSAFE_VARIABLES
        and not is_secret_name(name)
        and not contains_secret(value)
        and not any(secret in value for secret in secrets)
    }
    return safe_variables | NON_INTERACTIVE_VARIABLES


def _metadata(result: CommandResult, output: HeadAndTail, coloured_output: str) -> dict[str, Any]:
    facts = {
        "timed_out": result.ended_by == "timeout",
        "failed": result.exit_code != 0,
        "background": list(result.background_pids),
        "left_out_bytes": output.dropped_bytes,
    }
    metadata = {"output": coloured_output, "exit_code": result.exit_code}
    return metadata | {name: value for name, value in facts.items() if value}


def _shortened_output(text: str) -> str:
    if len(text) <= MAX_STOPPED_OUTPUT_CHARS:
        return text
    edge_chars = MAX_STOPPED_OUTPUT_CHARS // 2
    return f"{text[:edge_chars]}\n[...]\n{text[-edge_chars:]}"


def without_control_characters(text: str) -> str:
    """Return terminal output without colour codes, control characters and overwritten progress bars."""
    text = ANSI.sub("", text).replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return CONTROL_CHARACTERS.sub("", text)


def command_text(text: str, result: CommandResult, timeout_seconds: float) -> str:
    """Return the output and, in brackets, how the command ended."""
    lines = [text.rstrip("\n") if text.strip() else "(no output)"]
    if result.ended_by == "timeout":
        lines.append(
            f"[stopped after {timeout_seconds:g} s, with everything it had started; give timeout_seconds if it needs longer]"
        )
    elif result.exit_code is None:
        lines.append("[ended in an unknown way: its runner was killed]")
    elif result.exit_code < 0:
        lines.append(f"[ended by signal {_signal_name(-result.exit_code)}]")
    else:
        lines.append(f"[exit code {result.exit_code}]")
    if result.background_pids:
        pids = ", ".join(str(pid) for pid in result.background_pids)
        lines.append(f"[still running in the background until the kernel ends: pid {pids}]")
    return "\n".join(lines)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
