"""A provider's refusal says how many tokens it takes, in many words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.model.errors.stated_window import stated_window

STATED = {
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130112 tokens.": 128_000,
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (3000 in the messages, 2000 in the "
    "completion).": 4_096,
    "prompt is too long: 208310 tokens > 200000 maximum": 200_000,
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).": 1_048_576,
    "Trying to keep the first 40000 tokens when context the overflows. However, the model is loaded with context length of only "
    "32768 tokens, which is not enough.": 32_768,
    '{"error": {"code": 400, "message": "exceeds the available context size", "n_prompt_tokens": 9000, "n_ctx": 4096}}': 4_096,
    "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it": 4_096,
    "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`": 4_096,
    "Requested tokens (10000) exceed context window of 2048": 2_048,
    "The input (40,100 tokens) is longer than the model's context length (32,768 tokens).": 32_768,
    "prompt has 41,000 tokens, but the configured context size is 32,768 tokens": 32_768,
    "This endpoint's maximum context length is 65.536 tokens": 65_536,
    "Prompt contains 150000 tokens and 0 draft tokens, too large for model with 131072 maximum context length": 131_072,
    "input tokens exceed the 32k context window": 32_000,
    "too long for max_model_len=16384": 16_384,
    "context length is only 8192 tokens, resulting in a maximum input length of 8191 tokens": 8_191,
}

SILENT = [
    "Prompt exceeds max length",
    "Input is too long for requested model.",
    "Request Entity Too Large",
    "prompt too long; please compress",
    "completion must be at most 4096 tokens",
    "max_tokens must be less than 4096",
    "Error 400 in 20260301: too long",
    "",
]


@pytest.mark.parametrize(("text", "window"), STATED.items())
def test_the_number_beside_a_word_for_a_limit_is_the_window(text: str, window: int) -> None:
    assert stated_window(text, 1_300_000) == window


@pytest.mark.parametrize("text", SILENT)
def test_no_number_is_read_where_none_is_the_window(text: str) -> None:
    assert stated_window(text, 40_000) is None


def test_a_limit_far_above_the_request_is_not_why_it_was_refused() -> None:
    assert stated_window("at most 900000 bytes; too long", 40_000) is None


@given(st.text(max_size=400), st.integers(0, 10**6))
def test_any_text_gives_a_number_of_tokens_or_none(text: str, tokens: int) -> None:
    window = stated_window(text, tokens)

    assert window is None or 512 <= window <= 2 * tokens
