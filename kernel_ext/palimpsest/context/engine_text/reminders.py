"""Say around a user's words why they come now: they were said while the model was at work.

Border: pure. A reminder is decided once, when the words are first sent, and stands from then on, so that
no byte in front of the newest message changes later and the provider's cache stays warm. The
recorded agent put its reminder on in each request anew and took it off after the next answer; its
preset decides both (spec/session-engine.md 1.6).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from palimpsest.context.budget.token_estimate import Count
from palimpsest.context.conversion.part_conversion import SAID_AS
from palimpsest.context.engine_text.mode_notes import drop_older
from palimpsest.context.visible_messages.view import View
from palimpsest.transcript.context_values.decisions import Decision, OwnRule
from palimpsest.transcript.context_values.policies import ReminderPolicy
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.parts import Part, TextPart

STEERED: OwnRule = "remind/steered"
"""The rule of what is said around words that came in the middle of a turn."""

LAST_STEP = (
    "This is the last step of this turn: its step limit of {limit} is reached and tools are off. "
    "Answer now in words: what was done, what was found, and what remains to be done."
)


@dataclass(frozen=True, slots=True)
class LastStep:
    """What is said when a turn reaches its step limit, and in whose name."""

    role: Literal["user", "assistant"]
    text: str

    @property
    def metadata(self) -> dict[str, str] | None:
        """What the synthetic part that says it carries."""
        return {SAID_AS: self.role} if self.role == "assistant" else None


def last_step(limit: int, policy: ReminderPolicy) -> LastStep:
    """Return what tells the model that it may take one step more, without tools."""
    return LastStep(policy.last_step, LAST_STEP.format(limit=limit))


def remind(
    view: View, policy: ReminderPolicy, new_id: Callable[[], str], count: Count
) -> tuple[Decision, ...]:
    """Decide what is said around steered words, and no more beside older ones, before the next request."""
    older = tuple(drop_older(view, new_id, count)) if policy.mode == "newest" else ()
    if policy.steered == "plain":
        return older
    wraps = _standing(view.decisions)
    first = _first_unanswered(view.messages, finished=policy.steered == "until-answered")
    found = [
        _decision(new_id(), part, policy, count)
        for part in _steered(view.messages[first:])
        if part.id not in wraps
    ]
    if policy.steered == "until-answered":
        found += [
            _taken_off(new_id(), part, wraps[part.id], count)
            for part in _steered(view.messages[:first])
            if part.id in wraps and wraps[part.id].numbers["before"]
        ]
    return (*older, *found)


def wrapped(messages: Messages, decisions: Sequence[Decision]) -> Messages:
    """Return the messages with what is said around words of theirs."""
    wraps = _standing(decisions)
    if not wraps:
        return messages
    return tuple(
        message.model_copy(update={"parts": tuple(_part(part, wraps) for part in message.parts)})
        if any(part.id in wraps for part in message.parts)
        else message
        for message in messages
    )


def _standing(decisions: Sequence[Decision]) -> dict[str, Decision]:
    """Return the newest wrap of each part."""
    return {
        decision.part_id: decision
        for decision in decisions
        if decision.action == "wrap" and decision.part_id is not None
    }


def _part(part: Part, wraps: dict[str, Decision]) -> Part:
    if part.id not in wraps or not isinstance(part, TextPart):
        return part
    return part.model_copy(update={"text": _around(part.text, wraps[part.id])})


def _around(text: str, decision: Decision) -> str:
    return f"{decision.numbers.get('before', '')}{text}{decision.numbers.get('after', '')}"


def _first_unanswered(messages: Messages, *, finished: bool) -> int:
    """Return where the messages begin that no answer follows; or no finished one."""
    for at in range(len(messages) - 1, -1, -1):
        info = messages[at].info
        if isinstance(info, AssistantMessage) and (info.finish or not finished):
            return at + 1
    return 0


def _steered(messages: Sequence[Message]) -> Iterator[TextPart]:
    """Yield words that a person said into a turn that ran already."""
    for message in messages:
        if not isinstance(message.info, UserMessage) or not message.info.joins:
            continue
        for part in message.parts:
            said = isinstance(part, TextPart) and not (part.synthetic or part.ignored)
            if isinstance(part, TextPart) and said and part.text.strip():
                yield part


def _decision(name: str, part: TextPart, policy: ReminderPolicy, count: Count) -> Decision:
    made = Decision(
        id=name,
        action="wrap",
        rule=STEERED,
        message_id=part.message_id,
        part_id=part.id,
        numbers={"before": policy.before, "after": policy.after},
        tokens_before=count(part.text),
    )
    return made.model_copy(update={"tokens_after": count(_around(part.text, made))})


def _taken_off(name: str, part: TextPart, before: Decision, count: Count) -> Decision:
    return Decision(
        id=name,
        action="wrap",
        rule=STEERED,
        message_id=part.message_id,
        part_id=part.id,
        numbers={"before": "", "after": ""},
        tokens_before=count(_around(part.text, before)),
        tokens_after=count(part.text),
    )
