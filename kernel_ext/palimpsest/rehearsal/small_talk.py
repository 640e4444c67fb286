"""Answer prompts that need no tool: help, greetings, identity, recaps, and prompts that no rule fits."""

import re

from palimpsest.rehearsal.parsing.conversation import SUMMARY_PROMPT
from palimpsest.rehearsal.parsing.tables import Table
from palimpsest.rehearsal.parsing.tool_outputs import inline_code
from palimpsest.rehearsal.parsing.vocabulary import word_set
from palimpsest.rehearsal.plan_runner import PlanAnswer, PlanRunner

MAX_EXAMPLES = 3
MAX_RECAP_TURNS = 20
MAX_RECAP_CHARS = 120
"""Maximum characters of each prompt in a recap."""
NOTICE_MARK = "No language model is configured"
NOTICE = (
    f"*{NOTICE_MARK}, so this is the rehearsal model: I follow simple rules and state only what tools return. "
    "For a real model, set a provider's key in the environment (such as `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`) "
    "or choose one with `%%agent -m provider/name`.*"
)
GREETINGS = word_set("hi hello hey hallo greeting morning evening afternoon hiya howdy yo moin sup")
GREETING_PROMPT_WORDS = GREETINGS | word_set(
    """
    good there servu you how are doing is it going to meet nice agent assistant palimpsest what up
    today day s all everyone again back welcome , !
    """
)
"""The words that may occur in a prompt that is only a greeting."""
THANKS = word_set(
    """
    thank thanks thx cheer cheers ta merci danke gracias appreciated appreciate grateful perfect
    great awesome excellent wonderful brilliant cool nice super lovely
    """
)
THANKS_PROMPT_WORDS = THANKS | word_set(
    """
    you very much so lot a for your the help that this is was s good job work well done it i all ok
    okay really many one bye goodbye works now kind of answer and plot useful helpful just what
    needed wanted ,
    """
)
"""The words that may occur in a prompt that only thanks or praises."""
_ABILITIES = (
    "I can describe, count, group, filter and plot DataFrames, list variables, list, read, search and write files, "
    "run Python that you give, and correct a wrong column or a missing import. For example:\n\n{examples}"
)
ANSWER_BY_RULE = {
    "help": (
        (
            "I follow rules, and these are the things I understand:\n\n"
            "- DataFrames: describe, columns, first rows, count, missing values, mean / median / sum / min / max, group by, top n, correlation, filter, plot\n"
            "- variables: list them, or show one\n"
            "- files: list, find, read, search, create\n"
            "- code: run Python that you give, calculate, run a shell command\n"
            "- cells: write one with your code, or with code for your data; rename a variable in one\n"
            "- errors: `%agent fix` and `%agent explain`, for a wrong column or a missing import\n\n"
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
    "othercell": (
        (
            "That is more than I understand of cells. I write one, and change, move, delete or run one that you name: "
            "`insert a cell: 6 * 7`, `rename x to total in cell 3`, ``replace `a` with `b` in cell 3``, "
            "`move cell 3 to the top`, `delete cell 3`, `run cell 3`. For more, choose a model: `%agent models` lists them."
        ),
        "",
    ),
    "empty": (f"There are no words in this prompt. {_ABILITIES}", "No rule fits these words."),
    "unknown": (
        f"I did not understand this: no rule of mine fits. {_ABILITIES}",
        "No rule fits these words.",
    ),
}
"""The answer and the thought for each rule that needs no tool."""


def spoken_answer(runner: PlanRunner, rule: str, table: Table | None = None) -> PlanAnswer:
    """Return the answer of a rule that needs no tool, with example prompts for the table, if given."""
    if rule == "recap":
        return _recap_answer(runner)
    if rule == "unknown" and not runner.prompt.text.strip():
        rule = "empty"
    text, thought = ANSWER_BY_RULE[rule]
    prompt_lines = "\n".join(f"- {inline_code(prompt)}" for prompt in _example_prompts(table))
    return PlanAnswer(text.replace("{examples}", prompt_lines), thought)


def _example_prompts(table: Table | None) -> list[str]:
    """Return three example prompts that the rules understand."""
    if table is None:
        return ["which variables are there?", "list the files here", "describe the data"]
    numeric_labels = [column.label for column in table.numeric_columns]
    category_labels = [column.label for column in table.categories]
    prompts = [f"describe {table.name}"]
    if numeric_labels and category_labels:
        prompts += [
            f"plot {numeric_labels[0]} by {category_labels[0]}",
            f"mean {numeric_labels[-1]} by {category_labels[-1]}",
        ]
    elif numeric_labels:
        prompts += [f"histogram of {numeric_labels[0]}", f"mean of {numeric_labels[-1]}"]
    elif category_labels:
        prompts += [
            f"count {table.name} by {category_labels[0]}",
            f"how many different {category_labels[-1]}?",
        ]
    return [*prompts, f"how many rows has {table.name}?"][:MAX_EXAMPLES]


def _recap_answer(runner: PlanRunner) -> PlanAnswer:
    """Return an answer that lists the earlier prompts and the tools that were used."""
    lines = []
    if runner.conversation.summary:
        lines.append(
            "Earlier, in the words of the summary:\n\n" + runner.conversation.summary.strip() + "\n"
        )
    earlier_turns = runner.conversation.earlier
    prompted_turns = [
        turn for turn in earlier_turns if turn.prompt.strip() and turn.prompt != SUMMARY_PROMPT
    ]
    for turn in prompted_turns[-MAX_RECAP_TURNS:]:
        tool_names = ", ".join(dict.fromkeys(exchange.tool_use.tool for exchange in turn.exchanges))
        tools_text = f" (tools: {tool_names})" if tool_names else ""
        lines.append(f"- {inline_code(turn.prompt.strip()[:MAX_RECAP_CHARS])}{tools_text}")
    if not lines:
        text = "Nothing yet: this is the first prompt of the session."
        return PlanAnswer(text, "Rule: recap.")
    text = "This is what you asked so far:\n\n" + "\n".join(lines)
    return PlanAnswer(text, "Rule: recap, read from the conversation.")


def open_question(summary: str) -> str | None:
    """Return the prompt that a compaction's summary lists as still to be answered."""
    match = re.search(r"(?m)^\s*(?:[-*]|\d+\.)\s*Answer the prompt: (.+)$", summary)
    return match[1].strip().strip("`") if match else None
