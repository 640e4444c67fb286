"""Patches that follow the recipes of CONTRIBUTING.md as a contributor would, on a copy of the sources.

They quote the lines that they change, so a change of these lines is made here, too.
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "kernel_ext/palimpsest"


@dataclass(frozen=True)
class Change:
    """One change of a file: a replacement, or a whole new file."""

    path: str
    new: str
    old: str = ""


RULE = (
    Change(
        f"{PACKAGE}/transcript/context_values/prune_policy.py",
        'PruneRule = Literal["none", "opencode", "cache-ttl", "batch", "largest"]',
        'PruneRule = Literal["none", "opencode", "cache-ttl", "batch"]',
    ),
    Change(
        f"{PACKAGE}/transcript/context_values/prune_policy.py",
        '    protect_turns: int = 2\n    """Number of newest turns whose outputs stay."""\n'
        '    largest_tokens: int = 5_000\n    """``largest`` clears outputs of more tokens than this."""\n',
        '    protect_turns: int = 2\n    """Number of newest turns whose outputs stay."""\n',
    ),
    Change(
        f"{PACKAGE}/transcript/context_values/prune_policy.py",
        '        case "largest":\n'
        "            return f\"Larger than {number(numbers, 'largest_tokens')} tokens.\"\n"
        "        case _:\n            assert_never(rule)\n",
        "        case _:\n            assert_never(rule)\n",
    ),
    Change(
        f"{PACKAGE}/context/reduction/largest_pruning.py",
        '''"""Clear what is larger than a number of tokens."""

from palimpsest.context.reduction.request_outputs import OutputReduction, RequestOutputs, RuleAnswer
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.prune_policy import PrunePolicy


def prune_largest(outputs: RequestOutputs, rule: PrunePolicy, _facts: Facts) -> RuleAnswer:
    """Decide which outputs are too large."""
    numbers = {"text": rule.placeholder, "largest_tokens": rule.largest_tokens}
    made = (
        OutputReduction(output.part_id, "clear", numbers, rule.placeholder, output.tokens)
        for output in outputs.newest_first()
        if not output.is_kept_by_user and output.tokens > rule.largest_tokens
    )
    return RuleAnswer(tuple(made))
''',
    ),
    Change(
        f"{PACKAGE}/context/reduction/pruning.py",
        "from palimpsest.context.reduction.largest_pruning import prune_largest\n"
        "from palimpsest.context.reduction.message_outputs import MessageOutputs\n",
        "from palimpsest.context.reduction.message_outputs import MessageOutputs\n",
    ),
    Change(
        f"{PACKAGE}/context/reduction/pruning.py",
        '        case "largest":\n            return Pruner(prune_largest, "request", ("largest_tokens",))\n'
        "        case _:\n            assert_never(rule)\n",
        "        case _:\n            assert_never(rule)\n",
    ),
)

TOOL = (
    Change(
        f"{PACKAGE}/tools/workflow/count_words.py",
        '''"""Count the words of a text."""

from pydantic import BaseModel

from palimpsest.tools.tool import ToolContext, ToolOutcome


class CountArguments(BaseModel):
    """Input of the count_words tool."""

    text: str


class CountWordsTool:
    """Counts words."""

    name = "count_words"
    description = "Count the words of a text."
    arguments: type[BaseModel] = CountArguments
    concurrent = True
    permission = "count_words"

    async def run(self, arguments: CountArguments, context: ToolContext) -> ToolOutcome:
        """Ask where needed, and count."""
        await context.ask(self.permission, ["*"], title="Count words", always=["*"])
        number = len(arguments.text.split())
        return ToolOutcome(f"{number} words", str(number))
''',
    ),
    Change(
        f"{PACKAGE}/tools/registration/builtin_tools.py",
        "from palimpsest.tools.workflow.count_words import CountWordsTool\n"
        "from palimpsest.tools.files.write_tools import EditTool, WriteTool\n",
        "from palimpsest.tools.files.write_tools import EditTool, WriteTool\n",
    ),
    Change(
        f"{PACKAGE}/tools/registration/builtin_tools.py",
        '    BuiltinTool(CountWordsTool, "allow", changes_something=False),\n    BuiltinTool(WebFetchTool, "ask", changes_something=False, explores=True),\n',
        '    BuiltinTool(WebFetchTool, "ask", changes_something=False, explores=True),\n',
    ),
    Change(
        "docs/tools.md",
        "| `count_words` | counts the words of a text | never |\n| `python` | runs",
        "| `python` | runs",
    ),
    Change(
        "docs/tools.md",
        "| `count_words` | `text` | `count_words` | |\n| `python` | `code`",
        "| `python` | `code`",
    ),
)

PART = (
    Change(
        f"{PACKAGE}/transcript/parts.py",
        '''class LinkPart(PartBase):
    """A page that belongs to a message."""

    type: Literal["link"] = "link"
    title: str

    def words_for_model(self, role: Role) -> str:
        """Return what it is called."""
        return f"[Link: {self.title}]"


FormedPart =''',
        "FormedPart =",
    ),
    Change(
        f"{PACKAGE}/transcript/parts.py",
        "NotedPart = (\n    LinkPart\n    | StepStartPart\n",
        "NotedPart = (\n    StepStartPart\n",
    ),
    Change(
        f"{PACKAGE}/render/content/outline.py",
        "    FilePart,\n    LinkPart,\n    NotebookPart,\n",
        "    FilePart,\n    NotebookPart,\n",
    ),
    Change(
        f"{PACKAGE}/render/content/outline.py",
        '            case LinkPart():\n                return [NoticeItem("↗", self._line(part.title))]\n'
        "            case StepStartPart() | SnapshotPart():\n",
        "            case StepStartPart() | SnapshotPart():\n",
    ),
    Change(
        "labextension/src/views/parts/standaloneParts.tsx",
        "  link: { text: (part, words) => words.__('Link: %1', part.title) },\n  subtask: {\n",
        "  subtask: {\n",
    ),
    Change(
        "docs/fields.md",
        "### Link: `LinkPart`\n\n"
        "| OpenCode's field | ours | what it holds | shown by |\n|---|---|---|---|\n"
        "| none | `title` | what the page is called | `test_new_kinds.py::test_a_rule_a_tool_and_a_part_work_from_end_to_end` |\n\n"
        "### What went wrong\n",
        "### What went wrong\n",
    ),
)

POLICY = (
    Change(
        f"{PACKAGE}/context_policies/presets/masking.py",
        '''class ExampleMask(Preset):
    """The example agent's mask: results over ``longest`` characters become one word when they come."""

    preset = "example.mask"
    source = "Example 1.0, context.py: mask"
    initial_state = 0
    """How many results were looked at: none."""
    longest: int = 1_000
    """Characters up to which a result is shown whole."""

    def step(self, state: int, view: PolicyView) -> PolicyResult:
        new = view.outputs[state:]
        long = (item for item in new if view.chars(item) > self.longest)
        changes = placeholder_changes(view, long, "masked", "Masked.")
        longest = max((view.chars(item) for item in new), default=0)
        probe = Probe("characters of a result", longest, self.longest, "characters")
        return decided_with_reason(len(view.outputs), changes, probe, "results that it may mask")


