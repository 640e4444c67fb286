"""What a person forbade or demanded is found in their words, and kept where most of its words stand."""

import gzip
import json
import time

import pytest
from tests.context.compaction.demand_sentences import DEMANDS, NONE
from tests.context.compaction.test_names import DRAWN
from tests.sample_size import thinned

from palimpsest.context.compaction.constraints import constraints_in, holds_constraint, words_of
from palimpsest.context.compaction.lost_names import lost_names


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "Fix the parser. Never touch the file config.py! Then run it.",
            ["Never touch the file config.py!"],
        ),
        ("You must not commit to main", ["You must not commit to main"]),
        ("- always use tabs, not blanks\n- be quick", ["always use tabs, not blanks"]),
        ("only change files below src/", ["only change files below src/"]),
        ("Ändere niemals die Datenbank.", ["Ändere niemals die Datenbank."]),
        ("Ne modifiez jamais le fichier principal.", ["Ne modifiez jamais le fichier principal."]),
        ("No borres nunca los archivos viejos.", ["No borres nunca los archivos viejos."]),
        ("Никогда не меняй таблицу пользователей.", ["Никогда не меняй таблицу пользователей."]),
        ("不要修改数据库文件。然后运行测试。", ["不要修改数据库文件。"]),
        # Neither code nor what a program wrote, nor a sentence that is about nothing.
        ("```\nnever = must_not(x)\n```\nPlease go on with the tables.", []),
        ("<system-reminder>You must never say this aloud.</system-reminder>", []),
        ("    12→ assert never_called, 'must'", []),
        ("never mind", []),
        ("Write the report about penguins.", []),
        ("", []),
    ],
)
def test_constraints_are_sentences_of_a_person(text: str, found: list[str]) -> None:
    assert [*constraints_in(text)] == found


@pytest.mark.parametrize(
    ("summary", "kept"),
    [
        ("The user forbids to touch config.py: leave the file alone.", True),
        ("Never touch the file config.py!", True),
        ("The parser was mended, and all tests pass.", False),
        ("", False),
    ],
)
def test_a_constraint_is_kept_where_most_of_its_words_stand(summary: str, *, kept: bool) -> None:
    assert holds_constraint(words_of(summary), "Never touch the file config.py!") is kept


def test_a_lost_constraint_is_one_of_what_a_summary_loses() -> None:
    said = "Mend parse_line. Never commit anything to the branch release."
    lost = lost_names([said], "parse_line is mended.", (), user_texts=[said])

    assert lost.counts_by_kind == {"constraints": 1, "identifiers": 1}
    assert lost.names_of_kind("constraints") == ("Never commit anything to the branch release.",)
    assert (
        lost_names(
            [said], "Nothing is committed to the branch release.", (), user_texts=[said]
        ).names_of_kind("constraints")
        == ()
    )


def test_nine_in_ten_are_demands_and_eight_in_ten_demands_are_found() -> None:
    # The sentences of a person in a recording of pi with a word such as "no", "should" or "need", labelled by hand.
    rows = json.loads(gzip.decompress(DRAWN.read_bytes()))["sentences"]
    graded = [(row["constraint"], bool(constraints_in(row["text"])), row["text"]) for row in rows]
    wrong = [text for labelled, told, text in graded if told and not labelled]
    missed = [text for labelled, told, text in graded if labelled and not told]
    right = sum(labelled and told for labelled, told, _ in graded)

    assert len(rows) == 42
    assert right / (right + len(wrong)) >= 0.9, wrong
    assert right / (right + len(missed)) >= 0.8, missed


@pytest.mark.parametrize("text", thinned(DEMANDS, 3))
def test_a_demand_is_found_in_many_languages_and_forms(text: str) -> None:
    assert constraints_in(text)


@pytest.mark.parametrize("text", thinned(NONE, 3))
def test_what_is_not_needed_described_supposed_asked_or_cited_is_no_demand(text: str) -> None:
    assert constraints_in(text) == ()


def test_a_demand_behind_a_long_paste_is_found() -> None:
    paste = "\n".join(f"line {number} of a log is here." for number in range(5_000))

    assert constraints_in(f"Never touch the parser.\n{paste}\nNever commit to main.") == (
        "Never touch the parser.",
        "Never commit to main.",
    )


def test_elements_are_passed_over_as_deep_as_they_go_and_placeholders_are_none() -> None:
    deep = "<a>" * 50 + "never touch this file" + "</a>" * 50

    assert constraints_in(f"{deep} Never commit <name> files.") == ("Never commit <name> files.",)
    assert constraints_in("</a>\nNever commit files here. <b></a></b>") == (
        "Never commit files here.",
    )


HOSTILE = {
    "tags": "<a>" * 60_000,
    "open and closed": "<a>" * 30_000 + "</a>" * 30_000,
    "crossed": "<a><b></a></b>" * 15_000,
    "attributes": '<a b="' * 30_000,
    "fences": "```" * 60_000,
    "tildes": "~~~\n" * 40_000,
    "quotes": 'says "' * 30_000,
    "one demand": "you must " * 20_000,
    "demands": "never touch this file. " * 10_000,
    "blanks": "must" + " " * 200_000,
    "indented": "    # must not\n" * 15_000,
    "nots": "bitte " * 40_000,
    "Chinese": "\u4e0d\u8981\u4fee\u6539\u6570\u636e\u5e93\u3002" * 20_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_takes_more_than_its_length(name: str) -> None:
    whole = HOSTILE[name]
    quarter = whole[: len(whole) // 4]
    constraints_in("You must not do this here.")

    def cpu(text: str) -> float:
        began = time.process_time()
        constraints_in.__wrapped__(text)
        return time.process_time() - began

    assert cpu(whole) < 16 * max(cpu(quarter), 0.02)
