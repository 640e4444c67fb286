"""Answer prompts that want a cell written, changed, moved, deleted or run."""

import ast
import re
from dataclasses import replace
from keyword import iskeyword

from palimpsest.rehearsal.frame_questions.data_request import mentions_data, read_data_request
from palimpsest.rehearsal.frame_questions.entity_linking import link_variables
from palimpsest.rehearsal.frame_questions.frame_plan import query_steps
from palimpsest.rehearsal.frame_questions.plot_code import write_code
from palimpsest.rehearsal.frame_questions.table_search import find_data, list_variables
from palimpsest.rehearsal.parsing.cell_source import CellSource, is_python_cell
from palimpsest.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.rehearsal.parsing.tables import Variable
from palimpsest.rehearsal.parsing.tool_outputs import ToolResult, code_block, inline_code
from palimpsest.rehearsal.plan_runner import Plan, PlanAnswer, PlanEnded, PlanRunner, Steps

MAX_SENTENCE_CHARS = 300
_PATTERN_BY_RULE = {
    "rename": re.compile(
        r"(?i)\brename [`'\"@]?(\w+)[`'\"]? (?:to|into|as) [`'\"]?(\w+)[`'\"]? in @?cell \[?([\w-]+)"
    ),
    "replace": re.compile(
        r"(?i)\b(?:replace|change) (?P<quote>[`'\"])(.+?)(?P=quote) (?:with|by|to|into) (?P<other>[`'\"])(.*?)(?P=other) in @?cell \[?([\w-]+)"
    ),
    "insert": re.compile(
        r"(?i)\b(?:write|insert|add|create|make) (?:(?:me|in|a|an|one|another|new|short|code|markdown) )*cell\b"
    ),
    "delete": re.compile(r"(?i)\b(?:delete|remove) @?cell \[?([\w-]+)"),
    "move": re.compile(
        r"(?i)\bmove @?cell \[?([\w-]+)\]? (?:to the (?:very )?(top)\b|(?:to )?(?:below|behind|after|under) @?cell \[?([\w-]+))"
    ),
    "runcell": re.compile(r"(?i)\b(?:run|execute) @?cell \[?([\w-]+)"),
    "othercell": re.compile(
        r"(?i)\b(?:put|move|split|merge|join|tidy|clean|reorder|sort|format|rewrite|edit|change|improve|update|delete|remove|run)"
        r"\b.*\bcells?\b"
    ),
}
"""The prompts that fire each rule, in the order in which the rules are tried."""
_CODE_NODES = (
    ast.Assign,
    ast.AugAssign,
    ast.Import,
    ast.ImportFrom,
    ast.Call,
    ast.Subscript,
    ast.FunctionDef,
)
"""Syntax that plain English does not parse to: a text with it is code."""
_CONTENT_MARK = re.compile(r"(?is)(?P<colon>:)\s*(?=\S)|\b(?:that|which|to|with|for)\b")
_BELOW_CELL = re.compile(r"(?i)\b(?:below|behind|after|under) @?cell \[?([\w-]+)")
_OTHER_PLACE = re.compile(
    r"(?i)\b(?:above|before)\b|\bat the (?:end|bottom)\b|\bbetween\b|\bin (?!jupyter)\S+\.ipynb"
)
_SOURCE_SECTION = re.compile(r"(?s)\n\n\[source[^\n]*\]\n(.*?)(?:\n\n\[source that ran\b.*)?\Z")


def cell_request(prompt: ParsedPrompt) -> str:
    """Return the rule for a prompt that wants a cell written, changed, moved, deleted or run; else an empty text."""
    return next(
        (rule for rule, pattern in _PATTERN_BY_RULE.items() if pattern.search(prompt.prose)), ""
    )


