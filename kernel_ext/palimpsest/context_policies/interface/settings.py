"""Common base of the presets: a name with the numbers that were changed, and its source."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self, dataclass_transform

from palimpsest.context_policies.interface.pipeline import Pipeline
from palimpsest.context_policies.interface.policy import (
    ContextPolicy,
    PolicyResult,
    PolicyView,
    SessionFacts,
    When,
)
from palimpsest.transcript.timeline import CHARS4

VERSION_PATTERN = re.compile(r"v?\d+(\.\w+)+|(?=\w*\d)[0-9a-f]{7,40}")
"""A version in a preset's source: a dotted number or date, or a commit."""
PRESETS: "list[type[Preset]]" = []
"""The package's own presets whose modules were imported."""
PACKAGE = __name__.partition(".")[0]


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Preset:
    """A published context policy; its numbers are its fields, with the published values as defaults.

    Every subclass in this package becomes a frozen dataclass automatically; a subclass elsewhere needs ``@dataclass``.
    """

    preset: ClassVar[str] = ""
    """Its name: ``project.rule``."""
    source: ClassVar[str] = ""
    """Project, version, and the file that the numbers were read from."""
    third_party: ClassVar[bool] = False
    """Whether the rule is known from others' analyses, not from the vendor."""
    sticky: ClassVar[bool] = True
    """Whether a decision stays in effect until it is replaced; else the rule is applied again to each request."""
    when: ClassVar[When] = "request"
    token_source: ClassVar[str] = ""
    """Where the original counts the tokens that it compares with its threshold; empty for another kind of threshold."""
    initial_state: ClassVar[Any] = None
    """The initial state, where it is the same for all sessions."""
    sliders: ClassVar[tuple[str, ...]] = ()
    """The numbers that the inspector offers first; empty: the inspector's own choice."""
    smallest_values: ClassVar[Mapping[str, float]] = MappingProxyType({"polling": 1})
    """The smallest value of a number by its name, where it is not 0."""
    estimator: str = CHARS4
    """How it counts tokens: ``chars/4``, or a tokenizer's name."""

    def __init_subclass__(cls) -> None:
        if cls.__module__.partition(".")[0] == PACKAGE:
            dataclass(frozen=True, kw_only=True)(cls)
            if "preset" in vars(cls):
                PRESETS.append(cls)

    @property
    def name(self) -> str:
        """Its name, with the numbers that differ from the preset's, in the form that ``policies.get`` reads."""
        changed_numbers = [
            f"{field.name}={number_text(getattr(self, field.name))}"
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]
        return " ".join([self.preset, *changed_numbers])

    def with_numbers(
        self,
        field_values: Mapping[str, Any],
        other_numbers: Mapping[str, Any],  # noqa: ARG002
    ) -> Self:
        """Return the preset with other values of its fields; ``other_numbers`` are no fields."""
        return replace(self, **field_values)

    @classmethod
    def own_numbers(cls) -> Mapping[str, Any]:
        """Return the numbers that are its fields, with their defaults."""
        unused_names = () if cls.token_source else ("measure",)
        return {
            field.name: field.default for field in fields(cls) if field.name not in unused_names
        }

    @classmethod
    def other_numbers(cls) -> Mapping[str, Any]:
        """Return the numbers that are not fields, with their values."""
        return {}

    def window_of(self, facts: SessionFacts) -> int:
        """Return the window in tokens: a given one, the caller's, the preset's, or the recorded one."""
        return self.own_window_of(facts) or facts.window

    def own_window_of(self, facts: SessionFacts) -> int:
        """Return the window without the recorded one, which may differ between requests; 0 for none."""
        default_window = self.own_numbers().get("window", 0)
        window: int = getattr(self, "window", 0)
        return (facts.assumed_window if window == default_window else 0) or window

    def start(self, facts: SessionFacts) -> Any:  # noqa: ARG002
        """Return its state before the first request."""
        return self.initial_state

    def step(self, state: Any, view: PolicyView) -> PolicyResult:
        """Return its decisions at a request."""
        raise NotImplementedError

    def __or__(self, other: ContextPolicy) -> Pipeline:
        """Return a pipeline in which another policy sees this one's result."""
        return Pipeline.of(self, other)


def window_to_fit(policy: ContextPolicy | None, facts: SessionFacts) -> int:
    """Return the window in tokens that a policy's requests must fit: its own, else the assumed one; 0 for the model's."""
    if isinstance(policy, Pipeline):
        return min((window_to_fit(stage, facts) for stage in policy.stages), default=0)
    if isinstance(policy, Preset) and policy.token_source and hasattr(policy, "window"):
        return policy.own_window_of(facts)
    return facts.assumed_window


def version_of(preset: type[Preset]) -> str:
    """Return the version or commit that a preset's source names; empty for a service or page without one."""
    words = re.split(r"[\s_@,:()]+", preset.source)
    return next((word for word in words if VERSION_PATTERN.fullmatch(word)), "")


def number_text(value: Any) -> str:
    """Return a number or choice as it is written after a preset's name."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return shlex.quote(",".join(map(str, value)))
    return shlex.quote(value) if isinstance(value, str) else str(value)
