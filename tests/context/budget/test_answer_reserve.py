"""What is kept free of a window is what answers need, however long litellm's list says that they may be."""

import json

import pytest

from palimpsest.context.budget.request_tokens import answer_tokens, reserved_tokens, usable_tokens
from palimpsest.context.presets import PRESETS
from palimpsest.model.catalog import litellm_table
from palimpsest.model.catalog.model_info import model_info
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.policies import OverflowPolicy, Policy
from palimpsest.transcript.values import ModelInfo, ModelRef

OURS = PRESETS["palimpsest"]


def long_answers() -> list[str]:
    """Return the models in litellm's list whose answers may be as long as half of the window, or longer."""
    whole = json.loads(litellm_table.table_path().read_text("utf-8"))
    lengths = []
    for key, value in whole.items():
        reads, writes = value.get("max_input_tokens"), value.get("max_output_tokens")
        if value.get("mode") in {"chat", "responses"} and reads and writes and writes >= reads / 2:
            lengths.append(key if "/" in key else f"{value['litellm_provider']}/{key}")
    return lengths


@pytest.mark.soak  # with each commit windows of several sizes are left room in the tests around; this adds every model of the list
def test_three_quarters_of_every_window_are_left_to_the_request() -> None:
    names = long_answers()
    wrong = {}
    for name in names:
        info = model_info(name, environment={})
        reserved = reserved_tokens(OURS, info)
        free = info.window - reserved
        if (
            reserved > info.window // 4
            or usable_tokens(info, OURS.overflow) < free - 1
            or reserved < 1
        ):
            wrong[name] = (info.window, reserved, usable_tokens(info, OURS.overflow))

    assert wrong == {}
    assert len(names) > 900


@pytest.mark.parametrize(
    ("window", "kept"), [(16_384, 4_096), (32_768, 8_192), (131_072, 20_000), (1_048_576, 20_000)]
)
def test_an_answer_as_long_as_the_window_reserves_a_quarter_and_at_most_the_policys_number(
    window: int, kept: int
) -> None:
    info = ModelInfo(ref=ModelRef(provider="gw", name="m"), window=window, output_limit=window // 2)

    assert reserved_tokens(OURS, info) == kept
    assert usable_tokens(info, OURS.overflow) == window - kept


def test_a_short_limit_of_the_model_is_what_is_reserved() -> None:
    info = ModelInfo(ref=ModelRef(provider="gw", name="m"), window=32_768, output_limit=2_048)

    assert reserved_tokens(OURS, info) == 2_048


def test_an_answer_may_still_take_all_that_the_request_leaves() -> None:
    info = ModelInfo(ref=ModelRef(provider="gw", name="m"), window=32_768, output_limit=16_384)
    facts = Facts(now=0, estimator="", window=32_768, reserve=reserved_tokens(OURS, info))

    assert answer_tokens(2_000, facts, info, OURS.overflow) == 16_384
    assert answer_tokens(24_000, facts, info, OURS.overflow) == 8_768
    assert answer_tokens(32_000, facts, info, OURS.overflow) == facts.reserve


def test_a_number_that_a_person_set_holds_up_to_half_of_the_window() -> None:
    info = ModelInfo(ref=ModelRef(provider="gw", name="m"), window=32_768, output_limit=16_384)
    asked = Policy(reserved=12_000, overflow=OverflowPolicy(reserved=12_000))

    assert reserved_tokens(asked, info) == 12_000
    assert usable_tokens(info, asked.overflow) == 32_768 - 12_000


def test_a_smaller_window_of_the_settings_is_reserved_by_the_same_rule() -> None:
    info = model_info("gw/nobody-knows", {"gw/nobody-knows": {"window": 32_000}}, environment={})

    assert reserved_tokens(OURS, info) == 8_000


def test_the_recorded_agents_keep_their_own_rule() -> None:
    info = ModelInfo(ref=ModelRef(provider="gw", name="m"), window=32_768, output_limit=16_384)

    assert usable_tokens(info, PRESETS["opencode-1.1"].overflow) == 16_384
    assert usable_tokens(info, PRESETS["opencode-1.18"].overflow) == 16_384
