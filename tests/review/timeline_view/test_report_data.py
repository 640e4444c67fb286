"""A report holds the view, tracks at stops, and of the texts what was chosen; equal columns stand once."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample

from palimpsest.context_policies.registry import get
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.prices.offline_prices import offline_price
from palimpsest.review.recorded_sessions.session_answers import SessionAnswers
from palimpsest.review.session_review import SessionReview
from palimpsest.review.timeline_view.report_data import MAX_PREVIEW_CHARS, TEXT_CHOICES, report_data
from palimpsest.review.timeline_view.sliders import policy_choices
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_queries import AskTrack, AskView
from palimpsest.transcript.errors import UserError


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> ViewAnswers:
    """The answers about a session of SWE-agent."""
    store, report = import_file(sample("marshmallow-1867.traj", tmp_path_factory.mktemp("swe")))
    timeline = timeline_of(store, report.sessions[0].id, counter)
    return ViewAnswers(SessionReview(timeline, get, lambda _model: None))


def read(
    answers: ViewAnswers, *policies: str, texts: Any = "preview", clean: Any = lambda name: name
) -> dict[str, Any]:
    """Return the data as a reader has it, with its columns in place."""
    _, text = report_data(answers, policies, texts, None, clean)
    packed = json.loads(text)

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            if set(value) == {"column"}:
                return packed["columns"][value["column"]]
            return {name: filled(inner) for name, inner in value.items()}
        return [filled(inner) for inner in value] if isinstance(value, list) else value

    data: dict[str, Any] = filled(packed["data"])
    return data


def test_the_view_and_its_tracks_are_those_that_a_kernel_answers(answers: ViewAnswers) -> None:
    data = read(ViewAnswers(answers.review, keeps_replays=False), "sweagent.last_n", "raw")

    view = answers.answer(AskView()).view
    assert view is not None
    expected = view.model_dump(mode="json", exclude_none=True)
    assert data["view"] == {
        **expected,
        "policies": data["view"]["policies"],
        "given_policies": 2,
    }
    (sliders,) = (
        policy_choice.sliders
        for policy_choice in policy_choices()
        if policy_choice.name == "sweagent.last_n"
    )
    own = {slider.name: slider.default for slider in sliders}
    stops = data["stops"]
    assert [stop_entry["policy"] for stop_entry in stops].count("sweagent.last_n") == sum(
        len(slider.stops) - 1 for slider in sliders
    ) + 1
    assert stops[0]["numbers"] == own
    for stop in stops[1:-1]:
        (moved,) = [name for name in own if stop["numbers"][name] != own[name]]
        asked = AskTrack(policy="sweagent.last_n", numbers={moved: stop["numbers"][moved]})
        track = answers.answer(asked).track
        assert track is not None
        assert stop["track"] == track.model_dump(mode="json", exclude_none=True)
    assert [policy["name"] for policy in data["view"]["policies"]] == ["sweagent.last_n", "raw"]


def test_of_a_summary_it_holds_what_was_chosen_too(tmp_path: Path) -> None:
    store, report = import_file(sample("cline", tmp_path))
    timeline = timeline_of(store, report.sessions[0].id, counter)
    cline = ViewAnswers(SessionReview(timeline, get, lambda _model: None))
    compactions = {texts: read(cline, "raw", texts=texts)["compactions"] for texts in TEXT_CHOICES}

    assert compactions["none"] == []
    assert [len(compaction["summary"]) for compaction in compactions["preview"]] == [
        MAX_PREVIEW_CHARS
    ]
    assert (
        compactions["preview"][0]["summary_chars"]
        == len(compactions["all"][0]["summary"])
        > MAX_PREVIEW_CHARS
    )
    assert compactions["preview"][0]["kinds"] == compactions["all"][0]["kinds"]


def test_its_subagents_are_those_that_a_kernel_answers(tmp_path: Path) -> None:
    store, report = import_file(sample("claude_code_spotter", tmp_path))
    kernel = SessionAnswers(store, report.sessions[0].id, offline_price)
    review = kernel.review()

    data = read(ViewAnswers(review), "sweagent.last_n", "raw")["subagents"]

    assert [*data] == [run.timeline.session for run in review.subagent_runs()]
    assert len(data) == 2
    for session, child in data.items():
        view = kernel.answer(AskView(subagent=session)).view
        assert view is not None
        expected = view.model_dump(mode="json", exclude_none=True)
        assert child["view"] == {
            **expected,
            "seq": 0,
            "epoch": "",
            "policies": child["view"]["policies"],
            "given_policies": 2,
        }
        assert [option.get("sliders", []) for option in child["view"]["policies"]] == [[], []]
        for stop in child["stops"]:
            assert stop["numbers"] == {}
            track = kernel.answer(AskTrack(policy=stop["policy"], subagent=session)).track
            assert track is not None
            assert stop["track"] == track.model_dump(mode="json", exclude_none=True)
        assert [stop["policy"] for stop in child["stops"]] == ["sweagent.last_n", "raw"]
        assert len(child["items"]) == len(view.items.id)
    assert read(ViewAnswers(review), "raw", texts="none")["subagents"] == {}


@pytest.mark.parametrize("texts", ["none", "preview", "all"])
def test_of_the_texts_it_holds_what_was_chosen(answers: ViewAnswers, texts: str) -> None:
    timeline = answers.review.timeline
    whole = [timeline.read(item.index) for item in timeline.items]
    longest = max(whole, key=len)

    data = read(answers, "raw", texts=texts)

    wanted = {"none": [], "preview": [text[:MAX_PREVIEW_CHARS] for text in whole], "all": whole}
    assert data["items"] == wanted[texts]
    words = max((line for line in longest.splitlines()), key=len)[:60]
    assert (json.dumps(words)[1:-1] in json.dumps(data)) is (texts == "all")
    assert any(data["view"]["items"]["label"]) is (texts != "none")


def test_every_word_is_cleaned(answers: ViewAnswers) -> None:
    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: clean(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [clean(inner) for inner in value]
        return value.replace("marshmallow", "?") if isinstance(value, str) else value

    data = read(answers, "sweagent.last_n", texts="all", clean=clean)

    assert "marshmallow" not in json.dumps(data)


@pytest.mark.parametrize(
    ("policies", "texts", "words"),
    [
        (["no.such"], "none", "no.such"),
        (
            [" | ".join(["anthropic.clear_tool_uses trigger=9999"] * 8)],
            "none",
            "^The name of a policy has at most 300 characters",
        ),
        (["raw"], "some", "texts is one of"),
        ([f"sweagent.last_n n={n}" for n in range(1, 14)], "all", "at most 12"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    answers: ViewAnswers, policies: list[str], texts: str, words: str
) -> None:
    with pytest.raises(UserError, match=words):
        read(answers, *policies, texts=texts)


@pytest.mark.parametrize("texts", TEXT_CHOICES)
def test_the_names_that_answers_used_are_those_of_a_kernel(
    answers: ViewAnswers, texts: Any
) -> None:
    uses = read(answers, "raw", texts=texts)["uses"]
    rows = [*zip(uses["request"], uses["name"], uses["sources"], strict=True)]

    assert (rows == []) == (texts == "none")
    for item in range(len(answers.review.timeline.items)):
        named: dict[int, list[str]] = {}
        for request, name, sources in rows:
            if item in uses["items"][name][:sources]:
                named.setdefault(request, []).append(uses["names"][name])
        expected = answers.review.references.used_names(item) if texts != "none" else {}
        assert named == expected
