"""Operations on what the model sees: draw its window, pin, exclude or restore parts, choose the policy."""

import asyncio
import os
import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.operation_base.grammar import PART_WORD, OptionError
from palimpsest.frontends.operation_base.operation import (
    Done,
    DrawnText,
    Form,
    InKernel,
    Operation,
    OperationContext,
    single_form,
)
from palimpsest.frontends.operation_text.command_output import (
    CommandOutput,
    OutputLines,
    sentence_output,
    table_output,
)
from palimpsest.frontends.operation_text.context_answers import ContextAnswers
from palimpsest.frontends.operation_text.part_list import PART_COLUMNS, part_rows
from palimpsest.frontends.operation_text.policy_text import policy_lines
from palimpsest.frontends.typed_input.typed_values import policy_words
from palimpsest.session.controls.context_edits import ContextEdit
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.redaction.secret_removal import scrubber

CONTEXT_FORMS = {
    "at": "%agent context at REQUEST",
    "changed": "%agent context changed REQUEST [REQUEST]",
    "why": "%agent context why ITEM [REQUEST]",
}
"""The written form of each keyword after ``context``."""
_NUMBER = r"([1-9]\d{0,8})"
_ITEM = r"(\w*\d\w*)"
"""An item's number, or the id of a part or message."""
_QUESTION_PATTERNS = (
    ("at", re.compile(rf"at(?: step| request)? {_NUMBER}")),
    ("changed", re.compile(rf"changed(?: since)? {_NUMBER}(?: {_NUMBER})?")),
    ("why", re.compile(rf"why(?: not)? {_ITEM}(?: (?:at )?{_NUMBER})?")),
)


def _parse_question(argument_text: str) -> dict[str, Any] | None:
    """Parse ``at 3``, ``changed 3 8`` or ``why 5 8``, with their variants; None for other text."""
    question = " ".join(argument_text.split())
    if question in CONTEXT_FORMS:
        raise OptionError(f"Which one? Write {CONTEXT_FORMS[question]}.")
    for keyword, pattern in _QUESTION_PATTERNS:
        match = pattern.fullmatch(question)
        if match is not None:
            return {"question": " ".join([keyword, *(group for group in match.groups() if group)])}
    return {} if not question else None


class ShowContext(Operation):
    """Draw what fills the model's context window, and what was removed from it."""

    type: Literal["context"] = "context"
    session: str | None = None
    question: str = Field(default="", max_length=200)
    """``at 3`` shows request 3, ``changed 3 8`` compares two, ``why 5 8`` explains item 5 of request 8."""
    forms = single_form(
        "context",
        "what fills the model's window, and what is gone from it, since when and why; "
        "context at N shows request N, changed A B two compared, why ITEM N why an item is in it or not",
        parse_rest=_parse_question,
        keywords=tuple(CONTEXT_FORMS),
        view="window",
    )

    async def run(self, context: OperationContext) -> DrawnText:
        services = context.services
        if context.in_cell and await services.workspace.current_session(context.notebook) is None:
            return DrawnText(bundle=sentence_output(context.no_session_sentence()).bundle)
        session = await context.existing_session(self.session)
        output = await asyncio.to_thread(self._context_output, services, session)
        return DrawnText(bundle=output.bundle)

    def _context_output(self, services: FrontendServices, session: KernelSession) -> CommandOutput:
        scrub, answers = scrubber(os.environ), ContextAnswers(services)
        if self.question:
            parsed_question = _parse_question(self.question)
            if parsed_question is None:
                forms = ", ".join(form.removeprefix("%agent ") for form in CONTEXT_FORMS.values())
                raise UserError(
                    f"{self.question!r} is no question about the context: write {forms}."
                )
            return answers.answer(parsed_question["question"], session, scrub)
        report = answers.window(session, scrub)
        return CommandOutput(report.markdown, report.text, report.html)

    def output(self, answer: DrawnText) -> CommandOutput:
        html = answer.bundle.get("text/html", "")
        return CommandOutput(answer.bundle["text/markdown"], answer.bundle["text/plain"], html)


