"""Answer prompts about files: list, find, read, search."""

import difflib
import re

from palimpsest.model.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.model.rehearsal.parsing.tool_outputs import ToolResult, quoted, span
from palimpsest.model.rehearsal.parsing.vocabulary import word_set
from palimpsest.model.rehearsal.parsing.word_matching import number_of
from palimpsest.model.rehearsal.plans.plan_runner import (
    Plan,
    PlanAnswer,
    PlanEnded,
    PlanRunner,
    Steps,
)

FOLDER_WORDS = word_set(
    """
    show list what display see open print view me new full entire s contents content listing tree
    please is are with for the this that my our project folder directory current here working it a
    there root workspace repository repo notebook same all files file which every any each
    """
)
KINDS = {
    "python": "py", "csv": "csv", "notebook": "ipynb", "markdown": "md", "json": "json", "text": "txt", "image": "png", "toml": "toml",
    "yaml": "yaml", "excel": "xlsx", "parquet": "parquet", "html": "html", "py": "py", "md": "md", "ipynb": "ipynb", "txt": "txt", "tsv": "tsv",
}  # fmt: skip
LINES_QUOTED = 30


def list_plan(runner: PlanRunner) -> Plan:
    """List a folder, or the files that fit a pattern."""
    pattern = _pattern(runner.prompt)
    if pattern and runner.can("glob"):
        result = yield runner.act(
            f"Rule: find files. The pattern is {pattern}.", "glob", pattern=pattern
        )
        check(result)
        found = result.text.strip()
        if found.startswith("No file"):
            return PlanAnswer(f"No file matches {span(pattern)}.")
        return PlanAnswer(
            f"Files that match {span(pattern)}:\n\n{quoted(found, 40)}", "The result lists them."
        )
    folder = _folder(runner.prompt)
    if not runner.can("glob"):
        runner.need("list", "to see files")
    if runner.can("list"):
        place = f" in {folder}" if folder else ""
        inputs = {"path": folder} if folder else {}
        result = yield runner.act(f"Rule: list files{place}.", "list", **inputs)
    else:
        inside = f"{folder.rstrip('/')}/*" if folder else "*"
        result = yield runner.act("Rule: list files.", "glob", pattern=inside)
    check(result)
    place = f" in {span(folder)}" if folder else ""
    text = f"These are the files{place}:\n\n{quoted(result.text, 60)}"
    return PlanAnswer(text, "The result lists them.")


def _pattern(prompt: ParsedPrompt) -> str | None:
    """Return the file pattern that a prompt names: ``*.py``, *csv files*, *files named x*."""
    if prompt.globs:
        glob = prompt.globs[0]
        return glob if "/" in glob else f"**/{glob}"
    ending = prompt.matches(r"(?<![\w/])\.([a-z]{1,8}[0-9]?)\b(?:\s+files?)?")
    if ending and prompt.matches(r"\bfiles?\b|\bending|extension"):
        return f"**/*.{ending[1]}"
    for word in prompt.words:
        if word.stem in KINDS and prompt.matches(
            rf"\b{re.escape(word.text)}s?\s+(?:files?|scripts?|documents?)\b|\bnotebooks\b|\bscripts\b"
        ):
            return f"**/*.{KINDS[word.stem]}"
    named = prompt.matches(r"\bfiles?\s+(?:named|called|with the name)\s+[`'\"]?([\w.*-]+)")
    if named:
        return f"**/*{named[1].strip('*')}*"
    if prompt.paths and prompt.matches(r"\b(?:find|locate|where|exist)"):
        return f"**/{prompt.paths[0].rsplit('/', 1)[-1]}"
    return None


_FOLDERS = (
    r"(?i)\b[`'\"]?([\w.-]+)[`'\"]?\s+(?:folder|directory|dir|subfolder)\b",
    r"(?i)\b(?:folder|directory|dir|subfolder)\s+(?:called\s+|named\s+)?[`'\"]?([\w.-]+)",
    r"(?i)\b(?:in|inside|under|of|within)\s+(?:the\s+|my\s+|our\s+)?[`'\"]?([\w.-]+)[`'\"]?(?:\s+(?:folder|directory|dir|subfolder))?",
)


