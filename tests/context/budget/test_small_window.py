"""A model with a small window is flagged before it is prompted, and refused when it is too small."""

import pytest

from palimpsest.context.budget.window_guard import window_refusal, window_remark
from palimpsest.context.presets import PRESETS
from palimpsest.transcript.values import ModelInfo, ModelRef

GUARD = PRESETS["palimpsest"].guard


def model(window: int, *, assumed: bool = False) -> ModelInfo:
    return ModelInfo(
        ref=ModelRef(provider="ollama", name="tiny"),
        window=window,
        window_assumed=assumed,
        output_limit=1_000,
    )


@pytest.mark.parametrize(
    ("window", "words"),
    [
        (200_000, ""),
        (32_000, ""),
        (31_999, " (small: it is summarised often below 32,000)"),
        (16_000, " (small: it is summarised often below 32,000)"),
        (15_999, " (too small: an agent needs 16,000)"),
    ],
)
def test_a_list_of_models_says_what_a_window_is_good_for(window: int, words: str) -> None:
    assert window_remark(model(window), GUARD) == words


def test_an_assumed_window_is_said_to_be_one() -> None:
    assert window_remark(model(200_000, assumed=True), GUARD) == " (assumed)"


@pytest.mark.parametrize(("preset", "least"), [("openclaw-2026.2", 16_000), ("palimpsest", 16_000)])
def test_the_least_window_is_the_policys(preset: str, least: int) -> None:
    guard = PRESETS[preset].guard

    assert window_refusal(model(least), guard) is None
    assert window_refusal(model(least - 1), guard) is not None


def test_the_seeds_sentence_is_said_under_their_presets() -> None:
    words = window_refusal(model(8_000), PRESETS["openclaw-2026.2"].guard)

    assert words == "Model context window too small (8000 tokens). Minimum is 16000."
