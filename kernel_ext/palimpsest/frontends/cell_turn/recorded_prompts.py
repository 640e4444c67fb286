"""Decide whether a cell's prompt shows its recorded answer, is sent, or is not sent without a question.

Border: runs on the main thread, before anything is sent; what is recorded is found in ``session/replay``.
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
from palimpsest.frontends.cell_turn.paged_question import Answers, PagedQuestion
from palimpsest.frontends.cell_turn.permission_text import quoted, warning_lines
from palimpsest.frontends.cell_turn.replayed_turn import ReplayedTurn
from palimpsest.frontends.cell_turn.turn import TurnStopped
from palimpsest.frontends.cell_turn.typed_answers import NobodyTypes, typed_line
from palimpsest.frontends.usage_errors import usage_error
from palimpsest.render.content.phrases import some
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
from palimpsest.transcript.strings.deceptive_text import deceptions

if TYPE_CHECKING:
    from palimpsest.session.open_sessions.workspace import Workspace

WHY: dict[Unanswered, str] = {
    "new": "This prompt has no recorded answer",
    "changed": "This cell's prompt is not the one that it asked when its answer was recorded",
    "moved": "A cell above asked anew after this cell's answer was recorded",
    "unfinished": "The recorded turn of this prompt did not finish",
}
ONLY = "{why}, and only recorded answers are shown here (replay = only), so nothing was sent. {do}"
ONLY_DO = "Run the notebook where the model may be asked, and keep its sessions."
ONLY_AGAIN = "This asks the model, and only recorded answers are shown here (replay = only), so nothing was sent."
DECLINED = "{why}; nothing was sent. Run the cell by itself, or with --again, to ask the model."
NOBODY = (
    "{why}, and nobody is here to be asked whether the model may be; nothing was sent. Set PALIMPSEST_REPLAY=prefer "
    "to have it asked, or run the cell by itself."
)
MAY_SPEND = "{why}, and it is part of a run of several cells. Ask the model?"
SPENDS = "1 yes, for this and the other prompts of this run   3 no, stop here\n> "
MAY_RUN = (
    "The recorded answer ran Python that you have not approved on this machine:\n{code}\n"
    "Run it again, so that later cells find its variables?"
)
RUNS = "1 yes   2 yes, and unseen whatever else was recorded, in this kernel   3 no\n> "
AGAIN = "Please answer 1, 2 or 3: "
EARLIER = (
    "Asked at the end of the session, where the cell's earlier turn is kept. To ask it from where it stood then: "
    "%agent revert {turn}, and run the cell again."
)
NOT_RUN = "{calls} of the recorded answer {were} not run again: {why}. What {they} made is missing in this kernel."
UNAPPROVED = "you have not approved {them} on this machine"
DENIED = "a rule denies {them}"
KEY_IN_IT = "the record does not keep the key that stood in {them}"
LOOKS = 10
LOOK_SECONDS = 0.015
"""A cell whose answer is there already looks so often whether a page announces that it is part of Run All."""

NO = 3
_ANSWERS = {"1": 1, "y": 1, "yes": 1, "2": 2, "a": 2, "all": 2, "3": 3, "n": 3, "no": 3}


@dataclass(frozen=True, slots=True)
class Sending:
    """A prompt that is sent to the model."""

    earlier: str = ""
    """The cell's earlier turn in the same session; empty where there is none."""


