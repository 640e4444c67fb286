"""Prices and lifetimes that a person gives: one grammar, one sentence for what is none, and named as given where they act."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.context_policies.made_timeline import TimelineMaker
from tests.recordings.money_recordings import write_recordings

import palimpsest
from palimpsest.context_policies.registry import get
from palimpsest.frontends.command_line.main import main
from palimpsest.review.prices.given_prices import (
    GivenPrices,
    given_prices,
    lifetime_seconds,
)
from palimpsest.review.prices.price_file import price_words
from palimpsest.review.session_figures import session_figures
from palimpsest.review.session_review import SessionReview
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_queries import AskTrack, AskView
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import Price, Usage

OPUS = Price(input=5, output=25, cache_read=0.5, cache_write=6.25, cache_write_hour=10)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_recordings(tmp_path_factory.mktemp("money"))


@pytest.mark.parametrize(
    "model",
    ["claude-opus-4-8", "anthropic/claude-opus-4-8", "bedrock/claude-opus-4-8-20260101"],
)
def test_a_price_is_given_by_a_models_name(model: str) -> None:
    assert given_prices("claude-opus-4-8=5/25/0.5/6.25/10").price_of(model) == OPUS
    assert given_prices("claude-opus-4=1/2").price_of(model) is None


def test_a_price_holds_for_a_tier_and_for_long_prompts() -> None:
    words = "m=3/15/0.3/3.75 m+batch=1.5/7.5 m+200000=6/22.5 m+batch+200000=3/11.25"
    price = given_prices(words).price_of("m")

    assert price is not None
    for usage, rate in (
        (Usage(input=1_000), 3),
        (Usage(input=1_000, service_tier="batch"), 1.5),
        (Usage(input=300_000), 6),
        (Usage(input=300_000, service_tier="batch"), 3),
    ):
        assert usage.cost(price) == pytest.approx(usage.input * rate / 1e6)


@pytest.mark.parametrize(
    "words",
    [
        "m=",
        "m=1",
        "m=1/",
        "m=/1",
        "=1/2",
        "m=a/b",
        "m=1/2/3/4/5/6",
        "m=-1/2",
        "m=nan/2",
        "m=inf/2",
        "m=1e400/2",
        "m=1,5/2",
        "m=1_0/2",
        "m=٣/2",
        "m=1/2/x",
        "m+fast=1/2",
        "m+0=1/2",
        "m+200000=1/2",
        "m=1/2=3",
        "m=99999999/1",
        "lifetime=never",
        "lifetime=0",
        "lifetime=-5m",
        "lifetime=",
        "lifetime=1e9h",
    ],
)
def test_what_is_no_price_is_one_sentence(
    words: str, made: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError) as error:
        given_prices(words)

    assert main(["inspect", str(made["codex.jsonl"]), "--price", words]) == 2
    out, error_text = capsys.readouterr()
    assert out == ""
    assert error_text == f"palimpsest: {error.value}\n"
    assert error_text.count("\n") == 1


@settings(max_examples=300)
@given(st.text(max_size=60))
def test_words_are_read_or_refused_in_one_sentence(words: str) -> None:
    found: GivenPrices | str
    try:
        found = given_prices(words)
    except UserError as error:
        found = str(error)

    assert isinstance(found, GivenPrices) or (found.endswith(".") and len(found) < 400)


@pytest.mark.parametrize(
    ("given", "seconds"), [("300", 300), ("5m", 300), ("1h", 3_600), ("1d", 86_400), (90, 90)]
)
def test_a_lifetime_is_seconds_or_a_number_with_a_unit(given: str | int, seconds: float) -> None:
    assert lifetime_seconds(given) == seconds


def price_files(folder: Path) -> list[Path]:
    table = {"input": 1, "output": 2, "cache_read": 0.1, "cache_write": 1.25}
    made = folder / "prices of mine.json"
    made.write_text(json.dumps({"custom-1": table, "other": "9/9"}))
    toml = folder / "prices.toml"
    toml.write_text('"custom-1" = "1/2/0.1/1.25"\nother = {input = 9, output = 9}\n')
    return [made, toml]


def test_a_price_file_is_what_its_words_are(tmp_path: Path) -> None:
    for path in price_files(tmp_path):
        assert price_words(path) == price_words(str(path))
        prices = given_prices(price_words(path) or "")
        assert prices.price_of("mine/custom-1") == Price(
            input=1, output=2, cache_read=0.1, cache_write=1.25
        )
        assert prices.price_of("other") == Price(input=9, output=9)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", "{"),
        ("a.json", "[]"),
        ("a.json", '{"m": 5}'),
        ("a.json", '{"m": {"input": 1}}'),
        ("a.json", '{"m": {"inputs": 1, "output": 1}}'),
        ("a.json", '{"m": {"input": "1", "output": 1}}'),
        ("a.json", '{"m": {"input": 1e999, "output": 1}}'),
        ("a.json", f'{{"m": {{"input": 1{"0" * 400}, "output": 1}}}}'),
        ("a.json", '{"m n": "1/2"}'),
        ("a.json", '{"": "1/2"}'),
        ("a.json", '{"m": null}'),
        ("a.json", '{"m": true}'),
        ("a.json", "[" * 100_000),
        ("a.toml", "m = "),
        ("a.toml", "\x00"),
    ],
)
def test_a_wrong_price_file_is_one_sentence(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)

    with pytest.raises(UserError) as error:
        price_words(path)

    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500 + len(str(path))


@pytest.mark.parametrize("price", [100, [1], {"a": 1}, b"units"])
def test_what_is_neither_words_nor_a_file_is_one_sentence(price: Any) -> None:
    with pytest.raises(UserError, match="is no price: write MODEL="):
        price_words(price)


def test_a_price_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"prices\.json' cannot be read: No such file"):
        palimpsest.open_recording(tmp_path, price=tmp_path / "prices.json")


def test_a_given_price_is_named_and_leaves_recorded_costs_facts(made: dict[str, Path]) -> None:
    """Of a model that no list knows, whose costs are recorded; and of one of a list, whose costs are not."""
    (unknown,) = palimpsest.open_recording(
        made["unknown_model.jsonl"], price="custom-1=1/2/0.1/1.25"
    )
    (listed,) = palimpsest.open_recording(
        made["five_minutes.jsonl"], price="claude-opus-4-8=10/50/1/12.5"
    )

    figures = session_figures(unknown)
    assert (figures.cost, figures.cost_basis) == (1.5, "fact")
    compared = unknown.compare(["recorded"])
    assert "as given" in compared.price.sentence
    assert compared.price.basis == "estimate"
    assert compared.json()["price"]["source"] == "given"
    # The replay is at the given price, and so far from what was paid.
    assert compared.figures[0].cost < 0.1
    figures = session_figures(listed)
    assert (figures.cost, figures.cost_basis) == (pytest.approx(2 * 0.41475), "estimate")
    assert "as given" in figures.price
    assert "litellm" not in figures.price


def test_a_given_price_goes_to_the_inspector_as_to_the_shell(made: dict[str, Path]) -> None:
    words = "claude-opus-4-8=10/50/1/12.5 lifetime=1h"
    (review,) = palimpsest.open_recording(made["five_minutes.jsonl"])
    answers = ViewAnswers(review)

    view = answers.answer(AskView(price=words)).view
    track = answers.answer(AskTrack(policy="raw", price=words)).track
    compared = review.compare(["raw"], price=words)

    assert view is not None
    assert track is not None
    assert track.figures is not None
    assert (view.price.source, view.price.matches_recorded) == ("given", False)
    assert track.figures.cost == compared.figures[0].cost
    assert "kept" not in (track.figures.verdict or "")
    assert "as given" in " ".join(compared.table.notes)
    # A page cannot have a file read.
    refused = answers.answer(AskView(price="/etc/prices.json"))
    assert "inspect(price=...)" in refused.error


def test_a_price_of_no_model_of_the_session_is_told(made: dict[str, Path]) -> None:
    (review,) = palimpsest.open_recording(made["codex.jsonl"], price="gpt-6=1/2")

    assert "no request is by a model whose price was given" in review.price().sentence


def test_a_lifetime_decides_what_is_read_after_a_pause(made: dict[str, Path]) -> None:
    """Requests twenty seconds apart, with a cache that keeps a prefix for ten seconds, and for an hour."""
    (review,) = palimpsest.open_recording(made["five_minutes.jsonl"])

    short, hour = (review.compare(["recorded"], lifetime=lifetime) for lifetime in ("10s", "1h"))

    assert short.figures[0].cached < 0.1 < 0.8 < hour.figures[0].cached
    assert short.ruler.lifetime_seconds == 10
    assert "10 s, as given" in " ".join(short.table.notes)
    # What is kept for an hour is written at the price for an hour.
    assert (short.price.write, hour.price.write) == (6.25, 10)
    (given_once,) = palimpsest.open_recording(made["five_minutes.jsonl"], lifetime="10s")
    assert given_once.compare(["recorded"]).figures == short.figures


def test_prices_in_several_words_are_one_option(
    made: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = price_files(tmp_path)[0]
    arguments = ["inspect", str(made["unknown_model.jsonl"]), "--json"]

    assert main([*arguments, "--price", str(file), "--price", "custom-1"]) == 0

    (said,) = json.loads(capsys.readouterr().out)["sessions"]
    usages = [
        Usage(input=1_000, output=100, cache_read=2_000 * at, cache_write=1_000) for at in (0, 1, 2)
    ]
    price = Price(input=1, output=2, cache_read=0.1, cache_write=1.25)
    # All requests at the price of one model: what was paid does not count.
    assert said["cost"] == pytest.approx(sum(usage.cost(price) or 0 for usage in usages))
    assert said["cost_basis"] == "estimate"


def test_an_unknown_model_is_one_sentence(
    made: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(made["codex.jsonl"]), "--price", "nobody-1"]) == 2
    error_text = capsys.readouterr().err
    assert "'nobody-1' is not known" in error_text
    assert "nobody-1=5/25/0.5/6.25" in error_text


def test_a_session_without_a_price_is_in_the_money_of_its_subagents() -> None:
    """The parent's model is in no list and recorded no cost; its subagent recorded dollars."""
    maker, other = TimelineMaker(), TimelineMaker()
    for session in (maker, other):
        session.prompt("Go on.")
        session.answer("Done.")
    parent, child = maker.made(), other.made()
    usage = Usage(input=1_000, output=10)
    parent = replace(
        parent,
        session="ses_parent",
        requests=tuple(
            replace(request, usage=usage, model="a/none") for request in parent.requests
        ),
    )
    child = replace(
        child,
        session="ses_child",
        parent="ses_parent",
        requests=tuple(
            replace(session, usage=usage, model="b/known", cost=0.2) for session in child.requests
        ),
    )
    review = SessionReview(
        parent,
        get,
        lambda _model: None,
        subagent_timelines_of=lambda session: [child] if session == "ses_parent" else [],
    )

    subagents = review.subagents

    assert subagents.unit == "USD"
    paid = 0.2 * len(child.requests)
    assert [(profile.totals.cost, profile.totals.cost_is_fact) for profile in subagents] == [
        (paid, True)
    ]
    assert subagents.own_totals.cost == pytest.approx(0.2 * len(parent.requests))
    assert not subagents.own_totals.cost_is_fact
    assert "The price of a/none is not known and taken to be that of b/known" in (
        review.price().sentence
    )
    assert review.price("units").unit == "units"
