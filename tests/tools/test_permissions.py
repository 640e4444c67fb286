"""Permission rules say what runs, what is asked, and what never runs."""

import pytest

from palimpsest.tools.permissions import (
    DEFAULT_RULES,
    MODES,
    Allowed,
    Denied,
    MustAsk,
    PendingAsk,
    decide,
    disabled,
    from_config,
    is_secret_file,
    mode_rules,
    refusal,
    settle,
)
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.values import Ask, Reply, Rule

HOME = "/home/ada"


def rules(config: object) -> tuple[Rule, ...]:
    return (*DEFAULT_RULES, *from_config(config, home=HOME))  # type: ignore[arg-type]


def ask(id: str, permission: str, *patterns: str, always: tuple[str, ...] = ()) -> Ask:
    return Ask(id=id, permission=permission, patterns=patterns, always=always, title="", input={})


@pytest.mark.parametrize(
    ("permission", "pattern"),
    [("read", "src/a.py"), ("list", "."), ("glob", "**/*.py"), ("grep", "x"), ("variables", "*")],
)
def test_looking_at_the_project_is_allowed(permission: str, pattern: str) -> None:
    assert decide(permission, [pattern], DEFAULT_RULES) == Allowed()


@pytest.mark.parametrize(
    ("permission", "pattern"),
    [
        ("python", "1 + 1"),
        ("bash", "ls"),
        ("write", "a.py"),
        ("edit", "a.py"),
        ("external_directory", "/etc/*"),
        ("doom_loop", "read"),
        ("read", "config/.env"),
        ("read", ".env.local"),
        ("some_unknown_tool", "x"),
    ],
)
def test_what_changes_something_or_is_unknown_asks(permission: str, pattern: str) -> None:
    assert decide(permission, [pattern], DEFAULT_RULES) == MustAsk((pattern,))


def test_an_example_of_a_secret_file_may_be_read() -> None:
    assert decide("read", [".env.example"], DEFAULT_RULES) == Allowed()
    assert not is_secret_file("app/.env.example")
    assert is_secret_file("app/.env")


def test_a_deny_is_not_lifted_by_an_earlier_always() -> None:
    approved = (Rule(permission="bash", pattern="git *", action="allow"),)

    verdict = decide("bash", ["git push"], rules({"bash": {"git push*": "deny"}}), approved)

    assert isinstance(verdict, Denied)
    assert "git push*" in verdict.message


def test_one_denied_pattern_denies_the_whole_call() -> None:
    verdict = decide("bash", ["ls", "rm x"], rules({"bash": {"*": "allow", "rm *": "deny"}}))

    assert isinstance(verdict, Denied)
    assert verdict.pattern == "rm x"


def test_only_what_nothing_allows_is_asked() -> None:
    verdict = decide("bash", ["ls", "make"], rules({"bash": {"ls": "allow"}}))

    assert verdict == MustAsk(("make",))


def test_who_may_not_edit_may_not_write() -> None:
    assert isinstance(decide("write", ["a"], rules({"edit": "deny"})), Denied)
    assert decide("write", ["a"], rules({"edit": "allow"})) == Allowed()
    assert disabled({"write": "write"}, rules({"edit": "deny"})) == {"write"}


def test_a_rule_for_write_stands_on_its_own() -> None:
    assert isinstance(decide("write", ["a"], rules({"write": "deny"})), Denied)
    assert decide("edit", ["a"], rules({"write": "deny"})) == MustAsk(("a",))
    assert decide("write", ["a"], rules({"edit": "deny", "write": "allow"})) == Allowed()


def test_home_is_expanded_at_the_start_of_a_pattern_only() -> None:
    made = from_config({"external_directory": {"~/data/*": "allow", "x~": "deny"}}, home=HOME)

    assert [rule.pattern for rule in made] == ["/home/ada/data/*", "x~"]


@pytest.mark.parametrize("config", ["perhaps", {"bash": "maybe"}, {"bash": {"ls": 1}}, ["ask"]])
def test_a_wrong_configuration_gets_one_sentence(config: object) -> None:
    with pytest.raises(ConfigError, match="permission"):
        rules(config)


def test_plan_mode_hides_what_changes_something() -> None:
    names = ("bash", "edit", "glob", "python", "read", "write")
    hidden = disabled({name: name for name in names}, (*DEFAULT_RULES, *MODES["plan"]))

    assert hidden == {"bash", "edit", "python", "write"}


def test_bypass_still_asks_about_a_loop() -> None:
    loose = (*DEFAULT_RULES, *MODES["bypass"])

    assert decide("bash", ["rm -rf build"], loose) == Allowed()
    assert decide("doom_loop", ["bash"], loose) == MustAsk(("bash",))


def test_an_unknown_mode_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="accept-edits"):
        mode_rules("yolo")


def test_always_also_answers_what_it_now_allows() -> None:
    waiting = [
        PendingAsk(ask("a", "bash", "git status", always=("git *",)), "ses_1"),
        PendingAsk(ask("b", "bash", "git log"), "ses_1"),
        PendingAsk(ask("c", "bash", "make"), "ses_1"),
        PendingAsk(ask("d", "bash", "git log"), "ses_2"),
    ]

    settled = settle(waiting, "a", Reply(answer="always"))

    assert [answered for answered, _ in settled.replies] == ["a", "b"]
    assert settled.approved == (Rule(permission="bash", pattern="git *", action="allow"),)


def test_answering_twice_changes_nothing() -> None:
    settled = settle([], "a", Reply(answer="always"))

    assert settled.replies == ()
    assert settled.approved == ()


def test_a_rejection_with_words_does_not_end_the_turn() -> None:
    assert refusal(Reply(answer="reject")).stops
    assert not refusal(Reply(answer="reject", by="headless")).stops
    corrected = refusal(Reply(answer="reject", feedback="use the other file"))
    assert not corrected.stops
    assert "use the other file" in str(corrected)
