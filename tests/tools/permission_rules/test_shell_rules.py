"""A wildcard rule applies to plain shell texts only, and "always" generalises harmless programs only."""

import pytest

from palimpsest.tools.permission_rules.permissions import (
    Allowed,
    Denied,
    MustAsk,
    decide_call,
    from_config,
)
from palimpsest.tools.permission_rules.plain_shell import plain_commands
from palimpsest.tools.permission_rules.shell_rules import always_patterns
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.transcript.values import Rule


def allows(*patterns: str) -> tuple[Rule, ...]:
    return tuple(Rule(permission="bash", pattern=pattern, action="allow") for pattern in patterns)


def configured(**bash: str) -> tuple[Rule, ...]:
    return (*DEFAULT_RULES, *from_config({"bash": bash}, home="/home/ada"))


NOT_PLAIN = [
    "echo $(rm x)",
    "echo `rm x`",
    'echo "`rm x`"',
    "echo `echo \\`rm x\\``",
    'echo "`echo \\`rm x\\``"',
    "echo $((echo a); rm x)",
    "echo $((1))",
    "echo $((`rm x`))",
    "echo ${x:-`rm x`}",
    "echo ${x@P}",
    "echo $'a\\' ; rm x #'",
    'echo $"a"',
    "echo <<E\nE\\\nE\nrm x\nE",
    "echo <<E\nE\nrm x",
    "echo <<<$(rm x)",
    "echo <(rm x)",
    "echo a > notes",
    "echo a >> notes",
    "echo a >| notes",
    "echo a <> notes",
    "echo a >/dev/null/../x",
    "echo a < notes",
    "echo a & rm x",
    "echo a |& rm x",
    "A=1 echo a",
    "A+=1 echo a",
    "a[$(rm x)]=1 echo a",
    "echo () { rm x; }; echo",
    "function echo { rm x; }",
    "{ echo a; }",
    "(echo a)",
    "((echo))",
    "! echo a",
    "coproc echo a",
    "time echo a",
    "if echo a; then rm x; fi",
    "case a in a) rm x;; esac",
    "echo a ;; echo b",
    "echo a ;& echo b",
    "echo {a,b}",
    "echo a # b",
    "echo a\\\nb",
    'echo "a\\\nb"',
    "echo a\\;b",
    "echo a\rrm x",
    "echo a\x0brm x",
    "echo a\u00a0b",
    "echo a\u2028b",
    "echo 'a",
    'echo "a',
    "echo a &&",
    "echo a ; ; rm x",
    "| echo a",
    "&& echo a",
    '"echo" a',
    "ec'ho' a",
    "$X a",
    "*/echo a",
    "~/echo a",
    "echo \u00e9\\",
    'echo "\u00e9\\" ; rm x #"',
    "echo \udc80",
    "echo $X",
    'echo "$X"',
    "echo $HOME/x",
    "echo $?",
    "echo $$",
    "echo ~",
    "echo ~/x",
    "echo ~+/x",
    "echo ~-/x",
    "echo ~root/x",
    "echo a=~/x",
    "echo a:~/x",
    "echo *",
    "echo a?",
    "echo [ab]",
    "echo !!",
    "echo '' " + "a " * 200,
    "",
    "   ",
]
"""Texts whose commands cannot be determined by words and quotes alone."""


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_a_star_answers_for_no_text_that_is_not_plain(text: str) -> None:
    assert plain_commands(text) is None
    if text.strip() and text.isprintable():
        rules = configured(**{"*": "ask", "echo *": "allow", "echo*": "allow"})
        assert decide_call("bash", [text], rules, allows("echo *")) == MustAsk((text,))


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("echo a", ["echo a"]),
        ("  echo   'a; b' \"c | HOME\"  ", ["echo   'a; b' \"c | HOME\""]),
        ("echo a; echo b\n\necho c && echo d || echo e | cat\n", ["echo a", "echo b", "echo c", "echo d", "echo e", "cat"]),
        ("make 2>&1 | head -5", ["make 2>&1", "head -5"]),
        ("ls a.py '*' 2>/dev/null", ["ls a.py '*' 2>/dev/null"]),
        ("echo HEAD~1 '$HOME/x' 'a\nb' \"\\$X\"", ["echo HEAD~1 '$HOME/x' 'a\nb' \"\\$X\""]),
        ("ls \u6570\u636e/gr\u00f6\u00dfe.csv", ["ls \u6570\u636e/gr\u00f6\u00dfe.csv"]),
        ("echo a |\n  cat", ["echo a", "cat"]),
    ],
)  # fmt: skip
def test_words_and_quotes_joined_by_operators_are_plain(text: str, commands: list[str]) -> None:
    assert [command.text for command in plain_commands(text) or ()] == commands
    assert decide_call("bash", [text], configured(**{"echo *": "allow", "cat *": "allow", "make*": "allow", "head *": "allow", "ls *": "allow"})) == Allowed()  # fmt: skip


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        ("ls -la", ["ls *"]),
        ("grep -n 'a b' src/a.py | head -5", ["grep *", "head *"]),
        ("grep -rn 'a b' src | head -5", ["grep -rn 'a b' src | head -5"]),
        ("git log --oneline -5 && git status", ["git log *", "git status *"]),
        ("git status; make", ["git status; make"]),
        ("sort -rnk2,2 -t, a.csv", ["sort *"]),
        ("> notes.txt", ["> notes.txt"]),
        ("echo $(date)", ["echo $(date)"]),
        ("rm *.log", []),
        ("./run.sh a?", []),
    ],
)
def test_always_widens_what_is_harmless_and_else_means_the_text(
    text: str, patterns: list[str]
) -> None:
    assert always_patterns(text) == patterns


