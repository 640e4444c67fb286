"""A notice: a sentence for a person within an answer, which the model is never shown.

Border: pure. It is a text part that is synthetic and ignored, and says of itself what it is about.
"""

from palimpsest.transcript.parts import Part, TextPart

USER_NOTICE = "notice"
"""Key in the metadata of a text: what the notice is about."""

IN_SUMMARY = "in_summary"
"""Key in the metadata of a notice: whether a request for a summary tells it. Those of older logs lack it, were told,
and are told again when such a request is rebuilt."""

COMMAND = "command"
"""Key in the metadata of a text: the command that it was, or that it stands for."""


def user_notice(part_id: str, session_id: str, message_id: str, about: str, words: str) -> TextPart:
    """Return a notice as a part."""
    return TextPart(
        id=part_id,
        session_id=session_id,
        message_id=message_id,
        text=words,
        synthetic=True,
        ignored=True,
        metadata={USER_NOTICE: about, IN_SUMMARY: False},
    )


def is_hidden_from_models(part: Part) -> bool:
    """Tell whether a part is a notice that no model is told of, in a summary's request neither."""
    return (getattr(part, "metadata", None) or {}).get(IN_SUMMARY) is False


def user_notice_text(part: Part) -> str | None:
    """Return the words of a notice; None for every other part."""
    if (
        isinstance(part, TextPart)
        and part.ignored
        and part.metadata
        and USER_NOTICE in part.metadata
    ):
        return part.text
    return None
