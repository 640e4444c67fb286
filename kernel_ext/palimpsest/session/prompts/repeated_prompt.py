"""Find the prompt of a turn, with what was chosen for it, so that it can be sent again.

Border: pure. What its mentions and commands stood for is left out, since they are read anew.
"""

from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import Message, Messages, UserMessage
from palimpsest.transcript.parts import Attachment, FilePart, TextPart, is_of_cell

NO_PROMPT = "No prompt of a person stands there, so nothing can be sent again."


def prompt_at(messages: Messages, message_id: str) -> Message:
    """Return the prompt of the turn that a message belongs to; raises UserError where there is none."""
    found: Message | None = None
    for message in messages:
        if isinstance(message.info, UserMessage) and _words(message):
            found = message
        if message.id == message_id:
            break
    if found is None:
        raise UserError(NO_PROMPT)
    return found


def repeated_prompt(prompt: Message, model: str | None = None) -> tuple[str, PromptOptions]:
    """Return a prompt's text and options; ``model`` answers instead of the one that did."""
    info = prompt.info
    if not isinstance(info, UserMessage):
        raise UserError(NO_PROMPT)
    return "\n\n".join(_words(prompt)), PromptOptions(
        model=model or info.model.id,
        variant=None if model else info.model.variant,
        agent=info.agent,
        system=info.system,
        tools=info.tools,
        files=tuple(
            Attachment(mime=one.mime, filename=one.filename, url=one.url, source=one.source)
            for one in prompt.parts
            if isinstance(one, FilePart) and _is_attached(one)
        ),
        format=info.format,
        max_steps=info.max_steps,
    )


def _words(message: Message) -> list[str]:
    if isinstance(message.info, UserMessage) and message.info.by_engine:
        return []
    return [
        part.text
        for part in message.parts
        if isinstance(part, TextPart) and not part.synthetic and part.text.strip()
    ]


def _is_attached(part: FilePart) -> bool:
    """Return whether a person attached a file, by its content; a mention brings its own again."""
    if not part.url.startswith(("data:", "blob:")) or is_of_cell(part):
        return False
    text = getattr(part.source, "text", None)
    return text is None or not text.value
