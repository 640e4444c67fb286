"""An image is scaled down to be sent, or refused with a sentence."""

import base64
import builtins
import io
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.harness.tools import ToolHarness
from tests.sample_size import sampled_cases

from palimpsest.tools.calls.images import MAX_IMAGE_BYTES, fit_image, preview_image
from palimpsest.transcript.errors import UserError


@cache
def noise(side: int, mode: str = "RGB") -> bytes:
    """Return a PNG that does not compress."""
    bands = len(mode)
    out = io.BytesIO()
    Image.frombytes(mode, (side, side), os.urandom(side * side * bands)).save(out, "PNG")
    return out.getvalue()


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def test_a_small_picture_is_sent_as_it_is() -> None:
    data = noise(20)

    fitted = fit_image(data, "a.png")

    assert (fitted.mime, fitted.data, fitted.note) == ("image/png", data, "")


@pytest.mark.parametrize("mode", sampled_cases(["RGB", "RGBA"], "RGBA"))
def test_a_large_picture_is_shrunk(mode: str) -> None:
    fitted = fit_image(noise(1_300, mode), "a.png")

    assert len(fitted.data) <= MAX_IMAGE_BYTES
    assert opened(fitted.data).format == "JPEG"
    assert fitted.mime == "image/jpeg"
    assert fitted.note.startswith("It was shrunk from 1300 x 1300 to 1300 x 1300 pixels")


def test_a_very_long_picture_is_shrunk_whatever_its_bytes() -> None:
    out = io.BytesIO()
    Image.new("RGB", (9_000, 90), "white").save(out, "PNG")

    fitted = fit_image(out.getvalue(), "a.png")

    assert opened(fitted.data).size == (2_000, 20)
    assert "from 9000 x 90 to 2000 x 20 pixels" in fitted.note


def test_a_picture_that_cannot_be_opened_is_told_in_the_same_words_every_time() -> None:
    told = set()
    for data in (b"\x89PNG\r\n\x1a\n", b"GIF89a" + bytes(9), b"\xff\xd8\xff" + b"x" * 40):
        for _ in range(2):
            with pytest.raises(UserError) as refused:
                fit_image(data, "a.png")
            told.add(str(refused.value))

    assert told == {"a.png cannot be opened as a picture: it is damaged, or only a part of one."}


def test_a_damaged_picture_that_is_too_large_is_refused() -> None:
    with pytest.raises(UserError, match=r"a\.png cannot be opened as a picture"):
        fit_image(b"\x89PNG\r\n\x1a\n" + bytes(MAX_IMAGE_BYTES), "a.png")


def test_without_pillow_a_large_picture_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = noise(1_300)
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "PIL":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)

    with pytest.raises(UserError, match="at most 3,750,000 can be attached"):
        fit_image(data, "a.png")
    assert fit_image(data[:1000], "a.png").data == data[:1000]


@pytest.mark.parametrize("mode", sampled_cases(["RGB", "RGBA"], "RGBA"))
def test_a_page_is_shown_a_smaller_one(mode: str) -> None:
    preview = preview_image("image/png", noise(1_300, mode))

    assert preview is not None
    assert (preview[0], opened(preview[1]).size) == ("image/jpeg", (1_000, 1_000))
    assert preview_image("image/png", b"x" * 300_001) is None


@pytest.mark.soak  # with each commit a large picture is shrunk, above; this adds the tool that reads it
async def test_reading_a_large_picture_says_that_it_was_shrunk(harness: ToolHarness) -> None:
    harness.write("photo.png", noise(1_300))

    outcome = await harness.call("read", path="photo.png")

    [file] = outcome.attachments
    assert (file.mime, file.filename) == ("image/jpeg", "photo.png")
    assert len(base64.b64decode(file.url.partition(",")[2])) <= MAX_IMAGE_BYTES
    assert "It was shrunk from 1300 x 1300" in outcome.output


async def test_a_pdf_that_is_too_large_is_refused(harness: ToolHarness) -> None:
    path: Path = harness.write("a.pdf", b"%PDF-1.7\n")
    os.truncate(path, 10_000_001)

    with pytest.raises(UserError, match="at most 10,000,000 can be attached"):
        await harness.call("read", path="a.pdf")


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.pdf"])
@pytest.mark.parametrize("data", [b"", b"not what it says\xff"])
async def test_what_only_the_name_makes_a_picture_is_not_sent(
    harness: ToolHarness, name: str, data: bytes
) -> None:
    harness.write(name, data)

    with pytest.raises(UserError, match=rf"{name} is no (picture|PDF), whatever its name says"):
        await harness.call("read", path=name)


def test_half_a_picture_is_not_sent() -> None:
    with pytest.raises(UserError, match=r"a\.png cannot be opened as a picture"):
        fit_image(noise(60)[:2_000], "a.png")


def test_a_picture_under_a_wrong_name_goes_by_what_it_is() -> None:
    out = io.BytesIO()
    Image.new("RGB", (9, 9), "white").save(out, "JPEG")

    assert fit_image(out.getvalue(), "a.png").mime == "image/jpeg"
