"""Plans that run what the prompt contains: Python code, a calculation, or a shell command."""

import ast
import difflib
import re

from palimpsest.model.rehearsal.parsing.cell_source import parsed
from palimpsest.model.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.model.rehearsal.parsing.tables import literal_in, parse_variables
from palimpsest.model.rehearsal.parsing.tool_outputs import ToolResult, quoted, span
from palimpsest.model.rehearsal.plans.plan_runner import Plan, PlanAnswer, PlanRunner

SHELL_LANGUAGES = {"sh", "bash", "shell", "zsh", "console", "terminal"}
COMMANDS = {
    "ls", "cd", "pwd", "git", "cat", "echo", "grep", "find", "pip", "python", "python3", "head", "tail", "wc", "df", "du", "ps",
    "mkdir", "cp", "mv", "touch", "which", "whoami", "date", "uname", "env", "curl", "wget", "make", "npm", "node", "conda", "tar", "sort",
    "uniq", "sed", "awk", "tree", "chmod", "hostname", "uptime", "free", "nvidia-smi", "rm", "test", "true", "false", "sleep", "printf", "seq",
}  # fmt: skip
RUN_NAME = r"(?i)^(?:please )?(?:run|execute|evaluate|eval)\b"
RUN = r"(?i)\b(?:run|execute|evaluate|eval|exec|try|do|compute|calculate)\b"


def shell_command(prompt: ParsedPrompt) -> str | None:
    """Return the shell command in a prompt, or None."""
    for fence in prompt.fences:
        if fence.language in SHELL_LANGUAGES:
            return fence.code
    marked = re.match(r"\s*[$!]\s*(\S.*)", prompt.prose)
    if marked:
        return marked[1].strip().strip("`")
    names_shell = re.search(
        r"(?i)\b(?:shell|bash|terminal|command[ -]?line|console|command)\b", prompt.prose
    )
    given = next(iter(prompt.ticks or prompt.quotes), None)
    if given and (names_shell or (_first_word(given) in COMMANDS and not is_python(given))):
        return given if names_shell or re.search(RUN, prompt.prose) else None
    match = re.search(
        r"(?i)\b(?:shell|bash|terminal|command[ -]?line|command)(?:\s+command)?\s*:?\s+(?:to\s+)?((?:[\w./-]+)(?:\s.*)?)\Z",
        prompt.prose,
    )
    if match and _first_word(match[1]) in COMMANDS:
        return match[1].strip()
    match = re.search(
        r"(?i)\b(?:run|execute|exec)\s+(?:the\s+)?(?:command\s+)?((?:[\w./-]+)(?:\s.*?)?)(?:\s+in\s+(?:the\s+|a\s+)?(?:shell|terminal|bash|command line|console))?[.!?]?\Z",
        prompt.prose,
    )
    if match and _first_word(match[1]) in COMMANDS and not is_python(match[1]):
        return match[1].strip()
    return None


def _first_word(text: str) -> str:
    return text.split()[0] if text.split() else ""


def python_code(prompt: ParsedPrompt) -> str | None:
    """Return the Python code in a prompt, or None: a block, backticks, or text after *run* or a colon."""
    for fence in prompt.fences:
        if fence.language in {"", "python", "py", "python3", "ipython"}:
            return fence.code
    if re.search(RUN, prompt.prose) or (
        len(prompt.ticks) == 1 and len(prompt.prose) <= len(prompt.ticks[0]) + 3
    ):
        for given in prompt.ticks:
            if is_python(given) and (not given.isidentifier() or re.search(RUN_NAME, prompt.prose)):
                return given
    match = re.search(
        r"(?is)\b(?:run|execute|evaluate|eval|exec|compute|calculate|work out)\b(?:\s+(?:this|the|following|python|code|expression|statement|for me|line|in python|value of|result of))*\s*:?\s*(.+?)\s*\Z",
        prompt.prose,
    )
    if match and _is_formula(match[1].rstrip("?.! ")):
        return match[1].rstrip("?.! ")
    match = re.search(
        r"(?is)\b(?:what is|what's|how much is|result of|value of)\s+(.+?)\s*[?.!]*\s*\Z",
        prompt.prose,
    )
    computes = match and re.search(r"\d\s*(?:[-+*/%^]|\*\*)\s*[\d(]|\w\(.*\)", match[1])
    if match and computes and is_python(match[1]):
        return match[1].strip()
    whole = prompt.prose.rstrip("?=! ")
    is_sum = re.fullmatch(r"[\d\s.()+*/%-]+", whole) and re.search(r"\d\s*[-+*/%]", whole)
    return whole.strip() if is_sum and is_python(whole) else None


