"""Say where the media of a tool result may stand: inside the result, or in a message after it.

The newest recorded agent asks which servers take images and documents inside a tool result
(spec/session-engine.md 1.11); what they refuse follows the answer in a user message.
"""

from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.provider_profile.provider_table import PDF
from palimpsest.transcript.values import ModelRef


def is_media(mime: str) -> bool:
    """Say whether a file is an image or a document that a model may look at."""
    return mime.startswith("image/") or mime == PDF


def takes_in_results(model: ModelRef, mime: str) -> bool:
    """Say whether that agent leaves this kind of media inside a tool result for the model."""
    taken = profile(model).recorded.opencode_media_in_results
    return taken == "all" or (taken == "images" and mime.startswith("image/"))
