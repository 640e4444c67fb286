"""A function's parameters with numbers are the policy's numbers, and a policy is found by name, as itself or as a function."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pytest
from tests.context_policies.own_policies.test_custom import replayed, session
from tests.context_policies.pi_session import RULER

import palimpsest
from palimpsest import policies
from palimpsest.context_policies.interface.policy import Change
from palimpsest.context_policies.interface.preset_text import UnknownPolicy
from palimpsest.context_policies.own_policies.custom import CustomPolicy
from palimpsest.context_policies.own_policies.past_view import PastView
from palimpsest.context_policies.replay.simulation_cache import SimulationCache
from palimpsest.live_policies.live_stage import live_policy
from palimpsest.review.session_review import SessionReview
from palimpsest.transcript.errors import UserError


@palimpsest.policy
def newest_of(
    view: PastView, keep: int = 3, /, least: int = 3, *, share: float = 0.5, whole: bool = False
) -> Iterator[Change]:
    """``keep`` cannot be given by name, and ``whole`` is no number."""
    for index in view.outputs[:-least]:
        if not whole and view.weight(index) > share * keep:
            yield policies.clear(index)


def bare(view: PastView, least: int = 2) -> Iterator[Change]:
    yield from (policies.clear(index) for index in view.outputs[:-least])


def cleared(policy: Any) -> int:
    return sum(
        move.state == "cleared" for move in replayed(policies.get(policy)).timeline.transitions
    )


def test_its_numbers_are_the_parameters_that_may_be_given_by_name() -> None:
    assert dict(newest_of.numbers) == {"least": 3, "share": 0.5}


def test_the_function_is_called_with_the_numbers_that_are_given() -> None:
    fewer, none = policies.get(newest_of, least=5), policies.get(newest_of, least=100)

    assert cleared(newest_of) > cleared(fewer) > cleared(none) == 0
    assert cleared(policies.get(newest_of, share=1e9)) == 0


@pytest.mark.parametrize(
    ("numbers", "name"),
    [
        ({"least": 5}, "newest_of least=5"),
        ({"share": 1, "least": "1_0"}, "newest_of least=10 share=1.0"),
        ({"least": 3, "share": 0.5}, "newest_of"),
        ({"least": -1}, "newest_of least=-1"),
        ({"share": 0.0000001}, "newest_of share=1e-07"),
    ],
)
def test_it_is_named_with_the_numbers_that_differ(numbers: dict[str, Any], name: str) -> None:
    policy = policies.get(newest_of, **numbers)

    assert policy.name == name
    assert policies.get(name) == policy
    assert policies.get(policy, least=3, share=0.5) == newest_of


@pytest.mark.parametrize(
    ("given", "numbers", "words"),
    [
        (
            newest_of,
            {"least": 2.5},
            "The number 'least' of 'newest_of' takes a whole number, not 2.5.",
        ),
        (
            newest_of,
            {"share": "much"},
            "The number 'share' of 'newest_of' takes a number, not 'much'.",
        ),
        (newest_of, {"share": float("nan")}, "takes a number, not nan."),
        (newest_of, {"lest": 2}, "has no number 'lest'; did you mean 'least'?"),
        (newest_of, {"keep": 2}, "has no number 'keep'. There are: least, share."),
        (lambda _view: (), {"keep": 2}, "has no number 'keep', and no other."),
        ("newest_off", {}, "There is no policy 'newest_off'; did you mean 'newest_of'"),
        (newest_of | policies.get("pi.compact"), {"least": 2}, "has no numbers of its own."),
        (3, {}, "3 is no policy: it is a function of a view"),
        (partial(bare, least=3), {}, "is no policy: it is a function of a view"),
        (CustomPolicy, {}, "is a class: give an object of it."),
    ],
)
def test_what_is_no_number_and_no_policy_is_one_sentence(
    given: Any, numbers: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserError) as refused:
        policies.get(given, **numbers)

    assert words in str(refused.value)


def test_an_object_that_lacks_a_field_is_told_which() -> None:
    class Half:
        name = "half"

        def start(self, _facts: object) -> None: ...

        def step(self, _state: object, _view: object) -> None: ...

    with pytest.raises(UnknownPolicy, match=r"lacks_ has no source\.$"):
        policies.get(Half())  # type: ignore[arg-type]


def test_a_function_alone_and_a_name_are_the_policy() -> None:
    policy = policies.get(bare, least=1)

    assert policy.name == "bare least=1"
    with pytest.raises(UnknownPolicy, match=r"^There is no policy 'bare'"):
        policies.get("bare")
    assert (
        policies.get("newest_of least=5 | opencode.prune").name
        == (
            policies.get(newest_of, least=5) | policies.get("opencode.prune")  # type: ignore[operator]
        ).name
    )


def test_a_preset_keeps_its_name() -> None:
    @palimpsest.policy(name="opencode.prune")
    def mine(_view: PastView) -> Iterable[Change]:
        return ()

    assert not isinstance(policies.get("opencode.prune"), CustomPolicy)
    assert policies.get(mine) is mine


def test_its_digest_and_its_record_hold_the_numbers() -> None:
    other = policies.get(newest_of, least=5)

    assert isinstance(other, CustomPolicy)
    assert other.digest != newest_of.digest
    assert other.record()["numbers"] == {"least": 5, "share": 0.5}
    assert other.record()["text"] == newest_of.record()["text"]


def test_a_replay_with_other_numbers_is_another_replay() -> None:
    replays = SimulationCache(session())
    first = replays.simulation(newest_of, RULER, 0)
    other = replays.simulation(policies.get(newest_of, least=5), RULER, 0)

    assert len(first.timeline.transitions) > len(other.timeline.transitions)
    assert replays.simulation(policies.get("newest_of least=5"), RULER, 0) is other


def test_it_acts_live_with_its_numbers_by_name() -> None:
    stage, named = live_policy("newest_of least=5"), live_policy("newest_of")

    assert stage is not None
    assert named is not None
    assert stage.record.name == "newest_of least=5"
    assert stage.record.sha256 != named.record.sha256
    assert stage.record.text == named.record.text
    assert live_policy("prune.protect_tokens=10000") is None
    with pytest.raises(UserError, match="takes a whole number, not 'many'"):
        live_policy("newest_of least=many")


def test_a_sweep_takes_its_numbers_by_name_or_from_itself() -> None:
    review = SessionReview(session(), policies.get, lambda _model: None)
    itself = review.sweep(bare, least=[1, 2], price="units")
    named = review.sweep("newest_of.least", [1, 5], price="units")

    assert (itself.policy, itself.values) == ("bare", (1, 2))
    assert [row.name for row in itself.comparison.figures] == ["bare least=1", "bare"]
    assert [row.name for row in named.comparison.figures] == [
        "newest_of least=1",
        "newest_of least=5",
    ]


def test_a_name_with_blanks_is_found() -> None:
    @palimpsest.policy(name="as I like it")
    def mine(_view: PastView, keep: int = 1) -> Iterable[Change]:
        return [] * keep

    assert policies.get("as I like it") is mine
    assert policies.get("as I like it", keep=2).name == "as I like it keep=2"
    assert live_policy("as I like it") is not None
