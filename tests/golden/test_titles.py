"""Default titles are recognised, and forks are named, as in the recorded OpenCode."""

from tests.golden.data import load

from palimpsest.session.runs.title_writer import default_title, fork_title, is_default


def test_every_recorded_title_is_known_for_a_default_or_not() -> None:
    cases = load("opencode", "titles")["isDefaultTitle"]

    ours = [is_default(case["title"]) for case in cases]

    assert ours == [case["result"] for case in cases]


def test_ours_are_the_recorded_ones() -> None:
    titles = {case["title"] for case in load("opencode", "titles")["isDefaultTitle"]}
    moment = 1_769_594_400_000

    assert {default_title(moment), default_title(moment, child=True)} <= titles
    assert fork_title(default_title(moment)) in titles
