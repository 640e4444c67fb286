"""The end of a turn: why it ended, journaled with its last answer and said where it did not finish by itself.

Border: called by the runner when nothing runs any more; the turn itself says which guard ended it.
"""

from palimpsest.loop.stage import Stage
from palimpsest.processor.toolcalls import UNATTENDED
from palimpsest.transcript.events import Event, MessageUpdated, PartUpdated
from palimpsest.transcript.messages import AssistantMessage, Message, Messages
from palimpsest.transcript.notices import notice
from palimpsest.transcript.parts import ToolFailed, ToolPart
from palimpsest.transcript.stops import StoppedBy, stop_of

STOP = "stop"
"""What the notice about a turn's end is about."""

WORDS: dict[StoppedBy, str] = {
    "steps": "The turn ended at its step limit. Ask it to go on.",
    "rejected": "The turn ended here because a call was refused. Say how to go on.",
    "error": "The provider ended the answer without saying why. Ask it to go on.",
}
"""What no error and no other notice says; the other ends are said by those."""

UNATTENDED_WORDS = (
    "The turn ended here: its calls need a person's permission, and nobody is here to give it. Run it with "
    "--yes, or allow the calls in the settings."
)


def journal_end(stage: Stage, stopped_by: StoppedBy | None, messages: Messages) -> StoppedBy | None:
    """Write why the turn of these messages ended into its last answer; returns what was written.

    Without a reason it is what the answer itself says. A turn that said nothing has nowhere to say it.
    """
    last = next((m for m in reversed(messages) if isinstance(m.info, AssistantMessage)), None)
    if last is None or not isinstance(last.info, AssistantMessage):
        return stopped_by
    by = stopped_by or stop_of(last.info) or "interrupted"
    written: list[Event] = []
    words = _words(last, by)
    if words:
        part = notice(stage.ids.new("prt"), stage.session_id, last.id, STOP, words)
        written.append(PartUpdated(part=part))
    if last.info.stopped_by != by:
        written.append(MessageUpdated(info=last.info.model_copy(update={"stopped_by": by})))
    if written:
        stage.write(*written, sync=True)
    return by


def refused_unasked(message: Message) -> bool:
    """Tell whether every call of a step was refused because nobody was there to ask."""
    calls = [part for part in message.parts if isinstance(part, ToolPart)]
    return bool(calls) and all(_unasked(part) for part in calls)


def _unasked(part: ToolPart) -> bool:
    return isinstance(part.state, ToolFailed) and bool(part.state.metadata.get(UNATTENDED))


def _words(last: Message, by: StoppedBy) -> str:
    """Return what a person is told beside what the answer says already."""
    info = last.info
    if not isinstance(info, AssistantMessage) or info.error is not None or info.stopped_by == by:
        return ""
    if by == "rejected" and refused_unasked(last):
        return UNATTENDED_WORDS
    return WORDS.get(by, "")
