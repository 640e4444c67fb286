"""Decide whether to show the recorded answer to a cell's prompt, to send the prompt, or to ask the user first.

Border: runs on the main thread, before anything is sent; ``session/replay`` finds the records.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from palimpsest.frontends import terminal
from palimpsest.frontends.cell_turn import cell_failure
from palimpsest.frontends.cell_turn.cell_batches import CellBatches
from palimpsest.frontends.cell_turn.kernel_parts import KernelParts
from palimpsest.frontends.cell_turn.magic_line import MagicLine
from palimpsest.frontends.cell_turn.replayed_turn import ReplayedTurn
from palimpsest.frontends.cell_turn.turn import TurnStopped
from palimpsest.frontends.typed_input.paged_question import AnswerRules, PagedQuestion
from palimpsest.frontends.typed_input.permission_text import quoted_lines, warning_lines
from palimpsest.frontends.typed_input.typed_answers import NobodyTypes, typed_line
from palimpsest.frontends.usage_errors import usage_error
from palimpsest.render.content.phrases import counted_noun
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.session.interfaces.recorded_answers import (
    CellPrompt,
    FoundAnswer,
    RecordedCall,
    RecordedTurn,
    Unanswered,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import Origin
from palimpsest.transcript.redaction.secret_patterns import REDACTED
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.strings.changed_lines import changed_lines
from palimpsest.transcript.strings.deceptive_text import deception_sentences

if TYPE_CHECKING:
    from palimpsest.session.open_sessions.workspace import Workspace

UNANSWERED_REASONS: dict[Unanswered, str] = {
    "new": "This prompt has no recorded answer",
    "changed": "This cell's prompt is not the one that it asked when its answer was recorded",
    "moved": "A cell above asked anew after this cell's answer was recorded",
    "unfinished": "The recorded turn of this prompt did not finish",
}
ONLY_RECORDED = (
    "{why}, and only recorded answers are shown here (replay = only), so nothing was sent. {do}"
)
ONLY_RECORDED_ADVICE = "Run the notebook where the model may be asked, and keep its sessions."
ONLY_RECORDED_NO_REQUEST = "This asks the model, and only recorded answers are shown here (replay = only), so nothing was sent."
SENDING_DECLINED = (
    "{why}; nothing was sent. Run the cell by itself, or with --again, to ask the model."
)
NOBODY_CAN_ANSWER = (
    "{why}, and nobody is here to be asked whether the model may be; nothing was sent. Set PALIMPSEST_REPLAY=prefer "
    "to have it asked, or run the cell by itself."
)
SEND_QUESTION = "{why}, and it is part of a run of several cells. Ask the model?"
SEND_CHOICES = "1 yes, for this and the other prompts of this run   3 no, stop here\n> "
RUN_QUESTION = (
    "The recorded answer ran Python that you have not approved on this machine:\n{code}\n"
    "Run it again, so that later cells find its variables?"
)
RUN_CHOICES = "1 yes   2 yes, and unseen whatever else was recorded, in this kernel   3 no\n> "
ANSWER_AGAIN = "Please answer 1, 2 or 3: "
REVERT_HINT = (
    "Asked at the end of the session, where the cell's earlier turn is kept. To ask it from where it stood then: "
    "%agent revert {turn}, and run the cell again."
)
NOT_RUN = "{calls} of the recorded answer {were} not run again: {why}. What {they} made is missing in this kernel."
UNAPPROVED_REASON = "you have not approved {them} on this machine"
DENIED_REASON = "a rule denies {them}"
REMOVED_KEY_REASON = "the record does not keep the key that stood in {them}"
MAX_ANNOUNCEMENT_POLLS = 10
POLL_SECONDS = 0.015
"""Number and interval of the checks whether a page announces Run All, before a recorded answer is shown."""

APPROVED, APPROVED_ALL, DECLINED = 1, 2, 3
_ANSWER_NUMBERS = {
    **dict.fromkeys(("1", "y", "yes"), APPROVED),
    **dict.fromkeys(("2", "a", "all"), APPROVED_ALL),
    **dict.fromkeys(("3", "n", "no"), DECLINED),
}


@dataclass(frozen=True, slots=True)
class PromptToSend:
    """A prompt that is sent to the model."""

    earlier_turn_id: str = ""
    """The id of the cell's earlier turn in the same session; empty where it has none."""


