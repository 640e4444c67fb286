"""A turn in a terminal: printed once, in order, never taken back.

Border: plain text on ``sys.stdout``; a terminal has no outputs that could be refreshed.
"""

import sys
from collections.abc import Callable
from typing import Any

from palimpsest.frontends.feed import TurnFeed, shown_messages
from palimpsest.render.escape import clean, one_line
from palimpsest.render.story import Call, Caps, Notes, tell, tell_error
from palimpsest.render.words import SIGNS, duration
from palimpsest.session.api import Answer, Snapshot
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.notices import notice_of
from palimpsest.transcript.parts import (
    Part,
    ReasoningPart,
    StepFinishPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
)
from palimpsest.transcript.sessions import Retrying


class TerminalStory:
    """Prints one turn as it comes (a host of the pump).

    Responsibilities: print new text at once and a tool call when it has ended; name retries.
    """

    def __init__(self, feed: TurnFeed, *, scrub: Callable[[str], str], quiet: bool = False) -> None:
        self._feed = feed
        self._scrub = scrub
        self._quiet = quiet
        self._seen = -1
        self._printed: dict[str, int] = {}
        self._column = 0
        self._attempt = 0

    def before(self, call_id: str) -> None:  # noqa: ARG002  # everything up to it is printed
        """Print what came before a call."""
        self.refresh()

    def native(self, call_id: str) -> bool:  # noqa: ARG002  # a terminal shows no pictures
        """There is no room for pictures in a terminal."""
        return False

    def asked(self, call_id: str) -> None:  # a terminal grows at its end
        """Make room for a question; there is nothing to do."""

    def stuck(self, words: str) -> None:
        """Print that the code does not stop."""
        self._line(words)

    def refresh(self) -> None:
        """Print what is new."""
        if self._quiet or self._feed.changes == self._seen:
            return
        self._seen = self._feed.changes
        snapshot = self._feed.snapshot()
        if snapshot is None:
            return
        self._retry(snapshot)
        for message in shown_messages(self._feed.messages(snapshot)):
            self._message(message)

    def finish(self, answer: Answer) -> None:
        """Print what is left, and an error."""
        messages = shown_messages(answer.messages)
        if self._quiet:
            self._line(self._scrub(clean(answer.text)))
        for message in () if self._quiet else messages:
            self._message(message, over=True)
        if answer.error is not None:
            notice = tell_error(answer.error, self._scrub)
            self._line(f"{notice.sign} {notice.words} {notice.do}".rstrip())
        self._end_line()

    def _message(self, message: Message, *, over: bool = False) -> None:
        if not isinstance(message.info, AssistantMessage):
            return
        for part in message.parts:
            self._part(part, over=over)

    def _part(self, part: Part, *, over: bool) -> None:
        match part:
            case TextPart() if not part.synthetic:
                self._text(part, over=over)
            case TextPart() if words := notice_of(part):
                self._once(part, [f"! {one_line(self._scrub(words), 400)}"])
            case ToolPart(state=ToolCompleted() | ToolFailed()):
                self._once(part, self._call_lines(part))
            case ReasoningPart() if part.time is not None and part.time.end is not None:
                self._once(part, ["· thought"])
            case StepFinishPart():
                self._end_line()
            case _:
                pass

    def _text(self, part: TextPart, *, over: bool) -> None:
        """Print what is new of a text; up to a line's end, so that a key is never cut in two."""
        known = self._printed.get(part.id, 0)
        ended = over or (part.time is not None and part.time.end is not None)
        upto = len(part.text) if ended else part.text.rfind("\n") + 1
        if upto <= known:
            return
        if known == 0:
            self._end_line()
        self._write(self._scrub(clean(part.text[known:upto])))
        self._printed[part.id] = upto
        if ended:
            self._end_line()

    def _call_lines(self, part: ToolPart) -> list[str]:
        lines = []
        for item in tell([part], caps=Caps(), scrub=self._scrub, notes=Notes()):
            if not isinstance(item, Call):
                continue
            row = [SIGNS[item.status], item.tool, item.subject]
            row += [duration(item.seconds)] if item.seconds is not None else []
            lines.append(" ".join(word for word in row if word))
            for piece in (item.input, item.output):
                if piece is not None and piece.text.strip():
                    lines += [f"    {line}" for line in clean(piece.text).rstrip().splitlines()]
        return lines

    def _once(self, part: Any, lines: list[str]) -> None:
        if part.id in self._printed:
            return
        self._printed[part.id] = 1
        for line in lines:
            self._line(line)

    def _retry(self, snapshot: Snapshot) -> None:
        status = snapshot.status
        if isinstance(status, Retrying) and status.attempt != self._attempt:
            self._attempt = status.attempt
            self._line(f"⟳ {self._scrub(status.message)} Trying again.")

    def _line(self, text: str) -> None:
        self._end_line()
        self._write(text + "\n")

    def _end_line(self) -> None:
        if self._column:
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()
            self._column = 0 if text.endswith("\n") else 1
