"""Answer prompts about files: list them, read one, search in them, write a new one."""

import re

from palimpsest.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.rehearsal.parsing.tool_outputs import ToolResult, inline_code, text_block
from palimpsest.rehearsal.plan_runner import Plan, PlanAnswer, PlanEnded, PlanRunner

MAX_LISTED_LINES = 60
MAX_FOUND_LINES = 40
MAX_REPLY_CHARS = 300
MAX_ERROR_CHARS = 600
MAX_LINES_SHOWN = 30
"""Maximum lines of a file that an answer shows."""
LIST_PATTERN = (
    r"^(?:ls|dir)\b|\b(?:list|show|which|what|see|are there|have)\b.*"
    r"\b(?:files?|folders?|director(?:y|ies)|notebooks|scripts)\b"
)
SEARCH_PATTERN = (
    r"\b(?:search|grep|look) (?:\w+ )*?for\b|\bgrep\b|\b(?:find|which files)\b.*\bcontain"
)
WRITE_PATTERN = r"\b(?:write|create|save|make|put|overwrite)\b"
_FOLDER = re.compile(
    r"(?i)\b(?:in|of|inside) (?:the )?(?:folder |directory )?[`'\"]?([\w.-]+)[`'\"]?|\b([\w.-]+) (?:folder|directory)\b"
)
_NOT_FOLDERS = {"the", "this", "project", "current", "working", "my", "here", "files", "a"}
"""Words in the place of a folder's name that are none."""
_SEARCH_TERM = re.compile(r"(?i)\b(?:for|grep|contain(?:s|ing)?) (?:the (?:word|text) )?(\S+)")
_CONTENT_PATTERNS = (
    re.compile(r"(?is)\b(?:with|containing|that says|saying)\s*(?:the text)?\s*:?\s*(.+)\Z"),
    re.compile(r"(?is):\s*(\S.*)\Z"),
)


def file_request(prompt: ParsedPrompt) -> str:
    """Return the kind of a prompt about files: ``write``, ``search``, ``list``, ``read``; else empty."""
    is_plot = prompt.matches(r"\b(?:plot|chart|graph|histogram)\b")
    if prompt.paths and prompt.matches(WRITE_PATTERN) and not is_plot:
        return "write"
    if prompt.matches(SEARCH_PATTERN):
        return "search"
    if prompt.globs or (prompt.matches(LIST_PATTERN) and not prompt.paths):
        return "list"
    return "read" if prompt.paths else ""


def list_plan(runner: PlanRunner) -> Plan:
    """List a folder, or the files that match a pattern."""
    if runner.prompt.globs:
        glob = runner.prompt.globs[0]
        pattern = glob if "/" in glob else f"**/{glob}"
        runner.require_tool("glob", "to find files")
        reasoning = f"Rule: find files. The pattern is {pattern}."
        result = _require_success((yield runner.planned_call(reasoning, "glob", pattern=pattern)))
        listing = result.text.strip()
        if listing.startswith("No file"):
            return PlanAnswer(f"No file matches {inline_code(pattern)}.")
        text = f"Files that match {inline_code(pattern)}:\n\n{text_block(listing, MAX_FOUND_LINES)}"
        return PlanAnswer(text, "The result lists them.")
    runner.require_tool("list", "to see files")
    folder = _folder_named(runner.prompt)
    inputs = {"path": folder} if folder else {}
    reasoning = f"Rule: list files{f' in {folder}' if folder else ''}."
    result = _require_success((yield runner.planned_call(reasoning, "list", **inputs)))
    place = f" in {inline_code(folder)}" if folder else ""
    text = f"These are the files{place}:\n\n{text_block(result.text, MAX_LISTED_LINES)}"
    return PlanAnswer(text, "The result lists them.")


def _folder_named(prompt: ParsedPrompt) -> str | None:
    folder = next(iter(prompt.folders), None)
    if folder is None and (match := _FOLDER.search(prompt.prose)):
        folder = (match[1] or match[2]).rstrip(".")
    return None if folder is None or folder.casefold() in _NOT_FOLDERS else folder


