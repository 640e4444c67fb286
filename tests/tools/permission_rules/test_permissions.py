"""Permission rules decide which calls run, which ask, and which are denied."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.session.permissions.asks import PendingAsk, apply_reply, permission_refusal
from palimpsest.tools.file_access.paths import is_key_file
from palimpsest.tools.permission_rules.modes import MODE_APPROVALS, mode_of
from palimpsest.tools.permission_rules.permissions import (
    Allowed,
    Denied,
    MustAsk,
    as_limits,
    decide_call,
    from_config,
    hidden_tools,
    last_matching_rule,
)
from palimpsest.tools.permission_rules.wildcard import literal_beginning, matches_pattern
from palimpsest.tools.registration.builtin_tools import (
    DEFAULT_RULES,
    DENY_RULES_BY_MODE,
    PLAN_MODE_RULES,
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
    assert decide_call(permission, [pattern], DEFAULT_RULES) == Allowed()


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
    assert decide_call(permission, [pattern], DEFAULT_RULES) == MustAsk((pattern,))


def test_an_example_of_a_secret_file_may_be_read() -> None:
    assert decide_call("read", [".env.example"], DEFAULT_RULES) == Allowed()
    assert not is_key_file("app/.env.example")
    assert is_key_file("app/.env")


def test_a_deny_is_not_lifted_by_an_earlier_always() -> None:
    approved = (Rule(permission="bash", pattern="git *", action="allow"),)

    verdict = decide_call("bash", ["git push"], rules({"bash": {"git push*": "deny"}}), approved)

    assert isinstance(verdict, Denied)
    assert "git push*" in verdict.message


def test_one_denied_pattern_denies_the_whole_call() -> None:
    verdict = decide_call("bash", ["ls", "rm x"], rules({"bash": {"*": "allow", "rm *": "deny"}}))

    assert isinstance(verdict, Denied)
    assert verdict.pattern == "rm x"


def test_only_what_nothing_allows_is_asked() -> None:
    verdict = decide_call("bash", ["ls", "make"], rules({"bash": {"ls": "allow"}}))

    assert verdict == MustAsk(("make",))


def test_who_may_not_edit_may_not_write() -> None:
    assert isinstance(decide_call("write", ["a"], rules({"edit": "deny"})), Denied)
    assert decide_call("write", ["a"], rules({"edit": "allow"})) == Allowed()
    assert hidden_tools({"write": "write"}, rules({"edit": "deny"})) == {"write"}


def test_a_rule_for_write_stands_on_its_own() -> None:
    assert isinstance(decide_call("write", ["a"], rules({"write": "deny"})), Denied)
    assert decide_call("edit", ["a"], rules({"write": "deny"})) == MustAsk(("a",))
    assert decide_call("write", ["a"], rules({"edit": "deny", "write": "allow"})) == Allowed()


def test_home_is_expanded_at_the_start_of_a_pattern_only() -> None:
    made = from_config({"external_directory": {"~/data/*": "allow", "x~": "deny"}}, home=HOME)

    assert [rule.pattern for rule in made] == ["/home/ada/data/*", "x~"]


@pytest.mark.parametrize("config", ["perhaps", {"bash": "maybe"}, {"bash": {"ls": 1}}, ["ask"]])
def test_a_wrong_configuration_gets_one_sentence(config: object) -> None:
    with pytest.raises(ConfigError, match="permission"):
        rules(config)


def test_plan_mode_hides_what_changes_something() -> None:
    names = ("bash", "edit", "glob", "python", "read", "write")
    hidden = hidden_tools({name: name for name in names}, (*DEFAULT_RULES, *PLAN_MODE_RULES))

    assert hidden == {"bash", "edit", "python", "write"}


def test_bypass_answers_everything_but_a_loop_and_a_limit() -> None:
    answers = MODE_APPROVALS["bypass"]

    assert decide_call("bash", ["rm -rf build"], DEFAULT_RULES, answers) == Allowed()
    assert decide_call("doom_loop", ["bash"], DEFAULT_RULES, answers) == MustAsk(("bash",))
    assert decide_call("budget", ["$2"], DEFAULT_RULES, answers) == MustAsk(("$2",))


@pytest.mark.parametrize("mode", ["accept-edits", "bypass"])
def test_no_mode_lifts_a_deny(mode: str) -> None:
    denying = rules({"edit": {"prod/*": "deny"}})

    verdict = decide_call("write", ["prod/a.py"], denying, MODE_APPROVALS[mode_of(mode)])

    assert isinstance(verdict, Denied)


def test_accepted_edits_are_those_of_files_alone() -> None:
    answers = MODE_APPROVALS["accept-edits"]

    assert decide_call("edit", ["src/a.py"], DEFAULT_RULES, answers) == Allowed()
    assert decide_call("write", ["src/a.py"], DEFAULT_RULES, answers) == Allowed()
    assert decide_call("bash", ["ls"], DEFAULT_RULES, answers) == MustAsk(("ls",))
    assert decide_call("external_directory", ["/etc/*"], DEFAULT_RULES, answers) == MustAsk(
        ("/etc/*",)
    )


@pytest.mark.parametrize(
    "path", ["config/.env", "palimpsest.toml", "a/.palimpsest/config.toml", "deploy/id_rsa"]
)
def test_files_of_keys_and_of_rules_are_not_edited_unasked(path: str) -> None:
    answers = MODE_APPROVALS["accept-edits"]

    assert decide_call("edit", [path], DEFAULT_RULES, answers) == MustAsk((path,))
    assert decide_call("write", [path], DEFAULT_RULES, answers) == MustAsk((path,))


def test_in_plan_mode_no_rule_lets_anything_be_changed() -> None:
    open_to_all = (*rules({"*": "allow"}), *DENY_RULES_BY_MODE["plan"])

    for name in ("python", "bash", "edit", "write"):
        assert isinstance(decide_call(name, ["x"], open_to_all), Denied)
    assert decide_call("read", ["x"], open_to_all) == Allowed()


def test_a_mode_is_named_in_many_spellings() -> None:
    assert mode_of("Accept Edits") == mode_of("accept_edits") == "accept-edits"


def test_an_unknown_mode_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="accept-edits"):
        mode_of("yolo")


def test_always_also_answers_what_it_now_allows() -> None:
    waiting = [
        PendingAsk(ask("a", "bash", "git status", always=("git *",)), "ses_1"),
        PendingAsk(ask("b", "bash", "git log"), "ses_1"),
        PendingAsk(ask("c", "bash", "make"), "ses_1"),
        PendingAsk(ask("d", "bash", "git log"), "ses_2"),
    ]

    settled = apply_reply(waiting, "a", Reply(answer="always"))

    assert [answered for answered, _ in settled.replies] == ["a", "b"]
    assert settled.approved_rules == (Rule(permission="bash", pattern="git *", action="allow"),)


def test_answering_twice_changes_nothing() -> None:
    settled = apply_reply([], "a", Reply(answer="always"))

    assert settled.replies == ()
    assert settled.approved_rules == ()


def test_a_rejection_with_words_does_not_end_the_turn() -> None:
    assert permission_refusal(Reply(answer="reject")).stops_turn
    assert not permission_refusal(Reply(answer="reject", by="headless")).stops_turn
    corrected = permission_refusal(Reply(answer="reject", feedback="use the other file"))
    assert not corrected.stops_turn
    assert "use the other file" in str(corrected)


@given(st.text("ab *?/\\\n", max_size=8), st.text("ab */\\\n", max_size=8))
def test_what_matches_begins_as_its_pattern_does(text: str, pattern: str) -> None:
    if matches_pattern(text, pattern):
        assert text.replace("\\", "/").startswith(literal_beginning(pattern))


@given(
    st.lists(st.sampled_from(["*", "a*", "a *", "?", "b"])),
    st.sampled_from(["a", "ab", "a b", "b"]),
)
def test_the_last_match_is_that_of_a_plain_search(patterns: list[str], text: str) -> None:
    found = tuple(Rule(permission="bash", pattern=p, action="allow") for p in patterns)
    plain = [rule for rule in found if matches_pattern(text, rule.pattern)]

    assert (
        last_matching_rule("bash", text, found)
        == (plain or [Rule(permission="bash", action="ask")])[-1]
    )


def lines(*said: str) -> tuple[Rule, ...]:
    """Read rules as ``permission pattern action``."""
    made = (line.rsplit(" ", 2) for line in said)
    return tuple(Rule(permission=p, pattern=q, action=a) for p, q, a in made)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "limits", "verdict"),
    [
        (("bash * deny",), ("bash * ask",), "Denied"),
        (("bash * allow",), ("bash * ask",), "MustAsk"),
        (("bash * ask",), ("bash * allow",), "MustAsk"),
        (("bash * ask",), ("bash * deny", "bash git* allow"), "MustAsk"),
        (("bash * allow",), ("bash git* deny",), "Denied"),
        ((), ("bash * allow",), "MustAsk"),
        ((), ("bash * deny",), "Denied"),
    ],
)
def test_a_limit_only_tightens_what_stands_before_it(
    before: tuple[str, ...], limits: tuple[str, ...], verdict: str
) -> None:
    said = (*lines(*before), *as_limits(lines(*limits)))

    assert type(decide_call("bash", ["git push"], said)).__name__ == verdict


def test_no_later_rule_lifts_a_limit() -> None:
    said = (*as_limits(lines("bash * deny")), *lines("bash * allow"))

    assert isinstance(decide_call("bash", ["ls"], said), Denied)


def test_nothing_answers_a_locked_question_beforehand() -> None:
    said = (*lines("python * allow"), *as_limits(lines("python * ask"), "lock"))
    answers = (*MODE_APPROVALS["bypass"], *lines("python * allow"))

    assert decide_call("python", ["1"], said, answers) == MustAsk(("1",), locked=True)
    assert decide_call("bash", ["ls"], said, answers) == Allowed()


@pytest.mark.parametrize(
    ("said", "hidden"),
    [
        ((*lines("bash * deny"), *as_limits(lines("bash * allow"))), True),
        ((*lines("bash * allow"), *as_limits(lines("* * deny", "bash * allow"))), False),
        ((*lines("bash * allow"), *as_limits(lines("* * deny"))), True),
    ],
)
def test_a_tool_is_hidden_where_rule_or_limit_denies_all_of_it(
    said: tuple[Rule, ...],
    hidden: bool,  # noqa: FBT001
) -> None:
    assert ("bash" in hidden_tools({"bash": "bash"}, said)) is hidden