def _folder(prompt: ParsedPrompt) -> str | None:
    if prompt.folders:
        return prompt.folders[0]
    for pattern in _FOLDERS:
        found = re.search(pattern, prompt.prose)
        name = found[1].rstrip(".") if found else ""
        if found and name.casefold() not in FOLDER_WORDS and number_of(found[1]) is None:
            return name
    return None


def read_plan(runner: PlanRunner, *, summarise: bool = False) -> Plan:
    """Show a file, or the beginning of it; or say what it is about by its headings."""
    path = runner.prompt.paths[0]
    runner.need("read", f"to open {span(path)}")
    lines = runner.prompt.matches(r"\bfirst (\w+) lines?\b|\b(\d+) lines\b|\bfirst (line)\b")
    limit = number_of(lines[1] or lines[2] or "one") if lines else None
    inputs = {"limit": int(limit)} if limit else {}
    result = yield runner.act(
        f"Rule: {'summarise' if summarise else 'read'} a file.", "read", path=path, **inputs
    )
    if is_missing(result) and runner.can("glob"):
        other = yield from closest_file(runner, path)
        if not other:
            check(result)
        thought = f"There is no {path}; the closest name is {other}."
        path = other or path
        result = yield runner.act(thought, "read", path=path, **inputs)
    check(result)
    if summarise:
        return PlanAnswer(
            _outline(path, result.text), "I can only extract: size, headings and first sentences."
        )
    return PlanAnswer(
        f"{span(path)}:\n\n{quoted(result.text, LINES_QUOTED)}", "The result holds the text."
    )


def is_missing(result: ToolResult) -> bool:
    """Tell whether a tool says that there is no such file."""
    return result.failed and bool(
        re.search(r"(?i)there is no|not found|does not exist|no such", result.text)
    )


def closest_file(runner: PlanRunner, path: str) -> Steps[str | None]:
    """Find the file whose name is closest to a path that does not exist."""
    name = path.rsplit("/", 1)[-1]
    ending = name.rsplit(".", 1)[-1] if "." in name else ""
    pattern = f"**/*.{ending}" if ending else "**/*"
    result = yield runner.act(
        f"There is no {path}, so I look for a name like it.", "glob", pattern=pattern
    )
    by_name: dict[str, str] = {}
    for line in result.paths:
        if "." in line:
            by_name.setdefault(line.rsplit("/", 1)[-1].casefold(), line)
    close = difflib.get_close_matches(name.casefold(), by_name, n=1, cutoff=0.6)
    return by_name[close[0]] if close else None


def _outline(path: str, text: str) -> str:
    numbered = [line for line in text.splitlines() if re.match(r"\s*\d+[:\t|]", line)]
    lines = [re.sub(r"^\s*\d+[:\t|] ?", "", line) for line in numbered or text.splitlines()]
    headings = [
        line.strip() for line in lines if re.match(r"\s*(?:#{1,4} |def |class |async def )", line)
    ]
    sentences = [
        line.strip()
        for line in lines
        if len(line.split()) >= 4 and not line.lstrip().startswith(("#", "def ", "class "))
    ]
    head = re.match(r".*?(\d[\d,]*) lines?\b", text.splitlines()[0]) if text.strip() else None
    size = f", {head[1]} lines" if head else ""
    parts = [f"{span(path)}{size}. I can only extract, not understand:"]
    if headings:
        parts.append("Headings:\n" + quoted("\n".join(headings), 15))
    if sentences:
        parts.append("First lines:\n" + quoted("\n".join(sentences[:4])))
    return "\n\n".join(parts)


