"""Shorten a tool call's input and output for a reader.

Border: pure. Head and tail stay, cut at lines; the omitted part is counted in bytes.
"""

from dataclasses import dataclass, replace

from palimpsest.render.content.phrases import count


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
    input_: Excerpt | None, output: Excerpt | None, max_bytes: int, lines: int, *, keep_tail: bool
) -> tuple[Excerpt | None, Excerpt | None]:
    """Cut a call's input and output to ``max_bytes`` bytes together; the output gets at least half if it needs it."""
    output = _fewer_lines(output, lines, keep_tail=keep_tail) if output else None
    output_bytes = len(output.text.encode()) if output else 0
    if input_:
        input_ = _fewer_lines(input_, lines, keep_tail=False)
        input_ = _shortened_excerpt(
            input_, max(max_bytes - output_bytes, max_bytes // 2), keep_tail=False
        )
    remaining = max_bytes - (len(input_.text.encode()) if input_ else 0)
    return input_, _shortened_excerpt(output, remaining, keep_tail=keep_tail) if output else None


def _fewer_lines(piece: Excerpt, max_lines: int, *, keep_tail: bool) -> Excerpt:
    lines = piece.text.rstrip("\n").split("\n")
    if len(lines) <= max_lines:
        return piece
    tail_lines = max_lines // 3 if keep_tail else 0
    hidden_lines = lines[max_lines - tail_lines : len(lines) - tail_lines]
    shown_lines = [
        *lines[: max_lines - tail_lines],
        f"… {count(len(hidden_lines))} lines …",
        *lines[len(lines) - tail_lines :],
    ]
    left_out = sum(len(line.encode()) + 1 for line in hidden_lines)
    return replace(piece, text="\n".join(shown_lines), left_out=piece.left_out + left_out)


def _shortened_excerpt(piece: Excerpt, max_bytes: int, *, keep_tail: bool) -> Excerpt:
    data = piece.text.encode()
    if len(data) <= max_bytes:
        return piece
    gap_text = "\n…\n"
    max_bytes = max(0, max_bytes - len(gap_text.encode()))
    tail_room = max_bytes // 3 if keep_tail else 0
    first_text = data[: max_bytes - tail_room].decode(errors="ignore")
    tail = data[len(data) - tail_room :].decode(errors="ignore") if tail_room else ""
    first_text, tail = _without_partial_end(first_text), _without_partial_start(tail)
    left_out = len(data) - len(first_text.encode()) - len(tail.encode())
    text = first_text + gap_text + tail if first_text or tail else ""
    return replace(piece, text=text, left_out=piece.left_out + left_out)


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
