"""One session reviewed: policies side by side, sweeps, tables, wastes, and why an item is as it is."""

import json
from dataclasses import replace
from functools import cache

import pytest
from IPython.lib.pretty import pretty
from tests.context_policies.made_timeline import Call, TimelineMaker
from tests.context_policies.pi_session import RULER, SONNET, pi_timeline

from palimpsest.context_policies.prompt_cache.ruler import Ruler, amount_with_unit
from palimpsest.context_policies.registry import get
from palimpsest.review.comparison.policy_comparison import REPORTED_NAME
from palimpsest.review.session_figures import session_figures
from palimpsest.review.session_review import SessionReview
from palimpsest.review.tables.links import link_to
from palimpsest.review.timeline_view.track_view import recorded_track
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_queries import AskUses
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import Timeline, Transition
from palimpsest.transcript.values import Price, PriceTier, Usage

PRICE = Price(input=3, output=15, cache_read=0.3, cache_write=3.75)


@cache
def review() -> SessionReview:
    known = {"anthropic/claude-sonnet-4-5": PRICE}
    return SessionReview(pi_timeline(), get, known.get)


def test_the_first_row_holds_the_reported_facts() -> None:
    row = review().compare(["raw"]).table.records()[0]

    assert row["policy"] == REPORTED_NAME
    assert (row["input"], row["peak"], row["breaks"]) == (47_526_750, 177_604, 37)
    assert round(float(row["cost"] or 0), 4) == 30.3302
    assert round(float(row["cached"] or 0), 4) == 0.9096
    assert round(float(row["cost_uncached"] or 0), 2) == 143.83


def test_policies_stand_side_by_side_with_the_price_of_forgetting() -> None:
    compared = review().compare(["raw", "sweagent.last_n", "gemini.mask"], ruler=RULER)
    raw, masked, never = compared.figures

    assert (raw.repeated, raw.retention, raw.refetching) == (0, 1.0, 0.0)
    assert masked.repeated == 24
    assert masked.retention is not None
    assert 0.9 < masked.retention < 1
    assert masked.cost_with_refetching > masked.cost
    assert never.fired == 0
    assert never.verdict.startswith("Never acted: tokens of results that may be masked reached ")
    assert " of 30,000 (" in never.verdict
    assert never.facts_until is None
    assert masked.facts_until == 3


def test_a_rule_that_never_acted_says_what_held_it_back() -> None:
    """A result that was taken back counts for nobody, and a passed threshold is no reason by itself."""
    maker = TimelineMaker()
    maker.prompt("Look.")
    for step in range(6):
        maker.answer("Well.", [Call("read", f"line {step}\n" * 400, (("path", str(step)),))])
    timeline = maker.made()
    first = next(item.index for item in timeline.items if item.kind == "output")
    back = Transition(first, 2, "reverted", tokens=0, rule="undo")
    reviewed = SessionReview(replace(timeline, transitions=(back,)), get, lambda _model: PRICE)

    assert [
        figures.verdict
        for figures in reviewed.compare(
            [
                "sweagent.last_n",
                "sweagent.last_n n=6",
                "sweagent.last_n n=5 polling=5",
                "anthropic.clear_tool_uses trigger=2000 keep_results=9",
                "anthropic.clear_tool_uses trigger=2000 at_least=9000",
                "dcp.deduplicate",
                "langchain.trim_messages",
            ],
            ruler=Ruler(unseen_tokens=0.6),
        ).figures
    ] == [
        "Never acted: observations reached 5 of 5, and it acts above that, at request 7 (turn 1).",
        "Never acted: observations reached 5 of 6 (83 %), at request 7 (turn 1).",
        "Never acted: observations reached 5 of 8 (62 %), at request 7 (turn 1).",
        (
            "Never acted: estimated tokens of the request (none were reported) reached 2,127 of 2,000, but there were no results beyond the "
            "newest 9 that may be cleared, at request 5 (turn 1)."
        ),
        (
            "Never acted: estimated tokens of the request (none were reported) reached 3,539 of 2,000, but tokens of results that may be "
            "cleared reached 1,382 of 9,000 (15 %), at request 7 (turn 1)."
        ),
        "Never acted: there were no repeated calls.",
        "It has nothing to decide.",
    ]


