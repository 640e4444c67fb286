"""Shorten a tool call's input and output for a reader.

Border: pure. Head and tail stay, cut at lines; what is missing is counted in bytes.
"""

from dataclasses import dataclass, replace

from palimpsest.render.content.phrases import count


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of a tool call's input or output, shortened if need be."""

    text: str
    language: str = ""
    left_out: int = 0
    """Bytes that are not shown."""


def says_only(piece: Excerpt | None, line: str) -> bool:
    """Tell whether a piece holds this line and nothing else, so that it need not be shown twice."""
    return line == "" or (piece is not None and piece.text.strip() == line)


def share(
    given: Excerpt | None, came: Excerpt | None, room: int, lines: int, *, whole_tail: bool
) -> tuple[Excerpt | None, Excerpt | None]:
    """Cut a call's input and output to ``room`` bytes; the output gets at least half when it needs it."""
    came = _fewer_lines(came, lines, whole_tail=whole_tail) if came else None
    need = len(came.text.encode()) if came else 0
    if given:
        given = _fewer_lines(given, lines, whole_tail=False)
        given = _cut(given, max(room - need, room // 2), whole_tail=False)
    left = room - (len(given.text.encode()) if given else 0)
    return given, _cut(came, left, whole_tail=whole_tail) if came else None


def _fewer_lines(piece: Excerpt, most: int, *, whole_tail: bool) -> Excerpt:
    lines = piece.text.rstrip("\n").split("\n")
    if len(lines) <= most:
        return piece
    last = most // 3 if whole_tail else 0
    hidden = lines[most - last : len(lines) - last]
    shown = [*lines[: most - last], f"… {count(len(hidden))} lines …", *lines[len(lines) - last :]]
    left_out = sum(len(line.encode()) + 1 for line in hidden)
    return replace(piece, text="\n".join(shown), left_out=piece.left_out + left_out)


def _cut(piece: Excerpt, room: int, *, whole_tail: bool) -> Excerpt:
    data = piece.text.encode()
    if len(data) <= room:
        return piece
    gap = "\n…\n"
    room = max(0, room - len(gap.encode()))
    tail_room = room // 3 if whole_tail else 0
    head = data[: room - tail_room].decode(errors="ignore")
    tail = data[len(data) - tail_room :].decode(errors="ignore") if tail_room else ""
    head, tail = _at_line(head), _from_line(tail)
    left_out = len(data) - len(head.encode()) - len(tail.encode())
    shown = head + gap + tail if head or tail else ""
    return replace(piece, text=shown, left_out=piece.left_out + left_out)


def head(text: str, room: int) -> tuple[str, int]:
    """Return the beginning of a text, and how many bytes are left out."""
    data = text.encode(errors="replace")
    if len(data) <= room:
        return text, 0
    shown = _at_line(data[:room].decode(errors="ignore"))
    return shown, len(data) - len(shown.encode())


def _at_line(head: str) -> str:
    """Drop the last, incomplete line unless it is most of the text."""
    whole, newline, _ = head.rpartition("\n")
    return whole if newline and len(whole) * 2 > len(head) else head


def _from_line(tail: str) -> str:
    _, newline, whole = tail.partition("\n")
    return whole if newline and len(whole) * 2 > len(tail) else tail