RUNS_OTHERS = """\
timeout 5 make|nice -n 5 make|command rm x|uv run a.py|npx tool|docker run -v /:/x image|git grep -Oless x
git grep x|git config core.pager sh|git push origin|git -c alias.x=!sh x|git --exec-path=/tmp log|git fetch --upload-pack=sh x
git log --output=x|git diff --ext-diff|git log --outp=x|sort -o x y|sort --output=x y|sort --compress-program=sh y|sort -nox y
tar xf a.tar|tar --to-command=sh -xf a|busybox sh|parallel sh|find . -delete|xargs rm|env sh|sed -i s/a/b/ x|sed -n 1p x
awk 1 x|perl -e 1|python -c 1|ssh host|make all|rg --pre sh x|rg --hostname-bin sh x|less x|man x|more x|uniq a b|tree -o x
date -s 0|printf -v x y|printf %n x|test -v x|hostname x|ps e|tee x|cp a b|mv a b|nohup x|setsid x|stdbuf -o0 x|strace x|watch x
flock x y|eval x|exec x|source x|. x|builtin x|enable -f x y|trap x EXIT|alias x=y|export A=b|set -x|hash -p x y|nc -e sh x
curl x|wget x|npm run build|pip install x|pip list --log x|pip --python x list|conda run x|jupyter run x|gdb -ex x|vim -c x|ed x
git branch new|git branch -D x|git remote add x y|git stash|git checkout x|diff --to-file x $X|sort $X|git log $X|git log -- *
git show|git show HEAD:a|git blame a|git log -p|git log -L1,5:a|git diff|git diff a b|git diff --no-index a b|git status -v|diff a b|rg x|grep -r x .
python3 -m x|node -e x|ruby -e x|bash -c x|sh x|zsh x|sudo x|doas x|su x|systemd-run x|unshare x|chroot x|script -c x|expect x
m4 x|bc x|dd of=x|install x y|ln -s x y|split x|csplit x y|mktemp|rsync -e sh x y|scp x y|openssl x|zip x y|unzip x|7z x|gzip x""".replace("\n", "|").split("|")  # fmt: skip


