"""What the presets have in common: a name with the numbers that were changed, and its source."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self, dataclass_transform

from palimpsest.review.policies.pipeline import Pipeline
from palimpsest.review.policies.policy import ContextPolicy, Decided, PolicyView, SessionFacts, When
from palimpsest.transcript.timeline import CHARS4

A_VERSION = re.compile(r"v?\d+(\.\w+)+|(?=\w*\d)[0-9a-f]{7,40}")
"""A number with points, a commit or a date, as sources are written."""
NAMED: "list[type[Preset]]" = []
"""The presets of this folder that were imported so far."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Preset:
    """A policy of the field with its own numbers; they are its fields, and have its defaults.

    Every subclass in this folder is a frozen dataclass by itself; who makes one elsewhere says ``@dataclass``.
    """

    preset: ClassVar[str] = ""
    """Its name: ``project.rule``."""
    source: ClassVar[str] = ""
    """Project, version and what the numbers were read from."""
    third_party: ClassVar[bool] = False
    """The rule is known from others' analyses, not from the vendor."""
    sticky: ClassVar[bool] = True
    """A decision holds until it is replaced; else the rule is made anew for each request."""
    when: ClassVar[When] = "request"
    counted: ClassVar[str] = ""
    """Where the original counts the tokens that it compares with its threshold; empty where it compares others."""
    at_first: ClassVar[Any] = None
    """Its state before the first request, where that is the same for all sessions."""
    sliders: ClassVar[tuple[str, ...]] = ()
    """The numbers that a view offers first; empty leaves the choice to it."""
    smallest: ClassVar[Mapping[str, float]] = MappingProxyType({"polling": 1})
    """The smallest value of a number by its name, where it is not 0."""
    estimator: str = CHARS4
    """How it counts tokens: ``chars/4``, or a tokenizer's name."""

    def __init_subclass__(cls) -> None:
        if cls.__module__.startswith(f"{__package__}."):
            dataclass(frozen=True, kw_only=True)(cls)
            if "preset" in vars(cls):
                NAMED.append(cls)

    @property
    def name(self) -> str:
        """Its name, with the numbers that differ from the preset's, as ``policies.get`` reads it."""
        changed = [
            f"{one.name}={number_text(getattr(self, one.name))}"
            for one in fields(self)
            if getattr(self, one.name) != one.default
        ]
        return " ".join([self.preset, *changed])

    def with_numbers(self, numbers: Mapping[str, Any], more: Mapping[str, Any]) -> Self:  # noqa: ARG002
        """Return the preset with other numbers of its own; ``more`` are those beside its fields."""
        return replace(self, **numbers)

    @classmethod
    def own_numbers(cls) -> Mapping[str, Any]:
        """Return the numbers that are its fields, with their defaults."""
        unused = () if cls.counted else ("measure",)
        return {one.name: one.default for one in fields(cls) if one.name not in unused}

    @classmethod
    def more_numbers(cls) -> Mapping[str, Any]:
        """Return the numbers beside its fields, with their values."""
        return {}

    def window_of(self, facts: SessionFacts) -> int:
        """Return the tokens of the window that holds: one that was given, the caller's, the preset's, or the recorded one."""
        return self.own_window_of(facts) or facts.window

    def own_window_of(self, facts: SessionFacts) -> int:
        """Return the same without the recorded one, which may be another at each request; 0 for none."""
        own = self.own_numbers().get("window", 0)
        window: int = getattr(self, "window", 0)
        return (facts.assumed if window == own else 0) or window

    def start(self, facts: SessionFacts) -> Any:  # noqa: ARG002
        """Return its state before the first request."""
        return self.at_first

    def step(self, state: Any, view: PolicyView) -> Decided:
        """Return what it decides at a request."""
        raise NotImplementedError

    def __or__(self, other: ContextPolicy) -> Pipeline:
        """Return a pipeline in which another policy sees what this one leaves."""
        return Pipeline.of(self, other)


def version_of(preset: type[Preset]) -> str:
    """Return the version or commit that a preset's source names; empty for a service or page without one."""
    words = re.split(r"[\s_@,:()]+", preset.source)
    return next((word for word in words if A_VERSION.fullmatch(word)), "")


def number_text(value: Any) -> str:
    """Return the value of a number or choice as it is written behind a preset's name."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return shlex.quote(",".join(map(str, value)))
    return shlex.quote(value) if isinstance(value, str) else str(value)
