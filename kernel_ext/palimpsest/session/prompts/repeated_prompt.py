"""Find the prompt of a turn, with its options, so that it can be sent again.

Border: pure. Expanded mentions and commands are left out, since they are expanded again.
"""

from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import Message, Messages, UserMessage, typed_texts
from palimpsest.transcript.parts import Attachment, FilePart, is_of_cell

NO_PROMPT_SENTENCE = "No prompt of a person stands there, so nothing can be sent again."


def prompt_at(messages: Messages, message_id: str) -> Message:
    """Return the prompt of the turn that a message belongs to; raises UserError where there is none."""
    prompt: Message | None = None
    for message in messages:
        if isinstance(message.info, UserMessage) and _prompt_texts(message):
            prompt = message
        if message.id == message_id:
            break
    if prompt is None:
        raise UserError(NO_PROMPT_SENTENCE)
    return prompt


def repeated_prompt(prompt: Message, model: str | None = None) -> tuple[str, PromptOptions]:
    """Return a prompt's text and options; ``model`` replaces the model that answered before."""
    info = prompt.info
    if not isinstance(info, UserMessage):
        raise UserError(NO_PROMPT_SENTENCE)
    return "\n\n".join(_prompt_texts(prompt)), PromptOptions(
        model=model or info.model.id,
        variant=None if model else info.model.variant,
        agent=info.agent,
        system=info.system,
        tools=info.tools,
        files=tuple(
            Attachment(mime=part.mime, filename=part.filename, url=part.url, source=part.source)
            for part in prompt.parts
            if isinstance(part, FilePart) and _is_attached(part)
        ),
        format=info.format,
        max_steps=info.max_steps,
    )


def _prompt_texts(message: Message) -> list[str]:
    if isinstance(message.info, UserMessage) and message.info.by_engine:
        return []
    return [text for text in typed_texts(message) if text.strip()]


def _is_attached(part: FilePart) -> bool:
    """Return whether the user attached a file by its content; a mentioned file is attached again by its mention."""
    if not part.url.startswith(("data:", "blob:")) or is_of_cell(part):
        return False
    text = getattr(part.source, "text", None)
    return text is None or not text.value
