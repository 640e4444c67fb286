"""Make pictures of a session smaller for requests, and store the smaller versions as blobs.

The stored version is sent from then on, so that a request can be rebuilt byte by byte under any version of the library.
Needs Pillow, which comes with matplotlib; without it pictures are left out instead.
"""

import base64
import binascii

from palimpsest.context.reduction.picture_limits import SentPicture, ShrunkPicture
from palimpsest.store.interface import Store
from palimpsest.tools.calls.images import SHRUNK_SIDE_PIXELS, smaller_image
from palimpsest.transcript.errors import StorageFailed

MAX_HEAD_CHARS = 40
"""Maximum characters of a ``data:`` url before its data."""


def shrink_picture(
    blobs: Store, picture: SentPicture, max_side: int, max_bytes: int | None
) -> ShrunkPicture | None:
    """Return a stored version of a picture that fits; None where none can be made or stored.

    ``max_side`` is in pixels, 0 where unknown; ``max_bytes`` counts the version as Base64 in a ``data:`` url.
    """
    try:
        content = base64.b64decode(picture.url.partition(",")[2])
    except (binascii.Error, ValueError):
        return None
    max_image_bytes = None if max_bytes is None else (max_bytes - MAX_HEAD_CHARS) * 3 // 4
    image = smaller_image(content, max_side or SHRUNK_SIDE_PIXELS, max_image_bytes)
    if image is None:
        return None
    mime, small, size = image
    try:
        blob = blobs.put_blob(small, mime)
    except StorageFailed:
        return None
    length = len(f"data:{mime};base64,") + len(base64.b64encode(small))
    return ShrunkPicture(f"blob:{blob.sha256}", mime, size, length)
