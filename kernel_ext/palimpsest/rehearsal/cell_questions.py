"""Answer prompts that want a cell written, or a variable renamed in one."""

import ast
import re
from dataclasses import replace
from keyword import iskeyword

from palimpsest.rehearsal.frame_questions.data_request import mentions_data, read_data_request
from palimpsest.rehearsal.frame_questions.frame_plan import query_steps
from palimpsest.rehearsal.frame_questions.plot_code import write_code
from palimpsest.rehearsal.frame_questions.table_search import find_data
from palimpsest.rehearsal.parsing.cell_source import CellSource, is_python_cell
from palimpsest.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.rehearsal.parsing.tables import Variable
from palimpsest.rehearsal.parsing.tool_outputs import ToolResult, code_block, inline_code
from palimpsest.rehearsal.plan_runner import Plan, PlanAnswer, PlanEnded, PlanRunner, Steps

_INSERT = re.compile(
    r"(?i)\b(?:write|insert|add|create|make) (?:(?:me|in|a|an|one|another|new|short|code|markdown) )*cell\b"
)
_RENAME = re.compile(
    r"(?i)\brename [`'\"@]?(\w+)[`'\"]? (?:to|into|as) [`'\"]?(\w+)[`'\"]? in @?cell \[?([\w-]+)"
)
_CONTENT = re.compile(r"(?is)(?P<colon>:)\s*(?=\S)|\b(?:that|which|to|with|for)\b")
_BEHIND = re.compile(r"(?i)\b(?:below|behind|after|under) @?cell \[?([\w-]+)")
_OTHER_PLACE = re.compile(
    r"(?i)\b(?:above|before)\b|\bat the (?:end|bottom)\b|\bbetween\b|\bin (?!jupyter)\S+\.ipynb"
)
_SOURCE = re.compile(r"(?s)\n\n\[source[^\n]*\]\n(.*?)(?:\n\n\[source that ran\b.*)?\Z")


def cell_request(prompt: ParsedPrompt) -> str:
    """Return ``insert`` or ``rename`` for a prompt that wants a cell written or changed, else an empty text."""
    if _RENAME.search(prompt.prose):
        return "rename"
    return "insert" if _INSERT.search(prompt.prose) else ""


def insert_plan(runner: PlanRunner) -> Plan:
    """Insert a cell with the code or the text of the prompt, or with code for the data that it asks for."""
    asked = _INSERT.search(runner.prompt.prose)
    rest = runner.prompt.prose[asked.end() :] if asked else ""
    content = _CONTENT.search(rest)
    place = rest[: content.start()] if content else rest
    if _OTHER_PLACE.search(place):
        return PlanAnswer(
            "I put a cell below your prompt, `below cell 3`, or `at the top`. Which of these shall it be?"
        )
    kind = "markdown" if asked and "markdown" in asked[0].casefold() else "code"
    wanted = rest[content.end() :].strip() if content else ""
    source = _given_source(runner.prompt, wanted, kind, is_exact=bool(content and content["colon"]))
    notes: list[str] = []
    if not source and kind == "code" and wanted:
        source, notes = yield from _data_source(replace(runner, prompt=ParsedPrompt(wanted)))
    if not source:
        return PlanAnswer(
            "What shall stand in the cell? For example: `insert a cell: 6 * 7`, or `write a cell that shows the first rows of df`"
        )
    change = {"action": "insert", "source": source}
    change |= {"kind": kind} if kind != "code" else {}
    if behind := _BEHIND.search(place):
        change["after"] = behind[1]
    elif re.search(r"(?i)\bat the (?:very )?top\b", place):
        change["after"] = "top"
    return (yield from _change_cell(runner, change, "I wrote the cell. I have not run it.", notes))


def _given_source(prompt: ParsedPrompt, wanted: str, kind: str, *, is_exact: bool) -> str:
    """Return the source that stands in a prompt: a block, backticks, or what follows a colon; else empty."""
    if prompt.fences:
        return prompt.fences[0].code
    code = next((text for text in prompt.backticked_texts if text in wanted), "")
    if kind != "code":
        return wanted if is_exact else code
    text = wanted if is_exact and not code else code
    tree = CellSource(text).tree
    return text if tree and tree.body else ""