@pytest.mark.parametrize("text", RUNS_OTHERS)
def test_what_runs_programs_or_writes_is_allowed_as_it_stands_only(text: str) -> None:
    program = text.split()[0]

    assert always_patterns(text) == ([] if "*" in text else [text])
    # Broader approvals of earlier versions do not apply either.
    assert decide_call("bash", [text], DEFAULT_RULES, allows(f"{program} *")) == MustAsk((text,))
    assert decide_call("bash", [text], DEFAULT_RULES, allows("git *")) == MustAsk((text,))


def test_the_same_text_is_allowed_again() -> None:
    text = "cd x && A=1 make $(cat targets)"

    [exact] = always_patterns(text)

    assert decide_call("bash", [text], DEFAULT_RULES, allows(exact)) == Allowed()
    assert decide_call("bash", [text + "; rm y"], DEFAULT_RULES, allows(exact)) != Allowed()
    assert decide_call("bash", ["make $(cat targets)"], DEFAULT_RULES, allows(exact)) != Allowed()


def test_parts_that_were_allowed_do_not_add_up() -> None:
    approved = allows("cd data", "rm -rf build", "ls *")

    assert decide_call("bash", ["rm -rf build"], DEFAULT_RULES, approved) == Allowed()
    assert decide_call("bash", ["ls -la; ls"], DEFAULT_RULES, approved) == Allowed()
    assert decide_call("bash", ["cd data && rm -rf build"], DEFAULT_RULES, approved) != Allowed()


def test_everything_is_everything() -> None:
    text = "echo $(rm x) > y"

    assert decide_call("bash", [text], configured(**{"*": "allow"})) == Allowed()
    assert decide_call("bash", [text], DEFAULT_RULES, allows("*")) == Allowed()


def test_a_star_behind_everything_takes_nothing_away() -> None:
    rules = configured(**{"*": "allow", "git *": "allow", "rm *": "ask"})

    assert decide_call("bash", ["git log $(date)"], rules) == Allowed()
    assert decide_call("bash", ["git log $(rm x)"], rules) != Allowed()


@pytest.mark.parametrize(
    "text",
    [
        "git log; rm x",
        "git log $(rm x)",
        "git log `echo \\`rm x\\``",
        'git log "`echo \\`rm x\\``"',
        "git log $((echo a); rm x)",
        "git log $((`rm x`))",
        "git log $(( $(rm x) ))",
        'git log "$((rm x) )"',
        'git log "$((echo a); rm x)"',
        "cat <<E\nE\\\n\nrm x\nE",
        "cat <<EE\nE\\\nE\nrm x\nEE",
        'git log ${x:-`rm x`}',
        "echo a |& rm x",
        "f() { rm x; }; f",
        "function echo { rm x; }\necho a",
        "case a in a) rm x;; esac",
        "case a in a) echo a;& b) rm x;; esac",
        "coproc N { rm x; }",
        ">o rm x",
        "rm>o x",
        "rm`echo` x",
        "rm$EMPTY x",
        "echo `echo \"`echo; rm`\"`",
    ],
)  # fmt: skip
def test_a_deny_finds_the_command_wherever_it_stands(text: str) -> None:
    rules = configured(**{"*": "allow", "rm *": "deny"})

    assert isinstance(decide_call("bash", [text], rules, allows("*", text)), Denied)


def test_a_rule_about_code_means_all_of_it_or_one_text() -> None:
    rules = from_config({"python": {"print(*": "allow", "df.head()": "allow"}}, home="/home/ada")

    assert decide_call("python", ["print(1); import os"], rules) == MustAsk(
        ("print(1); import os",)
    )
    assert decide_call("python", ["df.head()"], rules) == Allowed()
    assert decide_call("python", ["anything"], from_config("allow", home="")) == Allowed()