def test_a_policy_that_could_not_decide_says_what_it_lacked() -> None:
    one_turn = replace(
        review().timeline,
        requests=tuple(
            replace(request, turn=1, window=0) for request in review().timeline.requests
        ),
    )
    compared = SessionReview(one_turn, get, lambda _model: PRICE).compare(
        ["opencode.prune", "pi.compact window=0"], ruler=RULER
    )

    assert [figures.verdict for figures in compared.figures][-2:] == [
        "Never asked: it decides when a turn has ended, and no request came after one.",
        "Never acted: there were no requests to a model whose limit is known; a window can be given.",
    ]


def test_a_compaction_pays_for_its_summary_in_a_column_of_its_own() -> None:
    compared = review().compare(["pi.compact"], ruler=RULER)
    cut = SessionReview(pi_timeline(), get, lambda _model: PRICE).sweep(
        "pi.compact", window=[64_000, 200_000], ruler=RULER
    )

    assert compared.figures[0].fired == 0
    assert compared.figures[0].summaries == 0
    small = cut.comparison.figures[0]
    assert small.fired == 3  # pi compacts at the end of turns
    assert small.summaries == pytest.approx(0.113, abs=0.002)
    assert any("placeholder of 1,500 tokens" in note for note in cut.comparison.table.notes)
    assert cut.cheapest == 64_000


def test_both_ways_of_a_sweep_are_the_same() -> None:
    by_name = review().sweep("opencode.prune.protect", [20_000, 40_000], ruler=RULER)
    by_number = review().sweep("opencode.prune", protect=[20_000, 40_000], ruler=RULER)

    assert by_name.table.rows == by_number.table.rows
    assert [row["protect"] for row in by_name.table.records()] == [20_000, 40_000]
    assert by_name.to_dataframe()["protect"].tolist() == [20_000, 40_000]


def test_the_result_is_a_table_in_every_form() -> None:
    compared = review().compare(["raw", "opencode.prune"])

    assert "opencode.prune" in compared.text
    assert compared.markdown.count("\n| ") >= 3
    assert compared.html.count("<tr>") == 4
    data = json.loads(json.dumps(compared.json()))
    assert data["schema"] == 1
    assert data["ruler"]["measured"] is True
    assert len(data["rows"]) == 3
    assert compared.to_dataframe()["policy"].tolist() == [REPORTED_NAME, "raw", "opencode.prune"]


def test_money_is_in_units_where_no_price_is_known() -> None:
    pi = pi_timeline()
    without = replace(pi, requests=tuple(replace(request, cost=None) for request in pi.requests))
    review = SessionReview(without, get, lambda _model: None)
    compared = review.compare(["raw"])

    assert compared.price.unit == "units"
    # The row of what was reported has what its tokens are in units, as the figures of the session have it.
    assert compared.table.records()[0]["cost"] == pytest.approx(session_figures(review).cost)
    assert any("The price is not known" in note for note in compared.table.notes)


@pytest.mark.soak  # with each commit tests/review/recorded_sessions/test_every_place.py has recorded costs; this adds a model that no list knows
def test_recorded_costs_are_dollars_also_where_no_list_knows_the_model() -> None:
    pi = pi_timeline()
    known = [request for request in pi.requests if request.cost]

    review = SessionReview(pi, get, lambda _model: None)
    figures, rows = session_figures(review), review.compare(["recorded"]).table.records()

    assert (figures.unit, figures.cost_basis) == ("USD", "fact")
    assert figures.cost == pytest.approx(sum(request.cost or 0 for request in known))
    assert rows[0]["cost"] == figures.cost
    assert "from the recorded costs" in figures.price


