"""A decision's sentence is made from its rule and numbers, for any values in a log."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.render.content.decision_reasons import decision_sentence, reason
from palimpsest.transcript.context_values.decisions import Decision

ACTIONS: dict[str, Any] = {"compact": "summarise", "truncate": "truncate"}


def why(rule: str, **numbers: Any) -> str:
    action = ACTIONS.get(rule, "clear")
    return reason(Decision(id="dec_1", action=action, rule=rule, numbers=numbers))


@pytest.mark.parametrize(
    ("rule", "numbers", "sentence"),
    [
        (
            "truncate",
            {
                "max_lines": 2_000,
                "max_bytes": 50_000,
                "head_chars": 30_000,
                "tail_chars": 18_000,
                "omitted": 412,
                "unit": "lines",
            },
            (
                "When the tool ended, its output was longer than 2,000 lines or 50,000 bytes. "
                "Shown: the first 30,000 characters and the last 18,000 characters; 412 lines are left out."
            ),
        ),
        (
            "prune/opencode",
            {
                "protect_tokens": 40_000,
                "reached_tokens": 51_204,
                "batch_tokens": 23_100,
                "minimum_tokens": 20_000,
            },
            (
                "Older than the newest 40,000 tokens of tool output (it stood at 51,204). "
                "23,100 tokens went at once (20,000 are the least that is worth a change)."
            ),
        ),
        (
            "prune/batch",
            {
                "reason": "read-again",
                "cold": False,
                "used_tokens": 91_000,
                "start_tokens": 84_000,
                "batch_tokens": 30_000,
            },
            (
                "The same file was read again later. The request had grown to 91,000 tokens, and from "
                "84,000 on old outputs are cleared. 30,000 tokens went at once."
            ),
        ),
        (
            "prune/batch",
            {"reason": "old", "protect_tokens": 40_000, "cold": True, "start_tokens": None},
            (
                "Older than the newest 40,000 tokens of tool output. The provider's cache was cold, so "
                "that a change cost nothing."
            ),
        ),
        (
            "limit/pictures",
            {
                "limit": "many_side",
                "most": 2_000,
                "pictures": {
                    "0": {"size": [2_800, 400], "to": [1_900, 271]},
                    "1": {"size": [2_800, 400], "to": [1_900, 271]},
                    "2": {"out": True, "name": "old.png"},
                },
            },
            (
                "For the model 2 pictures are sent smaller (2,800 x 400 pixels became 1,900 x 271), "
                "not sent: old.png, since its provider takes pictures of at most 2,000 pixels a side "
                "where there are many; the session keeps all of it."
            ),
        ),
        (
            "prune/cache-ttl",
            {"cache_age_seconds": 312.0, "head_chars": 1_500, "tail_chars": 1_500, "omitted": 0},
            (
                "The provider's cache had not been used for 5 min 12 s, so that a change cost nothing. "
                "Shown: the first 1,500 characters and the last 1,500 characters."
            ),
        ),
        (
            "recover/oversized",
            {"limit_chars": 24_000, "head_chars": 24_000, "omitted": 9, "unit": "characters"},
            (
                "The request did not fit, and the output was longer than 24,000 characters. "
                "Shown: the first 24,000 characters; 9 characters are left out."
            ),
        ),
        (
            "compact",
            {
                "retention": {
                    "paths": {"found": 3, "lost": 1, "names": ["a.csv"]},
                    "numbers": {"found": 61, "lost": 7, "names": ["1", "2", "3", "4", "5", "6"]},
                    "errors": {"found": 2, "lost": 0, "names": []},
                }
            },
            (
                "Keeps 2 of 3 paths, 54 of 61 numbers, 2 of 2 errors; "
                "not kept: a.csv; 1, 2, 3, 4, 5, …."
            ),
        ),
        (
            "compact",
            {
                "retention": {
                    "paths": {"found": 3, "lost": 2, "names": ["b.csv", "a.csv"], "likely": 1}
                },
                "recent": 5,
            },
            (
                "Keeps 1 of 3 paths; not kept: b.csv, a.csv. "
                "Likely to be needed, by the last 5 answers (an estimate): b.csv."
            ),
        ),
        (
            "compact",
            {"retention": {"paths": {"found": 3, "lost": 0, "names": []}}},
            "Every path, identifier, error and number of them is still in view.",
        ),
        ("user/exclude", {}, "A person left this out of what the model sees."),
        ("somebody/else", {"x": 1}, "Decided by the rule somebody/else."),
    ],
)
def test_says_why(rule: str, numbers: dict[str, Any], sentence: str) -> None:
    assert why(rule, **numbers) == sentence


RULES = ("truncate", "prune/opencode", "prune/batch", "prune/cache-ttl", "recover/oversized")
NAMES = (
    *("max_lines", "max_bytes", "head_chars", "omitted", "protect_tokens", "batch_tokens"),
    *("cache_age_seconds", "limit_chars", "retention", "found", "lost", "names", "likely"),
    *("recent", "reason", "kept", "turns", "tokens", "pinned"),
)
VALUES = st.recursive(
    st.sampled_from([None, True, 3, 0, -1, 0.5, float("nan"), float("inf"), 10**400, "text"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=5,
)


@given(st.sampled_from([*RULES, "compact"]), st.dictionaries(st.sampled_from(NAMES), VALUES))
def test_never_fails_over_what_a_log_holds(rule: str, numbers: dict[str, Any]) -> None:
    assert why(rule, **numbers).endswith(".")


def test_a_summary_is_told_from_the_whole_conversation() -> None:
    """395 tokens of summary are shown beside 6,322 of the conversation, with a word for each number."""
    made = Decision(
        id="dec_1",
        action="summarise",
        rule="compact",
        numbers={"retention": {}},
        tokens_before=33_029,
        tokens_after=6_322,
    )

    assert decision_sentence(made) == (
        "The conversation takes 6,322 tokens in a request instead of 33,029: the summary, and the messages "
        "that stay as they are. Every path, identifier, error and number of them is still in view."
    )
    kept = {"turns": 2, "tokens": 5_900, "pinned": 1}
    told = made.model_copy(update={"numbers": {"retention": {}, "kept": kept}})
    assert decision_sentence(told).startswith(
        "The conversation takes 6,322 tokens in a request instead of 33,029: the summary, and as they are the "
        "newest 2 turns (5,900 tokens) and 1 pinned part. "
    )
    nothing = made.model_copy(update={"numbers": {"retention": {}, "kept": {}}})
    assert "the summary, and no other message. " in decision_sentence(nothing)
    assert "33,029" not in decision_sentence(made.model_copy(update={"rule": "compact/plan"}))


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        (
            {"result_chars": 2_000},
            (
                "One request for the summary holds all messages that it replaces; where they are sent as a text, at most "
                "2,000 characters of each tool output."
            ),
        ),
        (
            {"result_chars": 500, "lacks": ["A path is missing."]},
            (
                "One request for the summary holds all messages that it replaces; where they are sent as a text, at most "
                "500 characters of each tool output. It is requested once more, since the one before lacked: A path is "
                "missing."
            ),
        ),
        (
            {
                "result_chars": 2_000,
                "stage": 2,
                "first": "msg_1",
                "last": "msg_9",
                "final": True,
                "prior": "req_1",
                "left_out": {"msg_4": 30_000},
            },
            (
                "Part 2 of the history, the last: the request for the summary holds the messages from 1 to 9, and "
                "the summary of the parts before it; where they are sent as a text, at most 2,000 characters of each tool "
                "output. Left out, too large for any request: 1 message of 30,000 tokens."
            ),
        ),
    ],
)
def test_a_request_for_a_summary_says_what_it_holds(numbers: Any, sentence: str) -> None:
    assert why("compact", **numbers) == sentence