def insert_plan(runner: PlanRunner) -> Plan:
    """Insert a cell with the code or the text of the prompt, or with code for the data that it asks for."""
    match = _PATTERN_BY_RULE["insert"].search(runner.prompt.prose)
    rest_of_prompt = runner.prompt.prose[match.end() :] if match else ""
    content_mark = _CONTENT_MARK.search(rest_of_prompt)
    place_text = rest_of_prompt[: content_mark.start()] if content_mark else rest_of_prompt
    if _OTHER_PLACE.search(place_text):
        return PlanAnswer(
            "I put a cell below your prompt, `below cell 3`, or `at the top`. Which of these shall it be?"
        )
    cell_kind = "markdown" if match and "markdown" in match[0].casefold() else "code"
    content = rest_of_prompt[content_mark.end() :].strip() if content_mark else ""
    source = _quoted_source(
        runner.prompt,
        content,
        cell_kind,
        follows_colon=bool(content_mark and content_mark["colon"]),
    )
    notes: list[str] = []
    if not source and cell_kind == "code" and content:
        source, notes = yield from _data_source(replace(runner, prompt=ParsedPrompt(content)))
    if not source:
        return PlanAnswer(
            "What shall stand in the cell? I write code that stands in your prompt, or code for your data. For example: "
            "`insert a cell: 6 * 7`, or `write a cell that shows the first rows of df`"
        )
    change = {"action": "insert", "source": source}
    change |= {"kind": cell_kind} if cell_kind != "code" else {}
    if below_match := _BELOW_CELL.search(place_text):
        change["after"] = below_match[1]
    elif re.search(r"(?i)\bat the (?:very )?top\b", place_text):
        change["after"] = "top"
    return (yield from _change_cell(runner, change, "I wrote the cell. I have not run it.", notes))


def _quoted_source(
    prompt: ParsedPrompt, content: str, cell_kind: str, *, follows_colon: bool
) -> str:
    """Return the source that stands in a prompt: a block, backticks, or what follows a colon; else empty."""
    if prompt.fences:
        return prompt.fences[0].code
    code = next((text for text in prompt.backticked_texts if text in content), "")
    if cell_kind != "code":
        return content if follows_colon else code
    tree = CellSource(code or content).tree
    is_code = bool(tree and any(isinstance(node, _CODE_NODES) for node in ast.walk(tree)))
    return code or content if tree and tree.body and (follows_colon or code or is_code) else ""


def _data_source(runner: PlanRunner) -> Steps[tuple[str, list[str]]]:
    """Return code for the data that a prompt asks for, with notes; empty where its words name none."""
    request, prompt = read_data_request(runner.prompt), runner.prompt
    variables = yield from list_variables(runner)
    is_named = bool(prompt.mentions or link_variables(prompt.words, variables))
    has_table = any(variable.is_table for variable in variables)
    if not is_named and not (has_table and (request.op or mentions_data(prompt))):
        return "", []
    found_data = yield from find_data(runner, variables)
    if isinstance(found_data, Variable):
        return found_data.name, []
    if request.op == "columns":
        return f"{found_data.table.name}.dtypes", []
    spec, notes = yield from query_steps(runner, request, found_data)
    return write_code(spec), notes


def rename_plan(runner: PlanRunner) -> Plan:
    """Rename a variable in one cell, which is read first."""
    match = _PATTERN_BY_RULE["rename"].search(runner.prompt.prose)
    old_name, new_name, cell_id = match.groups() if match else ("", "", "")
    new_source = _renamed_source(
        (yield from _cell_source(runner, "rename in", cell_id)), old_name, new_name
    )
    change = {"action": "edit", "cell": cell_id, "source": new_source}
    text = f"{inline_code(old_name)} is {inline_code(new_name)} in cell {cell_id} now. Other cells are as they were, and I ran nothing."
    return (yield from _change_cell(runner, change, text, []))


def replace_plan(runner: PlanRunner) -> Plan:
    """Replace a text that occurs once in a cell, which is read first."""
    match = _PATTERN_BY_RULE["replace"].search(runner.prompt.prose)
    _, old_text, _, new_text, cell_id = match.groups() if match else ("",) * 5
    source = yield from _cell_source(runner, "replace in", cell_id)
    if (count := source.count(old_text)) != 1:
        raise PlanEnded(
            f"{inline_code(old_text)} stands {count} times in cell {cell_id}, so I changed nothing."
        )
    change = {"action": "edit", "cell": cell_id, "source": source.replace(old_text, new_text)}
    return (
        yield from _change_cell(
            runner, change, f"Cell {cell_id} is changed. I have not run it.", []
        )
    )


def delete_plan(runner: PlanRunner) -> Plan:
    """Delete a cell, which is read first."""
    match = _PATTERN_BY_RULE["delete"].search(runner.prompt.prose)
    cell_id = match[1] if match else ""
    yield from _cell_source(runner, "delete", cell_id)
    change = {"action": "delete", "cell": cell_id}
    return (yield from _change_cell(runner, change, f"Cell {cell_id} is deleted.", []))


def move_plan(runner: PlanRunner) -> Plan:
    """Move a cell to the top, or below another one."""
    match = _PATTERN_BY_RULE["move"].search(runner.prompt.prose)
    cell_id, top_word, cell_above = match.groups() if match else ("", "", "")
    change = {"action": "move", "cell": cell_id, "after": "top" if top_word else cell_above}
    return (yield from _change_cell(runner, change, f"Cell {cell_id} is moved.", []))


