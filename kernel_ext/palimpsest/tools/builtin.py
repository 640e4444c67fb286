"""The tools that come with the package, and what each is allowed by default.

Border: one row a tool. What follows from being a tool of our own is derived from here: that it is
offered (``tools/registry.py``), the rule that holds where nobody said otherwise
(``tools/permissions.py``), that no other tool may take its name (``tools/reserved_names.py``), and
that agent files may name it (``session/agent_files.py``).
"""

from dataclasses import dataclass
from typing import Any, Literal

from palimpsest.tools.files import EditTool, WriteTool
from palimpsest.tools.listing import ListTool
from palimpsest.tools.python import PythonTool
from palimpsest.tools.question import QuestionTool
from palimpsest.tools.reading import ReadTool
from palimpsest.tools.recall import RecallTool
from palimpsest.tools.search import GlobTool, GrepTool
from palimpsest.tools.shell import BashTool
from palimpsest.tools.skill import SkillTool
from palimpsest.tools.task import TaskTool
from palimpsest.tools.todo import TodoWriteTool
from palimpsest.tools.tool import Tool
from palimpsest.tools.variables import VariablesTool
from palimpsest.tools.web import WebFetchTool
from palimpsest.transcript.values import Action


@dataclass(frozen=True, slots=True)
class Own:
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


OWN_TOOLS = (
    Own(PythonTool, "ask", needs="kernel"),
    Own(BashTool, "ask"),
    Own(EditTool, "ask"),
    Own(WriteTool, "ask"),
    Own(ReadTool, "allow"),
    Own(ListTool, "allow"),
    Own(GlobTool, "allow"),
    Own(GrepTool, "allow"),
    Own(VariablesTool, "allow", needs="kernel"),
    Own(RecallTool, "allow"),
    Own(TodoWriteTool, "allow"),
    Own(SkillTool, "allow", needs="application"),
    Own(TaskTool, "allow", needs="application"),
    Own(QuestionTool, "allow"),
    Own(WebFetchTool, "ask"),
)


def builtin_tools(*, kernel: bool = True) -> tuple[Tool, ...]:
    """Make the tools that come with the package; without a kernel, those that need none."""
    needs = ("nothing", "kernel") if kernel else ("nothing",)
    return tuple(one.tool() for one in OWN_TOOLS if one.needs in needs)
