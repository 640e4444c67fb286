"""Print a turn in a terminal, in order and without updates.

Border: plain text on ``sys.stdout``, where no output can be refreshed. So the row for folded
items is printed when another item follows, and a failed call at once, although a later call may correct it.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, assert_never

from palimpsest.frontends import terminal
from palimpsest.frontends.turn_output.turn_feed import TurnFeed, shown_messages
from palimpsest.render.content.decision_reasons import decision_sentence, reason_from_numbers
from palimpsest.render.content.excerpts import equals_line
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
from palimpsest.render.content.phrases import (
    CALL_SIGNS,
    LOADING,
    counted_noun,
    duration,
    thought_text,
)
from palimpsest.render.content.turn_figures import figures_item
from palimpsest.render.content.work_rows import (
    Row,
    TurnEnd,
    WorkRow,
    fold_work,
    is_foldable,
    is_reading_tool,
)
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
from palimpsest.transcript.retry_runs import has_no_wait
from palimpsest.transcript.session_record.sessions import Busy
from palimpsest.transcript.strings.number_words import ended_sentence
from palimpsest.transcript.user_notices import user_notice_text
from palimpsest.transcript.values import Density
from palimpsest.transcript.visible_text import visible_text


class TerminalOutput:
    """Prints one turn while it runs; the host of jobs on the main thread.

    Responsibilities: print new text at once and a tool call when it has ended, or the row that it is folded into;
    report retries, and the printed outputs that later requests truncate or omit.
    """

    def __init__(
        self,
        feed: TurnFeed,
        *,
        scrub: Callable[[str], str],
        is_quiet: bool = False,
        density: Density = "quiet",
    ) -> None:
        self._turn_feed = feed
        self._scrub: Callable[[str], str] = lambda text: visible_text(scrub(text))
        self._is_quiet = is_quiet
        self._density = density
        self._counts_at_refresh = (-1, 0)
        self._printed_chars: dict[str, int] = {}
        """Characters that were printed of each text, by part id; 1 for other parts that were printed."""
        self._printed_decision_ids: set[str] = set()
        """Ids of the decisions that were printed."""
        self._is_line_open = False
        self._retry_reason = ""
        """The failure named at the end of the unfinished line of retries; empty where there is no such line."""
        self._printed_problem = ""
        self._folded_items: list[Item] = []
        """Items that the next row will summarise."""
        self._step_number = 0
        """Number of the steps whose end was printed."""
        self._loading_since: int | None = None
        """Start of the import whose line is unfinished, in milliseconds since 1970; None where there is no such line."""

    def show_call(self, call_id: str) -> None:  # noqa: ARG002  # everything up to it is printed
        """Print everything that precedes a call."""
        self.refresh()

    def prepare_native_output(self, call_id: str) -> bool:  # noqa: ARG002  # a terminal shows no pictures
        """Refuse native outputs: a terminal shows no images."""
        return False

    def prepare_question(self, call_id: str) -> None:  # noqa: ARG002  # a terminal grows at its end
        """Print the text before a question, which follows in the same terminal."""
        if not self._is_quiet:
            self._print_folded()

    def warn_stuck(self, sentence: str) -> None:
        """Print a warning that the code does not stop."""
        self._print_folded()
        self._print_line(sentence)

    def refresh(self) -> None:
        """Print new content."""
        counts = (self._turn_feed.change_count, self._turn_feed.problem_count)
        if self._is_quiet or counts == self._counts_at_refresh:
            return
        self._counts_at_refresh = counts
        snapshot = self._turn_feed.snapshot()
        if snapshot is None:
            return
        self._print_problem(snapshot)
        self._print_loading(snapshot)
        has_received = self._turn_feed.has_received(snapshot)
        for message in shown_messages(self._turn_feed.messages(snapshot)):
            has_failed = any(self._is_unprinted_failure(part) for part in message.parts)
            if has_failed and not has_received:
                # A call is printed once only, so not before the record of who refused it has arrived.
                break
            self._print_message(message)
        self._print_reductions()

    def finish(self, answer: Answer) -> None:
        """Print the remaining content, and the turn's error."""
        messages = shown_messages(answer.messages)
        if self._is_quiet:
            self._print_line(self._scrub(answer.text))
        for message in () if self._is_quiet else messages:
            self._print_message(message, is_final=True)
        if not self._is_quiet:
            self._print_folded()
            self._print_reductions()
        if answer.error is not None:
            self._end_retries("stopped" if answer.error.type == "aborted" else "given up")
            notice = outline_error(answer.error, self._scrub)
            self._print_line(f"{notice.sign} {notice.sentence} {notice.advice}".rstrip())
        figures = figures_item(messages)
        if self._density == "quiet" and not self._is_quiet and figures is not None:
            self._print_line(figures.summary)
        self._end_line()

    def _print_message(self, message: Message, *, is_final: bool = False) -> None:
        is_answer = isinstance(message.info, AssistantMessage)
        for part in message.parts:
            # A user's text was typed here, or is shown where it was typed.
            if is_answer or isinstance(part, CompactionPart):
                self._print_part(part, is_final=is_final)

    def _is_unprinted_failure(self, part: Part) -> bool:
        """Return whether a part is a failed call that was not printed yet."""
        is_failed = isinstance(part, ToolPart) and isinstance(part.state, ToolFailed)
        return is_failed and part.id not in self._printed_chars

    def _print_part(self, part: Part, *, is_final: bool) -> None:
        if part.id in self._printed_chars and not isinstance(part, TextPart):
            return
        match part:
            case TextPart() if user_notice_text(part) is None:
                if not part.synthetic:
                    self._print_text(part, is_final=is_final)
            case ReasoningPart() | ToolPart():
                if _has_ended(part):
                    self._print_once(part)
                elif isinstance(part, ToolPart) and not is_reading_tool(part.tool):
                    self._print_folded()
            case StepFinishPart():
                self._end_retries(ANSWERED_WORD)
                self._end_line()
                self._print_once(part)
            case RetryPart():
                self._print_retry(part)
            case _:
                self._print_once(part)

    def _print_text(self, part: TextPart, *, is_final: bool) -> None:
        """Print the new text up to the end of a line, so that a secret to be redacted is never cut in two."""
        printed_chars = self._printed_chars.get(part.id, 0)
        is_complete = is_final or (part.time is not None and part.time.end is not None)
        end_char = len(part.text) if is_complete else part.text.rfind("\n") + 1
        if end_char <= printed_chars:
            return
        self._print_folded()
        self._end_retries(ANSWERED_WORD)
        if printed_chars == 0:
            self._end_line()
        self._write(self._scrub(part.text[printed_chars:end_char]))
        self._printed_chars[part.id] = end_char
        if is_complete:
            self._end_line()

    def _outline_items(self, part: Part) -> Sequence[Item]:
        notes = self._turn_feed.notes
        decisions = (decision for decision in notes.decisions if decision.part_id == part.id)
        self._printed_decision_ids.update(decision.id for decision in decisions)
        self._step_number += isinstance(part, StepFinishPart)
        return outline_parts(
            [part], caps=Caps(), scrub=self._scrub, notes=notes, first_step=self._step_number
        )

    def _print_reductions(self) -> None:
        """Print the decisions about outputs that were printed before, equal decisions in one line."""
        decisions_by_key: dict[tuple[str, str, str], list[Decision]] = {}
        for decision in self._turn_feed.notes.decisions:
            is_printed = decision.id in self._printed_decision_ids
            if is_printed or decision.part_id not in self._printed_chars:
                continue
            self._printed_decision_ids.add(decision.id)
            if decision.action in ("truncate", "clear", "drop"):
                key = decision.action, decision.rule, reason_from_numbers(decision)
                decisions_by_key.setdefault(key, []).append(decision)
        if decisions_by_key:
            self._print_folded()
        for decisions in decisions_by_key.values():
            update = {
                "tokens_before": sum(decision.tokens_before for decision in decisions),
                "tokens_after": sum(decision.tokens_after for decision in decisions),
            }
            combined_decision = decisions[0].model_copy(update=update)
            sentence = self._scrub(decision_sentence(combined_decision))
            outputs_text = counted_noun(len(decisions), "earlier output")
            self._print_line(f"--- {outputs_text} · {sentence} ---")

    def _print_once(self, part: Any) -> None:
        if part.id in self._printed_chars:
            return
        self._printed_chars[part.id] = 1
        self._end_retries(ANSWERED_WORD)
        for item in self._outline_items(part):
            if self._density == "quiet" and is_foldable(item):
                self._folded_items.append(item)
            else:
                self._print_folded()
                self._print_row(item)

    def _print_folded(self) -> None:
        """Print the row for the items folded so far, if they need one."""
        folded_items, self._folded_items = self._folded_items, []
        for _, row in fold_work(folded_items):
            self._print_row(row)

    def _print_row(self, row: Row) -> None:
        for line in _row_lines(row):
            self._print_line(line)

    def _print_problem(self, snapshot: Snapshot) -> None:
        """Print a problem of the disk, once."""
        if snapshot.problem not in ("", self._printed_problem):
            self._print_folded()
            self._print_line(f"! {self._scrub(snapshot.problem)}")
        self._printed_problem = snapshot.problem

    def _print_loading(self, snapshot: Snapshot) -> None:
        """Print that the model's modules are imported, and in the same line how long it took."""
        status = snapshot.status
        loading_since = status.loading if isinstance(status, Busy) else None
        if loading_since is not None and self._loading_since is None:
            self._print_folded()
            self._end_line()
            self._write(f"· {LOADING}")
        elif loading_since is None and self._loading_since is not None:
            self._write(f" {duration(time.time() - self._loading_since / 1_000)}\n")
        self._loading_since = loading_since

    def _print_retry(self, part: RetryPart) -> None:
        """Print a failed attempt; consecutive attempts share a line, which grows until another item is printed."""
        if part.id in self._printed_chars:
            return
        self._print_folded()
        self._printed_chars[part.id] = 1
        reason = ended_sentence(one_line(self._scrub(part.error.message)))
        if has_no_wait(part):
            self._print_line(f"↻ {reason}")
            return
        end_time = part.time.end
        wait_text = (
            duration((end_time - part.time.start) / 1_000) if end_time is not None else "a while"
        )
        if self._retry_reason == reason:
            self._write(f", then {wait_text}")
        elif self._retry_reason:
            self._write(f"; {reason} Sent again after {wait_text}")
        else:
            self._end_line()
            self._write(f"↻ {reason} Sent again after {wait_text}")
        self._retry_reason = reason

    def _end_retries(self, outcome: str) -> None:
        """End the line of failed attempts with their outcome."""
        if self._retry_reason:
            self._retry_reason = ""
            self._write(f": {outcome}.\n")

    def _print_line(self, text: str) -> None:
        self._end_line()
        self._write(text + "\n")

    def _end_line(self) -> None:
        self._retry_reason = ""
        if self._is_line_open:
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            terminal.write(text)
            self._is_line_open = not text.endswith("\n")


