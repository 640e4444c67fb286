"""Check images, and shrink them to the limits of every provider if Pillow is installed.

Border: bytes in, bytes out; the only module that imports Pillow. Invalid images are refused, since a
provider rejects the whole request with one, and every later request that contains it. Pillow comes with
matplotlib, so most kernels have it; without it an image that is too large is refused with a sentence.
"""

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from palimpsest.transcript.errors import UserError

MAX_IMAGE_BYTES = 3_750_000
"""Maximum bytes of an image; providers reject more than 5 MB of Base64, which is a third longer."""
MAX_SIDE_PIXELS = 8_000
"""Maximum pixels of a side; Anthropic rejects longer ones."""
SHRUNK_SIDE_PIXELS = 2_000
"""Maximum side of a shrunk image in pixels; providers scale larger images down themselves."""
JPEG_QUALITY = 85
MAX_PREVIEW_BYTES = 300_000
"""Maximum bytes of an image that is displayed as it is; a larger one is shrunk for display."""
MAX_PREVIEW_SIDE_PIXELS = 1_000
"""Maximum side in pixels; the panel is narrower, and a server drops output above 1 MB a second."""

MAX_DECODED_PIXELS = 30_000_000
"""Maximum pixels of an image that is decoded to check for damage; more would take a second and 100 MB."""

MAX_PDF_HEADER_BYTES = 1_024
"""Maximum bytes at the beginning of a PDF that may stand before or in its header."""

SIGNATURES: dict[str, Callable[[bytes], bool]] = {
    "image/png": lambda data: data.startswith(b"\x89PNG\r\n\x1a\n"),
    "image/jpeg": lambda data: data.startswith(b"\xff\xd8\xff"),
    "image/gif": lambda data: data.startswith((b"GIF87a", b"GIF89a")),
    "image/webp": lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP",
    "application/pdf": lambda data: b"%PDF-" in data[:MAX_PDF_HEADER_BYTES],
}
"""The file types that are attached, with a check of their first bytes."""


def image_type(data: bytes) -> str | None:
    """Return the MIME type by the first bytes; None for a type that is not attached."""
    return next((mime for mime, has_signature in SIGNATURES.items() if has_signature(data)), None)


@dataclass(frozen=True, slots=True)
class FittedImage:
    """An image, or a document, that can be sent to a model."""

    mime: str
    data: bytes
    note: str = ""
    """A sentence for the model if the image was shrunk, else empty."""

    @property
    def url(self) -> str:
        """The ``data:`` URL."""
        return f"data:{self.mime};base64,{base64.b64encode(self.data).decode('ascii')}"


def fit_image(data: bytes, name: str) -> FittedImage:
    """Return an image unchanged or shrunk; raises UserError if it cannot be sent."""
    mime = image_type(data)
    if mime is None or not mime.startswith("image/"):
        raise UserError(
            f"{name} is no picture, whatever its name says. Look at it with the python tool."
        )
    try:
        is_too_long = max(_image_size(data)) > MAX_SIDE_PIXELS
        if len(data) <= MAX_IMAGE_BYTES and not is_too_long:
            return FittedImage(mime, data)
        shrunk = _shrink_image(data)
    except ImportError:
        if len(data) <= MAX_IMAGE_BYTES:
            return FittedImage(mime, data)
        shrunk = None
    except Exception as error:
        # A damaged image can make Pillow raise any exception.
        # Pillow's messages contain memory addresses, so the text would differ at every request.
        raise UserError(
            f"{name} cannot be opened as a picture: it is damaged, or only a part of one."
        ) from error
    if shrunk is None or len(shrunk[1]) > MAX_IMAGE_BYTES:
        raise UserError(
            f"{name} has {len(data):,} bytes; at most {MAX_IMAGE_BYTES:,} can be attached. "
            "Make a smaller copy with the python tool."
        )
    mime_type, small_bytes, size_before, size_after = shrunk
    note = (
        f"It was shrunk from {size_before[0]} x {size_before[1]} to {size_after[0]} x {size_after[1]} pixels to be sent; "
        "cut out a piece with the python tool to see more of it."
    )
    return FittedImage(mime_type, small_bytes, note)


