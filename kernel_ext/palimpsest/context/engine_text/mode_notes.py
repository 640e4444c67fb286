"""Say that plan mode or another agent began, or ended.

Border: pure. A note stands beside the prompt that brought the change, and stays there. The recorded
agent says plan mode, and its end, beside the newest user message of each request alone: there the
words beside older messages are dropped again (spec/session-engine.md 1.6). What they hold of the
recorded words are the first lines and the news that plan mode ended; the rest is ours.
"""

from collections.abc import Callable, Iterator
from typing import Any

from palimpsest.context.budget.token_estimate import Count
from palimpsest.context.visible_messages.view import View
from palimpsest.transcript.context_values.decisions import Decision, OwnRule
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.parts import CompactionPart, TextPart

NEWS = "news"
"""Key in the metadata of what is told so."""
MODE: OwnRule = "remind/mode"
"""The rule by which the words beside an older message are dropped."""
PLAN = "plan"
BUILD = "build"
BESIDE = "beside"
"""Key in the metadata of words that stand beside the newest user message alone."""

TO_PLAN = (
    "<note>From here on you are in plan mode: look, think and propose, and change nothing.</note>"
)
FROM_PLAN = (
    "<note>Plan mode has ended. You may run code and change files again, as far as the user's rules allow "
    "it.</note>"
)
OTHER_AGENT = (
    "<note>From here on you answer as the agent {agent}; until now it was {before}.</note>"
)
IN_PLAN = (
    "<note>The user has put this session in plan mode: look, think and propose, and change nothing. Do not try to "
    "run code, write or edit. End with a numbered plan that the user can accept or change.</note>"
)
PLAN_BESIDE_NEWEST = (
    "<system-reminder>\n# Plan Mode - System Reminder\n\nCRITICAL: Plan mode ACTIVE. Look, think and propose, and "
    "change nothing: do not edit or write a file, and do not run a command or code that changes something, whatever "
    "else you were told. Read, search and ask the user where a choice is theirs. End with a numbered plan that the "
    "user can accept or change.\n</system-reminder>"
)
BUILD_BESIDE_NEWEST = (
    "<system-reminder>\nYour operational mode has changed from plan to build.\nYou are no longer in "
    "read-only mode.\nYou are permitted to make file changes, run shell commands, and utilize your "
    "arsenal of tools as needed.\n</system-reminder>"
)
"""The literal string of the recorded agent."""


def agent_note(messages: Messages, agent: str, *, plan_apart: bool = False) -> str | None:
    """Return what a note says of a change of agent since the prompt before; None where there is none.

    ``plan_apart`` leaves plan mode, and its end, to ``beside_newest``.
    """
    prompts = [one.info for one in messages if is_prompt(one)]
    before = [info.agent for info in prompts[:-1] if isinstance(info, UserMessage)]
    if not before or before[-1] == agent:
        return None
    if plan_apart and (agent == PLAN or (before[-1], agent) == (PLAN, BUILD)):
        return None
    if agent == PLAN:
        return TO_PLAN
    return FROM_PLAN if before[-1] == PLAN else OTHER_AGENT.format(agent=agent, before=before[-1])


def beside_newest(messages: Messages) -> tuple[Message, str] | None:
    """Return the newest user message, and what is to be said of the mode beside it; None if nothing.

    ``messages`` are those that the model still sees.
    """
    newest = _newest(messages)
    if newest is None or any(isinstance(part, CompactionPart) for part in newest.parts):
        return None
    if any(_is_beside(part) for part in newest.parts):
        return None
    agent = newest.info.agent
    planned = (
        isinstance(one.info, AssistantMessage) and one.info.agent == PLAN for one in messages
    )
    if agent == PLAN:
        return newest, PLAN_BESIDE_NEWEST
    return (newest, BUILD_BESIDE_NEWEST) if agent == BUILD and any(planned) else None


def metadata_beside_newest() -> dict[str, Any]:
    """Return what marks words that stand beside the newest user message alone."""
    return {NEWS: "mode", BESIDE: "newest"}


def drop_older(view: View, new_id: Callable[[], str], count: Count) -> Iterator[Decision]:
    """Yield a decision for each older message beside which the mode is still said."""
    newest = _newest(view.messages)
    decided = {one.part_id for one in view.decisions if one.part_id is not None}
    for message in view.messages:
        if message is newest or not isinstance(message.info, UserMessage):
            continue
        for part in message.parts:
            if isinstance(part, TextPart) and _is_beside(part) and part.id not in decided:
                yield Decision(
                    id=new_id(),
                    action="drop",
                    rule=MODE,
                    message_id=message.info.id,
                    part_id=part.id,
                    tokens_before=count(part.text),
                    tokens_after=0,
                )


def is_prompt(message: Message) -> bool:
    """Tell whether a person wrote the message."""
    info = message.info
    return isinstance(info, UserMessage) and not info.by_engine


def _newest(messages: Messages) -> Message | None:
    return next((one for one in reversed(messages) if isinstance(one.info, UserMessage)), None)


def _is_beside(part: object) -> bool:
    return isinstance(part, TextPart) and (part.metadata or {}).get(BESIDE) == "newest"
