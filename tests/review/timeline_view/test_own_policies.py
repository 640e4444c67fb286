"""Policies of one's own stand in a view with sliders, answer its questions, and are computed for a report."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.context_policies.own_policies.test_custom import session
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample
from tests.review.timeline_view.patched_view import patched

import palimpsest
from palimpsest import policies
from palimpsest.context_policies.interface.policy import Change
from palimpsest.context_policies.own_policies.past_view import PastView
from palimpsest.context_policies.registry import get
from palimpsest.review.recorded_sessions.session_answers import SessionAnswers
from palimpsest.review.session_review import SessionReview
from palimpsest.review.timeline_view.chosen_policies import chosen_policies
from palimpsest.review.timeline_view.report_data import report_data
from palimpsest.review.timeline_view.sliders import policy_choices
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_queries import AskItem, AskRequest, AskTrack, AskView
from palimpsest.review.timeline_view.view_values import PolicyOption
from palimpsest.transcript.errors import UserError


@palimpsest.policy
def newest(
    view: PastView, keep: int = 3, share: float = 0.5, delta: int = -4, scale: float = 2.5
) -> Iterator[Change]:
    """Keep the newest results, and clear the others.

    More is not said in a list.
    """
    if share < 1 and delta < scale:
        yield from (policies.clear(index) for index in view.outputs[:-keep])


def bare(view: PastView, keep: int = 2) -> Iterator[Change]:
    yield from (policies.clear(index) for index in view.outputs[:-keep])


def fails_at_ten(view: PastView, keep: int = 2) -> Iterator[Change]:
    if keep == 10:
        raise ValueError("ten")
    yield from (policies.clear(index) for index in view.outputs[:-keep])


@pytest.fixture(scope="module")
def answers() -> ViewAnswers:
    return ViewAnswers(SessionReview(session(), get, lambda _model: None))


def track_of(answers: ViewAnswers, policy: str, **numbers: float) -> tuple[str, int, str]:
    """Return the name of a track, the number of its transitions, and the error where there is none."""
    chosen = chosen_policies([newest, bare, fails_at_ten])
    answer = answers.answer(AskTrack(policy=policy, numbers=numbers), chosen)
    if answer.track is None:
        return "", 0, answer.error
    return answer.track.policy, len(answer.track.transitions.item), ""


def option(name: str, policy: Any) -> PolicyOption:
    [found] = [choice for choice in policy_choices(chosen_policies(policy)) if choice.name == name]
    return found


def test_they_stand_first_with_what_they_do_and_sliders_of_their_numbers() -> None:
    options = policy_choices(chosen_policies([newest, "opencode.prune"]))

    assert [found.name for found in options[:3]] == ["newest", "opencode.prune", "aider.history"]
    assert len(options) == len(policy_choices()) + 1
    assert options[0].what == "Keep the newest results, and clear the others."
    assert options[0].source == f"your own, sha256 {newest.digest[:12]}"
    assert [(slider.name, slider.default, slider.stops) for slider in options[0].sliders] == [
        ("keep", 3, (1, 2, 3, 5, 8, 10, 15, 20, 30)),
        ("share", 0.5, (0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 0.9, 1.0)),
        ("delta", -4, (-20, -12, -8, -6, -4, -3, -2, -1, 0)),
    ]
    assert options[1] in policy_choices()


def test_a_fraction_over_one_is_multiplied() -> None:
    def scaled(_view: PastView, scale: float = 2.5) -> list[Change]:
        return [] if scale else [policies.clear(0)]

    [slider] = option("scaled", scaled).sliders

    assert slider.stops == (0.25, 0.625, 1.25, 1.875, 2.5, 3.75, 5, 7.5, 12.5)


def test_a_function_without_words_and_what_has_its_numbers_already_are_named() -> None:
    fixed, both = policies.get(newest, keep=5), newest | policies.get("opencode.prune")
    preset = policies.get("sweagent.last_n n=10")

    assert option("bare", bare).what == "The function bare."
    whats = {policy.name: option(policy.name, policy).what for policy in (fixed, both, preset)}
    assert whats == {
        "newest keep=5": "Keep the newest results, and clear the others.",
        "newest | opencode.prune": "Its 2 policies act one after the other.",
        "sweagent.last_n n=10": option("sweagent.last_n", []).what,
    }
    assert not any(option(policy.name, policy).sliders for policy in (fixed, both, preset))
    assert option("raw", None).what == "Every item is whole."
    assert option(both.name, both).source.startswith("your own, your function newest")
    assert option(preset.name, preset).source == preset.source


def test_a_question_names_them_and_moves_their_numbers(answers: ViewAnswers) -> None:
    assert track_of(answers, "newest")[0] == "newest"
    assert track_of(answers, "newest", keep=1)[1] > track_of(answers, "newest", keep=5)[1] > 0
    assert track_of(answers, "newest", keep=5)[0] == "newest keep=5"
    assert track_of(answers, "newest", share=1) == ("newest share=1.0", 0, "")
    # The function itself says which numbers it takes; a bare one is known here alone.
    assert track_of(answers, "bare", keep=2.5)[2] == (
        "The number 'keep' of 'bare' takes a whole number, not 2.5."
    )
    assert "has no number 'kept'" in track_of(answers, "bare", kept=1)[2]
    assert answers.answer(AskTrack(policy="bare")).error.startswith("There is no policy 'bare'")


def test_texts_and_requests_are_answered_under_them(answers: ViewAnswers) -> None:
    chosen, last = chosen_policies(bare), len(answers.review.timeline.requests) - 1
    first = next(item.index for item in answers.review.timeline.items if item.kind == "output")

    item = answers.answer(AskItem(item=first, request=last, policy="bare"), chosen).item
    request = answers.answer(AskRequest(request=last, policy="bare", numbers={"keep": 1}), chosen)

    assert item is not None
    assert item.state == "cleared"
    assert request.request is not None
    assert request.request.policy == "bare keep=1"


def test_an_error_in_one_is_the_answer_with_its_line(answers: ViewAnswers) -> None:
    [name, moves, error] = track_of(answers, "fails_at_ten", keep=10)

    assert (name, moves) == ("", 0)
    assert error.startswith("The policy 'fails_at_ten keep=10' failed at request 1, line ")
    assert error.endswith('of test_own_policies.py (raise ValueError("ten")): ValueError: ten.')


def stops_of(answers: ViewAnswers, *chosen: Any) -> list[tuple[str, dict[str, float]]]:
    """Return the policies and numbers that a report computes."""
    _, text = report_data(answers, chosen, "none", "units", lambda value: value)
    data = json.loads(text)["data"]
    return [(stop["policy"], stop["numbers"]) for stop in data["stops"]]


def test_a_report_holds_them_at_each_stop(answers: ViewAnswers) -> None:
    stops = stops_of(answers, bare, "raw", policies.get(newest, keep=5))

    assert stops == [
        *(("bare", {"keep": keep}) for keep in (2, 1, 3, 5, 8, 10, 15, 20, 30)),
        ("raw", {}),
        ("newest keep=5", {}),
    ]


def test_a_report_says_why_a_policy_fails_at_a_stop(answers: ViewAnswers) -> None:
    with pytest.raises(UserError, match=r"^The policy 'fails_at_ten keep=10' failed at request 1"):
        stops_of(answers, bare, fails_at_ten)


def test_a_stop_that_a_policy_does_not_take_is_left_out(
    answers: ViewAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is with numbers that an engine's policy takes only together."""
    chosen = chosen_policies(bare)
    [given] = policy_choices(chosen)[:1]
    half = given.sliders[0].model_copy(update={"stops": (1.5, 2, 3)})
    monkeypatch.setattr(
        "palimpsest.review.timeline_view.timeline_view.policy_choices",
        lambda _policies: (given.model_copy(update={"sliders": (half,)}),),
    )

    assert stops_of(answers, bare) == [("bare", {"keep": 2}), ("bare", {"keep": 3})]


@pytest.mark.parametrize("name", ["raw", "recorded"])
def test_names_of_tracks_that_every_view_has_are_refused(name: str) -> None:
    def mine(_view: PastView) -> tuple[()]:
        return ()

    with pytest.raises(UserError, match=f"^Every session has a track '{name}' of its own; give "):
        chosen_policies(palimpsest.policy(name=name)(mine))


def test_those_who_look_with_and_without_them_get_views_and_patches_of_their_own(
    tmp_path: Path,
) -> None:
    store, report = import_file(sample("pi_version_3.jsonl", tmp_path))
    session_answers = SessionAnswers(store, report.sessions[0].id, lambda _model: None)
    chosen = chosen_policies(bare)

    for known in (chosen_policies([]), chosen, chosen_policies([])):
        picture = session_answers.answer(AskView(part="picture"), known).view
        assert picture is not None
        rest = AskView(part="rest", after=picture.seq, epoch=picture.epoch)
        patch = session_answers.answer(rest, known).patch
        assert patch is not None
        assert patched(picture, patch).policies == policy_choices(known)