class RecordedPrompts:
    """Looks up recorded answers for the cells of this kernel, and remembers how far the notebook was run."""

    def __init__(self, kernel_parts: KernelParts, batches: CellBatches) -> None:
        self._kernel_parts = kernel_parts
        self._cell_batches = batches
        self._reached_ms: dict[str, int] = {}
        """By session, the time of the newest turn that the notebook has reached in this kernel, in ms since 1970."""
        self._batch_number = 0
        self._execution_counts: dict[str | None, int | None] = {}
        """The cells of this batch that sent a prompt, with their execution counts."""
        self._may_spend: bool | None = None
        """Whether the user lets the prompts of this batch be sent; None before the question."""
        self._may_run_all = False

    @property
    def _workspace(self) -> "Workspace":
        return self._kernel_parts.services.workspace

    def find_or_send(self, magic_line: MagicLine, origin: Origin) -> ReplayedTurn | PromptToSend:
        """Return the recorded answer, or the ``PromptToSend``; raises UsageError if the prompt must not be sent."""
        mode = self._workspace.replay.mode(origin.notebook)
        sends_again = magic_line.options.again
        if sends_again:
            self.refuse_sending(origin)
        self._begin_batch(origin)
        self._kernel_parts.run(self._workspace.recognise(origin.notebook))
        # A console, or a program without a notebook's name, has no cells that are run again.
        if sends_again or mode == "never" or (mode == "ask" and origin.notebook is None):
            return PromptToSend()
        try:
            found_answer = self._find_answer(magic_line, origin)
            if found_answer.unanswered_reason == "moved" and self._is_announced(origin.notebook):
                self._reached_ms.clear()
                found_answer = self._find_answer(magic_line, origin)
            if found_answer.turn is not None:
                return self._begin_replay(found_answer.turn, magic_line, origin)
        except UserError as problem:
            raise usage_error(scrubber(os.environ)(str(problem))) from None
        reason = found_answer.unanswered_reason
        if mode == "only":
            reason_text = UNANSWERED_REASONS[reason]
            raise usage_error(ONLY_RECORDED.format(why=reason_text, do=ONLY_RECORDED_ADVICE))
        if mode == "ask" and self._must_ask(found_answer, magic_line, origin):
            self._ask_to_spend(UNANSWERED_REASONS[reason])
        return PromptToSend(found_answer.earlier_turn_id if reason == "changed" else "")

    def refuse_sending(self, origin: Origin) -> None:
        """Raise UsageError where only recorded answers are shown."""
        if self._workspace.replay.mode(origin.notebook) == "only":
            raise usage_error(ONLY_RECORDED_NO_REQUEST)

    def record_sent_turn(self, session_id: str) -> None:
        """Record that a turn is sent now, so that answers recorded earlier are not shown after it."""
        self._reached_ms[session_id] = time.time_ns() // 1_000_000

    def offer_revert(self, prompt: PromptToSend) -> None:
        """Show how to send a cell's prompt again at the place of its earlier turn."""
        if prompt.earlier_turn_id:
            self._kernel_parts.show_sentence(REVERT_HINT.format(turn=prompt.earlier_turn_id))

    def _begin_batch(self, origin: Origin) -> None:
        """Reset the state of a batch at its first prompt; a batch of several cells starts at the notebook's top."""
        batches, cell_id, execution_count = (
            self._cell_batches,
            origin.cell_id,
            origin.execution_count,
        )
        # A cell that runs again belongs to another batch, begun before the first had ended; a cell
        # that sends prompts in a loop keeps its execution count.
        if (
            batches.number == self._batch_number
            and self._execution_counts.get(cell_id, execution_count) == execution_count
        ):
            if cell_id is not None:
                self._execution_counts[cell_id] = execution_count
            return
        self._batch_number = batches.number
        self._execution_counts = {cell_id: execution_count} if cell_id is not None else {}
        self._may_spend = None
        if batches.is_batch:
            self._reached_ms.clear()

    def _is_announced(self, notebook: str | None) -> bool:
        """Return whether a page announces a batch of several cells; waits for the announcement where a page watches.

        The announcement and the cell's request travel by different sockets.
        """
        if not self._kernel_parts.pages.is_watched(self._workspace.current_id(notebook)):
            return False
        batches = self._cell_batches
        for _ in range(MAX_ANNOUNCEMENT_POLLS):
            if batches.announced_cells > 1 or batches.position > 0:
                break
            time.sleep(POLL_SECONDS)
        return batches.announced_cells > 1

    def _find_answer(self, magic_line: MagicLine, origin: Origin) -> FoundAnswer:
        workspace, options = self._workspace, magic_line.options
        session_id = options.session
        if session_id is not None:
            current_id = self._kernel_parts.run(workspace.open(session_id, origin.notebook)).id
        else:
            current_id = workspace.current_id(origin.notebook)
        prompt = CellPrompt(magic_line.prompt, PromptOptions.of_choices(options), origin.cell_id)
        return self._kernel_parts.run(
            workspace.replay.find_answer(
                prompt,
                origin.notebook,
                current=current_id,
                sends_anew=options.new,
                only_this=session_id is not None,
                reached_turns=dict(self._reached_ms),
                began_ms=int(self._cell_batches.began_at * 1000),
            )
        )

    def _begin_replay(
        self, turn: RecordedTurn, magic_line: MagicLine, origin: Origin
    ) -> ReplayedTurn:
        replay, run = self._workspace.replay, self._kernel_parts.run
        session = run(self._workspace.open(turn.session_id, origin.notebook))
        self._kernel_parts.pages.adopt(session)
        self._reached_ms[turn.session_id] = turn.asked_ms
        calls = run(replay.calls(turn))
        calls_to_run, sentences = self._choose_calls(turn, calls, yes=magic_line.options.yes)
        return ReplayedTurn(
            self._kernel_parts,
            turn,
            session,
            calls_to_run,
            run(replay.notes(turn)),
            sentences,
            magic_line.options.quiet,
        )

    def _choose_calls(
        self, turn: RecordedTurn, calls: Sequence[RecordedCall], *, yes: bool
    ) -> tuple[list[RecordedCall], list[str]]:
        """Return the calls that run again, in order, and sentences about the others."""
        may_run = self._workspace.replay.may_run
        verdicts: list[str] = [
            "key"
            if REDACTED in call.code
            else self._kernel_parts.run(may_run(call, turn.info.agent, yes=yes))
            for call in calls
        ]
        calls_and_verdicts = [*zip(calls, verdicts, strict=True)]
        unapproved_calls = [
            call for call, verdict in calls_and_verdicts if verdict in ("ask", "locked")
        ]
        # Calls that an administrator locks to "ask" are asked about each time.
        is_approved = self._may_run_all and "locked" not in verdicts
        may_run_unapproved = bool(unapproved_calls) and (
            is_approved or self._ask_to_run(unapproved_calls)
        )
        runnable_verdicts = {"yes", "ask", "locked"} if may_run_unapproved else {"yes"}
        reasons_by_verdict = {
            "denied": DENIED_REASON,
            "key": REMOVED_KEY_REASON,
            "ask": UNAPPROVED_REASON,
            "locked": UNAPPROVED_REASON,
        }
        sentences = [
            _not_run_sentence(verdicts.count(verdict), reason)
            for verdict, reason in reasons_by_verdict.items()
            if verdict in verdicts and verdict not in runnable_verdicts
        ]
        return [
            call for call, verdict in calls_and_verdicts if verdict in runnable_verdicts
        ], sentences

    def _must_ask(self, found_answer: FoundAnswer, magic_line: MagicLine, origin: Origin) -> bool:
        # Without an older answer, all records are of this batch: the notebook runs for the first time.
        if not self._cell_batches.is_batch or not found_answer.has_history:
            return False
        current_id = magic_line.options.session or self._workspace.current_id(origin.notebook)
        costs_nothing = self._workspace.replay.costs_nothing(magic_line.options.model, current_id)
        return not self._kernel_parts.run(costs_nothing)

    def _ask_to_spend(self, reason_text: str) -> None:
        """Ask whether the prompts of this batch may be sent; raises UsageError for no, or without input."""
        if self._may_spend is None:
            answer = self._ask_number(SEND_QUESTION.format(why=reason_text), SEND_CHOICES)
            if answer is None:
                raise usage_error(NOBODY_CAN_ANSWER.format(why=reason_text))
            self._may_spend = answer != DECLINED
        if not self._may_spend:
            raise usage_error(SENDING_DECLINED.format(why=reason_text))

    def _ask_to_run(self, calls: Sequence[RecordedCall]) -> bool:
        """Ask whether recorded code may run; approved code is remembered on this machine."""
        scrub = scrubber(os.environ)
        code = "\n\n".join("\n".join(quoted_lines(call.code, scrub, "    ")) for call in calls)
        warnings: list[str] = []
        named_calls = {f"call {number}": call for number, call in enumerate(calls, 1)}
        for name, call in named_calls.items():
            approved_texts = self._workspace.replay.approved_texts(call)
            warnings += changed_lines(
                {name: scrub(call.code)}, [{name: text} for text in approved_texts]
            )
        warnings += deception_sentences({name: call.code for name, call in named_calls.items()})
        last_lines = "\n".join([*warning_lines(warnings, scrub), RUN_CHOICES])
        answer = self._ask_number(RUN_QUESTION.format(code=code), last_lines)
        if answer not in (APPROVED, APPROVED_ALL):
            return False
        self._may_run_all = self._may_run_all or answer == APPROVED_ALL
        for call in calls:
            self._workspace.replay.approve(call)
        return True

    def _ask_number(self, text: str, last_lines: str) -> int | None:
        """Return the number that the user answers; None where input is impossible."""
        if not cell_failure.can_type(self._kernel_parts.shell):
            return None
        answer_rules = AnswerRules(
            _parse_answer, lambda number: number == DECLINED, ANSWER_AGAIN, "no"
        )
        size = terminal.terminal_size()
        question = PagedQuestion(f"{text}\n{last_lines}", last_lines, answer_rules, size)
        while True:
            try:
                line = typed_line(question.prompt)
            except KeyboardInterrupt:
                raise TurnStopped from None
            except NobodyTypes:
                return None
            answer = question.answer_in(line)
            if answer is not None:
                return answer


def _parse_answer(line: str) -> int | None:
    return _ANSWER_NUMBERS.get(line.strip().lower().rstrip(".,:"))


def _not_run_sentence(call_count: int, reason: str) -> str:
    is_one = call_count == 1
    return NOT_RUN.format(
        calls=counted_noun(call_count, "Python call"),
        were="was" if is_one else "were",
        why=reason.format(them="it" if is_one else "them"),
        they="it" if is_one else "they",
    )
