"""Keep the head and the tail of unbounded text, and show it as a terminal would.

Border: standard library only, since it is loaded with ``%load_ext``.
"""

import re
from collections import deque

ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")


class TextBuffer:
    """The beginning and the end of a stream's text, each of bounded length.

    ``head_chars`` and ``tail_chars`` are their maximum lengths.
    """

    __slots__ = (
        "_dropped_chars",
        "_free_head_chars",
        "_head_pieces",
        "_kept_tail_chars",
        "_max_tail_chars",
        "_tail_pieces",
    )

    def __init__(self, head_chars: int, tail_chars: int) -> None:
        self._head_pieces: list[str] = []
        self._free_head_chars = head_chars
        self._tail_pieces: deque[str] = deque()
        self._max_tail_chars = tail_chars
        self._kept_tail_chars = 0
        self._dropped_chars = 0

    def write(self, text: str) -> None:
        """Add text."""
        if self._free_head_chars > 0:
            self._head_pieces.append(text[: self._free_head_chars])
            text = text[self._free_head_chars :]
            self._free_head_chars -= len(self._head_pieces[-1])
        if text:
            self._tail_pieces.append(text[-self._max_tail_chars :])
            self._kept_tail_chars += len(self._tail_pieces[-1])
            self._dropped_chars += len(text) - len(self._tail_pieces[-1])
        while self._kept_tail_chars > self._max_tail_chars:
            dropped_chars = len(self._tail_pieces.popleft())
            self._kept_tail_chars -= dropped_chars
            self._dropped_chars += dropped_chars

    def shown_text(self) -> str:
        """Return the text as a terminal would show it, without colours and overwritten lines."""
        gap = f"\n[{self._dropped_chars} characters left out]\n" if self._dropped_chars else ""
        return terminal_text("".join(self._head_pieces) + gap + "".join(self._tail_pieces))


def terminal_text(text: str) -> str:
    """Return text without colour codes and without text that a carriage return overwrote (progress bars)."""
    text = ANSI.sub("", text).replace("\r\n", "\n")
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
