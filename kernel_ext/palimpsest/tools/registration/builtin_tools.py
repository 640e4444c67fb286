"""The table of built-in tools and their default permission rules.

Border: one row per tool. All lists of built-in tools are derived from this table: the offered tools
(``tools/registration/registry.py``), the default rules, the tools that plan mode denies, the reserved names, and the
names for agent files (``session/definitions/agent_files.py``). Names are reserved because a user's or server's tool
called ``read`` would be allowed by the rule for reading, and a tool called ``external_directory`` by answers about
folders.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from palimpsest.tools.execution.bash import BashTool
from palimpsest.tools.execution.python import PythonTool
from palimpsest.tools.execution.variables import VariablesTool
from palimpsest.tools.files.listing import ListTool
from palimpsest.tools.files.read_tool import ReadTool
from palimpsest.tools.files.search import GlobTool, GrepTool
from palimpsest.tools.files.write_tools import EditTool, WriteTool
from palimpsest.tools.notebook.cells_tool import CellsTool
from palimpsest.tools.notebook.notebook_tool import NotebookTool
from palimpsest.tools.permission_rules.modes import Mode
from palimpsest.tools.permission_rules.permissions import Rules, rules_of
from palimpsest.tools.tool import Tool
from palimpsest.tools.web.webfetch import WebFetchTool
from palimpsest.tools.workflow.question import QuestionTool
from palimpsest.tools.workflow.recall import RecallTool
from palimpsest.tools.workflow.skill import SkillTool
from palimpsest.tools.workflow.task import TaskTool
from palimpsest.tools.workflow.todo import TodoWriteTool
from palimpsest.transcript.values import Action

OTHER_RESERVED_NAMES = (
    "list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource", "budget",
    "doom_loop", "external_directory", "private_network", "structuredoutput",
)  # fmt: skip
"""Reserved names other than those of built-in tools: permissions, and tools of other origin."""


@dataclass(frozen=True, slots=True)
class BuiltinTool:
    """A row of the table of built-in tools."""

    tool_class: Any
    """The class of the tool."""
    action: Action
    """The action of the default rule for its permission."""
    changes_something: bool
    """Whether the tool changes anything but the session, such as files or variables; plan mode denies its permission."""
    needs: Literal["nothing", "kernel", "application"] = "nothing"
    """``kernel``: only offered in a kernel, which has the user's variables; ``application``: created by the
    application, which knows the project."""
    explores: bool = False
    """Whether the agent ``explore`` may use it, within the rules for all agents."""

    @property
    def name(self) -> str:
        """The name by which the model calls the tool."""
        return str(self.tool_class.name)

    @property
    def permission(self) -> str:
        """The permission that the tool asks for."""
        return str(self.tool_class.permission)


BUILTIN_TOOLS = (
    BuiltinTool(PythonTool, "ask", changes_something=True, needs="kernel"),
    BuiltinTool(CellsTool, "ask", changes_something=True, needs="kernel"),
    BuiltinTool(BashTool, "ask", changes_something=True, explores=True),
    BuiltinTool(EditTool, "ask", changes_something=True),
    BuiltinTool(WriteTool, "ask", changes_something=True),
    BuiltinTool(ReadTool, "allow", changes_something=False, explores=True),
    BuiltinTool(ListTool, "allow", changes_something=False, explores=True),
    BuiltinTool(GlobTool, "allow", changes_something=False, explores=True),
    BuiltinTool(GrepTool, "allow", changes_something=False, explores=True),
    BuiltinTool(VariablesTool, "allow", changes_something=False, needs="kernel", explores=True),
    BuiltinTool(NotebookTool, "allow", changes_something=False, needs="kernel", explores=True),
    BuiltinTool(RecallTool, "allow", changes_something=False, explores=True),
    BuiltinTool(TodoWriteTool, "allow", changes_something=False),
    BuiltinTool(SkillTool, "allow", changes_something=False, needs="application"),
    BuiltinTool(TaskTool, "allow", changes_something=False, needs="application"),
    BuiltinTool(QuestionTool, "allow", changes_something=False),
    BuiltinTool(WebFetchTool, "ask", changes_something=False, explores=True),
)

RESERVED_NAMES = frozenset(OTHER_RESERVED_NAMES).union(
    *((tool.name, tool.permission) for tool in BUILTIN_TOOLS)
)

DEFAULT_RULES: Rules = (
    *(rule for tool in BUILTIN_TOOLS for rule in rules_of(tool.permission, tool.action)),
    *rules_of("private_network", "ask"),
    *rules_of("external_directory", "ask"),
    *rules_of("doom_loop", "ask"),
)
"""Default rules: reading inside the project is allowed; changes, and calls that match no rule, ask.

Files of ``tools/file_access/paths.py`` ask in any case.
"""

EXPLORE_AGENT_PERMISSIONS = tuple(tool.permission for tool in BUILTIN_TOOLS if tool.explores)


def rules_denying_changes(tools: Iterable[BuiltinTool]) -> Rules:
    """Return rules that deny those of the tools that change something."""
    return tuple(
        rule
        for tool in tools
        if tool.changes_something
        for rule in rules_of(tool.permission, "deny")
    )


PLAN_MODE_RULES = rules_denying_changes(BUILTIN_TOOLS)

DENY_RULES_BY_MODE: dict[Mode, Rules] = {
    "ask": (),
    "plan": PLAN_MODE_RULES,
    "accept-edits": (),
    "bypass": (),
}
"""The rules of each mode that come after all other rules, so that they win, also over rules in files."""


def builtin_tools(*, kernel: bool = True) -> tuple[Tool, ...]:
    """Create the built-in tools, except those of the application and, without a kernel, those that need one."""
    needs = ("nothing", "kernel") if kernel else ("nothing",)
    return tuple(tool.tool_class() for tool in BUILTIN_TOOLS if tool.needs in needs)


def is_reserved_name(name: str) -> bool:
    """Return whether a name equals a reserved name, ignoring case, Unicode variants, ``-`` and ``_``."""
    normalized = unicodedata.normalize("NFKC", name).casefold()
    return normalized.strip("_-").replace("-", "_") in RESERVED_NAMES
