"""The page knows the advice of the kernel's error messages by its words (labextension errorWords.ts)."""

import json
from pathlib import Path

from palimpsest.model.errors.explanations import (
    broken_answer_sentence,
    money_sentence,
    refusal_text,
    silent_sentence,
)

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "error_words.json").read_text("utf-8"))
WHERE = "http://127.0.0.1:8000/v1/chat/completions"


def test_the_messages_that_the_page_is_tested_on_are_the_kernels() -> None:
    messages = {case["name"]: case["message"] for case in CASES}

    assert (
        refusal_text(WHERE, 429, "Slow down.", None, is_page=False) == messages["too many requests"]
    )
    assert broken_answer_sentence(WHERE, "gone", connection=True) == messages["a broken connection"]
    assert silent_sentence("openai", WHERE) == messages["a silent server"]
    assert (
        refusal_text(WHERE, 404, "Nothing here", None, is_page=False)
        == messages["an unknown model"]
    )
    assert money_sentence("openai", WHERE, "Over.", None) == messages["no quota"]
