"""Ask the user a question, or write a todo list, when a prompt says so.

*ask me which island: Biscoe, Dream or Torgersen* asks with these options, and *make a todo list:
load the data, plot it* writes one. So both tools can be tried without a language model.
"""

import re

from palimpsest.model.rehearsal.parsing.tool_outputs import span
from palimpsest.model.rehearsal.plans.plan_runner import Plan, PlanAnswer, PlanRunner

ASK = re.compile(r"\s*(?:please\s+|can you\s+|could you\s+)?ask me\b[\s,:]*", re.IGNORECASE)
TODO = re.compile(r"^\s*to-?dos?\s*:|\bto-?do[- ]list\b[^:]*:", re.IGNORECASE)
_BETWEEN = re.compile(
    r"\s*(?:[,;\n]|\bor\b|\band\b|^\s*[-*\d.)]+\s)\s*", re.IGNORECASE | re.MULTILINE
)
MOST = 9
SAID = re.compile(r"^-> (.*)$", re.MULTILINE)


def question_plan(runner: PlanRunner) -> Plan:
    """Ask what the prompt says, with the options that it names."""
    runner.need("question", "to ask you", "here")
    asked, _, options = ASK.sub("", runner.prompt.text, count=1).partition(":")
    asked = asked.strip().rstrip("?.") or "what I shall do next"
    labels = _pieces(options)
    text = f"{asked[:1].upper()}{asked[1:]}?"
    result = yield runner.act(
        "Rule: ask you what the prompt says.",
        "question",
        questions=[{"question": text, "options": [{"label": label} for label in labels]}],
    )
    said = SAID.search(result.text)
    if said is None:
        return PlanAnswer(f"I asked, and this came back: {span(result.text.strip()[:300])}")
    return PlanAnswer(f"You said: **{said[1]}**.", "The result holds your answer.")


def todo_plan(runner: PlanRunner) -> Plan:
    """Write the list that the prompt gives."""
    runner.need("todowrite", "to keep a list", "here")
    items = _pieces(runner.prompt.text.partition(":")[2])
    if not items:
        return PlanAnswer(
            "There is nothing behind the colon. Write: todo list: load the data, plot it"
        )
    result = yield runner.act(
        "Rule: keep the list that you gave.",
        "todowrite",
        todos=[
            {"content": item, "status": "in_progress" if number == 0 else "pending"}
            for number, item in enumerate(items)
        ],
    )
    noun = "item" if len(items) == 1 else "items"
    kept = result.text.count("\n") + 1
    if kept != len(items):
        return PlanAnswer(f"The list was not kept: {span(result.text.strip()[:300])}")
    return PlanAnswer(
        f"The list has {kept} {noun}. I follow rules, so ticking them off is up to you."
    )


def _pieces(text: str) -> list[str]:
    found = (piece.strip(" \t\"'?.") for piece in _BETWEEN.split(text))
    return list(dict.fromkeys(piece for piece in found if piece))[:MOST]
