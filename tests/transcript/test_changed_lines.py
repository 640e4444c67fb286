"""A call that is almost one that was allowed before names the lines that are not as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.transcript.strings.changed_lines import changed_lines

CODE = (
    "import pandas as pd\ndf = pd.read_csv('a.csv')\ndf = df.dropna()\nprint(df.head())\nprint(1)"
)
LINES = st.lists(st.sampled_from(["a", "b", "\x1b", ""]), max_size=12).map("\n".join)


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (f"{CODE}\nevil()", "line 6 is new: evil()"),
        (
            CODE.replace("df = df.dropna()", "import os\nos.x()"),
            r"lines 3 to 4 are new: import os\nos.x()",
        ),
        (CODE.replace("df = df.dropna()\n", ""), "before line 3 df = df.dropna() is gone"),
        (CODE.replace("print(1)", "\x1b[2J"), r"line 5 is new: \x1b[2J"),
    ],
)
def test_what_is_not_as_it_was_is_named(now: str, words: str) -> None:
    [sentence] = changed_lines({"code": now}, [{"code": "x = 1"}, {"code": CODE}])

    assert sentence == f"code: almost what you allowed before, but {words}."


@pytest.mark.parametrize("now", [CODE, "x = 1", "a\nb\nc\nd\ne\nf"])
def test_the_same_and_another_text_are_not_named(now: str) -> None:
    assert changed_lines({"code": now, "n": 1}, [{"code": CODE}, {"n": 2}]) == ()


@given(LINES, st.lists(LINES, max_size=4))
def test_a_sentence_is_one_line_without_controls(now: str, before: list[str]) -> None:
    for changed_line in changed_lines({"code": now}, [{"code": text} for text in before]):
        assert "\n" not in changed_line
        assert "\x1b" not in changed_line
        assert now not in before
