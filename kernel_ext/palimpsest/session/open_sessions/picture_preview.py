"""Scale a picture of a session down for a page.

Border: reads the session's messages and one blob. The session keeps the picture unchanged; a page
gets a smaller one, since all messages to a page share one connection.
"""

import base64
from collections.abc import Callable, Iterator

from palimpsest.tools.calls.images import preview
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import Attachment, FilePart, ToolCompleted, ToolPart

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
BLOB = "blob:"


def preview_picture(messages: Messages, read: Callable[[str], bytes], url: str) -> str:
    """Return a picture of the session as a ``data:`` URL; raises NotFound."""
    found = next((one for one in _files(messages) if one.url == url), None)
    if found is None or found.mime not in PICTURES or not url.startswith(BLOB):
        raise NotFound("There is no such picture in this session.")
    shown = preview(found.mime, read(url.removeprefix(BLOB)))
    if shown is None:
        raise NotFound("The picture is too large to be shown here, or damaged.")
    mime, data = shown
    return f"data:{mime};base64,{base64.b64encode(data).decode('ascii')}"


def _files(messages: Messages) -> Iterator[Attachment | FilePart]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, FilePart):
                yield part
            elif isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted):
                yield from part.state.attachments
