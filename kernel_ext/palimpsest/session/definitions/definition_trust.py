"""Hold back the settings of a project's agents, commands and skills that need the user's trust.

Prompts and descriptions apply at once, and so do rules that deny or ask, and a lower number of steps. A model, an
agent that may do more than the safe ones, and a replacement of a built-in or of the user's own definition need trust.

Border: decides and collects what is held back; the modules that read the files interpret them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from palimpsest.session.config.layer_merge import UntrustedSetting, dotted_name
from palimpsest.session.config.setting_files import LockedSettings
from palimpsest.session.config.settings import DEFAULT_STEPS
from palimpsest.session.definitions.agents import Agent
from palimpsest.session.definitions.definition_files import DefinitionFile
from palimpsest.session.trust.untrusted_allow_list import (
    NEW_AGENT_FIELDS,
    SAFE_AGENTS,
    is_rehearsal_model,
)


@dataclass(slots=True)
class DefinitionTrust:
    """Separates settings in read files into those that apply and those that need trust, which it collects."""

    trusts: Callable[[str], bool] = lambda _digest: False
    """Returns whether the user trusted the file with this digest."""
    locked_settings: LockedSettings = field(default_factory=LockedSettings)
    held_back_settings: list[UntrustedSetting] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    """The files from which something is held back: digest to path."""

    def is_untrusted(self, file: DefinitionFile) -> bool:
        """Return whether a file came with the project and the user has not trusted it."""
        return file.folder.is_project and not self.trusts(file.digest)

    def hold_back(self, file: DefinitionFile, key: str, value: Any) -> None:
        """Record that a setting is held back."""
        self.held_back_settings.append(UntrustedSetting(file.origin, key, value))
        self.files[file.digest] = str(file.path)

    def applied_agent_fields(
        self,
        file: DefinitionFile,
        name: str,
        fields: Mapping[str, Any],
        earlier_agent: Agent | None,
        *,
        is_defined_outside: bool,
    ) -> dict[str, Any]:
        """Return the fields of a file's agent that apply.

        ``earlier_agent`` is the agent that has this name so far; ``is_defined_outside`` is whether this name is that of
        a built-in agent or of one that the user defined outside the project.
        """
        fields = {
            k: self.locked_settings.unless_locked(dotted_name("agent", name, k), v)
            for k, v in fields.items()
        }
        if not self.is_untrusted(file):
            return fields
        applied_fields: dict[str, Any] = {}
        for key, value in fields.items():
            if value is None or key == "origin":
                applied_fields[key] = value if not is_defined_outside else None
            elif _applies_untrusted(key, value, earlier_agent, is_new=not is_defined_outside):
                applied_fields[key] = value
            else:
                shown_value = "…" if key == "prompt" else value
                self.hold_back(file, f"agent.{name}.{key}", shown_value)
        return applied_fields

    def applied_command_fields(
        self, file: DefinitionFile, fields: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the fields of a command that apply."""
        applied_fields = dict(fields)
        if not self.is_untrusted(file):
            return applied_fields
        for key in ("model", "variant", "agent"):
            value = fields.get(key)
            is_safe = key == "model" and is_rehearsal_model(value)
            is_safe = is_safe or (key == "agent" and value in SAFE_AGENTS)
            if value is not None and not is_safe:
                self.hold_back(file, f"command.{file.name}.{key}", value)
                applied_fields[key] = None
        return applied_fields

    def hold_back_replacement(
        self, file: DefinitionFile, key: str, *, is_defined_outside: bool
    ) -> bool:
        """Hold an untrusted file back that would replace one from outside the project; return whether it was held."""
        if is_defined_outside and self.is_untrusted(file):
            self.hold_back(file, key, "…")
            return True
        return False


def _applies_untrusted(key: str, value: Any, earlier_agent: Agent | None, *, is_new: bool) -> bool:
    if key == "steps":
        return bool(value <= (earlier_agent.steps if earlier_agent is not None else DEFAULT_STEPS))
    if key == "model":
        return is_rehearsal_model(value)
    return key in NEW_AGENT_FIELDS and is_new
