"""A number of a policy is changed by its name, stored as a difference, and explained in one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.context.policy_overrides import (
    check_number,
    chosen_policy,
    number_bounds,
    number_meanings,
    number_names,
    policy_choice,
    policy_differences,
    policy_numbers,
    policy_with_changes,
    possible_values,
    read_number,
    value_text,
)
from palimpsest.context.presets import PRESETS
from palimpsest.transcript.context_values.policies import Policy, PolicyChoice
from palimpsest.transcript.errors import ConfigError

policies = st.sampled_from(list(PRESETS.values()))


@st.composite
def changes(draw: st.DrawFn) -> dict[str, object]:
    """Draw numbers of a policy with allowed values."""
    changed: dict[str, object] = {}
    for key in draw(st.lists(st.sampled_from(number_names()), max_size=6, unique=True)):
        before = policy_numbers(Policy())[key]
        low, high = number_bounds(key)
        words = possible_values(key)
        if words:
            changed[key] = draw(st.sampled_from(words))
            changed[key] = {"true": True, "false": False}.get(str(changed[key]), changed[key])
        elif isinstance(before, float):
            changed[key] = draw(st.floats(low, min(high, 1e9)))
        elif isinstance(before, int):
            changed[key] = draw(st.integers(int(low), int(min(high, 1e9))))
        elif isinstance(before, tuple):
            changed[key] = draw(st.lists(st.sampled_from(["read", "bash"]), max_size=2))
        else:
            changed[key] = draw(st.text("abc {}", max_size=5))
    return changed


@given(policies, changes())
def test_what_differs_makes_the_same_policy_again_after_storage(
    policy: Policy, wanted: dict[str, object]
) -> None:
    made = policy_with_changes(policy, wanted)

    read_back = PolicyChoice.model_validate_json(
        policy_choice(made).model_dump_json(exclude_none=True)
    )

    assert chosen_policy(read_back) == made
    assert made.name == policy.name


@given(policies)
def test_nothing_differs_in_a_preset(policy: Policy) -> None:
    assert policy_differences(policy) == {}
    assert policy_choice(policy) == PolicyChoice(base=policy.name)


@given(policies, st.data())
def test_what_is_shown_can_be_written_again(policy: Policy, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(number_names()))
    value = policy_numbers(policy)[key]

    if not isinstance(value, str) or "\n" not in value:
        assert read_number(f"{key}={value_text(value)}") == (key, value)


def test_every_number_is_explained() -> None:
    assert [key for key in number_names() if not number_meanings().get(key)] == []
    assert number_meanings()["truncate.max_lines"] == "Maximum lines shown of one tool output."
    assert all("\n" not in text for text in number_meanings().values())


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("prune.protect_token=3", "did you mean prune.protect_tokens?"),
        ("protect_tokens=3", "did you mean prune.protect_tokens?"),
        ("nonsense=3", "'nonsense' in a context policy. %agent policy lists them all."),
        ("prune.protect_tokens", "needs a value, such as prune.protect_tokens=10000."),
        ("prune.protect_tokens=", "is a whole number of at least 0, not"),
        ("prune.protect_tokens=1.5", "is a whole number of at least 0, not 1.5."),
        ("prune.protect_tokens=yes", "is a whole number of at least 0, not true."),
        ("truncate.max_lines=0", "is a whole number of at least 1, not 0."),
        ("overflow.auto=1", "is true or false, not 1."),
        ("compact.max_share_after=nan", "is a number from 0 to 1, not"),
        ("truncate.direction=heads", "one of head, tail, auto, not heads; did you mean head?"),
    ],
)
def test_wrong_words_get_one_sentence(words: str, problem: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        read_number(words)

    assert problem in str(wrong.value)
    assert "\n" not in str(wrong.value)


def test_a_list_of_names_and_a_quoted_text_are_read() -> None:
    assert read_number("prune.protected_tools=skill, read") == (
        "prune.protected_tools",
        ("skill", "read"),
    )
    assert read_number("prune.protected_tools=none") == ("prune.protected_tools", ("none",))
    assert read_number("prune.placeholder='[ gone ]'") == ("prune.placeholder", "[ gone ]")
    assert read_number("compact.tail_turns=none") == ("compact.tail_turns", None)
    assert check_number("prune.ttl_seconds", 60) == 60.0