class ListParts(Operation):
    """List the newest parts that can be pinned, excluded or restored."""

    type: Literal["parts"] = "parts"
    action: str
    in_page: ClassVar[bool] = False

    async def run(self, context: OperationContext) -> CommandOutput | str:
        session = await context.find(None)
        rows = await asyncio.to_thread(part_rows, session)
        if not rows:
            return "Nothing was said in this session yet, so there is nothing to choose."
        table = table_output(PART_COLUMNS, rows)
        hint = f"%agent {self.action} ID chooses one of these, the newest first."
        return CommandOutput(
            f"{table.markdown}\n\n{sentence_output(hint).markdown}", f"{table.plain_text}\n{hint}"
        )


def _edit_form(action: str, help_line: str) -> Form:
    def parse_target(argument_text: str) -> Operation | dict[str, Any] | None:
        if not argument_text:
            return ListParts(action=action)
        return {"target": argument_text} if len(argument_text.split()) == 1 else None

    return Form(action, help_line, ("target",), {"action": action}, parse_target)


class EditedContext(Done):
    """The outcome of an edit of the context."""

    edit: InKernel[ContextEdit]


class ApplyContextEdit(Operation):
    """Edit what the model sees of a part or message, from the next request on."""

    type: Literal["context-edit"] = "context-edit"
    session: str | None = None
    hold: str | None = Field(default=None, max_length=100)
    """The id of a held request whose session is changed instead, such as a subagent's."""
    action: Literal["pin", "unpin", "exclude", "restore", "undo"]
    target: Annotated[str, PART_WORD] = Field(default="", max_length=200)
    """The id of a part or message; empty for ``undo``, which undoes the newest compaction."""
    forms = (
        _edit_form(
            "pin", "keep a part in every request: %agent pin ID; without an ID, list what there is"
        ),
        _edit_form("unpin", "take a pin off again"),
        _edit_form("exclude", "leave a part out of every request: %agent exclude ID"),
        _edit_form(
            "restore", "bring back what was excluded, cleared or compacted: %agent restore ID"
        ),
    )

    async def run(self, context: OperationContext) -> EditedContext:
        session = await context.find(self.session)
        edited_session = session.step_mode.session_of(self.hold) if self.hold else session
        try:
            # In a worker thread, because it may first read older messages from the log.
            edit = await context.run_blocking(edited_session.edit_context, self.action, self.target)
        except NotFound as error:
            if not context.in_cell:
                raise
            prompt_hint = f"To send it as a prompt, write %agent -- {self.action} {self.target}."
            raise UserError(f"{error} {prompt_hint}") from None
        return EditedContext(edit=edit)

    def output(self, answer: EditedContext) -> str:
        return answer.edit.sentence


class PolicyAnswer(Done):
    """The policy that holds from now on."""

    policy: Policy = Field(exclude=True)
    lines: InKernel[OutputLines] = ()
    """The output of a cell."""


def _parse_policy(argument_text: str) -> dict[str, Any] | None:
    words = policy_words(argument_text)
    return {"words": tuple(words)} if all("=" in word for word in words[1:]) else None


class UsePolicy(Operation):
    """Choose the context policy, from the next request on."""

    type: Literal["policy"] = "policy"
    session: str | None = None
    hold: str | None = Field(default=None, max_length=100)
    """The id of a held request whose session is changed instead, such as a subagent's."""
    words: tuple[str, ...] = ()
    """The name of a preset, ``name=value`` for one number, or ``default``; empty only shows the policy."""
    forms = single_form(
        "policy",
        "what is left out for the model, and when: %agent policy [NAME] [number=value]",
        parse_rest=_parse_policy,
    )

    async def run(self, context: OperationContext) -> PolicyAnswer:
        session = await context.find(self.session)
        changed_session = session.step_mode.session_of(self.hold) if self.hold else session
        if self.words:
            await changed_session.use_policy(*self.words)
        if not context.in_cell:
            return PolicyAnswer(policy=session.policy())
        lines = policy_lines(session, context.services.config.origins, shows_all=not self.words)
        return PolicyAnswer(policy=session.policy(), lines=lines)

    def output(self, answer: PolicyAnswer) -> OutputLines:
        return answer.lines