class SweAgentLastN(Preset):
''',
        "class SweAgentLastN(Preset):\n",
    ),
)

IMPORTER = (
    Change(
        f"{PACKAGE}/recordings/formats/example_agent.py",
        '''"""Read sessions of the example agent: a header, then a message in the form of OpenAI's chat a line."""

from collections.abc import Iterator
from pathlib import Path

from palimpsest.recordings.message_formats.chat_stream import ChatStream
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.recorded import Recorded, SessionBegin
from palimpsest.recordings.reading.sources import json_lines
from palimpsest.transcript.strings.relative_paths import recorded_name


class ExampleAgentImporter:
    """Reads one session a file."""

    name = "example-agent"
    title = "Example agent"
    tried_on = "hand-made files"

    def recognises(self, head: Head) -> bool:
        """Return whether the first line is the agent's header."""
        return head.start.startswith(b'{"agent": "example"')

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session: the header, then each message."""
        stream = ChatStream()
        for place, line in json_lines(path, report):
            if place == 1:
                yield SessionBegin(
                    id=recorded_name(path.stem), format=self.name, model=line.text("model")
                )
            else:
                gaps, message = stream.read_message(line)
                yield from (*gaps, message)
''',
    ),
    Change(
        f"{PACKAGE}/recordings/formats/built_in.py",
        '    "formats.example_agent.ExampleAgentImporter",\n'
        '    "formats.openai_chat.OpenAIChatImporter",\n',
        '    "formats.openai_chat.OpenAIChatImporter",\n',
    ),
    Change(
        "docs/import-formats.md",
        "## Example agent\n\n- Tried on hand-made files. Nothing is guessed.\n\n## Gemini CLI\n",
        "## Gemini CLI\n",
    ),
    Change(
        "docs/import.md",
        "| Example agent, pi, SWE-agent, mini-swe-agent, OpenAI chat, Aider | none",
        "| pi, SWE-agent, mini-swe-agent, OpenAI chat, Aider | none",
    ),
)
RECORDED_BY_EXAMPLE = (
    {"agent": "example", "model": "openai/gpt-5"},
    {"role": "user", "content": "Read it."},
    {
        "role": "assistant",
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c", "content": "word " * 2_000},
    {"role": "assistant", "content": "It says word."},
)
"""A recording of the example agent, line by line."""

OPERATION = (
    Change(
        f"{PACKAGE}/frontends/operations/count_words.py",
        (ROOT / "tests/frontends/operations/count_words.py").read_text("utf-8"),
    ),
    Change(
        f"{PACKAGE}/frontends/operation_base/operation_modules.py",
        '    OperationModule("count_words", "count-words"),\n    OperationModule("storage", "storage"),\n',
        '    OperationModule("storage", "storage"),\n',
    ),
    Change(
        f"{PACKAGE}/public/session_object.py",
        '    def count_words(self, text: str = "") -> int:\n'
        '        """Count the words of a text, or all that were said."""\n'
        '        return int(self.run("count-words", text=text).words)\n\n'
        "    def undo_compaction(self)",
        "    def undo_compaction(self)",
    ),
    Change(
        "docs/routes.md",
        "| none |  | `count-words` | [session, text, unit] | `count_words` | `count` | |\n"
        "| none |  | `stop-import` |",
        "| none |  | `stop-import` |",
    ),
)
"""An operation with a button in the panel."""

BARE = {
    "A pruning rule": RULE[:1],
    "A type of part": PART[:2],
}
"""The changes that add only the name of the kind."""
WHOLE = {
    "A pruning rule": RULE,
    "A policy of the field": POLICY,
    "An importer": IMPORTER,
    "A tool": TOOL,
    "A type of part": PART,
    "An operation": OPERATION,
}
"""The changes that the recipes of CONTRIBUTING.md ask for, by the recipe's title."""


