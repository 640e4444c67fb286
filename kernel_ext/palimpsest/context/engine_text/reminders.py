"""Decide the notes beside a user's prompt: about a prompt during a running turn, a new mode or a new agent.

Border: pure. A note is decided once, when the prompt is first sent, and stays from then on, so that no byte before the
newest message changes later and the provider's cache stays warm. OpenCode adds its reminder to each request and removes
it after the next answer; the notes about plan mode and its end stand only beside the newest user message of each
request. Its preset does the same. The first lines of the note about plan mode and the note about its end are OpenCode's
text; the rest is Palimpsest's.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.conversion.part_conversion import SENT_ROLE
from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import Decision, OwnRule
from palimpsest.transcript.context_values.policies import ReminderPolicy
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.parts import CompactionPart, Part, TextPart

NEWS = "news"
"""Key in the metadata of a note: the kind of change."""
MODE_RULE: OwnRule = "remind/mode"
"""The rule by which a mode note beside an older message is dropped."""
PLAN = "plan"
BUILD = "build"
BESIDE_NEWEST_KEY = "beside"
"""Key in the metadata of a note that stays beside the newest user message only."""
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
"""The literal string of OpenCode."""


def agent_note(messages: Messages, agent: str, *, plan_apart: bool = False) -> str | None:
    """Return the note about a change of agent since the previous prompt; None where there is none.

    ``plan_apart`` leaves plan mode, and its end, to ``note_beside_newest``.
    """
    prompts = [message.info for message in messages if is_prompt(message)]
    earlier_agents = [info.agent for info in prompts[:-1] if isinstance(info, UserMessage)]
    earlier_agent = earlier_agents[-1] if earlier_agents else agent
    if earlier_agent == agent:
        return None
    if plan_apart and (agent == PLAN or (earlier_agent, agent) == (PLAN, BUILD)):
        return None
    if agent == PLAN:
        return TO_PLAN
    return (
        FROM_PLAN
        if earlier_agent == PLAN
        else OTHER_AGENT.format(agent=agent, before=earlier_agent)
    )


def note_beside_newest(messages: Messages) -> tuple[Message, str] | None:
    """Return the newest user message, and the mode note to add beside it; None where none is needed.

    ``messages`` are those that the model still sees.
    """
    newest_prompt = _newest_prompt(messages)
    if newest_prompt is None or any(
        isinstance(part, CompactionPart) or _is_beside_newest(part) for part in newest_prompt.parts
    ):
        return None
    agent = newest_prompt.info.agent
    if agent == PLAN:
        return newest_prompt, PLAN_BESIDE_NEWEST
    infos = (message.info for message in messages)
    has_planned = any(isinstance(info, AssistantMessage) and info.agent == PLAN for info in infos)
    return (newest_prompt, BUILD_BESIDE_NEWEST) if agent == BUILD and has_planned else None


def metadata_beside_newest() -> dict[str, Any]:
    """Return the metadata of a note that stays beside the newest user message only."""
    return {NEWS: "mode", BESIDE_NEWEST_KEY: "newest"}


def drop_older_mode_notes(
    view: View, new_id: Callable[[], str], count: Count
) -> Iterator[Decision]:
    """Yield a decision to drop each mode note that is still shown beside an older message."""
    newest = _newest_prompt(view.messages)
    decided_ids = {decision.part_id for decision in view.decisions if decision.part_id is not None}
    for message in view.messages:
        if message is newest or not isinstance(message.info, UserMessage):
            continue
        for part in message.parts:
            if _is_beside_newest(part) and part.id not in decided_ids:
                yield Decision(
                    id=new_id(),
                    action="drop",
                    rule=MODE_RULE,
                    message_id=message.info.id,
                    part_id=part.id,
                    tokens_before=count(part.text),
                    tokens_after=0,
                )


def is_prompt(message: Message) -> bool:
    """Return whether the user wrote the message."""
    info = message.info
    return isinstance(info, UserMessage) and not info.by_engine


def _newest_prompt(messages: Messages) -> Message | None:
    prompts = (message for message in reversed(messages) if isinstance(message.info, UserMessage))
    return next(prompts, None)


def _is_beside_newest(part: object) -> TypeGuard[TextPart]:
    return isinstance(part, TextPart) and (part.metadata or {}).get(BESIDE_NEWEST_KEY) == "newest"


STEERED_RULE: OwnRule = "remind/steered"
"""The rule that puts a note around a prompt sent during a running turn."""
LAST_STEP = (
    "This is the last step of this turn: its step limit of {limit} is reached and tools are off. "
    "Answer now in words: what was done, what was found, and what remains to be done."
)


@dataclass(frozen=True, slots=True)
class LastStep:
    """The message sent when a turn reaches its step limit, and its role."""

    role: Literal["user", "assistant"]
    text: str

    @property
    def metadata(self) -> dict[str, str] | None:
        """Metadata of the synthetic part with this text."""
        return {SENT_ROLE: self.role} if self.role == "assistant" else None


def last_step(limit: int, policy: ReminderPolicy) -> LastStep:
    """Return the message that announces the last step, without tools."""
    return LastStep(policy.last_step, LAST_STEP.format(limit=limit))


def decide_reminders(
    view: View, policy: ReminderPolicy, new_id: Callable[[], str], count: Count
) -> tuple[Decision, ...]:
    """Decide the notes around steered prompts before the next request, and drop outdated mode notes."""
    older_notes = (
        tuple(drop_older_mode_notes(view, new_id, count)) if policy.mode == "newest" else ()
    )
    if policy.steered == "plain":
        return older_notes
    wraps = _newest_wraps(view.decisions)
    first_index = _first_unanswered(view.messages, only_finished=policy.steered == "until-answered")
    note, no_note = {"before": policy.before, "after": policy.after}, {"before": "", "after": ""}
    notes = [
        _wrap_decision(new_id(), part, note, part.text, count)
        for part in _steering_texts(view.messages[first_index:])
        if part.id not in wraps
    ]
    if policy.steered == "until-answered":
        notes += [
            _wrap_decision(new_id(), part, no_note, _wrap_text(part.text, wraps[part.id]), count)
            for part in _steering_texts(view.messages[:first_index])
            if part.id in wraps and wraps[part.id].numbers["before"]
        ]
    return (*older_notes, *notes)


def with_reminders(messages: Messages, decisions: Sequence[Decision]) -> Messages:
    """Return the messages with the notes of wrap decisions around their texts."""
    wraps = _newest_wraps(decisions)
    if not wraps:
        return messages
    return tuple(
        message.model_copy(
            update={"parts": tuple(_reminded_part(part, wraps) for part in message.parts)}
        )
        if any(part.id in wraps for part in message.parts)
        else message
        for message in messages
    )


def _newest_wraps(decisions: Sequence[Decision]) -> dict[str, Decision]:
    """Return the newest wrap decision of each part."""
    return {
        decision.part_id: decision
        for decision in decisions
        if decision.action == "wrap" and decision.part_id is not None
    }


def _reminded_part(part: Part, wraps: dict[str, Decision]) -> Part:
    if part.id not in wraps or not isinstance(part, TextPart):
        return part
    return part.model_copy(update={"text": _wrap_text(part.text, wraps[part.id])})


def _wrap_text(text: str, decision: Decision) -> str:
    return f"{decision.numbers.get('before', '')}{text}{decision.numbers.get('after', '')}"


def _first_unanswered(messages: Messages, *, only_finished: bool) -> int:
    """Return the index after the newest answer, or after the newest finished answer."""
    for index in range(len(messages) - 1, -1, -1):
        info = messages[index].info
        if isinstance(info, AssistantMessage) and (info.finish or not only_finished):
            return index + 1
    return 0


def _steering_texts(messages: Sequence[Message]) -> Iterator[TextPart]:
    """Yield texts that a user sent while a turn was already running."""
    for message in messages:
        if not isinstance(message.info, UserMessage) or not message.info.joins:
            continue
        for part in message.parts:
            is_user_text = isinstance(part, TextPart) and not (part.synthetic or part.ignored)
            if isinstance(part, TextPart) and is_user_text and part.text.strip():
                yield part


def _wrap_decision(
    decision_id: str, part: TextPart, note: dict[str, str], text_before: str, count: Count
) -> Decision:
    """Return the decision to put a note around a prompt; ``text_before`` is the text that was shown until now."""
    decision = Decision(
        id=decision_id,
        action="wrap",
        rule=STEERED_RULE,
        message_id=part.message_id,
        part_id=part.id,
        numbers=dict(note),
        tokens_before=count(text_before),
    )
    return decision.model_copy(update={"tokens_after": count(_wrap_text(part.text, decision))})
