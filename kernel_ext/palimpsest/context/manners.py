"""What is said to one family of models beside what is said to all.

Border: pure; a family is known by a model's name, whoever serves it. Each paragraph answers a habit
of the family that costs turns or tokens in notebook work, and is no longer than that.
"""

from typing import Literal

Manner = Literal["reasoning", "gpt", "gemini", "claude", "other"]

FAMILIES: tuple[tuple[str, Manner], ...] = (
    ("gpt-5", "reasoning"),
    ("gpt-6", "reasoning"),
    ("gpt-oss", "reasoning"),
    ("codex", "reasoning"),
    ("gpt-", "gpt"),
    ("o1", "gpt"),
    ("o3", "gpt"),
    ("o4", "gpt"),
    ("gemini-", "gemini"),
    ("claude", "claude"),
)
"""Pieces of names and whose they are; the first that fits counts."""

OWN_WORD = frozenset({"o1", "o3", "o4"})
"""Too short to be looked for inside other words, such as in ``llama-pro1``."""

MANNERS: dict[Manner, str] = {
    "reasoning": """\
- Do not end a turn with a plan that you could carry out yourself: carry it out, then say what came
  out. Before a series of calls, one line says what they are for.
- Calls that do not need each other's results go into one answer.""",
    "gpt": """\
- Go on until the request is met. When you say that you will do something, call the tool in the same
  answer; an announcement alone ends the turn.
- Do not answer from memory what a tool can look up here.""",
    "gemini": """\
- Call a tool instead of writing its name or its code into the answer. Call only the tools that are
  listed, with the arguments they name.
- Keep what you say between calls to a line; the conclusion comes once, at the end.""",
    "claude": """\
- Calls that do not need each other's results go into one answer.
- Do what was asked, no more: no extra files, no summaries in files, no tests nobody asked for.""",
    "other": """\
- Call one tool at a time, with arguments exactly as its description names them, and wait for the
  result. Never write a call into the text of an answer.
- When the same call has failed twice, stop and say what is in the way.""",
}


def manner(model_id: str) -> Manner:
    """Return the family whose words a model is given."""
    name = model_id.lower()
    pieces = frozenset(name.replace("/", "-").split("-"))
    for piece, found in FAMILIES:
        if piece in (pieces if piece in OWN_WORD else name):
            return found
    return "other"
