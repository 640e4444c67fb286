"""Recovery truncates tool results that are too long for the window: each alone, then all together."""

from itertools import count as counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import Builder
from tests.sample_size import thinned

from palimpsest.context.budget.precheck import (
    count_reducible_chars,
    max_results_chars,
    result_chars,
)
from palimpsest.context.budget.request_tokens import weigh_chars
from palimpsest.context.policy_overrides import preset_policy
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.reduction.message_outputs import MessageOutputs
from palimpsest.context.reduction.oversized_results import OVERSIZED_RULE, cut_oversized, cut_result
from palimpsest.context.reduction.truncation import apply_truncation
from palimpsest.context.visible_messages import View
from palimpsest.model.tokenizer import counter as tokenizer
from palimpsest.session.config.context_policy import without_recall
from palimpsest.transcript.context_values.decisions import Decision, Facts
from palimpsest.transcript.context_values.policies import Policy, RecoveryPolicy
from palimpsest.transcript.ids import short_id
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import ToolCompleted, ToolPart

WINDOW = 16_000
FACTS = Facts(now=0, estimator="chars/4", window=WINDOW, reserve=2_000)
OURS = preset_policy("palimpsest").recovery
SMALL = FACTS.model_copy(update={"window": 3_000})
COUNT = tokenizer(FACTS.estimator)
LIMIT = result_chars(WINDOW, OURS)
PRESETS = ["palimpsest", "openclaw-2026.2", "openclaw-2026.9"]


def decide(
    view: View, recovery: RecoveryPolicy = OURS, facts: Facts = FACTS
) -> tuple[Decision, ...]:
    numbers = counter(len(view.decisions))
    outputs = MessageOutputs(view, Policy(), COUNT)
    reductions = cut_oversized(outputs, recovery, facts.window)
    return outputs.decisions(OVERSIZED_RULE, reductions, lambda: f"dec_{next(numbers)}")


def outputs(view: View) -> list[str]:
    return [
        part.state.output
        for message in apply_decisions(view.messages, view)
        for part in message.parts
        if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted)
    ]


def session(*texts: str) -> Messages:
    build = Builder()
    return (build.user("go"), *(build.assistant(build.ran("bash", text)) for text in texts))


def after(view: View, *decisions: Decision) -> View:
    return View(view.messages, view.decisions + decisions, view.texts)


def test_leaves_results_alone_that_fit() -> None:
    assert decide(View(session("x" * LIMIT, "y" * 100))) == ()


def test_cuts_a_result_that_is_too_long_and_says_so() -> None:
    view = View(session("x" * 3 * LIMIT, "short"))

    decisions = decide(view)

    texts = outputs(after(view, *decisions))
    assert [len(text) for text in texts] == [LIMIT, len("short")]
    assert "more characters were left out" in texts[0]
    assert texts[0].endswith(f"; recall {short_id(decisions[0].part_id or '')} shows them.]")
    assert decisions[0].tokens_before - decisions[0].tokens_after == 2 * LIMIT // 4


def test_names_recall_only_where_it_is_offered() -> None:
    view = View(session("x" * 3 * LIMIT))

    decisions = decide(view, without_recall(preset_policy("palimpsest")).recovery)

    assert outputs(after(view, *decisions))[0].endswith("to make room; the session keeps them.]")


def test_keeps_the_tail_where_an_error_stands() -> None:
    view = View(session("row\n" * LIMIT + "ValueError: no such column\nTraceback ends"))

    shown = outputs(after(view, *decide(view)))[0]

    assert shown.startswith("row\n")
    assert "ValueError: no such column" in shown
    assert "the middle is left out" in shown


def test_cuts_from_the_stored_original_and_not_from_what_was_shown() -> None:
    text = "".join(f"line {number}\n" for number in range(20_000))
    messages = session(text)
    part = messages[1].parts[0]
    early = Decision(
        id="dec_early",
        action="truncate",
        rule="truncate",
        part_id=part.id,
        numbers={"head_chars": 3 * LIMIT, "tail_chars": 0, "omitted": 1, "unit": "bytes"},
    )
    view = View(messages, (early,))

    shown = outputs(after(view, *decide(view)))[0]

    assert len(shown) <= LIMIT
    assert text.startswith(shown.split("\n\n[")[0])


