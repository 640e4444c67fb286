"""Read a session's own hidden or truncated texts, for the tool ``recall``.

Border: reads the session's journal, including messages before the live window, and the blobs that its parts name; for a
task also those of the calling session. Parts that the user excluded from the context are not found here.
"""

import asyncio
from collections.abc import Sequence

from palimpsest.context.conversion.transcript_text import serialize_messages
from palimpsest.context.visible_messages import View, whole_output
from palimpsest.render.content.phrases import subject
from palimpsest.session.records.part_lookup import Target, find_part
from palimpsest.store.interface import Store
from palimpsest.store.log.journal import Journal
from palimpsest.tools.tool import ArchivedText
from palimpsest.transcript.context_values.decisions import Decision, EffectiveDecisions
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.ids import short_id
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.parts import (
    NotebookPart,
    Part,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
)

EARLIER_MESSAGES = "earlier"
"""The name by which the model recalls the messages that the newest summary replaces."""
MAX_TITLE_CHARS = 80
UNREACHED_CHARS = 10**9
"""A limit of characters that no output reaches."""


class SessionArchive:
    """Finds texts of one session that its model can recall."""

    def __init__(self, journal: Journal, store: Store) -> None:
        self._journal = journal
        self._store = store
        self.caller: SessionArchive | None = None
        """The archive of the parent session, for a subagent's session; it is searched too."""

    async def find(self, name: str) -> ArchivedText:
        """Return the text of a part or message by name; raises UserError with a sentence for the model."""
        return await asyncio.to_thread(self._find_text, name.strip())

    async def hidden_texts(self) -> Sequence[ArchivedText]:
        """Return all texts that the model is not shown, or only in part, oldest first."""
        return await asyncio.to_thread(self._hidden_texts)

    def _find_text(self, name: str) -> ArchivedText:
        messages, decisions = self._whole_history()
        if name == EARLIER_MESSAGES:
            earlier_text = self._replaced_messages(messages, decisions)
            if earlier_text is None:
                raise UserError("No summary stands for earlier messages; all of them are here.")
            return earlier_text
        try:
            target = find_part(messages, name)
        except NotFound:
            if self.caller is not None:
                return self.caller._find_text(name)  # noqa: SLF001 - of the same class
            raise NotFound(
                f"There is no output {name!r} in this session. The note in the place of an output names it; "
                "a pattern without a name searches all that was taken out."
            ) from None
        recallable_parts = _recallable_parts(target, EffectiveDecisions(decisions))
        if not recallable_parts:
            raise UserError(
                "The user left this out of the conversation, so it can't be recalled. If it is needed, ask "
                "them to restore it."
            )
        return self._archived_target(target, recallable_parts)

    def _hidden_texts(self) -> list[ArchivedText]:
        messages, decisions = self._whole_history()
        effective_decisions = EffectiveDecisions(decisions)
        archived_texts = [self._replaced_messages(messages, decisions)]
        for message in View(messages, decisions).folded_messages():
            for part in message.parts:
                reduction = effective_decisions.reduction(part.id, message.id)
                if reduction is not None and reduction.action in {"truncate", "clear"}:
                    archived_texts.append(self._archived_target(Target(message, part), (part,)))
        return [text for text in archived_texts if text is not None]

    def _replaced_messages(
        self, messages: Messages, decisions: tuple[Decision, ...]
    ) -> ArchivedText | None:
        """Return the messages that the newest summary replaces, in their original wording."""
        visible_ids = {message.id for message in View(messages, decisions).folded_messages()}
        replaced_messages = [message for message in messages if message.id not in visible_ids]
        if not replaced_messages:
            return None
        effective_decisions = EffectiveDecisions(decisions)
        full_messages = tuple(
            self._full_message(message, _recallable_parts(Target(message), effective_decisions))
            for message in replaced_messages
        )
        text = serialize_messages(full_messages, UNREACHED_CHARS)
        return ArchivedText(EARLIER_MESSAGES, "Earlier messages", text)

    def _archived_target(self, target: Target, parts: Sequence[Part]) -> ArchivedText:
        return ArchivedText(
            short_id(target.id), _target_title(target), self._text_of_target(target, parts)
        )

    def _full_message(self, message: Message, parts: Sequence[Part]) -> Message:
        return message.model_copy(update={"parts": tuple(map(self._full_part, parts))})

    def _text_of_target(self, target: Target, parts: Sequence[Part]) -> str:
        if target.part is None:
            full_message = self._full_message(target.message, parts)
            return serialize_messages((full_message,), UNREACHED_CHARS)
        match target.part:
            case ToolPart(state=ToolCompleted()):
                return whole_output(target.part, self._stored_output_by_hash(target.part))
            case ToolPart(state=ToolFailed(error=error, metadata=metadata)):
                output = metadata.get("output")
                return f"{error}\n{output}" if isinstance(output, str) else error
            case TextPart(text=text) | NotebookPart(text=text):
                return text
            case _:
                raise UserError("There is no text to recall of that.")

    def _full_part(self, part: Part) -> Part:
        if not isinstance(part, ToolPart) or not isinstance(part.state, ToolCompleted):
            return part
        if part.state.blob is None:
            return part
        full_text = whole_output(part, self._stored_output_by_hash(part))
        full_state = part.state.model_copy(update={"output": full_text})
        return part.model_copy(update={"state": full_state})

    def _stored_output_by_hash(self, part: ToolPart) -> dict[str, str]:
        state = part.state
        if not isinstance(state, ToolCompleted) or state.blob is None:
            return {}
        try:
            content = self._store.get_blob(state.blob.sha256)
        except NotFound:
            return {}
        return {state.blob.sha256: content.decode("utf-8", "surrogatepass")}

    def _whole_history(self) -> tuple[Messages, tuple[Decision, ...]]:
        """Return all messages and decisions, including those before the live window."""
        messages, decisions, is_partial = self._journal.read_state(
            lambda state: (state.messages(), state.decisions, state.is_partial)
        )
        if not is_partial:
            return messages, decisions
        self._journal.flush_sync()
        state = self._store.load(self._journal.session_id)
        return state.messages(), state.decisions


def _recallable_parts(target: Target, effective_decisions: EffectiveDecisions) -> tuple[Part, ...]:
    """Return the parts that the model may recall, as the user has not excluded them from the context."""
    reductions = [
        effective_decisions.reduction(part.id, target.message.id) for part in target.parts
    ]
    return tuple(
        part
        for part, reduction in zip(target.parts, reductions, strict=True)
        if reduction is None or reduction.action != "drop"
    )


def _target_title(target: Target) -> str:
    part = target.part
    if isinstance(part, ToolPart):
        return f"Output of {part.tool} {subject(part.state.input)}".strip()[:MAX_TITLE_CHARS]
    if isinstance(part, NotebookPart):
        return "Cells that the user ran"
    return "A message" if part is None else "Text of a message"
