"""Refuse requests as providers do that hold too many pictures, or too large ones, in the providers' own words.

Written from the refusals themselves, not from the tables that are tested. It looks at what arrived, in any of the formats.
"""

import base64
import io
import json
from collections.abc import Iterator
from typing import Any

from PIL import Image

MANY = 20


def pictures_of(body: Any) -> list[bytes]:
    """Return the pictures of a request in any format, in order."""
    return [base64.b64decode(data) for data in _data(body)]


def sides(body: Any) -> list[int]:
    """Return the longer side of each picture of a request, in pixels."""
    return [max(Image.open(io.BytesIO(one)).size) for one in pictures_of(body)]


def anthropic(_path: str, body: Any) -> list[str]:
    """Refuse as Anthropic does."""
    data, found = list(_data(body)), sides(body)
    if len(found) > 100:
        return [f"Too much media: 0 document pages + {len(found)} images > 100"]
    most = 2_000 if len(found) > MANY else 8_000
    for at, side in enumerate(found):
        if side > most:
            what = (
                "max allowed size for many-image requests" if most == 2_000 else "max allowed size"
            )
            where = f"messages.{at}.content.0.image.source.base64.data"
            return [f"{where}: At least one of the image dimensions exceed {what}: {most} pixels"]
        if len(data[at]) > 5_242_880:
            told = f"{len(data[at])} bytes > 5242880 bytes"
            return [f"messages.{at}.content.0.image: image exceeds 5 MB maximum: {told}"]
    if len(json.dumps(body)) > 32_000_000:
        return ["request_too_large: Request exceeds the maximum size"]
    return []


def at_most(
    number: int, words: str = "At most {most} image(s) may be provided in one request."
) -> Any:
    """Return a check that refuses more than so many pictures, in the words of a server such as vLLM."""

    def check(_path: str, body: Any) -> list[str]:
        sent = len(list(_data(body)))
        return [words.format(most=number, sent=sent)] if sent > number else []

    return check


def _data(value: Any) -> Iterator[str]:
    """Yield the Base64 of each picture."""
    if isinstance(value, list):
        for one in value:
            yield from _data(one)
    elif isinstance(value, dict):
        kind = str(value.get("media_type") or value.get("mimeType") or value.get("mime_type"))
        if kind.startswith("image/") and isinstance(value.get("data"), str):
            yield value["data"]
            return
        url = value.get("url") if isinstance(value.get("url"), str) else value.get("image_url")
        if isinstance(url, str) and url.startswith("data:image/"):
            yield url.partition(",")[2]
            return
        for one in value.values():
            yield from _data(one)
