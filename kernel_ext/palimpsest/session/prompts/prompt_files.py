"""Convert pictures and documents passed with a prompt from Python into attachments.

Border: bytes and objects in, attachments out; nothing is stored. The user's own code passes them, so a path is read
without checks; a text file is better named in the prompt with an at sign, which shows it line by line.
"""

import base64
import binascii
import io
import sys
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from palimpsest.home_paths import home_path
from palimpsest.tools.calls.images import FittedImage, fit_image, image_type
from palimpsest.tools.files.read_tool import MAX_DOCUMENT_BYTES
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.parts import KERNEL, Attachment, FileSource, ResourceSource

MAX_PROMPT_FILES = 20
FILE_TYPES = "PNG, JPEG, GIF, WebP or PDF"
WRONG_FILE_SENTENCE = (
    "A file with a prompt is a path, bytes, a data: URL, a figure or a picture, not {given}. Name a text in the "
    "prompt as @path."
)


def prompt_files(sources: Any) -> tuple[Attachment, ...]:
    """Return the attachments of a prompt; raises UserError for a file that is neither a picture nor a PDF.

    ``sources`` are paths, bytes, ``data:`` URLs, figures of matplotlib, and objects with a PNG
    representation (``_repr_png_``), such as pictures of Pillow and IPython.
    """
    if isinstance(sources, str | bytes | PathLike) or not isinstance(sources, Iterable):
        raise UserError(f"files is a list, such as [figure, 'scan.pdf'], not {sources!r:.60}.")
    files = list(sources)
    if len(files) > MAX_PROMPT_FILES:
        raise UserError(
            f"At most {MAX_PROMPT_FILES} files go with one prompt, and {len(files)} were given."
        )
    return tuple(_attachment(file, number) for number, file in enumerate(files, 1))


def _attachment(file: Any, number: int) -> Attachment:
    name, data = _name_and_bytes(file, f"file-{number}")
    mime = image_type(data)
    if mime is None:
        raise UserError(f"{name} is no {FILE_TYPES}. Name a text in the prompt as @path.")
    fitted = FittedImage(mime, data)
    if mime.startswith("image/"):
        fitted = fit_image(data, name)
    elif len(data) > MAX_DOCUMENT_BYTES:
        max_bytes_text = f"{MAX_DOCUMENT_BYTES:,}"
        raise UserError(
            f"{name} has {len(data):,} bytes; at most {max_bytes_text} can be attached."
        )
    return Attachment(mime=fitted.mime, filename=name, url=fitted.url, source=_source(file))


def _source(file: Any) -> FileSource | ResourceSource | None:
    """Return where a file comes from: a path or a variable; None for a ``data:`` URL."""
    if isinstance(file, str) and file.startswith("data:"):
        return None
    if isinstance(file, str | PathLike):
        return FileSource(type="file", path=str(Path(file)))
    variables = vars(sys.modules["__main__"])
    name = next(
        (
            name
            for name, value in list(variables.items())
            if value is file and not name.startswith("_")
        ),
        None,
    )
    uri = f"variable:{name}" if name else f"object:{type(file).__name__}"
    return ResourceSource(type="resource", client_name=KERNEL, uri=uri)


def _name_and_bytes(file: Any, name: str) -> tuple[str, bytes]:
    """Return a name and the bytes of a path, an object or a ``data:`` URL."""
    if isinstance(file, bytes | bytearray | memoryview):
        return name, bytes(file)
    if isinstance(file, str) and file.startswith("data:"):
        return name, decoded_data_url(file)
    if isinstance(file, str | PathLike):
        path = Path(file)
        try:
            return path.name, home_path(path).read_bytes()
        except OSError as problem:
            raise UserError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    png = _png_of(file)
    if not isinstance(png, bytes):
        raise UserError(WRONG_FILE_SENTENCE.format(given=f"a {type(file).__name__}"))
    return f"{name}.png", png


def decoded_data_url(url: str) -> bytes:
    """Return the content of a ``data:`` URL; raises UserError for one that is not in Base64."""
    url_header, _, encoded_data = url.partition(",")
    try:
        data = base64.b64decode("".join(encoded_data.split()), validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data or "base64" not in url_header:
        raise UserError(f"{url[:40]}… is no data: URL in base64.")
    return data


def _png_of(picture: Any) -> Any:
    """Return an object's PNG representation; None where it has none."""
    figure = picture if hasattr(picture, "savefig") else getattr(picture, "figure", None)
    if figure is not None and hasattr(figure, "savefig"):
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", bbox_inches="tight")
        return buffer.getvalue()
    make_png = getattr(picture, "_repr_png_", None)
    png = make_png() if callable(make_png) else None
    return png[0] if isinstance(png, tuple) else png
