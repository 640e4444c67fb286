"""Permission rules decide as in the recorded OpenCode.

The recordings contain the home folder as ``<HOME>``. Tools with a common permission are named as in
OpenCode.
"""

from typing import Any

from tests.golden.data import load

from palimpsest.tools.permission_rules.permissions import (
    from_config,
    hidden_tools,
    last_matching_rule,
    merge_rules,
)
from palimpsest.transcript.values import Rule

HOME = "<HOME>"
SHARED = {
    "edit": "edit",
    "write": "edit",
    "apply_patch": "edit",
    "list_mcp_resources": "read",
    "read_mcp_resource": "read",
}


def rules(config: Any) -> tuple[Rule, ...]:
    return from_config(config, home=HOME)


def plain(rule: Rule) -> dict[str, str]:
    return {"permission": rule.permission, "pattern": rule.pattern, "action": rule.action}


def test_a_configuration_becomes_the_recorded_rules() -> None:
    for case in load("opencode", "permission")["fromConfig"]:
        assert [plain(rule) for rule in rules(case["config"])] == case["rules"]


def test_the_last_matching_rule_decides() -> None:
    cases = load("opencode", "permission")["evaluate"]

    for case in cases:
        rule = last_matching_rule(case["permission"], case["pattern"], rules(case["config"]))
        assert plain(rule) == case["result"], case


def test_merged_rules_are_one_behind_the_other() -> None:
    for case in load("opencode", "permission")["evaluate_merged"]:
        merged = merge_rules(rules(case["first"]), rules(case["second"]))
        for command in ("ls", "rm"):
            assert (
                plain(last_matching_rule("bash", command, merged)) == case[f"result_{command}"]
            ), case


def test_tools_denied_as_a_whole_are_hidden() -> None:
    for case in load("opencode", "permission")["disabled"]:
        permissions = {tool: SHARED.get(tool, tool) for tool in case["tools"]}
        hidden = hidden_tools(permissions, rules(case["config"]))
        assert [tool for tool in case["tools"] if tool in hidden] == case["result"], case
