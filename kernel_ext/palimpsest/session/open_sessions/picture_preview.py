"""Scale a picture of a session down for a page.

Border: reads the session's messages and one blob. The session keeps the picture unchanged; a page
gets a smaller one, since all messages to a page share one connection.
"""

import base64
from collections.abc import Callable, Iterator

from palimpsest.tools.calls.images import preview_image
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import Attachment, FilePart, ToolCompleted, ToolPart

PICTURE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
BLOB_PREFIX = "blob:"


def preview_picture(messages: Messages, read_blob: Callable[[str], bytes], url: str) -> str:
    """Return a picture of the session as a ``data:`` URL; raises NotFound."""
    picture = next((file for file in _files(messages) if file.url == url), None)
    if picture is None or picture.mime not in PICTURE_TYPES or not url.startswith(BLOB_PREFIX):
        raise NotFound("There is no such picture in this session.")
    scaled = preview_image(picture.mime, read_blob(url.removeprefix(BLOB_PREFIX)))
    if scaled is None:
        raise NotFound("The picture is too large to be shown here, or damaged.")
    mime, data = scaled
    return f"data:{mime};base64,{base64.b64encode(data).decode('ascii')}"


def _files(messages: Messages) -> Iterator[Attachment | FilePart]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, FilePart):
                yield part
            elif isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted):
                yield from part.state.attachments
