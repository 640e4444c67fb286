"""Plans that create files and replace text in them; a file is only overwritten if the prompt says so."""

import re

from palimpsest.model.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.model.rehearsal.parsing.tool_outputs import ToolResult, span
from palimpsest.model.rehearsal.plans.file_plan import check, closest_file, is_missing
from palimpsest.model.rehearsal.plans.plan_runner import Plan, PlanAnswer, PlanRunner


def write_plan(runner: PlanRunner) -> Plan:
    """Create a file; an existing one is replaced only when the prompt says so."""
    path = _target(runner.prompt)
    content = _content(runner.prompt, path)
    if not path:
        return PlanAnswer('Which file shall I write? For example: create notes.txt with "hello"')
    if content is None:
        return PlanAnswer(
            f"What shall stand in {span(path)}? Put it in quotes or in a block of code."
        )
    runner.need("write", f"to create {span(path)}")
    if runner.can("glob") and not runner.prompt.matches(r"\boverwrit|\breplace\b"):
        result = yield runner.act(
            f"Rule: write a file. First I look whether {path} exists already.", "glob", pattern=path
        )
        if any(line.endswith(path.removeprefix("./")) for line in result.paths):
            return PlanAnswer(
                f'{span(path)} exists already, so I left it alone. Say "overwrite {path} with ..." to replace it, or "replace A with B in {path}".'
            )
    result = yield runner.act(
        f"Rule: write a file. I create {path}.", "write", path=path, content=content
    )
    check(result)
    return PlanAnswer(f"I wrote {span(path)}. {_first_line(result)}", "The file is written.")


def _target(prompt: ParsedPrompt) -> str | None:
    if prompt.paths:
        after = re.search(
            r"(?i)\b(?:to|into|in|as|called|named|file)\s+[`'\"]?(\S+?)[`'\"]?(?:\s|[,;:.!?]*$|[,;:])",
            prompt.prose,
        )
        return after[1] if after and after[1] in prompt.paths else prompt.paths[0]
    named = re.search(r"(?i)\bfile\s+(?:called|named)\s+[`'\"]?([\w./-]+)", prompt.prose)
    return named[1].rstrip(".") if named else None


def _content(prompt: ParsedPrompt, path: str | None) -> str | None:
    """Return the text to write: a block, a quote, or what follows *with* or a colon."""
    if prompt.fences:
        return prompt.fences[0].code + "\n"
    literal = [text for text in (*prompt.quotes, *prompt.ticks) if text != path]
    if literal:
        return literal[0] + "\n"
    name = re.escape(path or "")
    patterns = (
        r"(?is)\b(?:with|containing|that says|saying|holding)\s+(?:the\s+)?(?:text|contents?|words?|line)?\s*:?\s*(.+)\Z",
        r"(?is):\s*(\S.*)\Z",
        rf"(?is)\b(?:write|put|save|store|add)\s+(?:the\s+(?:text|words?|line)\s+)?(.+?)\s+(?:to|into|in|as)\s+(?:a\s+|the\s+)?(?:new\s+)?(?:file\s+)?(?:called\s+|named\s+)?{name}",
    )
    for pattern in patterns:
        match = re.search(pattern, prompt.prose)
        if match and match[1].strip() and match[1].strip(" .`'\"") != path:
            return match[1].strip() + "\n"
    return "" if prompt.matches(r"\bempty\b|\btouch\b|\bblank\b") else None


def _first_line(result: ToolResult) -> str:
    return next((line.strip() for line in result.text.splitlines() if line.strip()), "")[:300]


_EDIT = (
    r"\b(?:replace|substitute|swap|exchange)\s+{much}{A}\s+(?:with|by|for)\s+{B}",
    r"\b(?:change|edit|rename|update|modify|turn|correct|fix)\s+{much}{A}\s+(?:to|into|with)\s+{B}",
    r"\b(?:use|put|write)\s+{B}\s+(?:instead of|in place of)\s+{A}",
)
_MUCH = r"(?:all\s+|every\s+|each\s+)?(?:occurrences?\s+of\s+)?(?:the\s+)?(?:(?:word|text|line|string)\s+)?"
_LITERAL = (
    r"`(?P<{0}1>[^`]*)`|\"(?P<{0}2>[^\"]*)\"|'(?P<{0}3>[^']*)'|\u201c(?P<{0}4>[^\u201d]*)\u201d"
)


def edit_terms(prompt: ParsedPrompt) -> tuple[str, str] | None:
    """Return the text to replace and its replacement, or None."""
    path = "|".join(re.escape(path) for path in prompt.paths) or r"\Z"
    end = rf"(?=\s+(?:everywhere\s+)?(?:in|inside|within)\s+(?:the\s+)?(?:file\s+)?[`'\"]?(?:{path})|\s+everywhere|[,;]\s|[.!?]?\s*\Z)"
    first = f"(?:{_LITERAL.format('a')}|(?P<a5>\\S.*?))"
    second = f"(?:{_LITERAL.format('b')}|(?P<b5>\\S.*?){end})"
    for pattern in _EDIT:
        filled = pattern.replace("{much}", _MUCH).replace("{A}", first).replace("{B}", second)
        match = re.search(f"(?is){filled}", prompt.prose)
        if match:
            groups = match.groupdict()
            old = next((v for k, v in groups.items() if k[0] == "a" and v is not None), "")
            new = next((v for k, v in groups.items() if k[0] == "b" and v is not None), "")
            place = (
                rf"\s+(?:in|inside|within)\s+(?:the\s+)?(?:file\s+)?[`'\"]?(?:{path})[`'\"]?\s*\Z"
            )
            return (re.sub(place, "", old), new) if old else None
    return None


def edit_plan(runner: PlanRunner) -> Plan:
    """Replace text in a file."""
    path = runner.prompt.paths[-1] if runner.prompt.paths else None
    terms = edit_terms(runner.prompt)
    if path is None or terms is None:
        return PlanAnswer(
            'I can replace text in a file when you name all three: replace "old" with "new" in notes.txt'
        )
    runner.need("edit", f"to change {span(path)}")
    old, new = terms
    inputs: dict[str, object] = {"path": path, "old": old, "new": new}
    if runner.prompt.matches(r"\b(?:all|every|each|everywhere)\b"):
        inputs["replace_all"] = True
    result = yield runner.act(
        f"Rule: edit. I replace {old!r} by {new!r} in {path}.", "edit", **inputs
    )
    if re.search(r"occurs \d+ times", result.text) and "replace_all" not in inputs:
        return PlanAnswer(
            f'{_first_line(result)}\n\nSay "replace all {old} with {new} in {path}" to change every one.'
        )
    if is_missing(result) and runner.can("glob") and "occur" not in result.text:
        other = yield from closest_file(runner, path)
        if other:
            return PlanAnswer(
                f"There is no {span(path)}. Did you mean {span(other)}? I changed nothing."
            )
    check(result, failed="does not occur" in result.text)
    return PlanAnswer(
        f"I replaced {span(old)} by {span(new)} in {span(path)}. {_first_line(result)}",
        "The file is changed.",
    )
