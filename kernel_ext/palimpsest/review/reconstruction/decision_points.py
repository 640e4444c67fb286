"""Results of a redecision: for each occasion, the recorded decisions and those that are made again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from palimpsest.transcript.context_values.decisions import Decision

Decider = Literal["truncate", "prune", "shorten", "compact", "remind", "hook", "limit"]
"""``shorten`` cuts oversized results; ``limit`` keeps what a provider takes of pictures; ``compact`` is the plan of a compaction; ``remind`` adds notes around
prompts."""


@dataclass(frozen=True, slots=True)
class DecisionPoint:
    """One occasion on which a decider ran; usually it decides nothing."""

    decider: Decider
    seq: int
    """Sequence number of the first decision's record, or of the occasion's where nothing was decided."""
    request_id: str
    """The request whose policy was in effect; empty where none is known."""
    recorded: tuple[Decision, ...]
    made: tuple[Decision, ...]
    """The decisions that today's code makes from the recorded facts, with the recorded ids."""
    problem: str = ""
    """Why it cannot be decided again; empty where it can."""

    @property
    def same(self) -> bool:
        """The decisions made again equal the recorded ones, byte for byte."""
        return not self.problem and _written(self.made) == _written(self.recorded)


@dataclass(frozen=True, slots=True)
class Redecision:
    """Every occasion of a session, with the software versions that recorded it and decided again."""

    session_id: str
    occasions: tuple[DecisionPoint, ...]
    recorded_version: str
    """Of the software that began the session."""
    version: str
    """Of the software that decided again."""

    @property
    def differences(self) -> tuple[DecisionPoint, ...]:
        """Occasions whose decisions differ, or cannot be made again."""
        return tuple(one for one in self.occasions if not one.same)

    @property
    def same(self) -> bool:
        """Everything was decided again, bit for bit."""
        return not self.differences

    @property
    def given(self) -> int:
        """Number of decisions by hooks, which are taken as recorded, since the hooks are not run again."""
        return sum(len(one.recorded) for one in self.occasions if one.decider == "hook")

    @property
    def text(self) -> str:
        """The result as a few lines of text."""
        looked = [one for one in self.occasions if one.decider != "hook"]
        decided = sum(len(one.recorded) for one in looked)
        head = f"{decided:,} decisions on {len(looked):,} occasions"
        if self.same:
            given = f" {self.given:,} more were given by hooks, and are taken as given."
            return f"{head}: all decided again, bit for bit.{given if self.given else ''}"
        lines = [f"{head}: {len(self.differences):,} occasions differ."]
        if self.recorded_version != self.version:
            lines.append(
                f"Recorded by version {self.recorded_version}, decided again by {self.version}."
            )
        lines += [f"- record {one.seq}, {one.decider}: {_said(one)}" for one in self.differences]
        return "\n".join(lines)

    def _repr_markdown_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def _written(decisions: Sequence[Decision]) -> list[str]:
    return [decision.model_dump_json(exclude_none=True) for decision in decisions]


def _said(one: DecisionPoint) -> str:
    if one.problem:
        return one.problem
    before, now = len(one.recorded), len(one.made)
    if before != now:
        return f"{before} decisions were recorded, {now} are made now"
    changed = sum(a != b for a, b in zip(_written(one.recorded), _written(one.made), strict=True))
    return f"{changed} of {before} decisions have other numbers now"
