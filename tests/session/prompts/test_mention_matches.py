"""The letters typed behind an at sign rank what may be meant; the page ranks the same."""

import json
from pathlib import Path

import pytest

from palimpsest.session.prompts.mention_matches import ranked_matches

CASES = json.loads((Path(__file__).parents[2] / "mention_matches.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["typed"] or "nothing typed")
def test_the_very_word_comes_first_then_beginnings_then_the_others(case: dict[str, object]) -> None:
    words, typed = case["words"], case["typed"]
    assert isinstance(words, list)

    assert ranked_matches(words, str(typed)) == case["ranked"]
