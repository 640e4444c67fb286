"""Show a history whole again where a person undid its compaction.

Border: pure. Nothing is taken out of the transcript: what only the compaction brought (its marker,
its summary, the words with which the engine went on) is passed over before the fold, so the model
sees the history as if it had never been compacted.
"""

from palimpsest.context.visible_messages.fold import marker
from palimpsest.transcript.context_values.decisions import UNDO, Decision, undone
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.parts import TextPart

CONTINUES = "compaction_continue"
"""Key in the metadata of what the engine says to go on after a summary."""


def without_undone(messages: Messages, decisions: tuple[Decision, ...]) -> Messages:
    """Leave out what undone compactions brought."""
    summaries = undone(decisions)
    if not summaries:
        return messages
    markers = {
        message.info.parent_id
        for message in messages
        if message.id in summaries and isinstance(message.info, AssistantMessage)
    }
    gone = summaries | markers
    kept: list[Message] = []
    after = False
    for message in messages:
        if message.id in gone:
            after = True
        elif after and _goes_on(message):
            after = False
        else:
            after = False
            kept.append(message)
    return tuple(kept)


def policy_after_undo(
    messages: Messages, decisions: tuple[Decision, ...], policy: Policy
) -> Policy:
    """Return the policy without automatic compaction from an undo on until the next prompt."""
    newest = next((one for one in reversed(decisions) if one.rule == UNDO), None)
    if newest is None or newest.numbers.get("prompt") != newest_prompt(messages):
        return policy
    overflow = policy.overflow.model_copy(update={"auto": False})
    return policy.model_copy(update={"overflow": overflow})


def newest_prompt(messages: Messages) -> str | None:
    """Return the id of the newest message that a person wrote."""
    for message in reversed(messages):
        info = message.info
        if isinstance(info, UserMessage) and not info.by_engine and marker(message) is None:
            return message.id
    return None


def _goes_on(message: Message) -> bool:
    return any(
        isinstance(part, TextPart) and bool((part.metadata or {}).get(CONTINUES))
        for part in message.parts
    )
