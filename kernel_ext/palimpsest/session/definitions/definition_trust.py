"""What of a project's agents, commands and skills waits until a person trusts the file.

Words hold at once, and so does what denies, asks or takes fewer steps. A model, another agent than
one that may do less, and whatever stands in the place of something built in or of a person's own
waits.

Border: tells what waits and collects it; what the files mean is the work of who reads them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from palimpsest.session.config.layer_merge import UntrustedSetting, dotted
from palimpsest.session.config.locked_settings import LockedSettings
from palimpsest.session.config.settings import DEFAULT_STEPS
from palimpsest.session.definitions.agents import Agent
from palimpsest.session.definitions.definition_files import DefinitionFile
from palimpsest.session.trust.untrusted_allow_list import SAFE_AGENTS, is_rehearsal_model

WORDS = ("description", "mode", "hidden", "color", "prompt", "temperature", "top_p")
"""What a project's new agent says of itself at once."""


def _nothing(_digest: str) -> bool:
    return False


@dataclass(slots=True)
class DefinitionTrust:
    """What waits of the files that were read.

    Responsibilities: part what a file says into what holds and what waits; remember the latter.
    """

    trusts: Callable[[str], bool] = _nothing
    """Whether a person trusted the file with this digest."""
    locked_settings: LockedSettings = field(default_factory=LockedSettings)
    held: list[UntrustedSetting] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    """The files of which something waits: digest to path."""

    def is_untrusted(self, file: DefinitionFile) -> bool:
        """Tell whether a file came with the project and nobody trusted it."""
        return file.folder.is_project and not self.trusts(file.digest)

    def hold(self, file: DefinitionFile, key: str, value: Any) -> None:
        """Note that something waits."""
        self.held.append(UntrustedSetting(file.origin, key, value))
        self.files[file.digest] = str(file.path)

    def agent(
        self,
        file: DefinitionFile,
        name: str,
        given: Mapping[str, Any],
        known: Agent | None,
        *,
        own: bool,
    ) -> dict[str, Any]:
        """Return what of an agent's head holds; ``own`` says that others than the project know it."""
        given = {
            k: self.locked_settings.free(dotted("agent", name, k), v) for k, v in given.items()
        }
        if not self.is_untrusted(file):
            return given
        kept: dict[str, Any] = {}
        for key, value in given.items():
            if value is None or key == "origin":
                kept[key] = value if not own else None
            elif _agent_says(key, value, known, own=own):
                kept[key] = value
            else:
                shown = "…" if key == "prompt" else value
                self.hold(file, f"agent.{name}.{key}", shown)
        return kept

    def command(self, file: DefinitionFile, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what of a command's head holds."""
        if not self.is_untrusted(file):
            return dict(given)
        kept = dict(given)
        for key, holds in (
            ("model", is_rehearsal_model(given.get("model"))),
            ("variant", False),
            ("agent", given.get("agent") in SAFE_AGENTS),
        ):
            if given.get(key) is not None and not holds:
                self.hold(file, f"command.{file.name}.{key}", given[key])
                kept[key] = None
        return kept

    def replaces(self, file: DefinitionFile, key: str, *, own: bool) -> bool:
        """Tell whether a file would stand in the place of something that is a person's own; it waits."""
        if own and self.is_untrusted(file):
            self.hold(file, key, "…")
            return True
        return False


def _agent_says(key: str, value: Any, known: Agent | None, *, own: bool) -> bool:
    if key == "steps":
        return bool(value <= (known.steps if known is not None else DEFAULT_STEPS))
    if key == "model":
        return is_rehearsal_model(value)
    return key in WORDS and not own
