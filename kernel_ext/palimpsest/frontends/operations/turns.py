"""Operations on turns: prompt, retry, join, compact, stop, withdraw, and answers to questions."""

import re
from collections.abc import Coroutine
from typing import Annotated, Any, Literal

from pydantic import Field

from palimpsest.frontends.operation_base.grammar import PART_WORD, OptionError, option_value
from palimpsest.frontends.operation_base.operation import (
    ContentFile,
    Done,
    Form,
    Operation,
    OperationContext,
    TurnOperation,
    single_form,
)
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions, TurnToRetry
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.messages import Origin
from palimpsest.transcript.values import CellDecision, Reply

STOPPED, NOTHING_RAN = "Stopped.", "Nothing was running."


class PromptBase(TurnOperation):
    """A prompt for the agent; ``id`` is also the prompt's id."""

    text: str = Field(min_length=1)
    model: str | None = None
    variant: str | None = None
    agent: str | None = None
    system: str | None = None
    tools: tuple[str, ...] | dict[str, bool] | None = None
    """The only tools to offer, or a mapping that switches single tools on and off."""
    max_steps: int | None = Field(default=None, ge=1)
    files: tuple[ContentFile, ...] = ()
    """Files sent with the text, such as those of a prompt that was withdrawn."""
    client: str | None = None
    """The page that sends the prompt, which shows the notebook whose cells its turn may change."""

    def turn(self, session: KernelSession, origin: Origin | None) -> Coroutine[Any, Any, Answer]:
        options = PromptOptions.of_choices(
            self,
            files=self.files,
            delivery="steer" if isinstance(self, Steer) else "queue",
            origin=origin,
            prompt_id=self.id,
        )
        return session.prompt(self.text, options)


class Prompt(PromptBase):
    """Send a prompt; it waits until the running turn has ended."""

    type: Literal["prompt"] = "prompt"
    forms = (
        Form(
            "fix",
            "mend the newest error, or that of a cell: %agent fix [NUMBER]",
            parse_rest=lambda _rest: None,  # the line is parsed as a prompt
        ),
        Form(
            "explain",
            "explain the newest error, or that of a cell: %agent explain [NUMBER]",
            parse_rest=lambda _rest: None,  # the line is parsed as a prompt
        ),
    )


class Queue(PromptBase):
    """Send a prompt that waits until the running turn has ended."""

    type: Literal["queue"] = "queue"


class Steer(PromptBase):
    """Send a prompt that joins the running turn, before its next request."""

    type: Literal["steer"] = "steer"


class Cancel(Operation):
    """Stop the running turn and withdraw the waiting prompts."""

    type: Literal["cancel"] = "cancel"
    session: str | None = None
    forms = single_form("stop", "stop the turn that runs")

    async def run(self, context: OperationContext) -> Done:
        return Done(late=not (await context.find(self.session)).cancel(STOPPED))

    def output(self, answer: Done) -> str:
        return NOTHING_RAN if answer.late else STOPPED


class Join(TurnOperation):
    """Await the end of the running turn; if none runs, answer a prompt that a killed kernel left waiting."""

    type: Literal["loop"] = "loop"
    forms = single_form("wait", "wait for the turn that runs, and show its answer")

    def turn(self, session: KernelSession, origin: Origin | None) -> Coroutine[Any, Any, Answer]:  # noqa: ARG002
        return session.loop()


RETRY_OPTIONS = {"--model": ("model", "NAME"), "-m": ("model", "NAME"), "--mode": ("mode", "MODE")}
"""By the option's name, the field that it sets and the placeholder of its value."""


def _parse_retry(argument_text: str) -> dict[str, Any] | None:
    """Parse ``[ID or last] [--model NAME] [--mode MODE]``."""
    values: dict[str, Any] = {}
    while argument_text:
        name = re.split(r"[\s=]", argument_text, maxsplit=1)[0]
        rest = argument_text[len(name) :]
        if name in RETRY_OPTIONS:
            field, placeholder = RETRY_OPTIONS[name]
            value, argument_text = option_value(name, rest.removeprefix("="), placeholder)
            values[field] = value
        elif "target" not in values and re.fullmatch(r"(?:msg|prt)_\w+|last", name):
            values["target"], argument_text = name, rest.lstrip()
        else:
            return None
    return values


class Retry(TurnOperation):
    """Send the newest turn's request again, because it failed; or replace a turn by sending its prompt again."""

    type: Literal["retry"] = "retry"
    target: Annotated[str, PART_WORD] = Field(default="", max_length=200)
    """A message or part of the turn to replace; later turns are replaced, too; ``last`` is the newest turn."""
    overwrite: tuple[str, ...] = ()
    """Files to restore although they were changed outside the session."""
    model: str | None = Field(default=None, max_length=200)
    """The model for this turn."""
    mode: str | None = Field(default=None, max_length=40)
    """The permission mode of the session from now on."""
    forms = single_form(
        "retry",
        "send the newest request again, because it failed; or a turn's prompt, in its place: "
        "%agent retry [ID or last] [--model NAME] [--mode MODE]",
        ("target", "model", "mode"),
        parse_rest=_parse_retry,
        keywords=("last",),
    )

    def turn(self, session: KernelSession, origin: Origin | None) -> Coroutine[Any, Any, Answer]:
        if not (self.target or self.model or self.mode):
            return session.retry()
        turn = TurnToRetry(self.target, self.overwrite, self.model, self.mode)
        return session.retry(turn, origin)


