"""Convert pictures and documents passed with a prompt from Python into attachments.

Border: bytes and objects in, attachments out; nothing is stored. The user's own code passes them,
so a path is read without checks; a text file is better named in the prompt with an at sign, which shows it
line by line.
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
from palimpsest.tools.calls.images import FittedImage, fit_image, kind_of
from palimpsest.tools.files.read_tool import LARGEST_DOCUMENT_BYTES
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.parts import KERNEL, Attachment, FileSource, ResourceSource

MOST = 20
KINDS = "PNG, JPEG, GIF, WebP or PDF"
WHAT = (
    "A file with a prompt is a path, bytes, a data: URL, a figure or a picture, not {given}. Name a text in the "
    "prompt as @path."
)


def prompt_files(given: Any) -> tuple[Attachment, ...]:
    """Return the attachments of a prompt; raises UserError for what is neither a picture nor a PDF.

    ``given`` are paths, bytes, ``data:`` URLs, figures of matplotlib, and objects with a PNG
    representation (``_repr_png_``), such as pictures of Pillow and IPython.
    """
    if isinstance(given, str | bytes | PathLike) or not isinstance(given, Iterable):
        raise UserError(f"files is a list, such as [figure, 'scan.pdf'], not {given!r:.60}.")
    every = list(given)
    if len(every) > MOST:
        raise UserError(f"At most {MOST} files go with one prompt, and {len(every)} were given.")
    return tuple(_attachment(one, number) for number, one in enumerate(every, 1))


def _attachment(one: Any, number: int) -> Attachment:
    name, data = _read(one, f"file-{number}")
    mime = kind_of(data)
    if mime is None:
        raise UserError(f"{name} is no {KINDS}. Name a text in the prompt as @path.")
    made = FittedImage(mime, data)
    if mime.startswith("image/"):
        made = fit_image(data, name)
    elif len(data) > LARGEST_DOCUMENT_BYTES:
        most = f"{LARGEST_DOCUMENT_BYTES:,}"
        raise UserError(f"{name} has {len(data):,} bytes; at most {most} can be attached.")
    return Attachment(mime=made.mime, filename=name, url=made.url, source=_source(one))


def _source(one: Any) -> FileSource | ResourceSource | None:
    """Return where a file comes from: a path or a variable; None for a ``data:`` URL."""
    if isinstance(one, str) and one.startswith("data:"):
        return None
    if isinstance(one, str | PathLike):
        return FileSource(type="file", path=str(Path(one)))
    space = vars(sys.modules["__main__"])
    name = next(
        (name for name, held in list(space.items()) if held is one and not name.startswith("_")),
        None,
    )
    uri = f"variable:{name}" if name else f"object:{type(one).__name__}"
    return ResourceSource(type="resource", client_name=KERNEL, uri=uri)


def _read(one: Any, name: str) -> tuple[str, bytes]:
    """Return a name and the bytes of a path, an object or a ``data:`` URL."""
    if isinstance(one, bytes | bytearray | memoryview):
        return name, bytes(one)
    if isinstance(one, str) and one.startswith("data:"):
        return name, decoded_data_url(one)
    if isinstance(one, str | PathLike):
        path = Path(one)
        try:
            return path.name, home_path(path).read_bytes()
        except OSError as problem:
            raise UserError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    drawn = _drawn(one)
    if not isinstance(drawn, bytes):
        raise UserError(WHAT.format(given=f"a {type(one).__name__}"))
    return f"{name}.png", drawn


def decoded_data_url(url: str) -> bytes:
    """Return the content of a ``data:`` URL; raises UserError for one that is not in Base64."""
    head, _, encoded = url.partition(",")
    try:
        data = base64.b64decode("".join(encoded.split()), validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data or "base64" not in head:
        raise UserError(f"{url[:40]}… is no data: URL in base64.")
    return data


def _drawn(one: Any) -> Any:
    """Return an object's PNG representation; None where it has none."""
    figure = one if hasattr(one, "savefig") else getattr(one, "figure", None)
    if figure is not None and hasattr(figure, "savefig"):
        out = io.BytesIO()
        figure.savefig(out, format="png", bbox_inches="tight")
        return out.getvalue()
    draws = getattr(one, "_repr_png_", None)
    found = draws() if callable(draws) else None
    return found[0] if isinstance(found, tuple) else found
