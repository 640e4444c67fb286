"""Check images and documents: base64 must decode, and the bytes must match the media type.

Providers decode files; a wrong media type is refused like a damaged file.
"""

import base64
import binascii
import re
from collections.abc import Callable, Collection
from typing import Any

DATA_URL = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)
FIRST_PAGE = 1024
"""A PDF may begin with this many bytes of other content."""


def _webp(content: bytes) -> bool:
    return content[:4] == b"RIFF" and content[8:12] == b"WEBP"


def _heif(content: bytes) -> bool:
    return content[4:8] == b"ftyp"


LOOKS: dict[str, Callable[[bytes], bool]] = {
    "image/png": lambda content: content.startswith(b"\x89PNG\r\n\x1a\n"),
    "image/jpeg": lambda content: content.startswith(b"\xff\xd8\xff"),
    "image/gif": lambda content: content.startswith((b"GIF87a", b"GIF89a")),
    "image/webp": _webp,
    "image/heic": _heif,
    "image/heif": _heif,
    "application/pdf": lambda content: b"%PDF-" in content[:FIRST_PAGE],
}
"""The first bytes of a media type; for other types only the base64 is checked."""


def content_problems(mime: Any, data: Any, where: str, types: Collection[str]) -> list[str]:
    """Return what is wrong with a file of a media type, given in base64."""
    if mime not in types:
        return [f"{where} is of type {mime!r} and must be one of {', '.join(sorted(types))}."]
    if not isinstance(data, str) or not data:
        return [f"{where} holds no data."]
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return [f"{where} is no base64."]
    looks = LOOKS.get(mime)
    if looks is not None and not looks(content):
        return [f"{where} is said to be {mime}, and its bytes are not."]
    return []


def url_problems(url: Any, where: str, types: Collection[str]) -> list[str]:
    """Return what is wrong with the URL of a file: on the web, or a ``data:`` URL."""
    if not isinstance(url, str):
        return [f"{where} must be a string."]
    if url.startswith(("https://", "http://")):
        return []
    match = DATA_URL.fullmatch(url)
    if match is None:
        return [f"{where} is neither a web address nor a data url in base64."]
    return content_problems(match[1], match[2], where, types)
