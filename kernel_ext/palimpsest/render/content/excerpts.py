"""Shorten a tool call's input and output for a reader.

Border: pure. Head and tail stay, cut at lines; the omitted part is counted in bytes.
"""

from dataclasses import dataclass, replace

from palimpsest.render.content.phrases import count

TAIL_DIVISOR = 3
"""The tail, where it is shown, has this part of a shortened text."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A tool call's input or output, possibly shortened."""

    text: str
    language: str = ""
    left_out: int = 0
    """Number of omitted bytes."""


def equals_line(piece: Excerpt | None, line: str) -> bool:
    """Return whether an excerpt is exactly this line, so that it need not be shown twice."""
    return line == "" or (piece is not None and piece.text.strip() == line)


def fit_excerpts(
    input_: Excerpt | None,
    output: Excerpt | None,
    max_bytes: int,
    max_lines: int,
    *,
    keep_tail: bool,
) -> tuple[Excerpt | None, Excerpt | None]:
    """Cut a call's input and output to ``max_bytes`` bytes together; the output gets at least half if it needs it."""
    output = _fewer_lines(output, max_lines, keep_tail=keep_tail) if output else None
    output_bytes = len(output.text.encode()) if output else 0
    if input_:
        input_ = _fewer_lines(input_, max_lines, keep_tail=False)
        input_ = _shortened_excerpt(
            input_, max(max_bytes - output_bytes, max_bytes // 2), keep_tail=False
        )
    bytes_left = max_bytes - (len(input_.text.encode()) if input_ else 0)
    return input_, _shortened_excerpt(output, bytes_left, keep_tail=keep_tail) if output else None


def _fewer_lines(piece: Excerpt, max_lines: int, *, keep_tail: bool) -> Excerpt:
    lines = piece.text.rstrip("\n").split("\n")
    if len(lines) <= max_lines:
        return piece
    tail_line_count = max_lines // TAIL_DIVISOR if keep_tail else 0
    hidden_lines = lines[max_lines - tail_line_count : len(lines) - tail_line_count]
    shown_lines = [
        *lines[: max_lines - tail_line_count],
        f"… {count(len(hidden_lines))} lines …",
        *lines[len(lines) - tail_line_count :],
    ]
    hidden_bytes = sum(len(line.encode()) + 1 for line in hidden_lines)
    return replace(piece, text="\n".join(shown_lines), left_out=piece.left_out + hidden_bytes)


def _shortened_excerpt(piece: Excerpt, max_bytes: int, *, keep_tail: bool) -> Excerpt:
    data = piece.text.encode()
    if len(data) <= max_bytes:
        return piece
    gap_text = "\n…\n"
    max_bytes = max(0, max_bytes - len(gap_text.encode()))
    tail_bytes = max_bytes // TAIL_DIVISOR if keep_tail else 0
    head = data[: max_bytes - tail_bytes].decode(errors="ignore")
    tail_text = data[len(data) - tail_bytes :].decode(errors="ignore") if tail_bytes else ""
    head, tail_text = _without_partial_end(head), _without_partial_start(tail_text)
    omitted_bytes = len(data) - len(head.encode()) - len(tail_text.encode())
    text = head + gap_text + tail_text if head or tail_text else ""
    return replace(piece, text=text, left_out=piece.left_out + omitted_bytes)


def text_head(text: str, max_bytes: int) -> tuple[str, int]:
    """Return the beginning of a text, and the number of omitted bytes."""
    data = text.encode(errors="replace")
    if len(data) <= max_bytes:
        return text, 0
    head = _without_partial_end(data[:max_bytes].decode(errors="ignore"))
    return head, len(data) - len(head.encode())


def _without_partial_end(text: str) -> str:
    """Return text without its last, incomplete line, unless that is at least half of the text."""
    complete, newline, _ = text.rpartition("\n")
    return complete if newline and len(complete) * 2 > len(text) else text


def _without_partial_start(text: str) -> str:
    """Return text without its first, incomplete line, unless that is at least half of the text."""
    _, newline, complete = text.partition("\n")
    return complete if newline and len(complete) * 2 > len(text) else text
