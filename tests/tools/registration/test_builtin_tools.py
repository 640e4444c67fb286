"""A built-in tool is defined in one table row, from which everything else follows, also the docs."""

import re
from pathlib import Path

import pytest

from palimpsest.session.definitions.agent_files import PERMISSION_OF
from palimpsest.tools.permission_rules.permissions import evaluate
from palimpsest.tools.registration.builtin_tools import (
    BUILTIN_TOOLS,
    DEFAULT_RULES,
    BuiltinTool,
    is_reserved_name,
)

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "tools.md").read_text("utf-8")
TOOLS = pytest.mark.parametrize("own", BUILTIN_TOOLS, ids=lambda own: own.name)


@TOOLS
def test_the_page_says_what_it_does_and_when_it_asks(own: BuiltinTool) -> None:
    rows = [line for line in PAGE.splitlines() if re.match(r"\| [^|]*`" + own.name + "`", line)]

    assert len(rows) == 2, "docs/tools.md has a table of tools, and one of their arguments."


@TOOLS
def test_its_rule_holds_where_nobody_said_otherwise(own: BuiltinTool) -> None:
    assert evaluate(own.permission, "*", DEFAULT_RULES).action == own.action


@TOOLS
def test_its_name_is_its_own_and_an_agent_file_may_name_it(own: BuiltinTool) -> None:
    assert is_reserved_name(own.name)
    assert PERMISSION_OF[own.name] == own.permission
