"""What the presets have in common: a name with the numbers that were changed, and its source."""

from dataclasses import dataclass, fields
from typing import ClassVar

from palimpsest.review.policies.policy import When
from palimpsest.transcript.timeline import CHARS4


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A policy of the field with its own numbers; they are its fields, and have its defaults."""

    preset: ClassVar[str] = ""
    """Its name: ``project.rule``."""
    source: ClassVar[str] = ""
    """Project, version and what the numbers were read from."""
    third_party: ClassVar[bool] = False
    """The rule is known from others' analyses, not from the vendor."""
    sticky: ClassVar[bool] = True
    """A decision holds until it is replaced; else the rule is made anew for each request."""
    when: ClassVar[When] = "request"
    estimator: str = CHARS4
    """How it counts tokens: ``chars/4``, or a tokenizer's name."""

    @property
    def name(self) -> str:
        """Its name, with the numbers that differ from the preset's."""
        changed = [
            f"{one.name}={getattr(self, one.name)}"
            for one in fields(self)
            if getattr(self, one.name) != one.default
        ]
        return " ".join([self.preset, *changed])
