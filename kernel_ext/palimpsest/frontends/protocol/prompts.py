"""Send, queue, steer, retry, stop and withdraw prompts, and answer questions."""

import re
from typing import Literal

from pydantic import Field, field_validator

from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.transcript.parts import Attachment


class PromptBase(CommandBase):
    """A prompt for the agent; ``id`` is the prompt's id too."""

    text: str = Field(min_length=1)
    session: str | None = None
    """None means the notebook's current session."""
    model: str | None = None
    variant: str | None = None
    agent: str | None = None
    system: str | None = None
    tools: tuple[str, ...] | dict[str, bool] | None = None
    """Only these tools, or a mapping that switches single ones on and off."""
    max_steps: int | None = Field(default=None, ge=1)
    files: tuple[Attachment, ...] = ()
    """Files sent with the text, such as those of a prompt that was withdrawn."""

    @field_validator("files")
    @classmethod
    def _lie_here(cls, files: tuple[Attachment, ...]) -> tuple[Attachment, ...]:
        for one in files:
            if not re.match(r"data:|blob:[0-9a-f]{64}$", one.url):
                raise ValueError(
                    f"A file goes along by its content (data:) or as the log keeps it (blob:), not by {one.url!r:.60}."
                )
        return files


class Prompt(PromptBase):
    """Send a prompt; while a turn runs it waits behind it."""

    type: Literal["prompt"] = "prompt"


class Queue(PromptBase):
    """Send a prompt that waits until the turn that runs has ended."""

    type: Literal["queue"] = "queue"


class Steer(PromptBase):
    """Send a prompt into the turn that runs, before its next request."""

    type: Literal["steer"] = "steer"


class AnswerAsk(CommandBase):
    """Answer a permission question; the first answer wins."""

    type: Literal["reply"] = "reply"
    session: str | None = None
    ask_id: str
    answer: Literal["once", "always", "reject"]
    feedback: str | None = None
    scope: Literal["session", "project"] | None = None
    """How far an ``always`` reaches; None means the session."""


class AnswerQuestion(CommandBase):
    """Answer the model's questions; the first answer wins."""

    type: Literal["answer"] = "answer"
    session: str | None = None
    question_id: str
    answers: tuple[tuple[str, ...], ...] | None = None
    """For each question the labels chosen, or free text; None declines."""


class Retry(CommandBase):
    """Send the newest turn's request again, because it failed."""

    type: Literal["retry"] = "retry"
    session: str | None = None


class Join(CommandBase):
    """Await the end of the running turn; if none runs, answer a prompt that a killed kernel left."""

    type: Literal["loop"] = "loop"
    session: str | None = None


class Cancel(CommandBase):
    """Stop the turn that runs and withdraw what waits."""

    type: Literal["cancel"] = "cancel"
    session: str | None = None


class Withdraw(CommandBase):
    """Withdraw a waiting prompt."""

    type: Literal["withdraw"] = "withdraw"
    session: str | None = None
    prompt_id: str