class RecordedPrompts:
    """Looks up the prompts of this kernel's cells, and remembers how far its notebook has come."""

    def __init__(self, parts: KernelParts, batches: CellBatches) -> None:
        self._parts = parts
        self._batches = batches
        self._reached: dict[str, int] = {}
        """By session, when the newest turn was asked that the notebook has reached in this kernel."""
        self._batch = 0
        self._cells: dict[str | None, int | None] = {}
        """The cells of this batch that asked, with their execution counts."""
        self._may_spend: bool | None = None
        """Whether the user lets the prompts of this batch be sent; None before the question."""
        self._may_run_all = False

    @property
    def _workspace(self) -> "Workspace":
        return self._parts.services.workspace

    def look(self, request: MagicLine, place: Origin) -> ReplayedTurn | Sending:
        """Return the recorded answer to show, or that the prompt is sent; raises UsageError where it may not be."""
        mode = self._workspace.replay.mode(place.notebook)
        again = request.options.again
        if again:
            self.refuse_sending(place)
        self._begin_batch(place)
        self._parts.run(self._workspace.recognise(place.notebook))
        # A console, or a program that names no notebook, has no cells to come back to.
        if again or mode == "never" or (mode == "ask" and place.notebook is None):
            return Sending()
        try:
            found = self._find(request, place)
            if found.why == "moved" and self._is_announced(place.notebook):
                self._reached.clear()
                found = self._find(request, place)
            if found.turn is not None:
                return self._replayed(found.turn, request, place)
        except UserError as problem:
            raise usage_error(scrubber(os.environ)(str(problem))) from None
        if mode == "only":
            raise usage_error(ONLY.format(why=WHY[found.why], do=ONLY_DO))
        if mode == "ask" and self._must_ask(found, request, place):
            self._ask_to_spend(found.why)
        return Sending(found.earlier if found.why == "changed" else "")

    def refuse_sending(self, place: Origin) -> None:
        """Raise UsageError where only recorded answers are shown."""
        if self._workspace.replay.mode(place.notebook) == "only":
            raise usage_error(ONLY_AGAIN)

    def sent(self, session_id: str) -> None:
        """Record that a turn was asked just now: what was recorded before it does not follow it any more."""
        self._reached[session_id] = time.time_ns() // 1_000_000

    def offer_revert(self, sending: Sending) -> None:
        """Say how a cell that asked before is asked again from where it stood then."""
        if sending.earlier:
            self._parts.say(EARLIER.format(turn=sending.earlier))

    def _begin_batch(self, place: Origin) -> None:
        """Begin anew at the notebook's top with the first prompt of a run of several cells."""
        batches, cell_id, count = self._batches, place.cell_id, place.execution_count
        # A cell that runs a second time belongs to another run, which was begun before the first had ended. One
        # that asks in a loop still has its number.
        if batches.number == self._batch and self._cells.get(cell_id, count) == count:
            if cell_id is not None:
                self._cells[cell_id] = count
            return
        self._batch = batches.number
        self._cells = {cell_id: count} if cell_id is not None else {}
        self._may_spend = None
        if batches.several:
            self._reached.clear()

    def _is_announced(self, notebook: str | None) -> bool:
        """Return whether a page announces that a first cell is one of several; waits for it where a page watches.

        The announcement and the cell's request travel by different sockets.
        """
        if not self._parts.pages.fresh(self._workspace.current_id(notebook)):
            return False
        known = self._batches.announced > 1
        for _ in range(LOOKS):
            if known or self._batches.position > 0:
                break
            time.sleep(LOOK_SECONDS)
            known = self._batches.announced > 1
        return known

    def _find(self, request: MagicLine, place: Origin) -> FoundAnswer:
        workspace, options = self._workspace, request.options
        named = options.session
        if named is not None:
            current = self._parts.run(workspace.open(named, place.notebook)).id
        else:
            current = workspace.current_id(place.notebook)
        prompt = CellPrompt(request.prompt, PromptOptions.of(options), place.cell_id)
        return self._parts.run(
            workspace.replay.find(
                prompt,
                place.notebook,
                current=current,
                anew=options.new,
                only_this=named is not None,
                reached=dict(self._reached),
                began=int(self._batches.began * 1000),
            )
        )

    def _replayed(self, turn: RecordedTurn, request: MagicLine, place: Origin) -> ReplayedTurn:
        replay, run = self._workspace.replay, self._parts.run
        session = run(self._workspace.open(turn.session_id, place.notebook))
        self._parts.pages.adopt(session)
        self._reached[turn.session_id] = turn.asked
        calls = run(replay.calls(turn))
        chosen, notes = self._chosen(turn, calls, yes=request.options.yes)
        return ReplayedTurn(
            self._parts,
            turn,
            session,
            chosen,
            run(replay.notes(turn)),
            notes,
            request.options.quiet,
        )

    def _chosen(
        self, turn: RecordedTurn, calls: Sequence[RecordedCall], *, yes: bool
    ) -> tuple[list[RecordedCall], list[str]]:
        """Return the calls that run again, in order, and sentences about the others."""
        may_run = self._workspace.replay.may_run
        verdicts: list[str] = [
            "key"
            if REDACTED in call.code
            else self._parts.run(may_run(call, turn.info.agent, yes=yes))
            for call in calls
        ]
        asked = [
            call for call, one in zip(calls, verdicts, strict=True) if one in ("ask", "locked")
        ]
        # What an administrator's lock has asked is asked each time.
        answered = self._may_run_all and "locked" not in verdicts
        allowed = bool(asked) and (answered or self._ask_to_run(asked))
        chosen = [
            call
            for call, verdict in zip(calls, verdicts, strict=True)
            if verdict == "yes" or (call in asked and allowed)
        ]
        unapproved = {} if allowed else {"ask": UNAPPROVED, "locked": UNAPPROVED}
        why = {"denied": DENIED, "key": KEY_IN_IT} | unapproved
        notes = [
            _not_run(verdicts.count(verdict), words)
            for verdict, words in why.items()
            if verdict in verdicts
        ]
        return chosen, notes

    def _must_ask(self, found: FoundAnswer, request: MagicLine, place: Origin) -> bool:
        """Return whether the user must be asked before a prompt is sent."""
        # Without an answer from before this run, what was recorded is this run's own: it runs for the first time.
        if not self._batches.several or not found.has_history:
            return False
        current = request.options.session or self._workspace.current_id(place.notebook)
        costs_nothing = self._workspace.replay.costs_nothing(request.options.model, current)
        return not self._parts.run(costs_nothing)

    def _ask_to_spend(self, why: Unanswered) -> None:
        """Ask whether the prompts of this batch may be sent; raises UsageError for no, or where nobody is."""
        if self._may_spend is None:
            answer = self._question(MAY_SPEND.format(why=WHY[why]), SPENDS)
            if answer is None:
                raise usage_error(NOBODY.format(why=WHY[why]))
            self._may_spend = answer != NO
        if not self._may_spend:
            raise usage_error(DECLINED.format(why=WHY[why]))

    def _ask_to_run(self, calls: Sequence[RecordedCall]) -> bool:
        """Ask whether recorded code may run; what the user approves is remembered on this machine."""
        clean = scrubber(os.environ)
        code = "\n\n".join("\n".join(quoted(call.code, clean, "    ")) for call in calls)
        warnings: list[str] = []
        for at, call in enumerate(calls, 1):
            name = f"call {at}"
            before = self._workspace.replay.approved_texts(call)
            warnings += changed_lines({name: clean(call.code)}, [{name: text} for text in before])
        warnings += deceptions({f"call {at}": call.code for at, call in enumerate(calls, 1)})
        end = "\n".join([*warning_lines(warnings, clean), RUNS])
        answer = self._question(MAY_RUN.format(code=code), end)
        if answer not in (1, 2):
            return False
        self._may_run_all = self._may_run_all or answer == 2
        for call in calls:
            self._workspace.replay.approve(call)
        return True

    def _question(self, asked: str, end: str) -> int | None:
        """Read a number from the user; None where nobody can type."""
        if not cell_failure.may_type(self._parts.shell):
            return None
        answers = Answers(_number, lambda number: number == NO, AGAIN, "no")
        size = terminal.terminal_size()
        question = PagedQuestion(f"{asked}\n{end}", end, answers, size)
        while True:
            try:
                line = typed_line(question.prompt)
            except KeyboardInterrupt:
                raise TurnStopped from None
            except NobodyTypes:
                return None
            answer = question.take(line)
            if answer is not None:
                return answer


def _number(line: str) -> int | None:
    return _ANSWERS.get(line.strip().lower().rstrip(".,:"))


def _not_run(number: int, why: str) -> str:
    one = number == 1
    return NOT_RUN.format(
        calls=some(number, "Python call"),
        were="was" if one else "were",
        why=why.format(them="it" if one else "them"),
        they="it" if one else "they",
    )