def _has_ended(part: ReasoningPart | ToolPart) -> bool:
    if isinstance(part, ToolPart):
        return isinstance(part.state, ToolCompleted | ToolFailed)
    return part.time is not None and part.time.end is not None


ANSWERED_WORD = "answered"
FAILED_WORD = "failed"
REFUSED_WORDS = "refused by you"


def _outcome_text(item: OutlineCall) -> str:
    """Return how a call ended and who decided that; the sign alone does not distinguish refusal from failure."""
    remark = item.remark
    if item.status == "error":
        reason = "" if equals_line(item.output, item.reason) else item.reason
        failure = ": ".join(word for word in (FAILED_WORD, reason) if word)
        return " · ".join(word for word in (failure, remark) if word)
    if item.status == "refused" and remark.startswith("refused"):
        reason = remark.removeprefix("refused")
        return REFUSED_WORDS + reason if item.refused_by == "person" else remark
    return remark


def _row_lines(item: Row) -> list[str]:
    """Return the lines of a row; empty for items that are printed elsewhere."""
    match item:
        case WorkRow():
            return [f"▸ {item.text}"]
        case OutlineCall():
            words = [CALL_SIGNS[item.status], item.tool, item.subject]
            words += [duration(item.seconds)] if item.seconds is not None else []
            words += [f"· {outcome}"] if (outcome := _outcome_text(item)) else []
            lines = [" ".join(word for word in words if word)]
            for excerpt in (item.input, item.output):
                if excerpt is not None and excerpt.text.strip():
                    lines += [f"    {line}" for line in excerpt.text.rstrip().split("\n")]
            return [*lines, *(f"    --- {reduction} ---" for reduction in item.reductions)]
        case NoticeItem():
            return [f"{item.sign} {item.sentence} {item.advice}".rstrip()]
        case ReductionItem():
            return [f"--- {item.sentence} ---"]
        case ReasoningItem():
            return [f"· {thought_text(item.title, item.seconds)}"]
        case OutlineStep():
            return [item.summary]
        case TextItem() | TurnEnd():
            return []
        case _:
            assert_never(item)
