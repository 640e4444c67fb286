"""A file is sent with the media type of its bytes, or replaced by a text with the reason."""

from typing import Any

import pytest
from tests.model.valid_bodies import JPEG, PDF, PNG

from palimpsest.model.wire.media import media_content
from palimpsest.transcript.context_values.neutral_messages import MediaBlock
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.values import ModelInfo, ModelRef

GIF = "R0lGODlhAQABAAAAACw="
HEIC = "AAAAGGZ0eXBoZWlj"


def sent(
    url: str, provider: str = "openai", *, mime: str = "image/png", vision: bool = True
) -> Any:
    ref = ModelRef(provider=provider, name="some-model")
    info = ModelInfo(ref=ref, window=8_000, output_limit=1_000, vision=vision)
    piece = media_content(MediaBlock(mime=mime, url=url, filename="a"), info, profile(ref))
    match piece["type"]:
        case "image_url":
            return piece["image_url"]["url"]
        case "file":
            return piece["file"]["file_data"]
        case _:
            return piece["text"]


def data(mime: str, content: str) -> str:
    return f"data:{mime};base64,{content}"


def left_out(mime: str, provider: str = "openai") -> str:
    return f"[a ({mime}) was left out: {provider}/some-model cannot read it. Tell the user.]"


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "mistral", "ollama"])
def test_a_whole_picture_is_sent_as_it_is(provider: str) -> None:
    url = data("image/png", PNG)

    assert sent(url, provider) == url


@pytest.mark.parametrize(
    "url",
    [
        data("image/jpeg", PNG),
        data("IMAGE/PNG", PNG),
        f"data:image/png;charset=utf-8;base64,{PNG}",
        data("image/png", f"{PNG[:40]}\n{PNG[40:]}\n"),
    ],
)
def test_a_wrong_label_and_broken_lines_are_put_right(url: str) -> None:
    assert sent(url) == data("image/png", PNG)


@pytest.mark.parametrize("content", ["@@@", PNG[:-3], "aGVsbG8="])
def test_a_damaged_picture_is_told(content: str) -> None:
    assert sent(data("image/png", content)) == (
        "[a (image/png) is damaged and was left out. Tell the user.]"
    )


@pytest.mark.parametrize("url", ["", "data:,", "data:image/png;base64,", "https://x.org/a.png"])
def test_what_is_not_there_is_told(url: str) -> None:
    assert sent(url) == "[a (image/png) was empty or could not be sent.]"


@pytest.mark.parametrize(
    ("mime", "content", "takers"),
    [
        ("image/gif", GIF, {"openai", "anthropic", "mistral"}),
        ("image/heic", HEIC, {"gemini"}),
        ("image/jpeg", JPEG, {"openai", "anthropic", "gemini", "mistral"}),
        ("application/pdf", PDF, {"openai", "anthropic", "gemini"}),
        ("image/svg+xml", "PHN2Zy8+", set()),
        ("audio/wav", "UklGRg==", set()),
    ],
)
def test_a_provider_is_sent_the_types_it_documents(
    mime: str, content: str, takers: set[str]
) -> None:
    url = data(mime, content)

    for provider in ("openai", "anthropic", "gemini", "mistral"):
        expected = url if provider in takers else left_out(mime, provider)
        assert sent(url, provider, mime=mime) == expected


def test_a_model_that_sees_nothing_is_told_so() -> None:
    assert sent(data("image/png", PNG), vision=False) == left_out("image/png")