def _is_formula(text: str) -> bool:
    """Return whether text is code rather than prose that happens to parse, such as one word."""
    return is_python(text) and bool(
        re.search(r"[()\[\]=+*/%\"']|\d\s*-|^\w+\.\w+|^import |^from ", text)
        or (text.isidentifier() and "_" in text)
    )


def is_python(text: str) -> bool:
    """Return whether text is valid Python with at least one statement."""
    tree = parsed(text.strip())
    return tree is not None and bool(tree.body)


def python_plan(runner: PlanRunner, code: str) -> Plan:
    """Run the user's code unchanged; if it fails by a misspelt name, try the closest one."""
    runner.need("python", "to run this")
    result = yield runner.act(
        "Rule: run the code that you gave, as it stands.", "python", code=code
    )
    if not result.error:
        return PlanAnswer(ran(result), "The code ran.")
    said = f"The code failed with {result.error_words}"
    better = None
    tree = parsed(code.strip())
    if tree is not None and [type(one) for one in tree.body] == [ast.Expr]:
        names = yield runner.act(
            "It failed, so I look for a name that is close to the one that is missing.",
            "python",
            code=names_code(code, result.error),
        )
        better = repaired(code, result.error, names)
    if better is None:
        return PlanAnswer(f"{said}.", "I know no repair for this error.")
    again = yield runner.act("A name was misspelt; I try the closest one.", "python", code=better)
    if again.error:
        return PlanAnswer(
            f"{said}. I also tried {span(better)}; it failed with {again.error_words}."
        )
    return PlanAnswer(
        f"{said}. With the closest name, {span(better)}, it works.\n\n{ran(again)}",
        "The repair worked.",
    )


def ran(result: ToolResult) -> str:
    """Return the answer text with what code printed and returned."""
    if not result.words.strip():
        return "The code ran and returned nothing."
    lines = result.words.strip().splitlines()
    if len(lines) == 1 and len(lines[0]) <= 80 and not result.stdout:
        return f"The result is {span(lines[0])}."
    return f"The code ran:\n\n{quoted(result.words, 40)}"


def names_code(code: str, error: tuple[str, str]) -> str:
    """Return code that lists the existing names that a misspelt one may stand for."""
    owner = _owner(code)
    if error[0] == "KeyError" and owner:
        return f"list({owner})"
    if error[0] == "AttributeError" and owner:
        return f'[name for name in dir({owner}) if not name.startswith("_")]'
    return '[name for name in dict(globals()) if not name.startswith("_")]'


def _owner(code: str) -> str | None:
    """Return the variable whose attribute or item an expression accesses, or None."""
    for node in ast.walk(ast.parse(code.strip())):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.value, ast.Name):
            return node.value.id
    return None


def repaired(code: str, error: tuple[str, str], names: ToolResult) -> str | None:
    """Return the code with its misspelt name replaced by the closest existing one, or None."""
    missing = re.search(r"name '(\w+)'|attribute '(\w+)'|^['\"](.+?)['\"]$", error[1])
    wrong = next((group for group in missing.groups() if group), None) if missing else None
    known = literal_in(names.value)
    choices = (
        [str(name) for name in known]
        if isinstance(known, list)
        else [v.name for v in parse_variables(names.text)]
    )
    close = difflib.get_close_matches(wrong, choices, n=1, cutoff=0.7) if wrong else []
    if not wrong or not close or close[0] == wrong:
        return None
    replaced = re.sub(rf"(?<!\w){re.escape(wrong)}(?!\w)", lambda _: close[0], code)
    return replaced if is_python(replaced) else None


def shell_plan(runner: PlanRunner, command: str) -> Plan:
    """Run the user's shell command unchanged."""
    runner.need("bash", "to run a command")
    result = yield runner.act(
        "Rule: run the command that you gave, as it stands.", "bash", command=command
    )
    if not result.text.strip() or result.text.strip() == "(no output)":
        return PlanAnswer(f"{span(command)} ran and printed nothing.")
    return PlanAnswer(
        f"{span(command)}:\n\n{quoted(result.text, 40)}", "The result holds the output."
    )
