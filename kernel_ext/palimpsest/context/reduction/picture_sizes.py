"""Read width and height from the first bytes of a picture.

Pure, and without a library for pictures, which not every kernel has. A picture that cannot be read has no known size;
``model/wire/media.py`` leaves damaged pictures out.
"""

import binascii
import struct

SEARCHED_CHARS = (1_024, 262_144)
"""Base64 characters that are read in turn: a camera's JPEG has its size after a preview of 64 KB."""
MAX_HEAD_CHARS = 200
"""Characters of a ``data:`` url before its data."""
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
JPEG_SIGNATURE = b"\xff\xd8"
JPEG_SIZE_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of segments that hold the size of a JPEG."""
JPEG_MARKERS_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD8)})
"""Markers without a length after them."""

Size = tuple[int, int]
"""Width and height in pixels."""


def size_of_url(url: str) -> Size | None:
    """Return the size of a picture in a ``data:`` url; None where its beginning does not have it."""
    data_start = url.find(",", 0, MAX_HEAD_CHARS) + 1
    if not data_start or not url.startswith("data:image/"):
        return None
    sizes = (
        picture_size(_decode_base64(url[data_start : data_start + chars]))
        for chars in SEARCHED_CHARS
    )
    return next((size for size in sizes if size is not None), None)


def picture_size(data: bytes) -> Size | None:
    """Return the size of a PNG, JPEG, GIF or WebP from its first bytes; None where they do not have it."""
    try:
        if data.startswith(PNG_SIGNATURE):
            size: Size | None = struct.unpack(">II", data[16:24])
        elif data.startswith(JPEG_SIGNATURE):
            size = _jpeg_size(data)
        elif data.startswith((b"GIF87a", b"GIF89a")):
            size = struct.unpack("<HH", data[6:10])
        elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            size = _webp_size(data)
        else:
            size = None
    except (struct.error, IndexError):
        return None
    return size if size and all(size) else None


def _decode_base64(data: str) -> bytes:
    text = "".join(data.split())
    try:
        return binascii.a2b_base64(text[: len(text) - len(text) % 4])
    except (binascii.Error, ValueError):
        return b""


def _jpeg_size(data: bytes) -> Size | None:
    index = len(JPEG_SIGNATURE)
    while index + 4 <= len(data):
        if data[index] != 0xFF:
            return None
        marker = data[index + 1]
        if marker == 0xFF:
            index += 1
        elif marker in JPEG_MARKERS_WITHOUT_LENGTH:
            index += 2
        elif marker in JPEG_SIZE_MARKERS:
            height, width = struct.unpack(">HH", data[index + 5 : index + 9])
            return width, height
        else:
            index += 2 + struct.unpack(">H", data[index + 2 : index + 4])[0]
    return None


def _webp_size(data: bytes) -> Size | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None