def fit_attachment(data: bytes, mime: str, name: str, error_ending: str) -> FittedImage:
    """Return an image as ``fit_image`` does, or a PDF; raises UserError, whose message ends with ``error_ending``, for others."""
    if mime.startswith("image/"):
        return fit_image(data, name)
    if image_type(data) != mime:
        raise UserError(f"{name} is no PDF, whatever {error_ending}")
    return FittedImage(mime, data)


def smaller_image(
    data: bytes, max_side: int, max_bytes: int | None = None
) -> tuple[str, bytes, tuple[int, int]] | None:
    """Return MIME type, bytes and size of an image that is smaller; None without Pillow, or where none can be made.

    ``max_side`` is the maximum of its longer side in pixels, ``max_bytes`` that of its bytes, None without a limit.
    """
    if image_type(data) == "image/jpeg":
        # A photo as PNG would be larger than before.
        max_bytes = len(data) if max_bytes is None else min(max_bytes, len(data))
    try:
        for side_pixels in (max_side, max_side * 3 // 4, max_side // 2, max_side // 4):
            mime, small_bytes, _, size = _shrink_image(data, max(1, side_pixels), max_bytes)
            if max_bytes is None or len(small_bytes) <= max_bytes:
                return mime, small_bytes, size
    except Exception:  # noqa: BLE001 - without Pillow, damaged, or too large to be opened
        return None
    return None


def _image_size(data: bytes) -> tuple[int, int]:
    """Return width and height in pixels; a damaged image makes Pillow raise any exception."""
    from PIL import Image  # noqa: PLC0415 - its home; not every kernel has it

    with Image.open(io.BytesIO(data)) as picture:
        width, height = picture.size
        if width * height <= MAX_DECODED_PIXELS:
            picture.load()
        return width, height


def _shrink_image(
    data: bytes, max_side: int = SHRUNK_SIDE_PIXELS, max_bytes: int | None = MAX_IMAGE_BYTES
) -> tuple[str, bytes, tuple[int, int], tuple[int, int]]:
    from PIL import Image  # noqa: PLC0415 - its home; not every kernel has it

    with Image.open(io.BytesIO(data)) as picture:
        size_before = picture.size
        picture.draft("RGB", (max_side, max_side))
        image: Any = picture.convert("RGBA" if _has_alpha(picture) else "RGB")
    image.thumbnail((max_side, max_side))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    if max_bytes is None or buffer.tell() <= max_bytes:
        return "image/png", buffer.getvalue(), size_before, image.size
    opaque_image = Image.new("RGB", image.size, "white")
    opaque_image.paste(image, mask=image if image.mode == "RGBA" else None)
    buffer = io.BytesIO()
    opaque_image.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return "image/jpeg", buffer.getvalue(), size_before, image.size


def _has_alpha(picture: Any) -> bool:
    return picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info


def preview_image(mime: str, data: bytes) -> tuple[str, bytes] | None:
    """Return MIME type and bytes of a small version of an image for display; None if that fails."""
    if len(data) <= MAX_PREVIEW_BYTES:
        return mime, data
    try:
        from PIL import Image  # noqa: PLC0415 - its home; not every kernel has it

        with Image.open(io.BytesIO(data)) as picture:
            picture.draft("RGB", (MAX_PREVIEW_SIDE_PIXELS, MAX_PREVIEW_SIDE_PIXELS))
            image = Image.new("RGB", picture.size, "white")
            image.paste(picture, mask=picture.convert("RGBA") if _has_alpha(picture) else None)
    except Exception:  # noqa: BLE001 - without Pillow, or damaged: then its name is shown
        return None
    image.thumbnail((MAX_PREVIEW_SIDE_PIXELS, MAX_PREVIEW_SIDE_PIXELS))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return "image/jpeg", buffer.getvalue()
