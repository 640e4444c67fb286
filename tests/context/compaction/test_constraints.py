"""What a person forbade or demanded is found in their words, and kept where most of its words stand."""

import gzip
import json

import pytest
from tests.context.compaction.test_names import DRAWN

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
    lost = lost_names([said], "parse_line is mended.", (), said=[said])

    assert lost.found == {"constraints": 1, "identifiers": 1}
    assert lost.of("constraints") == ("Never commit anything to the branch release.",)
    assert (
        lost_names([said], "Nothing is committed to the branch release.", (), said=[said]).of(
            "constraints"
        )
        == ()
    )


def test_nine_in_ten_are_demands_and_eight_in_ten_demands_are_found() -> None:
    # The sentences of a person in a recording of pi with a word such as "no", "should" or "need", labelled by hand.
    rows = json.loads(gzip.decompress(DRAWN.read_bytes()))["sentences"]
    found = [(row["constraint"], bool(constraints_in(row["text"])), row["text"]) for row in rows]
    wrong = [text for labelled, told, text in found if told and not labelled]
    missed = [text for labelled, told, text in found if labelled and not told]
    right = sum(labelled and told for labelled, told, _ in found)

    assert len(rows) == 42
    assert right / (right + len(wrong)) >= 0.9, wrong
    assert right / (right + len(missed)) >= 0.8, missed