def test_leaves_a_pinned_result_alone() -> None:
    messages = session("x" * 3 * LIMIT)
    part = messages[1].parts[0]
    pin = Decision(id="dec_pin", action="pin", rule="user", part_id=part.id)

    assert decide(View(messages, (pin,))) == ()


@pytest.mark.parametrize(("first", "spared"), [("oldest", -1), ("newest", 0)])
def test_cuts_all_together_when_each_alone_fits(first: str, spared: int) -> None:
    recovery = OURS.model_copy(update={"cut_first": first})
    together = max_results_chars(WINDOW, recovery)
    assert together is not None
    view = View(session(*["x" * (LIMIT - 10)] * 6))

    texts = outputs(after(view, *decide(view, recovery)))

    assert sum(map(len, texts)) <= together
    assert len(texts[spared]) == LIMIT - 10


def test_frees_what_was_promised_before_sending() -> None:
    recovery = preset_policy("openclaw-2026.9").recovery
    texts = ["x" * size for size in (3 * LIMIT, LIMIT - 5, LIMIT - 5, LIMIT, LIMIT, 30)]
    view = View(session(*texts))

    shown = outputs(after(view, *decide(view, recovery)))

    promised = count_reducible_chars([len(text) for text in texts], WINDOW, recovery)
    assert sum(map(len, texts)) - sum(map(len, shown)) == promised


@pytest.mark.parametrize("name", PRESETS)
@given(texts=st.lists(st.sampled_from(["x", "一", "a\n", "error\n"]), min_size=1, max_size=6))
def test_deciding_again_decides_nothing(name: str, texts: list[str]) -> None:
    sizes = (1_500 * (number + 1) for number in range(len(texts)))
    view = View(session(*(text * size for text, size in zip(texts, sizes, strict=False))))
    recovery = preset_policy(name).recovery

    once = after(view, *decide(view, recovery, SMALL))

    assert decide(once, recovery, SMALL) == ()


@given(st.text(alphabet="ab\n数é} error", max_size=600), st.integers(0, 500))
def test_a_cut_never_goes_over_the_limit(text: str, most: int) -> None:
    cut = cut_result(text, most, OURS)
    if cut is None:
        assert weigh_chars(text) <= most
        return
    assert weigh_chars(apply_truncation(text, cut.numbers)) <= most


FRAME = "\n".join(f"{n}  {n * 0.37:.4f}  {-n * 1.01:.6f}  {n:08x}" for n in range(4_000))
"""A printed frame: a token has a little more than two characters of it."""


@pytest.mark.parametrize("window", thinned([4_000, 16_000, 32_000, 100_000], 4))
@pytest.mark.parametrize("text", [FRAME, "漢字 " * 20_000, "word " * 30_000, "0" * 90_000])
@pytest.mark.parametrize("number", [1, 5])
def test_a_result_takes_its_share_of_the_window_by_the_counter(
    window: int, text: str, number: int
) -> None:
    count = tokenizer("tiktoken/o200k_base")
    view = View(session(*([text] * number)), ())
    seen = MessageOutputs(view, Policy(), count)

    made = seen.decisions(OVERSIZED_RULE, cut_oversized(seen, OURS, window), lambda: "dec")
    later = after(view, *made)
    texts = outputs(later)

    assert all(count(text) <= window * OURS.result_share for text in texts)
    assert cut_oversized(MessageOutputs(later, Policy(), count), OURS, window) == ()
    assert sum(map(len, texts)) > 0


def test_policies_recorded_before_results_were_counted_keep_their_characters() -> None:
    older = {k: v for k, v in RecoveryPolicy().model_dump().items() if k != "results_counted"}

    assert RecoveryPolicy.model_validate(older).results_counted == "characters"
    assert RecoveryPolicy(result_cap=1).results_counted == "tokens"
    assert all(preset_policy(name).recovery.results_counted == "characters" for name in PRESETS[1:])
