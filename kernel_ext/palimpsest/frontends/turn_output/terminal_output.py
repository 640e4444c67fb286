"""Print a turn in a terminal: once, in order, without updates.

Border: plain text on ``sys.stdout``; a terminal has no outputs that could be refreshed. So the row of what was
folded is printed when something else follows, and a failed call at once, before one can mend it.
"""

import time
from collections.abc import Callable, Sequence
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
from palimpsest.render.content.phrases import LOADING, SIGNS, duration, some, thought_text
from palimpsest.render.content.turn_figures import figures_item
from palimpsest.render.content.work_rows import Row, TurnEnd, WorkRow, fold_work, is_look, is_quiet
from palimpsest.render.safety.escaping import one_line
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
from palimpsest.transcript.retry_runs import is_notice
from palimpsest.transcript.session_record.sessions import Busy
from palimpsest.transcript.user_notices import user_notice_text
from palimpsest.transcript.values import Density
from palimpsest.transcript.visible_text import visible


class TerminalOutput:
    """Prints one turn while it runs; the host of jobs on the main thread.

    Responsibilities: print new text at once and a tool call when it has ended, or the row that it is folded into;
    report retries, and which printed outputs later requests truncate or leave out.
    """

    def __init__(
        self,
        feed: TurnFeed,
        *,
        scrub: Callable[[str], str],
        quiet: bool = False,
        density: Density = "quiet",
    ) -> None:
        self._feed = feed
        self._scrub: Callable[[str], str] = lambda text: visible(scrub(text))
        self._quiet = quiet
        self._density = density
        self._seen = (-1, 0)
        self._printed: dict[str, int] = {}
        self._decided: set[str] = set()
        """Ids of the decisions that were printed."""
        self._column = 0
        self._retried = ""
        """Why the newest of the attempts failed whose line is open; empty where none is."""
        self._told_problem = ""
        self._run: list[Item] = []
        """What is folded into the next row."""
        self._steps = 0
        self._loading_since: int | None = None
        """The start of the import of which the line is open, in milliseconds since 1970."""

    def before(self, call_id: str) -> None:  # noqa: ARG002  # everything up to it is printed
        """Print everything that precedes a call."""
        self.refresh()

    def native(self, call_id: str) -> bool:  # noqa: ARG002  # a terminal shows no pictures
        """Refuse native outputs: a terminal shows no images."""
        return False

    def asked(self, call_id: str) -> None:  # noqa: ARG002  # a terminal grows at its end
        """Print what precedes a question, which simply follows."""
        if not self._quiet:
            self._end_run()

    def stuck(self, words: str) -> None:
        """Print that the code does not stop."""
        self._end_run()
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
        self._loads(snapshot)
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
            self._end_run()
            self._reductions()
        if answer.error is not None:
            self._end_retries("stopped" if answer.error.type == "aborted" else "given up")
            notice = outline_error(answer.error, self._scrub)
            self._line(f"{notice.sign} {notice.words} {notice.do}".rstrip())
        figures = figures_item(messages)
        if self._density == "quiet" and not self._quiet and figures is not None:
            self._line(figures.words)
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
            case ReasoningPart() | ToolPart():
                if _has_ended(part):
                    self._once(part)
                elif isinstance(part, ToolPart) and not is_look(part.tool):
                    self._end_run()
            case StepFinishPart():
                self._end_retries(ANSWERED)
                self._end_line()
                self._once(part)
            case RetryPart():
                self._retry(part)
            case _:
                self._once(part)

    def _text(self, part: TextPart, *, over: bool) -> None:
        """Print the new text up to the end of a line, so that a secret to be redacted is never cut in two."""
        known = self._printed.get(part.id, 0)
        ended = over or (part.time is not None and part.time.end is not None)
        upto = len(part.text) if ended else part.text.rfind("\n") + 1
        if upto <= known:
            return
        self._end_run()
        self._end_retries(ANSWERED)
        if known == 0:
            self._end_line()
        self._write(self._scrub(part.text[known:upto]))
        self._printed[part.id] = upto
        if ended:
            self._end_line()

    def _items(self, part: Part) -> Sequence[Item]:
        notes = self._feed.notes
        self._decided |= {one.id for one in notes.decisions if one.part_id == part.id}
        self._steps += isinstance(part, StepFinishPart)
        return outline_parts(
            [part], caps=Caps(), scrub=self._scrub, notes=notes, first_step=self._steps
        )

    def _reductions(self) -> None:
        """Print the decisions about outputs that were printed before; equal ones in one line."""
        alike: dict[tuple[str, str, str], list[Decision]] = {}
        for one in self._feed.notes.decisions:
            if one.id in self._decided or one.part_id not in self._printed:
                continue
            self._decided.add(one.id)
            if one.action in ("truncate", "clear", "drop"):
                alike.setdefault((one.action, one.rule, reason_from_numbers(one)), []).append(one)
        if alike:
            self._end_run()
        for same in alike.values():
            whole = same[0].model_copy(
                update={
                    "tokens_before": sum(one.tokens_before for one in same),
                    "tokens_after": sum(one.tokens_after for one in same),
                }
            )
            words = self._scrub(decision_sentence(whole))
            self._line(f"--- {some(len(same), 'earlier output')} · {words} ---")

    def _once(self, part: Any) -> None:
        if part.id in self._printed:
            return
        self._printed[part.id] = 1
        self._end_retries(ANSWERED)
        for item in self._items(part):
            if self._density == "quiet" and is_quiet(item):
                self._run.append(item)
            else:
                self._end_run()
                self._row(item)

    def _end_run(self) -> None:
        """Print the row of what was folded so far, as far as it has one."""
        run, self._run = self._run, []
        for _, row in fold_work(run):
            self._row(row)

    def _row(self, row: Row) -> None:
        for line in _row_lines(row):
            self._line(line)

    def _problem(self, snapshot: Snapshot) -> None:
        """Print once that the disk does not respond."""
        if snapshot.problem not in ("", self._told_problem):
            self._end_run()
            self._line(f"! {self._scrub(snapshot.problem)}")
        self._told_problem = snapshot.problem

    def _loads(self, snapshot: Snapshot) -> None:
        """Print that what the model needs is being imported, and in the same line how long it took."""
        status = snapshot.status
        since = status.loading if isinstance(status, Busy) else None
        if since is not None and self._loading_since is None:
            self._end_run()
            self._end_line()
            self._write(f"· {LOADING}")
        elif since is None and self._loading_since is not None:
            self._write(f" {duration(time.time() - self._loading_since / 1_000)}\n")
        self._loading_since = since

    def _retry(self, part: RetryPart) -> None:
        """Print a failed attempt: in a row they are one line, which grows as long as nothing else is printed."""
        if part.id in self._printed:
            return
        self._end_run()
        self._printed[part.id] = 1
        why = one_line(self._scrub(part.error.message))
        why = why if why.endswith((".", "!", "?", "…")) else f"{why}."
        if is_notice(part):
            self._line(f"↻ {why}")
            return
        ended = part.time.end
        wait = duration((ended - part.time.start) / 1_000) if ended is not None else "a while"
        if self._retried == why:
            self._write(f", then {wait}")
        elif self._retried:
            self._write(f"; {why} Sent again after {wait}")
        else:
            self._end_line()
            self._write(f"↻ {why} Sent again after {wait}")
        self._retried = why

    def _end_retries(self, how: str) -> None:
        """End the line of failed attempts with how they ended."""
        if self._retried:
            self._retried = ""
            self._write(f": {how}.\n")

    def _line(self, text: str) -> None:
        self._end_line()
        self._write(text + "\n")

    def _end_line(self) -> None:
        self._retried = ""
        if self._column:
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            terminal.write(text)
            self._column = 0 if text.endswith("\n") else 1


def _has_ended(part: ReasoningPart | ToolPart) -> bool:
    if isinstance(part, ToolPart):
        return isinstance(part.state, ToolCompleted | ToolFailed)
    return part.time is not None and part.time.end is not None


ANSWERED = "answered"
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


def _row_lines(item: Row) -> list[str]:
    """Return a row as lines; none for what is streamed or printed elsewhere."""
    match item:
        case WorkRow():
            return [f"▸ {item.text}"]
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
        case ReasoningItem():
            return [f"· {thought_text(item.title, item.seconds)}"]
        case OutlineStep():
            return [item.words]
        case TextItem() | TurnEnd():
            return []
        case _:
            assert_never(item)
