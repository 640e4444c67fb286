"""Read the user's own commands: ``command(s)/**/*.md`` and the table ``command`` of the settings.

Border: defines and reads commands; ``prompts/prompt_expansion.py`` fills in their templates.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from palimpsest.session.config.layer_merge import dotted_name
from palimpsest.session.definitions.definition_files import DefinitionFile, text_field
from palimpsest.session.definitions.definition_trust import DefinitionTrust
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.values import Value

COMMAND_FOLDERS = ("command", "commands")


class CustomCommand(Value):
    """A prompt template under a short name, used as ``/name arguments``."""

    name: str
    template: str
    description: str = ""
    agent: str | None = None
    model: str | None = None
    variant: str | None = None
    subtask: bool | None = None
    """Whether it runs as a task of a subagent in its own session; None: if its agent is a subagent."""
    origin: str = "settings"
    arguments: str | None = None
    """A hint for the user about its arguments."""


def read_commands(
    files: Iterable[DefinitionFile],
    configured: Mapping[str, Mapping[str, Any]],
    problems: list[str],
    trust: DefinitionTrust | None = None,
) -> dict[str, CustomCommand]:
    """Return the commands by name; errors are added to ``problems``, untrusted settings to ``trust``."""
    commands: dict[str, CustomCommand] = {}
    trust = trust or DefinitionTrust()
    names_outside_project: set[str] = set()
    for file in files:
        if file.path.stem.upper() == "README":
            continue
        try:
            is_outside = file.name in names_outside_project
            key = f"command.{file.name}"
            if trust.hold_back_replacement(file, key, is_defined_outside=is_outside):
                continue
            commands[file.name] = _command_from_file(file, trust)
            if not file.folder.is_project:
                names_outside_project.add(file.name)
        except ConfigError as error:
            problems.append(f"{file.origin} is left out: {str(error).rstrip('.')}.")
    for name, fields in configured.items():
        if not fields.get("template"):
            problems.append(f"command.{name} of the settings has no template, so it does nothing.")
            continue
        commands[name] = CustomCommand(
            name=name, **{key: value for key, value in fields.items() if value is not None}
        )
    return dict(sorted(commands.items()))


def _command_from_file(file: DefinitionFile, trust: DefinitionTrust) -> CustomCommand:
    fields = file.document.fields
    if locked_by := trust.locked_settings.locked_by(dotted_name("command", file.name)):
        raise ConfigError(f"command.{file.name} is fixed by the {locked_by}")
    if not file.document.body:
        raise ConfigError("it holds no words for the agent; write them below the head")
    subtask = fields.get("subtask")
    if subtask is not None and not isinstance(subtask, bool):
        raise ConfigError(f"subtask must be true or false, but it is {subtask!r:.60}")
    run_fields = {name: text_field(fields, name) for name in ("agent", "model", "variant")}
    if file.folder.tool_folder == ".claude" and "/" not in (run_fields["model"] or ""):
        run_fields["model"] = None
    unless_locked = trust.locked_settings.unless_locked
    run_fields = {
        key: unless_locked(dotted_name("command", file.name, key), value)
        for key, value in run_fields.items()
    }
    return CustomCommand(
        name=file.name,
        template=file.document.body,
        description=text_field(fields, "description") or "",
        subtask=subtask,
        origin=file.origin,
        arguments=text_field(fields, "argument-hint"),
        **trust.applied_command_fields(file, run_fields),
    )
