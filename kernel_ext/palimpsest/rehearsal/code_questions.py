"""Run the Python code, the calculation or the shell command that a prompt contains."""

import re

from palimpsest.rehearsal.parsing.cell_source import parse_python
from palimpsest.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.rehearsal.parsing.tool_outputs import ToolResult, inline_code, text_block
from palimpsest.rehearsal.plan_runner import Plan, PlanAnswer, PlanRunner

MAX_SHOWN_LINES = 40
MAX_INLINE_CHARS = 80
"""Maximum characters of a one-line result that is shown within the sentence."""
PYTHON_LANGUAGES = {"", "python", "py", "python3", "ipython"}
"""Languages of code blocks that are run."""
RUN_PATTERN = r"(?is)\b(?:run|execute|evaluate|compute|calculate)\b(?:\s+(?:this|the|following|python|code))*\s*:?\s*(.+?)\s*\Z"
RESULT_PATTERN = r"(?is)\b(?:what is|what's|how much is)\s+(.+?)\s*\Z"


def python_code(prompt: ParsedPrompt) -> str | None:
    """Return the Python code in a prompt: a block, backticks or text after *run*, or a calculation; else None."""
    for fence in prompt.fences:
        if fence.language in PYTHON_LANGUAGES:
            return fence.code
    run_request = re.search(RUN_PATTERN, prompt.prose)
    if run_request:
        code = next(filter(_is_python, prompt.backticked_texts), run_request[1].rstrip("?.! "))
        return code if _is_formula(code) else None
    result_request = re.search(RESULT_PATTERN, prompt.prose)
    code = (result_request[1] if result_request else prompt.prose).rstrip("?=.! ")
    is_calculation = re.fullmatch(r"[\d\s.()+*/%-]+", code) and re.search(r"\d\s*[-+*/%]", code)
    return code.strip() if is_calculation and _is_python(code) else None


def _is_formula(text: str) -> bool:
    """Return whether text is code rather than prose that happens to parse, such as one word."""
    return _is_python(text) and bool(
        re.search(r"[()\[\]=+*/%\"']|\d\s*-|^\w+\.\w+|^import |^from ", text)
    )


def _is_python(text: str) -> bool:
    tree = parse_python(text.strip())
    return tree is not None and bool(tree.body)


def python_plan(runner: PlanRunner, code: str) -> Plan:
    """Return the plan that runs the user's code unchanged."""
    runner.require_tool("python", "to run this")
    result = yield runner.planned_call(
        "Rule: run the code that you gave, as it stands.", "python", code=code
    )
    if result.error:
        return PlanAnswer(f"The code failed with {result.error_text}.", "The code failed.")
    return PlanAnswer(_result_answer(result), "The code ran.")


def shell_command(prompt: ParsedPrompt) -> str:
    """Return the command in backticks of a prompt that names the shell; else an empty text."""
    is_for_shell = prompt.matches(r"\b(?:shell|bash|terminal)\b")
    return prompt.backticked_texts[0] if prompt.backticked_texts and is_for_shell else ""


def shell_plan(runner: PlanRunner, command: str) -> Plan:
    """Return the plan that runs the user's shell command unchanged."""
    runner.require_tool("bash", "to run a command")
    thought = "Rule: run the command that you gave, as it stands."
    result = yield runner.planned_call(thought, "bash", command=command)
    text = f"{inline_code(command)}:\n\n{text_block(result.text, MAX_SHOWN_LINES)}"
    return PlanAnswer(text, "The result holds the output.")


def _result_answer(result: ToolResult) -> str:
    if not result.shown_text.strip():
        return "The code ran and returned nothing."
    lines = result.shown_text.strip().splitlines()
    if len(lines) == 1 and len(lines[0]) <= MAX_INLINE_CHARS and not result.stdout:
        return f"The result is {inline_code(lines[0])}."
    return f"The code ran:\n\n{text_block(result.shown_text, MAX_SHOWN_LINES)}"
