"""Patches that add a pruning rule, a tool and a type of part as a contributor would.

They follow CONTRIBUTING.md ("How to add ...") on a copy of the sources.
"""

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
        '    protect_turns: int = 2\n    """The newest turns, whose outputs stay."""\n'
        '    largest_tokens: int = 5_000\n    """``largest`` clears outputs of more tokens than this."""\n',
        '    protect_turns: int = 2\n    """The newest turns, whose outputs stay."""\n',
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
        OutputReduction(one.part_id, "clear", numbers, rule.placeholder, one.tokens)
        for one in outputs.newest_first()
        if not one.kept and one.tokens > rule.largest_tokens
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
        '    BuiltinTool(CountWordsTool, "allow", changes=False),\n    BuiltinTool(WebFetchTool, "ask", changes=False),\n',
        '    BuiltinTool(WebFetchTool, "ask", changes=False),\n',
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
)

BARE = {
    "rule": RULE[:1],
    "part": PART[:2],
}
"""The changes that add only the name of the kind."""
WHOLE = {"rule": RULE, "tool": TOOL, "part": PART}


def files(changes: tuple[Change, ...]) -> set[str]:
    """Return the files that are written by hand."""
    return {one.path for one in changes}


def copied(target: Path) -> Path:
    """Copy the files that the type checkers read."""
    unread = shutil.ignore_patterns("__pycache__", "static", "labextension", "*.pyc")
    shutil.copytree(ROOT / "kernel_ext", target / "kernel_ext", ignore=unread)
    for name in ("setup.cfg", "pyproject.toml"):
        shutil.copy(ROOT / name, target / name)
    (target / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "tools.md", target / "docs" / "tools.md")
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
