"""Tokens are counted offline, and the environment is not changed."""

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.model import tokenizer
from palimpsest.model.tokenizer import (
    CachedCount,
    chars_over_four,
    counter,
    lazy_encoding,
    rough_count,
    rough_count_sentences,
)
from palimpsest.transcript.errors import ConfigError

CHINESE = "企鹅的嘴峰长度和深度因物种而异。" * 20


def test_counts_with_the_real_encodings() -> None:
    text = "The penguins have three species, and the bill tells them apart."

    assert counter("tiktoken/o200k_base")(text) == 14
    assert counter("tiktoken/cl100k_base")(text) == 14
    assert counter("chars/4")(text) == 16


def test_chinese_is_not_four_times_too_low() -> None:
    real = counter("tiktoken/o200k_base")(CHINESE)

    assert counter("chars/4")(CHINESE) < real / 2
    assert 0.5 < rough_count(CHINESE) / real < 2


def test_a_special_token_is_only_text() -> None:
    assert counter("tiktoken/o200k_base")("<|endoftext|>") > 1


def test_the_variable_of_tiktoken_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "_encodings", {})
    monkeypatch.setattr(tokenizer, "_counters", {})
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/mine")

    counter("tiktoken/p50k_base")("hello")

    assert os.environ["TIKTOKEN_CACHE_DIR"] == "/mine"


def test_a_missing_file_is_replaced_by_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "_encodings", {})
    monkeypatch.setattr(tokenizer, "_counters", {})
    monkeypatch.setattr(tokenizer, "rank_folder", lambda: None)

    assert counter("tiktoken/o200k_base")("abcdefgh") == 2


@pytest.mark.parametrize("missing", ["litellm", "tiktoken", "regex"])
def test_what_is_counted_roughly_is_said(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    folder = tokenizer.package_folder
    asked = ["chars/4", "tiktoken/o200k_base", "", "tiktoken/o200k_base"]
    assert rough_count_sentences(asked) == ()

    monkeypatch.setattr(
        tokenizer, "package_folder", lambda name: None if name == missing else folder(name)
    )

    (sentence,) = rough_count_sentences(asked)
    assert "tiktoken/o200k_base are estimates here" in sentence


def test_a_damaged_file_is_not_given_to_tiktoken(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("ranks")
    damaged = folder / tokenizer.RANK_FILES["o200k_base"]
    damaged.write_bytes(b"nonsense")
    monkeypatch.setattr(tokenizer, "_encodings", {})
    monkeypatch.setattr(tokenizer, "_counters", {})
    monkeypatch.setattr(tokenizer, "rank_folder", lambda: folder)

    assert counter("tiktoken/o200k_base")("abcdefgh") == 2
    assert damaged.exists()


def test_an_unknown_estimator_is_named() -> None:
    with pytest.raises(ConfigError, match="no token estimator 'words'"):
        counter("words")


def test_a_text_is_counted_once() -> None:
    asked: list[str] = []
    count = CachedCount(lambda text: asked.append(text) or len(text))  # type: ignore[func-returns-value]
    long = "x" * 100

    assert (count(long), count(long), count("short"), count("short")) == (100, 100, 5, 5)
    assert asked == [long, "short", "short"]


def test_a_megabyte_is_counted_in_less_than_a_second() -> None:
    count = counter("tiktoken/o200k_base")
    began = time.thread_time()

    assert count("The quick brown fox. " * 50_000) > 100_000
    assert time.thread_time() - began < 1.5


def test_nothing_is_loaded_to_count_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "_encodings", {})
    lazy = lazy_encoding("p50k_base")

    assert (lazy.name, lazy.encode("", disallowed_special=())) == ("p50k_base", [])
    assert tokenizer._encodings == {}
    assert lazy.encode("hello world") == [31373, 995]


@given(st.text())
def test_any_text_can_be_counted(text: str) -> None:
    """Every counter accepts every text and never returns a negative number."""
    for count in (counter("tiktoken/o200k_base"), counter("chars/4"), rough_count):
        assert count(text) >= 0


def test_surrogates_and_long_runs_can_be_counted() -> None:
    count = counter("tiktoken/o200k_base")

    assert count("a\ud800b") > 0
    assert count("x" * 50_000) > 1_000
    assert [chars_over_four(text) for text in ("", "a", "ab", "\U0001f600")] == [0, 0, 1, 1]


@pytest.mark.slow
def test_a_text_longer_than_any_window_is_counted_within_a_few_percent() -> None:
    count = counter("tiktoken/o200k_base")
    words = "The penguins have three species, and the bill tells them apart. "
    text = words * (tokenizer.MAX_EXACT_CHARS // len(words) + 1)

    assert len(text) > tokenizer.MAX_EXACT_CHARS
    assert count(text) == pytest.approx(count(text[:1_000_000]) * len(text) / 1_000_000, rel=0.03)
