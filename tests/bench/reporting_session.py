"""A long session of ours whose provider reports usage, and in which old outputs are cleared again and again."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.bench.generate_session import LogAuthor

from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.parts import ToolCompleted, ToolPart
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    Event,
    MessageUpdated,
    PartUpdated,
)
from palimpsest.transcript.values import Usage

TURN_BYTES = 6_000
CLEAR_EVERY = 8
"""Steps from one clearing to the next."""
KEPT_OUTPUTS = 12
ITEM_TOKENS = 700


@dataclass
class ReportingAuthor(LogAuthor):
    """Generates the events of one session, with usage and clearings."""

    steps: int = 0
    sent: int = 4_000
    """Tokens of the newest request."""
    outputs: list[ToolPart] = field(default_factory=list)
    """Those that are not cleared yet."""

    def step(self, **more: Any) -> Iterator[Event]:
        """Yield the events of one step; a break of the cache now and then."""
        self.steps += 1
        self.sent += ITEM_TOKENS
        read = self.sent - ITEM_TOKENS if self.rng.random() > 0.02 else 0
        for event in super().step(**more):
            match event:
                case MessageUpdated(info=AssistantMessage(finish="stop") as info):
                    used = Usage(
                        input=ITEM_TOKENS,
                        cache_read=read,
                        cache_write=self.sent - ITEM_TOKENS - read,
                        output=90,
                    )
                    yield event.model_copy(
                        update={"info": info.model_copy(update={"tokens": used, "cost": 0.01})}
                    )
                case PartUpdated(part=ToolPart(state=ToolCompleted()) as part):
                    self.outputs.append(part)
                    yield event
                case _:
                    yield event
        if self.steps % CLEAR_EVERY == 0:
            yield from self.clearing()

    def clearing(self) -> Iterator[Event]:
        """Yield the decisions that clear all outputs but the newest."""
        old, self.outputs = self.outputs[:-KEPT_OUTPUTS], self.outputs[-KEPT_OUTPUTS:]
        for part in old:
            self.sent -= 100
            decision = Decision(
                id=self.new("dec"),
                action="clear",
                rule="prune",
                message_id=part.message_id,
                part_id=part.id,
                numbers={"text": "[cleared]", "protect": 40_000},
                tokens_before=300,
                tokens_after=4,
            )
            yield DecisionMade(decision=decision)
