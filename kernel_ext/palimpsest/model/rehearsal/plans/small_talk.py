"""Answer prompts that need no tool: help, greetings, identity, recaps, and prompts that no rule fits."""

import re

from palimpsest.model.rehearsal.parsing.conversation import COMPACTED
from palimpsest.model.rehearsal.parsing.tables import Column, Variable
from palimpsest.model.rehearsal.parsing.tool_outputs import span
from palimpsest.model.rehearsal.parsing.vocabulary import word_set
from palimpsest.model.rehearsal.plans.plan_runner import PlanAnswer, PlanRunner

NOTICE_MARK = "No language model is configured"
NOTICE = (
    f"*{NOTICE_MARK}, so this is the rehearsal model: I follow simple rules and state only what tools return. "
    "For a real model, set a provider's key in the environment (such as `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`) "
    "or choose one with `%%agent -m provider/name`.*"
)
GREETINGS = word_set("hi hello hey hallo greeting morning evening afternoon hiya howdy yo moin sup")
HELLO = GREETINGS | word_set(
    """
    good there servu you how are doing is it going to meet nice agent assistant palimpsest what up
    today day s all everyone again back welcome , !
    """
)
"""All the words of a prompt that only greets."""
THANKS = word_set(
    """
    thank thanks thx cheer cheers ta merci danke gracias appreciated appreciate grateful perfect
    great awesome excellent wonderful brilliant cool nice super lovely
    """
)
THANKFUL = THANKS | word_set(
    """
    you very much so lot a for your the help that this is was s good job work well done it i all ok
    okay really many one bye goodbye works now kind of answer and plot useful helpful just what
    needed wanted ,
    """
)
"""All the words of a prompt that only thanks or praises."""
_CAN = (
    "I can describe, count, group, filter and plot data, list variables and files, read, search, write and edit files, "
    "and run code that you give. For example:\n\n{examples}"
)
SPOKEN = {
    "help": (
        (
            "I follow rules, and these are the things I understand:\n\n"
            "- data: describe, columns, first rows, count, missing values, mean / median / sum / min / max, group by, top n, correlation, filter, plot\n"
            "- variables: list them, or describe one (tables, Series, arrays, lists, dicts, text, numbers)\n"
            "- files: list, find, read, summarise, search, create, replace text\n"
            "- code: run Python that you give, calculate, run a shell command\n"
            "- questions and lists: ask me which one: a, b or c; todo list: load the data, plot it\n"
            '- follow-ups: "and by sex?", "now as a bar chart", "only the large ones"\n\n'
            "For example:\n\n{examples}"
        ),
        "Rule: help. The prompt asks what I can do.",
    ),
    "identity": (
        (
            f"I am the rehearsal model of Palimpsest. {NOTICE_MARK}: I am no language model, I match your words against rules, "
            "call tools, and repeat what they return. A real model is chosen with `%%agent -m provider/name`, or by a provider's key in the environment."
        ),
        "Rule: identity.",
    ),
    "greeting": (
        "Hello! I can look at your data and files, compute and plot. For example:\n\n{examples}",
        "Rule: greeting. There is nothing to do.",
    ),
    "thanks": ("You are welcome.", "Rule: thanks. There is nothing to do."),
    "continue": (
        "Nothing is left to do. What next? For example:\n\n{examples}",
        "Rule: continue; nothing is open.",
    ),
    "empty": (f"There are no words in this prompt. {_CAN}", "No rule fits these words."),
    "unknown": (
        f"I did not understand this: no rule of mine fits. {_CAN}",
        "No rule fits these words.",
    ),
}
"""Answer and thought of the rules that need no tool."""


def spoken_answer(runner: PlanRunner, kind: str) -> PlanAnswer:
    """Return the answer to a prompt that needs no tool."""
    if kind == "recap":
        return _recap(runner)
    if kind == "unknown" and not runner.prompt.text.strip():
        kind = "empty"
    text, thought = SPOKEN[kind]
    listed = "\n".join(f"- {span(prompt)}" for prompt in examples(runner))
    return PlanAnswer(text.replace("{examples}", listed), thought, runner.topic)


def examples(runner: PlanRunner) -> list[str]:
    """Return three prompts that would work, with the names of this conversation where they are known."""
    topic = runner.topic
    if topic and topic.table.columns:
        return _for_table(topic.table.name, topic.table.columns)
    name = next((one for one in runner.known_names if "." not in one), None)
    file = next((one for one in runner.known_names if "." in one), None)
    if not name and not file:
        return ["which variables are there?", "list the files here", "describe the data"]
    return [
        f"describe {name}" if name else f"load {file}",
        f"how many rows has {name}?" if name else f"read {file}",
        f"read {file}" if file else "which variables are there?",
    ]


def _for_table(name: str, columns: tuple[Column, ...]) -> list[str]:
    numbers = [column.label for column in columns if column.numeric]
    words = [column.label for column in columns if not column.numeric and not column.temporal]
    found = [f"describe {name}"]
    if numbers and words:
        found += [f"plot {numbers[0]} by {words[0]}", f"mean {numbers[-1]} by {words[-1]}"]
    elif numbers:
        found += [f"histogram of {numbers[0]}", f"mean of {numbers[-1]}"]
    elif words:
        found += [f"count {name} by {words[0]}", f"how many different {words[-1]}?"]
    return [*found, f"how many rows has {name}?"][:3]


def _recap(runner: PlanRunner) -> PlanAnswer:
    """Say what was asked and done so far, from the conversation."""
    lines = []
    if runner.conversation.summary:
        lines.append(
            "Earlier, in the words of the summary:\n\n" + runner.conversation.summary.strip() + "\n"
        )
    earlier = runner.conversation.earlier
    for turn in [one for one in earlier if one.prompt.strip() and one.prompt != COMPACTED][-20:]:
        tools = ", ".join(dict.fromkeys(exchange.call.tool for exchange in turn.exchanges))
        told = f" (tools: {tools})" if tools else ""
        lines.append(f"- {span(turn.prompt.strip()[:120])}{told}")
    if not lines:
        text = "Nothing yet: this is the first prompt of the session."
        return PlanAnswer(text, "Rule: recap.", runner.topic)
    text = "This is what you asked so far:\n\n" + "\n".join(lines)
    return PlanAnswer(text, "Rule: recap, read from the conversation.", runner.topic)


def open_question(summary: str) -> str | None:
    """Return the prompt that a compaction's summary lists as still to be answered."""
    match = re.search(r"(?m)^\s*(?:[-*]|\d+\.)\s*Answer the prompt: (.+)$", summary)
    return match[1].strip().strip("`") if match else None


def known_names(variables: tuple[Variable, ...], files: list[str]) -> tuple[str, ...]:
    """Return tables first, then files."""
    tables = [variable.name for variable in variables if variable.is_table]
    return (*tables[:3], *files[:3])
