"""What an administrator holds fast, against what prompts, commands, agents and logs would choose.

Files, the environment and options of a call are refused where settings are laid over each other
(``config_merge``); rules, mode, limit and context policy know of their locks themselves. Here is the
rest. What a person names otherwise is refused with a sentence; what a file or a log names is passed
over, so that the work goes on with what is fixed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from palimpsest.session.config.layer_merge import origin_of
from palimpsest.session.config.settings import Config
from palimpsest.transcript.errors import ConfigError


@dataclass(frozen=True, slots=True)
class LockedSettings:
    """The settings that are fixed, and their values."""

    origins: Mapping[str, str] = field(default_factory=dict)
    """By dotted key: who fixed it."""
    config: Config = field(default_factory=Config)

    def by(self, *keys: str) -> str:
        """Return who holds one of these settings fast; empty where nobody does."""
        return next((found for key in keys if (found := origin_of(self.origins, key))), "")

    def refuse(self, key: str, wanted: Any, fixed: Any) -> None:
        """Raise ConfigError where a person wants another value than the one that is fixed."""
        origin = self.by(key)
        if origin and wanted is not None and wanted != fixed:
            said = "unset" if fixed is None else f"fixed to {fixed!r}"
            raise ConfigError(f"{key} is {said} by the {origin}.")

    def free(self, key: str, value: Any) -> Any:
        """Return what a file chooses, or None where that is fixed."""
        return None if self.by(key) else value
