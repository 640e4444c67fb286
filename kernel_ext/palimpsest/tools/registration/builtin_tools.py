"""The tools that come with the package, and what each is allowed by default.

Border: one row a tool. What follows from being a tool of our own is derived from here: that it is
offered (``tools/registration/registry.py``), the rule that holds where nobody said otherwise, that no other tool
may take its name, and that agent files may name it (``session/definitions/agent_files.py``). A tool of somebody
else's that was called ``read`` would be allowed as reading is, and one called ``external_directory``
would be answered by what was said about folders.
"""

import unicodedata
from dataclasses import dataclass
from typing import Any, Literal

from palimpsest.tools.execution.bash import BashTool
from palimpsest.tools.execution.python import PythonTool
from palimpsest.tools.execution.variables import VariablesTool
from palimpsest.tools.files.listing import ListTool
from palimpsest.tools.files.read_tool import ReadTool
from palimpsest.tools.files.search import GlobTool, GrepTool
from palimpsest.tools.files.write_tools import EditTool, WriteTool
from palimpsest.tools.permission_rules.permissions import Rules, rules_of
from palimpsest.tools.tool import Tool
from palimpsest.tools.web.webfetch import WebFetchTool
from palimpsest.tools.workflow.question import QuestionTool
from palimpsest.tools.workflow.recall import RecallTool
from palimpsest.tools.workflow.skill import SkillTool
from palimpsest.tools.workflow.task import TaskTool
from palimpsest.tools.workflow.todo import TodoWriteTool
from palimpsest.transcript.values import Action

OTHER_NAMES = (
    "list_mcp_resources",
    "list_mcp_resource_templates",
    "read_mcp_resource",
    "budget",
    "doom_loop",
    "external_directory",
    "private_network",
    "structuredoutput",
)
"""Names that are no tool's that comes with the package, but mean something of our own."""


@dataclass(frozen=True, slots=True)
class BuiltinTool:
    """A tool of our own."""

    tool: Any
    """Its class."""
    action: Action
    """What the rule about its permission says where nobody said otherwise."""
    needs: Literal["nothing", "kernel", "application"] = "nothing"
    """``kernel``: offered where the user's variables are; ``application``: made where the project is known."""

    @property
    def name(self) -> str:
        """What the model calls it."""
        return str(self.tool.name)

    @property
    def permission(self) -> str:
        """The permission that it asks for."""
        return str(self.tool.permission)


BUILTIN_TOOLS = (
    BuiltinTool(PythonTool, "ask", needs="kernel"),
    BuiltinTool(BashTool, "ask"),
    BuiltinTool(EditTool, "ask"),
    BuiltinTool(WriteTool, "ask"),
    BuiltinTool(ReadTool, "allow"),
    BuiltinTool(ListTool, "allow"),
    BuiltinTool(GlobTool, "allow"),
    BuiltinTool(GrepTool, "allow"),
    BuiltinTool(VariablesTool, "allow", needs="kernel"),
    BuiltinTool(RecallTool, "allow"),
    BuiltinTool(TodoWriteTool, "allow"),
    BuiltinTool(SkillTool, "allow", needs="application"),
    BuiltinTool(TaskTool, "allow", needs="application"),
    BuiltinTool(QuestionTool, "allow"),
    BuiltinTool(WebFetchTool, "ask"),
)

RESERVED_NAMES = frozenset(
    {*OTHER_NAMES, *(one.name for one in BUILTIN_TOOLS), *(one.permission for one in BUILTIN_TOOLS)}
)


DEFAULT_RULES: Rules = (
    *(rule for one in BUILTIN_TOOLS for rule in rules_of(one.permission, one.action)),
    *rules_of("private_network", "ask"),
    *rules_of("external_directory", "ask"),
    *rules_of("doom_loop", "ask"),
)
"""Reading inside the project is allowed, what changes something asks; what no rule names asks too.

Files of ``tools/file_access/protected_files.py`` ask whatever stands here.
"""


def builtin_tools(*, kernel: bool = True) -> tuple[Tool, ...]:
    """Make the tools that come with the package; without a kernel, those that need none."""
    needs = ("nothing", "kernel") if kernel else ("nothing",)
    return tuple(one.tool() for one in BUILTIN_TOOLS if one.needs in needs)


def is_reserved_name(name: str) -> bool:
    """Tell whether a name is, or reads like, one of the agent's own."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    return plain.strip("_-").replace("-", "_") in RESERVED_NAMES
