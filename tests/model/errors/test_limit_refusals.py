"""An error that names what a request holds too much of is told from all others, in whatever words a server has for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.model.errors.limit_refusals import named_limit
from palimpsest.model.errors.overflow_detection import MAX_ERROR_CHARS

ARRAY = "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 217 instead."
MANY = "At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"

NAMED = [
    (f"messages.108.content.3.image.source.base64.data: {MANY}", "side", 2_800, 2_000),
    ("messages.7.content.2.image: At least one of the image dimensions exceed max allowed size: 8000 pixels", "side", 9_000, 8_000),
    ("Input validation error: images must have width and height at most 4096", "side", 5_000, 4_096),
    ("image resolution too large", "side", 5_000, 2_500),
    ("messages.1.content.0.image.source.base64: image exceeds 5 MB maximum: 5649924 bytes > 5242880 bytes", "picture_bytes", 5_649_950, 5_000_000),
    ("The image is larger than 20MB", "picture_bytes", 30_000_000, 20_000_000),
    ("Invalid request: base64 image size exceeds 10 MiB limit", "picture_bytes", 30_000_000, 10_485_760),
    ("image_url.url: string too long. Expected maximum length 20971520", "picture_bytes", 30_000_000, 20_971_520),
    ("too many images and documents: 120 + 0 > 100", "pictures", 120, 100),
    ("Too much media: 0 document pages + 107 images > 100", "pictures", 107, 100),
    ("Too many images in request. Max is 10.", "pictures", 25, 10),
    ("request contains 52 images, exceeding the maximum of 50 allowed per request", "pictures", 52, 50),
    ("At most 5 image(s) may be provided in one request.", "pictures", 9, 5),
    ("Image count 5 exceeds limit 4 per request.", "pictures", 5, 4),
    ("Too many images provided. This model supports up to 5 images", "pictures", 9, 5),
    ("This model does not support more than 3 images per prompt", "pictures", 9, 3),
    ("Number of images exceeds the limit", "pictures", 9, 4),
    ("单次请求图片数量超过上限, 最多 10 张", "pictures", 12, 10),
    ("Image exceeds the maximum allowed total pixels. Current dimensions: 4634x12324 = 57109416 pixels. Maximum allowed: 36000000 pixels.", "pixels", 57_109_416, 36_000_000),
    ("Image too large. Please limit to 75 megapixels.", "pixels", 80_000_000, 75_000_000),
    ("Request exceeds the maximum size", "request_bytes", 40_000_000, 20_000_000),
    ("Request payload size exceeds the limit: 20971520 bytes.", "request_bytes", 30_000_000, 20_971_520),
    ("Maximum request body size 1048576 exceeded, actual body size 1056562", "request_bytes", 1_056_562, 1_048_576),
    ("Total size of images exceeds 10 MB", "request_bytes", 30_000_000, 10_000_000),
    (ARRAY, "tools", 217, 128),
    ("Too many tools: 300 > 128", "tools", 300, 128),
    ("The number of function declarations must be at most 512", "tools", 600, 512),
]  # fmt: skip

OTHERS = [
    "You uploaded an unsupported image. Please make sure your image is valid.",
    "Could not process image",
    "Image input is not supported by this model",
    "image dimensions too small, minimum 28x28 pixels",
    "Failed to download the image: maximum number of redirects exceeded",
    "Your request was rejected by our safety system: your image may contain content that is not allowed.",
    "Only image types png, jpeg and gif are allowed: invalid media type",
    "Rate limit reached for images per minute: limit 50",
    "You exceeded your current quota, please check your plan: images",
    "prompt is too long: 215000 tokens > 200000 maximum",
    "This model's maximum context length is 128000 tokens. However, your messages, with 12 images, have 131000 tokens",
    "max_tokens: 70000 > 64000, which is the maximum allowed number of output tokens",
    "Invalid 'tools[11].function.description': string too long. Expected a string with maximum length 1024",
    "tools.0.custom.input_schema: JSON schema is invalid, at most one type",
    "messages: at least one message is required",
    "The model is overloaded, try again",
    "Invalid value for 'image_url.detail': only 'low','high','auto' are taken",
    "",
]


@pytest.mark.parametrize(("words", "kind", "sent", "most"), NAMED)
def test_what_is_named_is_read_with_its_number(words: str, kind: str, sent: int, most: int) -> None:
    limit = named_limit(words, 400)

    assert limit is not None
    assert (limit.kind, limit.maximum_below(sent)) == (kind, most)


@pytest.mark.parametrize("words", OTHERS)
def test_an_error_about_something_else_names_none(words: str) -> None:
    assert named_limit(words, 400) is None


@pytest.mark.parametrize("status", [401, 403, 404, 429])
def test_a_status_of_another_kind_settles_it(status: int) -> None:
    assert named_limit("Too many images. Max is 3.", status) is None


def test_a_refusal_for_its_size_needs_no_words() -> None:
    limit = named_limit("<html>nginx</html>", 413)

    assert limit is not None
    assert (limit.kind, limit.maximum_below(50)) == ("request_bytes", 25)


@given(
    st.text(max_size=300).map(lambda text: f"Too many images: {text}"),
    st.integers(1, 10**9),
)
def test_the_most_is_below_what_was_sent(words: str, sent: int) -> None:
    limit = named_limit(words, 400)

    assert limit is None or 0 < limit.maximum_below(sent) <= max(1, sent - 1)


def test_a_long_error_is_read_in_time() -> None:
    for piece in ("images 1 ", "maximum ", "tools ", "at most 9", "1" * 50, "number of "):
        named_limit(piece * (MAX_ERROR_CHARS // len(piece)), 400)
