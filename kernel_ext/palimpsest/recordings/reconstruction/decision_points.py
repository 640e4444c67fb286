"""The results of deciding a recorded session again: the recorded and the new decisions of each decision point."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from palimpsest.transcript.context_values.decisions import Decision

Decider = Literal["truncate", "prune", "shorten", "compact", "remind", "hook", "limit"]
"""Name of a decider: ``shorten`` cuts oversized results, ``limit`` reduces pictures to a provider's limits,
``compact`` plans a compaction, and ``remind`` adds notes around prompts."""


@dataclass(frozen=True, slots=True)
class DecisionPoint:
    """One run of a decider, in which it usually decides nothing."""

    decider: Decider
    seq: int
    """Sequence number of the first decision's record, or, without a decision, of the record at which the decider ran."""
    request_id: str
    """Id of the request whose policy was in effect; empty where none is known."""
    recorded_decisions: tuple[Decision, ...]
    new_decisions: tuple[Decision, ...]
    """The decisions that today's code makes from the recorded facts, with the recorded ids."""
    problem: str = ""
    """Why the decisions cannot be made again; empty where they can."""

    @property
    def is_same(self) -> bool:
        """Whether the decisions made again equal the recorded ones, byte for byte."""
        if self.problem:
            return False
        return _as_json(self.new_decisions) == _as_json(self.recorded_decisions)


@dataclass(frozen=True, slots=True)
class Redecision:
    """Every decision point of a session, with the software versions that recorded it and decided again."""

    session_id: str
    occasions: tuple[DecisionPoint, ...]
    """The decision points, in the order of the log."""
    recorded_version: str
    """Version of the software that began the session."""
    version: str
    """Version of the software that decided again."""

    @property
    def differences(self) -> tuple[DecisionPoint, ...]:
        """The decision points whose decisions differ or cannot be made again."""
        return tuple(point for point in self.occasions if not point.is_same)

    @property
    def is_same(self) -> bool:
        """Whether all decisions were made again, bit for bit."""
        return not self.differences

    @property
    def hook_decisions(self) -> int:
        """Number of decisions by hooks, which are taken as recorded, since the hooks are not run again."""
        points = (point for point in self.occasions if point.decider == "hook")
        return sum(len(point.recorded_decisions) for point in points)

    @property
    def text(self) -> str:
        """The result as a few lines of text."""
        checked_points = [point for point in self.occasions if point.decider != "hook"]
        decision_count = sum(len(point.recorded_decisions) for point in checked_points)
        beginning = f"{decision_count:,} decisions on {len(checked_points):,} occasions"
        if self.is_same:
            hook_sentence = (
                f" {self.hook_decisions:,} more were given by hooks, and are taken as given."
            )
            return f"{beginning}: all decided again, bit for bit.{hook_sentence if self.hook_decisions else ''}"
        lines = [f"{beginning}: {len(self.differences):,} occasions differ."]
        if self.recorded_version != self.version:
            version_text = f"{self.recorded_version}, decided again by {self.version}"
            lines.append(f"Recorded by version {version_text}.")
        lines += [
            f"- record {point.seq}, {point.decider}: {_difference_text(point)}"
            for point in self.differences
        ]
        return "\n".join(lines)

    def _repr_markdown_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def _as_json(decisions: Sequence[Decision]) -> list[str]:
    return [decision.model_dump_json(exclude_none=True) for decision in decisions]


def _difference_text(point: DecisionPoint) -> str:
    if point.problem:
        return point.problem
    recorded_count, new_count = len(point.recorded_decisions), len(point.new_decisions)
    if recorded_count != new_count:
        return f"{recorded_count} decisions were recorded, {new_count} are made now"
    pairs = zip(_as_json(point.recorded_decisions), _as_json(point.new_decisions), strict=True)
    changed_count = sum(before != after for before, after in pairs)
    return f"{changed_count} of {recorded_count} decisions have other numbers now"
