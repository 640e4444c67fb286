"""Read in the texts that a projection needs from blobs.

The reading itself is handed in, so that this stays pure; live loop and review use the same
function.
"""

import base64
from collections.abc import Callable

from palimpsest.context.fold import fold
from palimpsest.context.standing import pinned_parts
from palimpsest.context.undo import without_undone
from palimpsest.context.view import blobs_needed
from palimpsest.transcript.decisions import Decision
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import Messages


def load_texts(
    messages: Messages, read: Callable[[str], bytes], decisions: tuple[Decision, ...] = ()
) -> dict[str, str]:
    """Return text by hash; for a blob that is gone, the head and tail in the log must do."""
    texts: dict[str, str] = {}
    pinned = pinned_parts(messages, decisions)
    kept = (one for one in messages if any(part.id in pinned for part in one.parts))
    needed = (*fold(without_undone(messages, decisions)), *(kept if pinned else ()))
    for sha256, mime in blobs_needed(needed).items():
        try:
            content = read(sha256)
        except NotFound:
            continue
        if mime is None:
            texts[sha256] = content.decode("utf-8", "surrogatepass")
        else:
            texts[sha256] = f"data:{mime};base64,{base64.b64encode(content).decode('ascii')}"
    return texts
