"""Find a part or message by its id or a piece of it, and describe it in a few words.

Border: pure. Ids of one session begin alike, since they begin with the time, but their ends differ;
so a part or message can be named by the end of its id, or by an unambiguous beginning.
"""

from dataclasses import dataclass

from palimpsest.render.content.phrases import subject
from palimpsest.render.safety.escaping import one_line
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, is_summary
from palimpsest.transcript.parts import FilePart, Part, ReasoningPart, TextPart, ToolPart

MIN_PIECE_CHARS = 4
"""Minimum characters of an id that identify a part; fewer would be a guess."""
MAX_QUOTE_CHARS = 60
LAST, SUMMARY = "last", "summary"
"""Names for the newest tool call and for the newest good summary."""


@dataclass(frozen=True, slots=True)
class Target:
    """A message, or one part of it, that was found by name."""

    message: Message
    part: Part | None = None

    @property
    def id(self) -> str:
        """The id of the part, or of the message."""
        return self.part.id if self.part is not None else self.message.id

    @property
    def parts(self) -> tuple[Part, ...]:
        """The part that is named, or all parts of the message."""
        return (self.part,) if self.part is not None else self.message.parts


def find_part(messages: Messages, name: str) -> Target:
    """Return the part or message by its id, or the beginning or end of it, or by the names ``last`` and ``summary``.

    Raises NotFound, and UserError where several match.
    """
    id_piece = name.strip()
    if id_piece in (LAST, SUMMARY):
        return _find_by_word(messages, id_piece)
    matching_targets: dict[str, Target] = {}
    for message in messages:
        for target in (Target(message), *(Target(message, part) for part in message.parts)):
            if target.id == id_piece:
                return target
            if _is_piece_of(target.id, id_piece):
                matching_targets[target.id] = target
    if len(matching_targets) == 1:
        return next(iter(matching_targets.values()))
    if matching_targets:
        raise UserError(
            f"{name!r} could be {len(matching_targets)} parts and messages. Give more of the id."
        )
    raise NotFound(
        f"There is no part or message {one_line(name, MAX_QUOTE_CHARS)!r} in this session. Its id, or the beginning or the end of "
        "it, says which one is meant, and so do the words last and summary."
    )


def _find_by_word(messages: Messages, name: str) -> Target:
    if name == SUMMARY:
        summaries = [message for message in messages if is_summary(message)]
        # A failed summary hides nothing, so an older good one is meant, if there is any.
        good_summaries = [message for message in summaries if is_used(message)]
        for message in (*good_summaries[-1:], *summaries[-1:]):
            return Target(message)
        raise NotFound("There is no summary in this session yet.")
    for message in reversed(messages):
        for part in reversed(message.parts):
            if isinstance(part, ToolPart):
                return Target(message, part)
    raise NotFound("There is no tool call in this session yet.")


def _is_piece_of(full_id: str, id_piece: str) -> bool:
    if len(id_piece.removeprefix("prt_").removeprefix("msg_")) < MIN_PIECE_CHARS:
        return False
    id_without_prefix = full_id.partition("_")[2]
    return (
        full_id.startswith(id_piece)
        or id_without_prefix.startswith(id_piece)
        or id_without_prefix.endswith(id_piece)
    )


def describe_target(target: Target) -> str:
    """Return a short description of a part or a message."""
    part = target.part
    if isinstance(part, ToolPart):
        return f"the call {part.tool} {_quote(subject(part.state.input))}".rstrip()
    if isinstance(part, FilePart):
        return f"the file {part.filename or part.mime}"
    if isinstance(part, ReasoningPart):
        return f"the thought {_quote(part.text)}".rstrip()
    texts = [p.text for p in target.parts if isinstance(p, TextPart) and p.text.strip()]
    excerpt = _quote(texts[0]) if texts else ""
    if is_summary(target.message):
        return f"the summary {excerpt}".rstrip()
    is_answer = isinstance(target.message.info, AssistantMessage)
    call_count = sum(isinstance(other, ToolPart) for other in target.parts)
    calls_text = (
        f" with its {'call' if call_count == 1 else f'{call_count} calls'}" if call_count else ""
    )
    return f"the {'answer' if is_answer else 'prompt'} {excerpt}".rstrip() + calls_text


def is_used(summary: Message) -> bool:
    """Return whether a summary is good, so that it replaces the messages it covers."""
    info = summary.info
    return isinstance(info, AssistantMessage) and bool(info.finish) and info.error is None


def _quote(text: str) -> str:
    line = " ".join(text.split())
    if len(line) > MAX_QUOTE_CHARS:
        line = f"{line[: MAX_QUOTE_CHARS - 1].rstrip()}…"
    return f"“{line}”" if line else ""
