"""An output takes its share of the window as the session's own estimator counts it, whatever it is made of."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sample_size import thinned

from palimpsest.context.presets import PRESETS
from palimpsest.context.reduction.truncation import apply_truncation, is_shortened_by_tool, truncate
from palimpsest.model.tokenizer import counter
from palimpsest.transcript.context_values.decisions import Decision, Facts
from palimpsest.transcript.context_values.policies import Policy, TruncatePolicy

OURS = PRESETS["palimpsest"]
COUNT = counter(OURS.estimator)
SHARE = 0.25
WINDOWS = (8_000, 32_000, 200_000)


def noise(size: int) -> bytes:
    blocks = (hashlib.sha256(str(n).encode()).digest() for n in range(size // 32))
    return b"".join(blocks)


OUTPUTS = {
    "digits": "\n".join(
        "  ".join(f"{(n * 7919 + c * 104729) % 99_991 / 97:>10.4f}" for c in range(8))
        for n in range(4_000)
    ),
    "blanks": "\n".join(f"{n:>9}" + " |" * 40 for n in range(4_000)),
    "Chinese": "企鹅的喙长平均为四十三点九二毫米、体重为四千二百克。\n" * 6_000,
    "Korean": "펭귄의 부리 길이는 평균 43.92 밀리미터입니다\n" * 6_000,
    "base64": base64.b64encode(noise(200_000)).decode(),
    "emoji": "🐧🧊❄️🌊👩‍👩‍👧‍👦" * 8_000,
    "hexadecimal": noise(100_000).hex(),
    "words": "The mean of bill_length_mm is 43.92 millimetres.\n" * 8_000,
    "an error at the end": "0.123 4.567 8.901\n" * 20_000 + "ValueError: no such column 'bill'",
    "one letter": "x" * 400_000,
    "surrogates": "\udcff\udc80 " * 60_000,
}


def decide(text: str, window: int, policy: Policy = OURS) -> Decision | None:
    facts = Facts(now=0, estimator=policy.estimator, window=window, reserve=0)
    count = counter(policy.estimator)
    return truncate("dec_1", "prt_1", "msg_1", text, policy.truncate, facts, count)


@pytest.mark.parametrize("window", thinned(WINDOWS, 4))
@pytest.mark.parametrize("kind", thinned(OUTPUTS, 2))
def test_the_share_holds_as_the_counter_says(kind: str, window: int) -> None:
    text = OUTPUTS[kind]

    made = decide(text, window)

    shown = apply_truncation(text, made.numbers) if made is not None else text
    assert COUNT(shown) <= window * SHARE
    assert made is None or made.tokens_after == COUNT(shown)


@pytest.mark.parametrize("window", WINDOWS[:2])
@pytest.mark.parametrize("kind", thinned(OUTPUTS, 3))
def test_the_share_is_used(kind: str, window: int) -> None:
    """Not much less is shown than may be, unless the cap in bytes is less."""
    text = OUTPUTS[kind]
    made = decide(text, window)
    assert made is not None

    shown_text = apply_truncation(text, made.numbers)

    at_cap = len(shown_text.encode("utf-8", "surrogatepass")) > OURS.truncate.max_bytes * 0.9
    all_lines = shown_text.count("\n") >= OURS.truncate.max_lines - 1
    assert at_cap or all_lines or COUNT(shown_text) > window * SHARE * 0.75


def test_a_window_without_a_limit_has_no_share() -> None:
    text = "1 2 3\n" * 500

    assert decide(text, 0) is None


def test_policies_recorded_before_shares_were_counted_keep_their_bytes() -> None:
    older = {
        name: value
        for name, value in TruncatePolicy().model_dump().items()
        if name != "share_counted"
    }
    policy = OURS.model_copy(update={"truncate": TruncatePolicy.model_validate(older)})
    text = OUTPUTS["digits"]

    made = decide(text, 32_000, policy)

    assert made is not None
    assert made.numbers["max_bytes"] == int(32_000 * SHARE * 4)
    assert "max_tokens" not in made.numbers
    assert TruncatePolicy().share_counted == "tokens"


@pytest.mark.parametrize("preset", sorted(set(PRESETS) - {"palimpsest"}))
def test_the_recorded_agents_cut_as_they_did(preset: str) -> None:
    """Their outputs have no share of the window: only lines and bytes."""
    made = decide(OUTPUTS["digits"], 8_000, PRESETS[preset])

    assert made is not None
    assert made.numbers["max_bytes"] == 51_200
    assert "max_tokens" not in made.numbers


@given(st.text(max_size=2_000), st.integers(200, 4_000))
def test_any_text_is_within_its_share_or_as_short_as_it_gets(text: str, window: int) -> None:
    made = decide(text, window)

    if made is None:
        assert COUNT(text) <= window * SHARE
    else:
        nothing = apply_truncation(text, made.numbers | {"head_chars": 0, "tail_chars": 0})
        assert made.tokens_after <= max(window * SHARE, COUNT(nothing) + 3)
        assert made.numbers == (decide(text, window) or made).numbers


def test_what_a_tool_shortened_itself_is_held_to_the_share_too_where_it_is_counted() -> None:
    """A file that is read in pieces is fifty thousand bytes, which may be half of a small window."""
    piece = {"truncated": True}

    assert not is_shortened_by_tool(piece, OURS.truncate)
    assert not is_shortened_by_tool({}, PRESETS["opencode-1.18"].truncate)
    assert is_shortened_by_tool(piece, PRESETS["opencode-1.18"].truncate)
    assert is_shortened_by_tool(piece, PRESETS["openclaw-2026.9"].truncate)
