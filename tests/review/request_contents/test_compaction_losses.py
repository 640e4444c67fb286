"""A compaction tells what it replaced, which names are lost, and which of them were needed later."""

import json
from pathlib import Path

import pytest
from tests.review.decision_sessions import SCENES
from tests.review.policies.made_timeline import Call, TimelineMaker
from tests.review.request_contents.reviewed import pi_review, review_of

from palimpsest.review.comparison.session_review import SessionReview
from palimpsest.review.policies.registry import get
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import Timeline

SMALL = "pi.compact window=64000"


async def test_a_recorded_compaction_names_what_its_summary_lost(tmp_path: Path) -> None:
    harness, session = await SCENES["compacted"](tmp_path)
    [found] = review_of(harness.store, session.id).compactions()

    assert found.summary.count("## Goal") == 1
    assert found.tokens_after < found.tokens_before
    assert {one.name for one in found.lost} == {f"log{number}.txt" for number in range(5)}
    assert found.sentences[1] == "No longer shown: 5 of 5 paths."


def made_review() -> SessionReview:
    """Return a session whose answer uses a name after the policy's compaction."""
    maker = TimelineMaker()
    maker.prompt("Look at src/parser.py and total_cost.")
    maker.answer(calls=[Call("read", "parse_line failed\n" + "words " * 2_000, (("path", "a"),))])
    maker.answer("I looked at it. " * 200)
    maker.prompt("And now?")
    maker.answer("The function parse_line in src/parser.py is wrong.")
    return SessionReview(maker.made(), get, lambda _model: None)


def test_a_lost_name_that_a_later_answer_uses_was_needed() -> None:
    [found] = made_review().compactions("pi.compact window=3000 reserve=0 keep=700")

    assert found.request == 2
    needed = {one.name: one.needed for one in found.needed}
    assert needed == {"src/parser.py": (2,), "parse_line": (2,)}
    assert {one.name for one in found.lost} == {*needed, "total_cost"}
    assert "never written" in found.sentences[1]
    assert found.sentences[-1].startswith("Needed later: 2 of them, ")
    assert "(request 3)" in found.sentences[-1]


def test_an_extract_keeps_names_that_a_placeholder_loses() -> None:
    stub = pi_review().compactions(SMALL, summary="stub(2000)")
    extract = pi_review().compactions(SMALL, summary="extract(2000)")

    assert len(stub) == len(extract) == 4
    assert stub[0].items == extract[0].items
    assert {one.name for one in extract[0].lost} < {one.name for one in stub[0].lost}
    for one in extract:
        assert 0 < len(one.summary) <= 4 * 2_000
    for one in stub:
        assert one.tokens_after == pytest.approx(2_000 * pi_review().ruler.factor)


def test_losses_are_tables_in_every_form() -> None:
    found = pi_review().compactions(SMALL)

    assert found.to_dataframe()["needed"].tolist() == [len(one.needed) for one in found]
    assert found.html.count("<tr>") == found.markdown.count("\n| ") == 5
    assert found[0].table.rows[0][2] == found[0].needed[0].needed[0] + 1
    assert json.loads(json.dumps(found.json()))["compactions"][0]["number"] == 1


def test_a_session_without_compactions_says_so() -> None:
    assert pi_review().compactions().table.title == "0 compactions of /mode under recorded"
    empty = SessionReview(Timeline("ses_none"), get, lambda _model: None)
    assert len(empty.compactions()) == 0


@pytest.mark.parametrize(
    "written", ["", "stub", "extract(0)", "extract(-1)", "stub(9999999999)", "best"]
)
def test_a_way_to_fill_summaries_that_does_not_exist_is_said_in_one_sentence(written: str) -> None:
    with pytest.raises(UserError, match=r"write stub\(1500\), extract\(2000\) or recorded"):
        pi_review().compare(SMALL, summary=written)
