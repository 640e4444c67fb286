"""A notice: a sentence for the user within an answer, which is never sent to the model.

Border: pure. It is a synthetic, ignored text part whose metadata name its subject.
"""

from palimpsest.transcript.parts import Part, TextPart

USER_NOTICE = "notice"
"""Key in the metadata of a text: the notice's subject."""

IN_SUMMARY = "in_summary"
"""Key in the metadata of a notice: whether a request for a summary includes it. Notices of older logs
lack the key, were included, and are included again when such a request is rebuilt."""

COMMAND_KEY = "command"
"""Key in the metadata of a text: the command that was typed, or that the text replaces."""


def user_notice(
    part_id: str, session_id: str, message_id: str, subject: str, sentence: str
) -> TextPart:
    """Return a notice as a text part that no model is sent; its metadata name its subject."""
    return TextPart(
        id=part_id,
        session_id=session_id,
        message_id=message_id,
        text=sentence,
        synthetic=True,
        ignored=True,
        metadata={USER_NOTICE: subject, IN_SUMMARY: False},
    )


def is_hidden_from_models(part: Part) -> bool:
    """Return whether a part is a notice that no model is sent, not even in a request for a summary."""
    return (getattr(part, "metadata", None) or {}).get(IN_SUMMARY) is False


def user_notice_text(part: Part) -> str | None:
    """Return the text of a notice; None for every other part."""
    if isinstance(part, TextPart) and part.ignored and USER_NOTICE in (part.metadata or {}):
        return part.text
    return None
