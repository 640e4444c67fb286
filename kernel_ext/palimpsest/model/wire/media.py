"""Write an attached file in the form that a provider accepts, or a text in its place.

Pure. Providers decode pictures: a damaged one, an unknown type or a wrong label is refused, and with it
every later request of the session. So the bytes are checked, and not only the label.
"""

import binascii
from collections.abc import Callable
from typing import Any

from palimpsest.transcript.context_values.neutral_messages import MediaBlock
from palimpsest.transcript.provider_profile.profile import ProviderProfile
from palimpsest.transcript.provider_profile.provider_table import PDF
from palimpsest.transcript.values import ModelInfo

MAX_PDF_HEADER_BYTES = 1024
"""Number of first bytes in which a PDF's header must be; other bytes may precede it."""

# The media types that are recognised, each with a test of the content's first bytes.
_BEGINNINGS: tuple[tuple[str, Callable[[bytes], bool]], ...] = (
    ("image/png", lambda content: content.startswith(b"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", lambda content: content.startswith(b"\xff\xd8\xff")),
    ("image/gif", lambda content: content.startswith((b"GIF87a", b"GIF89a"))),
    ("image/webp", lambda content: content[:4] == b"RIFF" and content[8:12] == b"WEBP"),
    ("image/heic", lambda content: content[4:12] in {b"ftypheic", b"ftypheix", b"ftyphevc"}),
    ("image/heif", lambda content: content[4:12] in {b"ftypmif1", b"ftypmsf1"}),
    (PDF, lambda content: b"%PDF-" in content[:MAX_PDF_HEADER_BYTES]),
)


def media_content(
    block: MediaBlock, model: ModelInfo, target_profile: ProviderProfile
) -> dict[str, Any]:
    """Return an image or document, or a text that replaces it where the model cannot read it."""
    name = block.filename or "file"
    stated_type, data = _parsed_data_url(block.url)
    if not data:
        return _text_block(f"[{name} ({block.mime}) was empty or could not be sent.]")
    declared_type = stated_type or block.mime
    if model.vision and declared_type in target_profile.pictures | target_profile.documents:
        content = _content(data)
        recognised_type = next((kind for kind, begins in _BEGINNINGS if begins(content)), None)
        if recognised_type in target_profile.pictures:
            return {"type": "image_url", "image_url": {"url": _url(recognised_type, data)}}
        if recognised_type in target_profile.documents:
            file = {"filename": name, "file_data": _url(recognised_type, data)}
            return {"type": "file", "file": file}
        if recognised_type is None:
            note = f"[{name} ({declared_type}) is damaged and was left out. Tell the user.]"
            return _text_block(note)
    note = f"[{name} ({block.mime}) was left out: {model.ref.id} cannot read it. Tell the user.]"
    return _text_block(note)


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _parsed_data_url(url: str) -> tuple[str, str]:
    """Return the media type of a ``data:`` url, and its base64 data in one line."""
    if not url.startswith("data:"):
        return "", ""
    head, _, data = url.removeprefix("data:").partition(",")
    return head.partition(";")[0].lower(), "".join(data.split())


def _content(data: str) -> bytes:
    """Return the bytes of base64 data; empty where it is not valid."""
    try:
        return binascii.a2b_base64(data, strict_mode=True)
    except ValueError:
        return b""


def _url(media_type: str, data: str) -> str:
    return f"data:{media_type};base64,{data}"
