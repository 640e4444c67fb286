"""Enforce settings that an administrator locked, against choices by prompts, commands, agents and logs.

Files, the environment and options of a call are rejected where settings are merged
(``layer_merge``); rules, mode, limit and context policy check their own locks. This covers the
rest: another value that the user names is refused with a sentence; one that a file or a log names is
ignored, so that work continues with the fixed value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from palimpsest.session.config.layer_merge import origin_of
from palimpsest.session.config.settings import Config
from palimpsest.transcript.errors import ConfigError


@dataclass(frozen=True, slots=True)
class LockedSettings:
    """The locked settings, and their values."""

    origins: Mapping[str, str] = field(default_factory=dict)
    """Dotted name of each locked setting, and who locked it."""
    config: Config = field(default_factory=Config)

    def by(self, *keys: str) -> str:
        """Return who locked one of these settings; empty where none is locked."""
        return next((found for key in keys if (found := origin_of(self.origins, key))), "")

    def refuse(self, key: str, wanted: Any, fixed: Any) -> None:
        """Raise ConfigError where the user asks for another value than the locked one."""
        origin = self.by(key)
        if origin and wanted is not None and wanted != fixed:
            said = "unset" if fixed is None else f"fixed to {fixed!r}"
            raise ConfigError(f"{key} is {said} by the {origin}.")

    def free(self, key: str, value: Any) -> Any:
        """Return a value that a file chooses, or None where the setting is locked."""
        return None if self.by(key) else value
