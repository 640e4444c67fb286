"""Decode and encode text files such that an edit changes nothing else in the file.

Border: text and bytes, no disk. Encoding, byte order mark and line endings of a file survive an edit.
"""

import codecs
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace

SNIFFED_BYTES = 8_192
BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
CONTROL_SHARE = 0.1
"""Maximum share of control bytes in text; logs may have a few."""


def is_binary(data: bytes) -> bool:
    """Return whether a file is binary, judged by its first 8 KiB."""
    head = data[:SNIFFED_BYTES]
    if not head or any(head.startswith(bom) for bom, _ in BOMS):
        return False
    return b"\0" in head or len(CONTROL.findall(head)) > CONTROL_SHARE * len(head)


@dataclass(frozen=True, slots=True)
class TextFile:
    """The text of a file, with the encoding and byte order mark needed to write it back."""

    raw: str
    """The decoded text, with the line endings of the file."""
    encoding: str = "utf-8"
    bom: bytes = b""

    @classmethod
    def decode(cls, data: bytes) -> "TextFile":
        """Decode bytes without loss: as UTF-8 or by byte order mark, else as latin-1."""
        for bom, encoding in BOMS:
            if data.startswith(bom):
                try:
                    return cls(data[len(bom) :].decode(encoding), encoding, bom)
                except UnicodeDecodeError:
                    break
        try:
            return cls(data.decode("utf-8"))
        except UnicodeDecodeError:
            # Latin-1 decodes every byte, so what is not edited is written back unchanged.
            return cls(data.decode("latin-1"), "latin-1")

    def encode(self) -> bytes:
        """Return the bytes of the file; raises UnicodeEncodeError if its encoding lacks a character."""
        return self.bom + self.raw.encode(self.encoding)

    def whole_again(self) -> "TextFile":
        """Return the file with encoding UTF-8, for text that contains nothing of the old bytes."""
        return replace(self, encoding="utf-8", bom=b"")

    @property
    def text(self) -> str:
        r"""The text with ``\n`` line endings only."""
        return self.raw.replace("\r\n", "\n")

    @property
    def newline(self) -> str:
        """The line ending of most lines."""
        crlf = self.raw.count("\r\n")
        return "\r\n" if crlf * 2 > self.raw.count("\n") else "\n"

    def with_text(self, text: str) -> "TextFile":
        """Return the file with new text, in the line ending of most of its lines."""
        if self.bom:
            text = text.removeprefix("\ufeff")
        return replace(self, raw=text.replace("\r\n", "\n").replace("\n", self.newline))

    def with_spans(self, spans: list[tuple[int, int, str]]) -> "TextFile":
        r"""Replace spans (start and end in ``text``, new text), and leave every other byte unchanged."""
        removed = [m.start() - n for n, m in enumerate(re.finditer("\r\n", self.raw))]
        newline, raw = self.newline, self.raw
        for start, end, new in sorted(spans, reverse=True):
            first = start + bisect_left(removed, start)
            last = end + bisect_right(removed, end - 1) if end > start else first
            raw = raw[:first] + new.replace("\r\n", "\n").replace("\n", newline) + raw[last:]
        return replace(self, raw=raw)