def test_each_request_is_at_the_price_of_its_own_model_and_length() -> None:
    """Beside the sum by hand: half of the requests of another model, which is dearer for long prompts."""
    pi = pi_timeline()
    requests = tuple(
        replace(request, model="a/cheap" if request.index % 2 else "b/dear", cost=None)
        for request in pi.requests
    )
    long = Price(input=40, output=80, cache_read=4, cache_write=50)
    prices = {
        "a/cheap": Price(input=1, output=5, cache_read=0.1, cache_write=1.25),
        "b/dear": Price(
            input=10, output=50, cache_read=1, cache_write=12, tiers=(PriceTier(above=100_000, price=long),)
        ),
    }  # fmt: skip
    review = SessionReview(replace(pi, requests=requests), get, prices.get)

    by_hand = sum(
        request.usage.cost(prices[request.model]) or 0
        for request in requests
        if request.usage is not None
    )

    assert session_figures(review).cost == pytest.approx(by_hand)
    compared = review.compare(["recorded", "raw"])
    facts, recorded, raw = compared.table.records()
    assert facts["cost"] == pytest.approx(by_hand)
    track = recorded_track(review, review.price())
    assert track.facts is not None
    assert track.facts.cost == pytest.approx(by_hand)
    assert sum(track.cost) == pytest.approx(recorded["cost"], rel=1e-3)
    assert raw["cost"] != recorded["cost"] or compared[0].sizes == compared[1].sizes
    price_sentence = review.price().sentence
    assert (
        "Prices of b/dear: 10 / 1 / 12 / 50 (40 / 4 / 50 / 80 above 100,000 tokens) USD"
        in price_sentence
    )
    assert "; of a/cheap: 1 / 0.1 / 1.25 / 5, from" in price_sentence


def test_a_price_that_is_not_known_and_a_policy_that_does_not_exist_get_one_sentence() -> None:
    with pytest.raises(UserError, match="The price of 'no/model' is not known"):
        review().compare(["raw"], price="no/model")
    with pytest.raises(UserError, match=r"no policy 'opencode\.purne'"):
        review().compare(["opencode.purne"])
    with pytest.raises(UserError, match="A sweep takes one number of one policy"):
        review().sweep("opencode.prune")


def test_why_says_state_rule_numbers_and_time_in_one_sentence() -> None:
    simulation = review().compare(["opencode.prune"], ruler=RULER)[0]
    cleared = simulation.timeline.transitions[0].item
    other = SessionReview(simulation.timeline, get, lambda _model: None)

    before, after = other.why(cleared + 1, 339), other.why(cleared + 1, 340)

    assert "is in request 339 whole" in before
    assert "; from request 340 on it is cleared" in before
    assert "is cleared in request 340, since request 340 (2025-11-" in after
    assert "by the rule opencode.prune" in after
    # Of the answers that used names of a cleared result, the sentence tells the first, and the view which names.
    used_names = review().references.used_names(24)
    later = [request for request in used_names if request >= 339]
    assert used_names[339] == ["onSelect"]
    assert other.why(25, 340).endswith(
        f"The answer to request 340 used a name in it after it was cleared, and {len(later) - 1} more did."
    )
    uses = ViewAnswers(review()).answer(AskUses(item=24, request=339)).uses
    assert uses is not None
    assert [use.request for use in uses] == later[:8]
    assert uses[0].names == ("onSelect",)
    assert review().why(5, 1).endswith("UTC).")
    assert "it came later" in review().why(5, 1)
    with pytest.raises(UserError, match="453 requests and 1,115 items"):
        review().why(5, 10_000)


def test_the_largest_wastes_are_sentences_with_numbers_and_links() -> None:
    wastes = review().wastes()

    assert len(wastes) == 10
    assert [(kind.words, round(kind.cost, 2)) for kind in wastes.kinds] == [
        ("37 breaks of the cache", 14.21),
        # Without the 0.37 of them that breaks of the cache cost, and what the next requests found in the cache.
        ("8 aborted or refused requests", 0.26),
        ("1 large result that stayed after its last use", 0.0),
        ("1 result of which no later answer used a name", 0.0),
    ]
    # The dearest of each kind is there, though ten breaks cost more than any of the others.
    for words in ("written anew", "was aborted", "no later answer", "after the last answer"):
        assert any(words in waste.sentence for waste in wastes), words
    assert [waste.cost for waste in wastes] == sorted(
        (waste.cost for waste in wastes), reverse=True
    )
    for waste in wastes:
        assert any(sign.isdigit() for sign in waste.sentence)
        assert waste.link == link_to(pi_timeline().session, waste.request, waste.item)


