"""Print a turn in a terminal: once, in order, without updates.

Border: plain text on ``sys.stdout``; a terminal has no outputs that could be refreshed.
"""

from collections.abc import Callable
from typing import Any, assert_never

from palimpsest.frontends import terminal
from palimpsest.frontends.turn_output.turn_feed import TurnFeed, shown_messages
from palimpsest.render.content.decision_reasons import decision_sentence, reason_from_numbers
from palimpsest.render.content.excerpts import says_only
from palimpsest.render.content.outline import (
    Caps,
    Item,
    NoticeItem,
    OutlineCall,
    OutlineStep,
    ReasoningItem,
    ReductionItem,
    TextItem,
    outline_error,
    outline_parts,
)
from palimpsest.render.content.phrases import SIGNS, duration, some
from palimpsest.session.engine import Snapshot
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.parts import (
    CompactionPart,
    Part,
    ReasoningPart,
    RetryPart,
    StepFinishPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
)
from palimpsest.transcript.session_record.sessions import Retrying
from palimpsest.transcript.user_notices import user_notice_text
from palimpsest.transcript.visible_text import visible


class TerminalOutput:
    """Prints one turn while it runs; the host of jobs on the main thread.

    Responsibilities: print new text at once and a tool call when it has ended; report retries, and
    which printed outputs later requests truncate or leave out.
    """

    def __init__(self, feed: TurnFeed, *, scrub: Callable[[str], str], quiet: bool = False) -> None:
        self._feed = feed
        self._scrub: Callable[[str], str] = lambda text: visible(scrub(text))
        self._quiet = quiet
        self._seen = (-1, 0)
        self._printed: dict[str, int] = {}
        self._decided: set[str] = set()
        """Ids of the decisions that were printed."""
        self._column = 0
        self._attempt = 0
        self._told_problem = ""

    def before(self, call_id: str) -> None:  # noqa: ARG002  # everything up to it is printed
        """Print everything that precedes a call."""
        self.refresh()

    def native(self, call_id: str) -> bool:  # noqa: ARG002  # a terminal shows no pictures
        """Refuse native outputs: a terminal shows no images."""
        return False

    def asked(self, call_id: str) -> None:  # a terminal grows at its end
        """Do nothing: a question simply follows what was printed."""

    def stuck(self, words: str) -> None:
        """Print that the code does not stop."""
        self._line(words)

    def refresh(self) -> None:
        """Print what is new."""
        seen = (self._feed.changes, self._feed.problems)
        if self._quiet or seen == self._seen:
            return
        self._seen = seen
        snapshot = self._feed.snapshot()
        if snapshot is None:
            return
        self._problem(snapshot)
        self._retry(snapshot)
        has_told = self._feed.has_told(snapshot)
        for message in shown_messages(self._feed.messages(snapshot)):
            failed = any(self._may_be_refused(part) for part in message.parts)
            if failed and not has_told:
                # Printed once only, so not before it is known whether it was refused, and by whom.
                break
            self._message(message)
        self._reductions()

    def finish(self, answer: Answer) -> None:
        """Print what is left, and an error."""
        messages = shown_messages(answer.messages)
        if self._quiet:
            self._line(self._scrub(answer.text))
        for message in () if self._quiet else messages:
            self._message(message, over=True)
        if not self._quiet:
            self._reductions()
        if answer.error is not None:
            notice = outline_error(answer.error, self._scrub)
            self._line(f"{notice.sign} {notice.words} {notice.do}".rstrip())
        self._end_line()

    def _message(self, message: Message, *, over: bool = False) -> None:
        answers = isinstance(message.info, AssistantMessage)
        for part in message.parts:
            # A user's text was typed here, or is shown where it was typed.
            if answers or isinstance(part, CompactionPart):
                self._part(part, over=over)

    def _may_be_refused(self, part: Part) -> bool:
        """Return whether a part is a failed call that is still to be printed."""
        is_failed = isinstance(part, ToolPart) and isinstance(part.state, ToolFailed)
        return is_failed and part.id not in self._printed

    def _part(self, part: Part, *, over: bool) -> None:
        if part.id in self._printed and not isinstance(part, TextPart):
            return
        match part:
            case TextPart() if user_notice_text(part) is None:
                if not part.synthetic:
                    self._text(part, over=over)
            case ReasoningPart():
                if part.time is not None and part.time.end is not None:
                    self._once(part, ["· thought"])
            case ToolPart():
                if isinstance(part.state, ToolCompleted | ToolFailed):
                    self._once(part, self._lines(part))
            case StepFinishPart():
                self._end_line()
                self._once(part, self._lines(part))
            case RetryPart(time=time) if time.end != time.start:
                pass  # printed while it waits
            case _:
                self._once(part, self._lines(part))

    def _text(self, part: TextPart, *, over: bool) -> None:
        """Print the new text up to the end of a line, so that a secret to be redacted is never cut in two."""
        known = self._printed.get(part.id, 0)
        ended = over or (part.time is not None and part.time.end is not None)
        upto = len(part.text) if ended else part.text.rfind("\n") + 1
        if upto <= known:
            return
        if known == 0:
            self._end_line()
        self._write(self._scrub(part.text[known:upto]))
        self._printed[part.id] = upto
        if ended:
            self._end_line()

    def _lines(self, part: Part) -> list[str]:
        notes = self._feed.notes
        self._decided |= {one.id for one in notes.decisions if one.part_id == part.id}
        items = outline_parts([part], caps=Caps(), scrub=self._scrub, notes=notes)
        return [line for item in items for line in _item_lines(item)]

    def _reductions(self) -> None:
        """Print the decisions about outputs that were printed before; equal ones in one line."""
        alike: dict[tuple[str, str, str], list[Decision]] = {}
        for one in self._feed.notes.decisions:
            if one.id in self._decided or one.part_id not in self._printed:
                continue
            self._decided.add(one.id)
            if one.action in ("truncate", "clear", "drop"):
                alike.setdefault((one.action, one.rule, reason_from_numbers(one)), []).append(one)
        for same in alike.values():
            whole = same[0].model_copy(
                update={
                    "tokens_before": sum(one.tokens_before for one in same),
                    "tokens_after": sum(one.tokens_after for one in same),
                }
            )
            words = self._scrub(decision_sentence(whole))
            self._line(f"--- {some(len(same), 'earlier output')} · {words} ---")

    def _once(self, part: Any, lines: list[str]) -> None:
        if part.id in self._printed:
            return
        self._printed[part.id] = 1
        for line in lines:
            self._line(line)

    def _problem(self, snapshot: Snapshot) -> None:
        """Print once that the disk does not respond."""
        if snapshot.problem not in ("", self._told_problem):
            self._line(f"! {self._scrub(snapshot.problem)}")
        self._told_problem = snapshot.problem

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
            terminal.write(text)
            self._column = 0 if text.endswith("\n") else 1


