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
    input_: Excerpt | None, output: Excerpt | None, room: int, lines: int, *, keep_tail: bool
) -> tuple[Excerpt | None, Excerpt | None]:
    """Cut a call's input and output to ``room`` bytes together; the output gets at least half if it needs it."""
    output = _fewer_lines(output, lines, keep_tail=keep_tail) if output else None
    output_bytes = len(output.text.encode()) if output else 0
    if input_:
        input_ = _fewer_lines(input_, lines, keep_tail=False)
        input_ = _shortened_excerpt(input_, max(room - output_bytes, room // 2), keep_tail=False)
    remaining = room - (len(input_.text.encode()) if input_ else 0)
    return input_, _shortened_excerpt(output, remaining, keep_tail=keep_tail) if output else None


def _fewer_lines(piece: Excerpt, max_lines: int, *, keep_tail: bool) -> Excerpt:
    lines = piece.text.rstrip("\n").split("\n")
    if len(lines) <= max_lines:
        return piece
    tail_lines = max_lines // 3 if keep_tail else 0
    hidden = lines[max_lines - tail_lines : len(lines) - tail_lines]
    shown_lines = [
        *lines[: max_lines - tail_lines],
        f"… {count(len(hidden))} lines …",
        *lines[len(lines) - tail_lines :],
    ]
    left_out = sum(len(line.encode()) + 1 for line in hidden)
    return replace(piece, text="\n".join(shown_lines), left_out=piece.left_out + left_out)


def _shortened_excerpt(piece: Excerpt, room: int, *, keep_tail: bool) -> Excerpt:
    data = piece.text.encode()
    if len(data) <= room:
        return piece
    gap = "\n…\n"
    room = max(0, room - len(gap.encode()))
    tail_room = room // 3 if keep_tail else 0
    head = data[: room - tail_room].decode(errors="ignore")
    tail = data[len(data) - tail_room :].decode(errors="ignore") if tail_room else ""
    head, tail = _without_partial_end(head), _without_partial_start(tail)
    left_out = len(data) - len(head.encode()) - len(tail.encode())
    text = head + gap + tail if head or tail else ""
    return replace(piece, text=text, left_out=piece.left_out + left_out)


def text_head(text: str, room: int) -> tuple[str, int]:
    """Return the beginning of a text, and the number of omitted bytes."""
    data = text.encode(errors="replace")
    if len(data) <= room:
        return text, 0
    head = _without_partial_end(data[:room].decode(errors="ignore"))
    return head, len(data) - len(head.encode())


def _without_partial_end(head: str) -> str:
    """Return text without its last, incomplete line, unless that is at least half of the text."""
    complete, newline, _ = head.rpartition("\n")
    return complete if newline and len(complete) * 2 > len(head) else head


def _without_partial_start(tail: str) -> str:
    """Return text without its first, incomplete line, unless that is at least half of the text."""
    _, newline, complete = tail.partition("\n")
    return complete if newline and len(complete) * 2 > len(tail) else tail
