"""Patterns match what the recorded agent's patterns match."""

from tests.golden.data import load

from palimpsest.tools.permission_rules.wildcard import matches, most_specific, most_specific_command


def test_every_recorded_match_is_ours() -> None:
    cases = load("opencode", "wildcard")["match"]

    ours = [case | {"match": matches(case["input"], case["pattern"])} for case in cases]

    assert ours == cases


def test_of_many_patterns_the_most_specific_decides() -> None:
    cases = load("opencode", "wildcard")["all"]

    ours = [case | {"result": most_specific(case["input"], case["patterns"])} for case in cases]

    assert ours == cases


def test_of_many_command_patterns_the_most_specific_decides() -> None:
    cases = load("opencode", "wildcard")["allStructured"]

    ours = [
        case | {"result": most_specific_command(case["head"], case["tail"], case["patterns"])}
        for case in cases
    ]

    assert ours == cases