FAILED = "failed"
REFUSED = "refused by you"


def _outcome(item: OutlineCall) -> str:
    """Return how a call ended and who decided that, in words: a sign alone does not tell a refusal from a failure."""
    remark = item.remark
    if item.status == "error":
        reason = "" if says_only(item.output, item.reason) else item.reason
        failed = ": ".join(word for word in (FAILED, reason) if word)
        return " · ".join(word for word in (failed, remark) if word)
    if item.status == "refused" and remark.startswith("refused"):
        rest = remark.removeprefix("refused")
        return REFUSED + rest if item.refused_by == "person" else remark
    return remark


def _item_lines(item: Item) -> list[str]:
    """Return an item as lines; none for what is streamed or printed elsewhere."""
    match item:
        case OutlineCall():
            row = [SIGNS[item.status], item.tool, item.subject]
            row += [duration(item.seconds)] if item.seconds is not None else []
            row += [f"· {words}"] if (words := _outcome(item)) else []
            lines = [" ".join(word for word in row if word)]
            for piece in (item.input, item.output):
                if piece is not None and piece.text.strip():
                    lines += [f"    {line}" for line in piece.text.rstrip().split("\n")]
            return [*lines, *(f"    --- {words} ---" for words in item.reductions)]
        case NoticeItem():
            return [f"{item.sign} {item.words} {item.do}".rstrip()]
        case ReductionItem():
            return [f"--- {item.words} ---"]
        case TextItem() | ReasoningItem() | OutlineStep():
            return []
        case _:
            assert_never(item)