def files(changes: tuple[Change, ...]) -> list[str]:
    """Return the files that are written by hand, in their order."""
    return list(dict.fromkeys(change.path for change in changes))


STEP = re.compile(r"^\d+\. `([^`]+)`:", re.MULTILINE)
TOP_FOLDERS = (f"{PACKAGE}/", "labextension/src/")


def recipes() -> dict[str, list[str]]:
    """Return the files that each recipe of CONTRIBUTING.md lists, by its title."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("\n## Recipes\n")[1]
    sections = (section.split("\n", 1) for section in text.split("\n### ")[1:])
    return {title: STEP.findall(steps) for title, steps in sections}


def is_listed(path: str, step: str) -> bool:
    """Return whether a step of a recipe means a path; ``<format>`` in it is any name."""
    name = re.sub(r"<\w+>", r"\\w+", re.sub(r"([.+])", r"\\\1", step))
    short = next(
        (path.removeprefix(folder) for folder in TOP_FOLDERS if path.startswith(folder)), path
    )
    return re.fullmatch(name, short) is not None


def copied(target: Path) -> Path:
    """Copy the files that the type checkers and the tests of the recipes read."""
    unread = shutil.ignore_patterns("__pycache__", "static", "labextension", "*.pyc")
    shutil.copytree(ROOT / "kernel_ext", target / "kernel_ext", ignore=unread)
    for name in ("setup.cfg", "pyproject.toml"):
        shutil.copy(ROOT / name, target / name)
    (target / "docs").mkdir()
    for page in (ROOT / "docs").glob("*.md"):
        shutil.copy(page, target / "docs")
    (target / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "protocol.py", target / "scripts")
    page = target / "labextension"
    shutil.copytree(ROOT / "labextension" / "src", page / "src")
    shutil.copytree(ROOT / "labextension" / "scripts", page / "scripts")
    for name in ("package.json", "tsconfig.json"):
        shutil.copy(ROOT / "labextension" / name, page / name)
    (page / "node_modules").symlink_to(ROOT / "labextension" / "node_modules")
    return target


def write(changes: tuple[Change, ...], target: Path) -> None:
    """Apply changes to a copy."""
    for change in changes:
        path = target / change.path
        if not change.old:
            path.write_text(change.new, encoding="utf-8")
            continue
        text = path.read_text("utf-8")
        assert text.count(change.old) == 1, f"{change.path} holds {change.old!r} not once"
        path.write_text(text.replace(change.old, change.new), encoding="utf-8")
