"""A shell command is taken apart into everything it would run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.tools.commands import always_pattern, paths_touched, simple_commands


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
        ("A=1 B=2 make", ("make",)),
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
    ("command", "pattern"),
    [
        ("git push origin", "git push *"),
        ("git --version", "git --version"),
        ("npm run build --fast", "npm run build *"),
        ("ls -la", "ls *"),
        ("ls", "ls"),
        ("rm -rf x", "rm -rf x"),
        ("python -c 'x'", "python -c 'x'"),
        ("sudo ls", "sudo ls"),
        ("./run.sh a", "./run.sh a"),
        ("echo x > y", "echo x > y"),
        ("echo $(date)", "echo $(date)"),
        ("> notes.txt", "> notes.txt"),
        ("rm *.log", None),
        ("./run.sh a?", None),
    ],
)
def test_always_is_not_wider_than_the_verb(command: str, pattern: str | None) -> None:
    assert always_pattern(command) == pattern


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