class Withdrawn(Done):
    """The number of withdrawn prompts."""

    count: int = Field(default=0, exclude=True)


class Withdraw(Operation):
    """Withdraw a waiting prompt; without an id the newest, or all of them."""

    type: Literal["withdraw"] = "withdraw"
    session: str | None = None
    prompt_id: str | None = None
    which: Literal["newest", "all"] = "newest"
    forms = single_form(
        "withdraw",
        "take waiting prompts back: the newest, or %agent withdraw all",
        parse_rest=lambda rest: {"": {}, "all": {"which": "all"}}.get(rest),
        keywords=("all",),
    )

    async def run(self, context: OperationContext) -> Withdrawn:
        session = await context.find(self.session)
        if self.prompt_id is None:
            waiting_ids = [prompt.prompt_id for prompt in session.snapshot(messages=False).inbox]
            prompt_ids = waiting_ids if self.which == "all" else waiting_ids[-1:]
        else:
            prompt_ids = [self.prompt_id]
        count = sum(session.withdraw(prompt_id) for prompt_id in prompt_ids)
        return Withdrawn(late=count == 0, count=count)

    def output(self, answer: Withdrawn) -> str:
        if answer.late:
            return "No prompt was waiting."
        return "Withdrawn." if answer.count == 1 else f"{answer.count} prompts were withdrawn."


def _parse_compact(argument_text: str) -> dict[str, Any] | None:
    """Parse ``[--model NAME] [--auto] [focus on ...]``."""
    values: dict[str, Any] = {}
    rest = argument_text
    while (name := re.split(r"[\s=]", rest, maxsplit=1)[0]) in ("--model", "-m", "--auto"):
        rest = rest[len(name) :]
        if name == "--auto":
            values["auto"], rest = True, rest.lstrip()
        else:
            values["model"], rest = option_value(name, rest.removeprefix("="), "NAME")
    words = rest.split(maxsplit=2)
    if words[:2] == ["focus", "on"]:
        if len(words) == 2:
            raise OptionError("On what? Write %agent compact focus on WHAT THE SUMMARY KEEPS.")
        return values | {"focus": words[2]}
    if words and values:
        raise OptionError(
            f"%agent compact does not take {rest!r} behind its options: write focus on WHAT THE SUMMARY KEEPS."
        )
    return values if not words else None


class Compact(TurnOperation):
    """Replace older messages by a summary; joins a compaction that already runs."""

    type: Literal["compact"] = "compact"
    focus: str | None = None
    """What the summary should keep above all."""
    model: str | None = Field(default=None, max_length=200)
    """The model that writes this one summary."""
    auto: bool = False
    """The agent continues on its own after the summary."""
    forms = single_form(
        "compact",
        "put a summary in the place of what was said: %agent compact [--model NAME] [--auto] [focus on ...]",
        ("model", "auto"),
        parse_rest=_parse_compact,
        keywords=("focus",),
        is_never_prompt=True,
    )

    def turn(self, session: KernelSession, origin: Origin | None) -> Coroutine[Any, Any, Answer]:
        return session.compact(self.focus, origin, model=self.model, auto=self.auto)


class AnswerAsk(Operation):
    """Answer a permission question; the first answer wins."""

    type: Literal["reply"] = "reply"
    session: str | None = None
    ask_id: str
    answer: Literal["once", "always", "reject"]
    feedback: str | None = None
    scope: Literal["session", "project"] | None = None
    """The scope of an ``always``; None means the session."""
    cells: tuple[CellDecision, ...] | None = None
    """Answers about single changes of cells, for which ``answer`` is "once"; None accepts all."""

    async def run(self, context: OperationContext) -> Done:
        session = await context.find(self.session)
        reply = Reply(
            answer=self.answer, feedback=self.feedback, scope=self.scope, cells=self.cells
        )
        return Done(late=not session.reply(self.ask_id, reply))


class AnswerQuestion(Operation):
    """Answer the model's questions; the first answer wins."""

    type: Literal["answer"] = "answer"
    session: str | None = None
    question_id: str
    answers: tuple[tuple[str, ...], ...] | None = None
    """The chosen labels, or free text, for each question; None declines."""

    async def run(self, context: OperationContext) -> Done:
        session = await context.find(self.session)
        return Done(late=not session.answer(self.question_id, self.answers))