def read_plan(runner: PlanRunner) -> Plan:
    """Show a file, or the beginning of it."""
    path = runner.prompt.paths[0]
    runner.require_tool("read", f"to open {inline_code(path)}")
    result = _require_success((yield runner.planned_call("Rule: read a file.", "read", path=path)))
    text = f"{inline_code(path)}:\n\n{text_block(result.text, MAX_LINES_SHOWN)}"
    return PlanAnswer(text, "The result holds the text.")


def search_plan(runner: PlanRunner) -> Plan:
    """Search in files for the text that a prompt quotes, or for the word after *for*."""
    prompt = runner.prompt
    match = _SEARCH_TERM.search(prompt.prose)
    quotes = [
        text for text in (*prompt.quotes, *prompt.backticked_texts) if text not in prompt.paths
    ]
    term = next(iter(quotes), match[1].strip(".,;:?!") if match else "")
    if not term:
        return PlanAnswer(
            'What shall I search for? Put it in quotes, for example: search for "TODO" in *.py'
        )
    runner.require_tool("grep", f"to search for {inline_code(term)}")
    inputs = {"include": prompt.globs[0]} if prompt.globs else {}
    inputs |= {"path": prompt.paths[0]} if prompt.paths else {}
    reasoning = f"Rule: search. I look for {term!r} as it is written."
    result = yield runner.planned_call(reasoning, "grep", pattern=re.escape(term), **inputs)
    if _require_success(result).text.strip().startswith("No line"):
        return PlanAnswer(f"I found {inline_code(term)} nowhere.")
    text = f"Lines with {inline_code(term)}:\n\n{text_block(result.text, MAX_FOUND_LINES)}"
    return PlanAnswer(text, "The result lists the lines.")


def write_plan(runner: PlanRunner) -> Plan:
    """Create a file; an existing file is replaced only where the prompt says ``overwrite``."""
    path = runner.prompt.paths[0]
    content = _content_to_write(runner.prompt, path)
    if content is None:
        return PlanAnswer(
            f"What shall stand in {inline_code(path)}? Put it in quotes or in a block of code."
        )
    runner.require_tool("write", f"to create {inline_code(path)}")
    if "glob" in runner.tools and not runner.prompt.matches(r"\boverwrite\b"):
        reasoning = f"Rule: write a file. First I look whether {path} exists already."
        result = yield runner.planned_call(reasoning, "glob", pattern=path)
        if any(line.endswith(path.removeprefix("./")) for line in result.paths):
            return PlanAnswer(
                f'{inline_code(path)} exists already, so I left it alone. Say "overwrite {path} with ..." to replace it.'
            )
    reasoning = f"Rule: write a file. I create {path}."
    result = _require_success(
        (yield runner.planned_call(reasoning, "write", path=path, content=content))
    )
    first_line = next((line.strip() for line in result.text.splitlines() if line.strip()), "")
    return PlanAnswer(
        f"I wrote {inline_code(path)}. {first_line[:MAX_REPLY_CHARS]}", "The file is written."
    )


def _content_to_write(prompt: ParsedPrompt, path: str) -> str | None:
    """Return the text to write: a code block, a quoted text, or the text after *with* or a colon."""
    if prompt.fences:
        return prompt.fences[0].code + "\n"
    quoted_texts = [text for text in (*prompt.quotes, *prompt.backticked_texts) if text != path]
    if quoted_texts:
        return quoted_texts[0] + "\n"
    match = next(
        filter(None, (pattern.search(prompt.prose) for pattern in _CONTENT_PATTERNS)), None
    )
    return match[1].strip() + "\n" if match else None


def _require_success(result: ToolResult) -> ToolResult:
    """Return a tool's result; end the plan with the tool's message where the call failed."""
    if result.is_tool_error:
        raise PlanEnded(f"That did not work: {result.text.strip()[:MAX_ERROR_CHARS]}")
    return result
