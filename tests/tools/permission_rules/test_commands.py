"""A shell command is split into all commands that it would run."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sample_size import sample_size

from palimpsest.tools.permission_rules.shell_commands import paths_touched, simple_commands
from palimpsest.transcript.errors import UserError


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls -la", ("ls -la",)),
        ("a && b || c; d | e & f", ("a", "b", "c", "d", "e", "f")),
        ("echo 'a; b' \"c | d\"", ("echo 'a; b' \"c | d\"",)),
        ("echo $(rm x)", ("rm x", "echo $(rm x)")),
        ('echo "$(rm x; ls)"', ("rm x", "ls", 'echo "$(rm x; ls)"')),
        ("echo `rm x`", ("rm x", "echo `rm x`")),
        ("echo '$(rm x)'", ("echo '$(rm x)'",)),
        ("(cd x; rm y)", ("cd x", "rm y", "(cd x; rm y)")),
        ("diff <(ls a) <(ls b)", ("ls a", "ls b", "diff <(ls a) <(ls b)")),
        ("make 2>&1 | tee log", ("make 2>&1", "tee log")),
        ("make &> log", ("make &> log", "> log")),
        ("echo x >> a; make 2>/dev/null", ("echo x >> a", "> a", "make 2>/dev/null")),
        ("awk '$1 > 3' f", ("awk '$1 > 3' f",)),
        ("A=1 B=2 make", ("A=1", "B=2", "make")),
        ("A='b c' make", ("A='b c'", "make")),
        ("if true; then rm x; fi", ("true", "rm x")),
        ("for i in *; do rm $i; done", ("i in *", "rm $i")),
        ("echo a\\; b", ("echo a\\; b",)),
        ("one\ntwo", ("one", "two")),
        ("# note\nls", ("ls",)),
    ],
)
def test_every_command_is_named(command: str, expected: tuple[str, ...]) -> None:
    assert simple_commands(command) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cp a ../b", ("a", "../b")),
        ("echo x > /tmp/y", ("/tmp/y",)),
        ("make >log 2>&1", ("log",)),
        ("make > /dev/null", ()),
        ("cat < in.txt", ("in.txt",)),
        ("ls /etc", ()),
        ("cd 'my folder' && rm -rf x", ("my folder", "x")),
    ],
)
def test_places_it_would_change_are_named(command: str, expected: tuple[str, ...]) -> None:
    assert paths_touched(command) == expected


@given(st.text(alphabet="ab ;|&'\"`$()<>\\\n#", max_size=40))
def test_any_text_is_taken_apart(command: str) -> None:
    assert simple_commands(command)
    assert all(isinstance(path, str) for path in paths_touched(command))


@pytest.mark.parametrize(
    ("command", "hidden"),
    [
        ("git log $'\\'' ; rm x # '", "rm x"),
        ("git log $'a\\' ; rm x #'", "rm x"),
        ("git log # '\nrm x #'", "rm x"),
        ("git log \\ # ; rm x", "rm x"),
        ("git log ${x:- # } ; rm x", "rm x"),
        ("git log ${ rm x; }", "rm x"),
        ("git log <<E\n'\nE\nrm x #'", "rm x"),
        ("git log <<-'E'\n\t\"\n\tE\nrm x #\"", "rm x"),
        ("git log <<E\n$(rm x)\nE", "rm x"),
        ("git log <<$'E'\n'\nE\nrm x", "rm x"),
        ("git log $(cat <<E\n)'\nE\nrm x #')", "rm x"),
        ("git log <<<'a' ; rm x", "rm x"),
        ("git log >& notes", "> notes"),
        ("git log <> notes", "> notes"),
        ("git log 'a\"' > notes '\"'", "> notes"),
        ("git log >'a<b'", "> a<b"),
        ("git log > /dev/fd/../../tmp/x", "> /dev/fd/../../tmp/x"),
        ("GIT_PAGER=/tmp/x git -p log", "GIT_PAGER=/tmp/x"),
        ("\\rm x", "rm x"),
        ('"rm" x', "rm x"),
    ],
)
def test_nothing_hides_behind_a_harmless_beginning(command: str, hidden: str) -> None:
    assert hidden in simple_commands(command)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat > f <<'EOF'\nit's; $(x)\nEOF\necho b", ("cat > f <<'EOF'", "> f", "echo b")),
        ("echo ${#x} a#b # c; d", ("echo ${#x} a#b",)),
        ("make >&2 2>&-", ("make >&2 2>&-",)),
        ("make 2>/dev/null >/dev/fd/3", ("make 2>/dev/null >/dev/fd/3",)),
    ],
)
def test_what_is_no_command_is_not_asked_about(command: str, expected: tuple[str, ...]) -> None:
    assert simple_commands(command) == expected


# Python's recursion ends at five hundred levels.
@pytest.mark.parametrize(
    "command",
    [
        "echo " + "$(" * sample_size(2_000, 20_000),
        "echo " + "$(<<E " * sample_size(1_000, 5_000),
    ],
    ids=["substitutions", "heredocs"],
)
def test_a_command_nested_without_end_is_refused_in_words(command: str) -> None:
    with pytest.raises(UserError, match="nested too deeply"):
        simple_commands(command)


@pytest.mark.parametrize(
    "word", ["$'", "<<E\n", "> a ", "a=1 ", "'", "${ ", "`a", "(", "# '\n", "<<E\na\\\nb\n", "`\\`"]
)
def test_a_long_command_takes_no_long_time(word: str) -> None:
    began = time.thread_time()

    with contextlib.suppress(UserError):
        simple_commands(word * 3_000)

    assert time.thread_time() - began < 2.0
