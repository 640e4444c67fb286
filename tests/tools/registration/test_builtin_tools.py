"""A built-in tool is defined in one table row, from which everything else follows, also the docs."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from palimpsest.session.definitions.agent_files import PERMISSION_BY_TOOL_NAME
from palimpsest.tools.permission_rules.permissions import last_matching_rule, rules_of
from palimpsest.tools.registration.builtin_tools import (
    BUILTIN_TOOLS,
    DEFAULT_RULES,
    DENY_RULES_BY_MODE,
    BuiltinTool,
    is_reserved_name,
    rules_denying_changes,
)

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "tools.md").read_text("utf-8")
TOOLS = pytest.mark.parametrize("own", BUILTIN_TOOLS, ids=lambda own: own.name)


@TOOLS
def test_the_page_says_what_it_does_and_when_it_asks(own: BuiltinTool) -> None:
    rows = [line for line in PAGE.splitlines() if re.match(r"\| [^|]*`" + own.name + "`", line)]

    assert len(rows) == 2, "docs/tools.md has a table of tools, and one of their arguments."


@TOOLS
def test_its_rule_holds_where_nobody_said_otherwise(own: BuiltinTool) -> None:
    assert last_matching_rule(own.permission, "*", DEFAULT_RULES).action == own.action


@TOOLS
def test_its_name_is_its_own_and_an_agent_file_may_name_it(own: BuiltinTool) -> None:
    assert is_reserved_name(own.name)
    assert PERMISSION_BY_TOOL_NAME[own.name] == own.permission


@TOOLS
def test_plan_mode_denies_it_where_it_changes_something(own: BuiltinTool) -> None:
    rules = (*DEFAULT_RULES, *DENY_RULES_BY_MODE["plan"])

    assert (
        last_matching_rule(own.permission, "*", rules).action == "deny"
    ) == own.changes_something


def test_a_new_tool_that_changes_something_is_denied_by_its_row_alone() -> None:
    looks = BuiltinTool(
        SimpleNamespace(name="peek", permission="peek"), "allow", changes_something=False
    )
    paints = BuiltinTool(
        SimpleNamespace(name="paint", permission="paint"), "allow", changes_something=True
    )

    assert rules_denying_changes((looks, paints)) == rules_of("paint", "deny")


def test_what_runs_code_or_writes_files_changes_something() -> None:
    assert [own.name for own in BUILTIN_TOOLS if own.changes_something] == [
        "python",
        "cells",
        "bash",
        "edit",
        "write",
    ]