def test_requests_and_items_are_data_frames() -> None:
    requests = review().requests.to_dataframe()
    items = review().items.to_dataframe()

    assert len(requests) == 453
    assert requests["input"].sum() == 47_526_750
    assert len(items) == 1_115
    assert (requests["input"] - requests["estimated"] - requests["remainder"]).abs().max() <= 1
    assert SONNET.unit == "USD"


def test_a_session_without_requests_has_empty_tables_and_one_sentence_for_a_comparison() -> None:
    empty = SessionReview(Timeline("ses_none", title="Nothing"), get, lambda _model: None)

    assert empty.requests.rows == empty.items.rows == empty.adding_up.rows == ()
    assert len(empty.breaks()) == len(empty.wastes()) == 0
    assert empty.wastes().table.title == "No waste was found in Nothing"
    with pytest.raises(UserError, match="no request yet"):
        empty.compare(["raw"])


def test_the_parts_of_every_request_add_up_to_what_was_reported() -> None:
    for row in review().adding_up.records():
        parts = [row[name] for name in ("unseen", "items", "remainder")]
        assert round(sum(float(number or 0) for number in parts), 6) == row["reported"]


def test_a_loss_is_at_the_full_price_where_the_provider_reported_no_write() -> None:
    facts = [waste.sentence for waste in review().wastes() if waste.is_fact]
    written = [fact for fact in facts if "written anew" in fact]
    maker = TimelineMaker()
    for _ in range(2):
        maker.prompt("Go on.")
        maker.answer("Done.")
    usages = (Usage(input=3_000, cache_read=20_000), Usage(input=24_000, cache_read=4_000))
    requests = tuple(
        replace(request, usage=usage) for request, usage in zip(maker.requests, usages, strict=True)
    )
    made = SessionReview(replace(maker.made(), requests=requests), get, lambda _model: None)

    assert written
    assert all("written anew: " in sentence for sentence in written)
    assert [waste.sentence for waste in made.wastes() if waste.is_fact] == [
        "Request 2 had 19,000 tokens written anew, at the full price: nothing in the recording explains it."
    ]


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (30.3302, "USD", "30.33 USD"),
        (0.0019, "USD", "0.002 USD"),
        (0.00001, "USD", "0.00001 USD"),
        (0, "USD", "0.00 USD"),
        (11_743.6, "units", "11,744 units"),
    ],
)
def test_an_amount_that_cost_something_is_never_told_as_nothing(
    value: float, unit: str, words: str
) -> None:
    assert amount_with_unit(value, unit) == words


def test_a_large_result_is_a_waste_from_its_last_use_on() -> None:
    said = {waste.sentence: waste for waste in review().wastes(most=1_000)}
    large = next(waste for text, waste in said.items() if "tui-renderer.ts took 15,2" in text)

    # It came before request 10 of 453, and the last answer but one used a name in it.
    assert large.sentence.endswith(
        "tokens in 444 requests, 1 of them after the last answer that used a name in it."
    )
    assert large.cost == pytest.approx(15_230 * 0.3e-6, rel=0.01)


def test_a_recording_that_reduced_nothing_says_so() -> None:
    compared = review().compare(["recorded", "raw"])

    assert [figures.verdict for figures in compared.figures] == [
        "Nothing was cleared, cut or summarised.",
        "It has nothing to decide.",
    ]


def test_as_the_last_line_of_a_cell_it_says_which_session_it_is_and_no_figure_of_it() -> None:
    maker = TimelineMaker()
    maker.prompt("Do it.")
    named = replace(maker.made(), title="A\x1b[2J title")
    text = repr(SessionReview(named, get, lambda _model: None))

    assert text == (
        f"<SessionReview {named.session} 'A\\\\x1b[2J title' of {named.origin}: 1 request, 2 items>"
    )


def test_a_table_in_a_dataclass_is_shown_as_a_table_in_a_terminal() -> None:
    use = review().cache_use()

    assert pretty(use) == use.text
    assert "PauseRow(" not in pretty(use)
