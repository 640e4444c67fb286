"""A timeline made by hand: prompts, answers with calls, their results, and pauses between requests."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.transcript.timeline import Timeline, TimelineItem, TimelineRequest

SECOND = 1_000


@dataclass(frozen=True)
class Call:
    """A call and its result; None where none came."""

    tool: str
    result: str | None
    given: tuple[tuple[str, Any], ...] = ()
    failed: bool = False


class TimelineMaker:
    """Makes items and requests in the order in which they happen."""

    def __init__(self) -> None:
        self.items: list[TimelineItem] = []
        self.texts: list[str] = []
        self.requests: list[TimelineRequest] = []
        self.turn = 0
        self.block = 0
        self.now = 1_790_000_000 * SECOND

    def system(self, text: str) -> None:
        """Add a system prompt."""
        self._add("system", text, before=0)

    def prompt(self, text: str, *, media: str = "", pinned: bool = False) -> None:
        """Begin a turn."""
        self.turn += 1
        self._add("user", text, pinned=pinned)
        if media:
            self.block -= 1
            self._add("media", media)

    def answer(
        self, text: str = "", calls: Sequence[Call] = (), *, reasoning: str = "", pause: float = 1
    ) -> None:
        """Send a request after a pause in seconds, and add its answer and the results of its calls."""
        self.now += round(pause * SECOND)
        sent = len(self.items)
        started, self.now = self.now, self.now + SECOND
        self.block += 1
        ids = [f"call-{sent}-{number}" for number in range(len(calls))]
        for kind, said in (("reasoning", reasoning), ("assistant", text)):
            if said:
                self._add(kind, said, block=self.block)
        for name, call in zip(ids, calls, strict=True):
            given = json.dumps(dict(call.given))
            self._add(
                "call",
                call.tool + given,
                block=self.block,
                tool=call.tool,
                group=name,
                input_hash=call.tool + given,
            )
        self.requests.append(
            TimelineRequest(
                index=len(self.requests),
                id=f"answer-{sent}",
                turn=self.turn,
                items=sent,
                answer=(sent, len(self.items)),
                started=started,
                ended=self.now,
                model="some-model",
            )
        )
        for name, call in zip(ids, calls, strict=True):
            if call.result is not None:
                self._add("output", call.result, tool=call.tool, group=name, is_error=call.failed)

    def made(self) -> Timeline:
        """Return the timeline, ended by a request that shows everything."""
        self.answer("That is all.")
        return Timeline(
            session="made",
            items=tuple(self.items),
            requests=tuple(self.requests),
            read=self.texts.__getitem__,
        )

    def _add(self, kind: str, text: str, *, block: int = 0, **more: Any) -> None:
        if not block:
            self.block += 1
        index = len(self.items)
        self.texts.append(text)
        self.items.append(
            TimelineItem(
                index=index,
                id=f"message-{self.block}/{index}",
                kind=kind,
                message=f"message-{self.block}",
                turn=self.turn,
                entered=len(self.requests),
                chars=len(text),
                block=self.block,
                hash=str(hash(text)),
                **more,
            )
        )