def run_plan(runner: PlanRunner) -> Plan:
    """Run a cell where it stands, which is read first."""
    match = _PATTERN_BY_RULE["runcell"].search(runner.prompt.prose)
    cell_id = match[1] if match else ""
    yield from _cell_source(runner, "run", cell_id)
    runner.require_tool("cells", "to run the cell")
    thought = "Rule: run a cell. Its output appears below it."
    result = yield runner.planned_call(
        thought, "cells", changes=[{"action": "run", "cell": cell_id}]
    )
    if not result.text.startswith("[ran "):
        return PlanAnswer(f"I did not run it: {_first_sentence(result)}")
    return PlanAnswer(f"I ran cell {cell_id}. What came of it stands below the cell.")


def _cell_source(runner: PlanRunner, action: str, cell_id: str) -> Steps[str]:
    """Return the source of a cell, which a tool reads; raise ``PlanEnded`` where it cannot be read whole."""
    runner.require_tool("notebook", "to read the cell")
    thought = f"Rule: {action} a cell. First I read cell {cell_id}, since only a cell that was seen may be changed."
    result = yield runner.planned_call(thought, "notebook", cell=cell_id, outputs=False)
    source = _SOURCE_SECTION.search(result.text)
    if source is None or result.is_cut:
        raise PlanEnded(f"I could not read cell {cell_id} as a whole: {_first_sentence(result)}")
    return source[1]


def _renamed_source(source: str, old_name: str, new_name: str) -> str:
    """Return a source with a variable renamed; raise ``PlanEnded`` where that is not certain to be all that changes."""
    cell = CellSource(source)
    name_nodes = [node for node in cell.expressions() if isinstance(node, ast.Name)]
    if cell.tree is None or not is_python_cell(source):
        raise PlanEnded("The cell is not in Python, so I changed nothing.")
    if (
        not new_name.isidentifier()
        or iskeyword(new_name)
        or new_name in {node.id for node in name_nodes}
    ):
        raise PlanEnded(
            f"{inline_code(new_name)} is no free name in that cell, so I changed nothing."
        )
    new_source = cell.edited_text([(node, new_name) for node in name_nodes if node.id == old_name])
    if new_source is None:
        raise PlanEnded(
            f"{inline_code(old_name)} is no variable of that cell, so I changed nothing."
        )
    tree, old_dump = CellSource(new_source).tree, ast.dump(cell.tree)
    expected_dump = old_dump.replace(f"Name(id='{old_name}'", f"Name(id='{new_name}'")
    # Parameters, functions and imports have their name in another place of the tree.
    is_bound = re.search(rf"\b(?:arg\(arg|name|asname|names)=\[?'{old_name}'", expected_dump)
    if tree is None or ast.dump(tree) != expected_dump or is_bound:
        raise PlanEnded(
            f"{inline_code(old_name)} is more than a plain variable in that cell, so I changed nothing: it would be a guess."
        )
    return new_source


def _change_cell(runner: PlanRunner, change: dict[str, str], reply: str, notes: list[str]) -> Plan:
    """Return the plan that asks for a change of a cell and answers with ``reply`` and notes, or why it was not made."""
    runner.require_tool("cells", "to change the notebook")
    thought = f"Rule: {change['action']} a cell. The notebook changes only when it is accepted."
    result = yield runner.planned_call(thought, "cells", changes=[change])
    if result.text.startswith("Changed "):
        return PlanAnswer("\n\n".join([reply, *notes]), "The result says that it is changed.")
    if result.text.startswith("Not made"):
        return PlanAnswer("You rejected it, so the notebook is as it was.", "It was rejected.")
    language = "markdown" if change.get("kind") == "markdown" else "python"
    source = change.get("source")
    preview = f"\n\nThe cell would be:\n\n{code_block(source, language)}" if source else ""
    return PlanAnswer(
        f"The notebook is as it was: {_first_sentence(result)}{preview}",
        "The tool changed nothing, and I try no other way.",
    )


def _first_sentence(result: ToolResult) -> str:
    """Return the first sentence of a tool's text, which is written for a model, in words for the user."""
    first_line = result.text.strip().partition("\n")[0].replace("the user's", "your")
    return first_line.partition(". ")[0].rstrip(".")[:MAX_SENTENCE_CHARS] + "."