def search_plan(runner: PlanRunner) -> Plan:
    """Search file contents."""
    term = search_term(runner.prompt)
    if not term:
        return PlanAnswer(
            'What shall I search for? Put it in quotes, for example: search for "TODO" in *.py'
        )
    runner.need("grep", f"to search for {span(term)}")
    glob = next((g for g in runner.prompt.globs if g != term), None) or _kind_glob(runner.prompt)
    inputs = {"include": glob} if glob else {}
    places = [path for path in (*runner.prompt.paths, *runner.prompt.folders) if path != term]
    folder = re.search(
        r"(?i)\b(?:search|grep|scan)\s+(?:the\s+)?([\w-]+)\s+(?:folder\s+|directory\s+)?for\b",
        runner.prompt.prose,
    )
    if not places and folder and folder[1].casefold() not in NO_TERMS | set(KINDS):
        places = [folder[1]]
    if places:
        inputs["path"] = places[0]
    thought, pattern = f"Rule: search. I look for {term!r} as it is written.", re.escape(term)
    result = yield runner.act(thought, "grep", pattern=pattern, **inputs)
    check(result)
    nothing = result.text.strip().startswith("No line")
    if nothing and term.lower() != term.upper():
        thought = "Nothing found, so I ignore upper and lower case."
        result = yield runner.act(thought, "grep", pattern=f"(?i){pattern}", **inputs)
        nothing = result.text.strip().startswith("No line") or result.failed
    if nothing:
        return PlanAnswer(
            f"I found {span(term)} nowhere{f' in {span(places[0])}' if places else ''}."
        )
    return PlanAnswer(
        f"Lines with {span(term)}:\n\n{quoted(result.text, 40)}", "The result lists the lines."
    )


def _kind_glob(prompt: ParsedPrompt) -> str | None:
    match = prompt.matches(
        r"\b(python|csv|notebook|markdown|json|text|toml|yaml|html|py|md|txt|ipynb)\s+(?:files?|scripts?|code)\b"
    )
    return f"*.{KINDS[match[1]]}" if match else None


NO_TERMS = FOLDER_WORDS | word_set(
    "for in of with containing that contain lines line word text through inside"
)
_TERM = (
    r"(?i)\b(?:search|grep|look|scan|hunt|looking|searching)\b.*?\bfor\s+(?:(?:the|all|any|every)\s+)?(?:(?:word|text|string|term|phrase|name|lines?|occurrences?)\s+)?(?:(?:with|of|containing)\s+)?(\S+)",
    r"(?i)\b(?:search|grep|look|scan|hunt|find)\b(?:\s+(?:through|in|all|the|every|my|project|files?|code|everywhere|lines?|occurrences?|mentions?|uses?|usages?|of|any))*\s+(?:for\s+)?(?:the\s+(?:word|text|string|term|phrase|name)\s+|the\s+|all\s+|lines?\s+(?:with|containing)\s+)?(\S+)",
    r"(?i)\bwhere\s+(?:is|are|do we|does|did)\s+(?:the\s+(?:function|class|variable|word|name)\s+)?(\S+?)\s*(?:used|defined|mentioned|called|imported|set|come|appear|occur|declared)?(?:\s|\?|$)",
    r"(?i)\b(?:contain|contains|containing|mention|mentions|mentioning|use|uses|using|include|includes|import|imports|has|have|with)\s+(?:the\s+(?:word|text|string|term)\s+)?(\S+)",
    r"(?i)\b(?:occurrences?|mentions?|uses?|usages?)\s+of\s+(?:the\s+(?:word|text|string|term)\s+)?(\S+)",
)


def search_term(prompt: ParsedPrompt) -> str | None:
    """Return what to search for: quoted, in backticks, or the word after *for*."""
    literal = [text for text in (*prompt.quotes, *prompt.ticks) if text not in prompt.paths]
    if literal:
        return literal[0]
    for pattern in _TERM:
        for match in re.finditer(pattern, prompt.prose):
            term = match[1].strip(".,;:?!\"'`")
            if term and term.casefold() not in NO_TERMS and term not in prompt.paths:
                return term
    return None


def check(result: ToolResult, *, failed: bool = False) -> None:
    """End the plan with the tool's message where a call failed."""
    if failed or result.failed:
        raise PlanEnded(f"That did not work: {result.text.strip()[:600]}")