def _data_source(runner: PlanRunner) -> Steps[tuple[str, list[str]]]:
    """Return code for the data that a prompt asks for, with notes; empty where its words name none."""
    request = read_data_request(runner.prompt)
    if not (request.op or runner.prompt.mentions or mentions_data(runner.prompt)):
        return "", []
    found = yield from find_data(runner)
    if isinstance(found, Variable):
        return found.name, []
    if request.op == "columns":
        return f"{found.table.name}.dtypes", []
    spec, notes = yield from query_steps(runner, request, found)
    return write_code(spec), notes


def rename_plan(runner: PlanRunner) -> Plan:
    """Rename a variable in one cell, which is read first."""
    asked = _RENAME.search(runner.prompt.prose)
    old, new, cell = asked.groups() if asked else ("", "", "")
    runner.require_tool("notebook", "to read the cell")
    thought = f"Rule: rename in a cell. First I read cell {cell}, since only a cell that was seen may be changed."
    result = yield runner.planned_call(thought, "notebook", cell=cell, outputs=False)
    source = _SOURCE.search(result.text)
    if source is None or result.is_cut:
        return PlanAnswer(f"I could not read cell {cell} as a whole: {_first_sentence(result)}")
    renamed = _renamed(source[1], old, new)
    change = {"action": "edit", "cell": cell, "source": renamed}
    text = f"{inline_code(old)} is {inline_code(new)} in cell {cell} now. Other cells are as they were, and I ran nothing."
    return (yield from _change_cell(runner, change, text, []))


def _renamed(source: str, old: str, new: str) -> str:
    """Return a source with a variable renamed; raise ``PlanEnded`` where that is not certain to be all that changes."""
    cell = CellSource(source)
    names = [node for node in cell.nodes() if isinstance(node, ast.Name)]
    if cell.tree is None or not is_python_cell(source):
        raise PlanEnded("The cell is not in Python, so I changed nothing.")
    if not new.isidentifier() or iskeyword(new) or new in {node.id for node in names}:
        raise PlanEnded(f"{inline_code(new)} is no free name in that cell, so I changed nothing.")
    renamed = cell.edited([(node, new) for node in names if node.id == old])
    if renamed is None:
        raise PlanEnded(f"{inline_code(old)} is no variable of that cell, so I changed nothing.")
    tree, dump = CellSource(renamed).tree, ast.dump(cell.tree)
    expected = dump.replace(f"Name(id='{old}'", f"Name(id='{new}'")
    # Parameters, functions and imports have their name in another place of the tree.
    is_bound = re.search(rf"\b(?:arg\(arg|name|asname|names)=\[?'{old}'", expected)
    if tree is None or ast.dump(tree) != expected or is_bound:
        raise PlanEnded(
            f"{inline_code(old)} is more than a plain variable in that cell, so I changed nothing: it would be a guess."
        )
    return renamed


def _change_cell(runner: PlanRunner, change: dict[str, str], done: str, notes: list[str]) -> Plan:
    """Ask for a change of a cell, and say what came of it."""
    runner.require_tool("cells", "to change the notebook")
    thought = f"Rule: {change['action']} a cell. The notebook changes only when it is accepted."
    result = yield runner.planned_call(thought, "cells", changes=[change])
    if result.text.startswith("Changed "):
        return PlanAnswer("\n\n".join([done, *notes]), "The result says that it is changed.")
    if result.text.startswith("Not made"):
        return PlanAnswer("You rejected it, so the notebook is as it was.", "It was rejected.")
    language = "markdown" if change.get("kind") == "markdown" else "python"
    return PlanAnswer(
        f"The notebook is as it was: {_first_sentence(result)}\n\nThe cell would be:\n\n{code_block(change['source'], language)}",
        "The tool changed nothing, and I try no other way.",
    )


def _first_sentence(result: ToolResult) -> str:
    """Return the first sentence of a tool's text, which is written for a model, in words for the user."""
    first_line = result.text.strip().partition("\n")[0].replace("the user's", "your")
    return first_line.partition(". ")[0].rstrip(".")[:300] + "."
