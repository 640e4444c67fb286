"""An "always" for ``cat f`` and its like answers for no command that may read keys or leave the project."""

import re
import time
from pathlib import Path

import pytest
from tests.harness.tools import ToolHarness
from tests.sample_size import sample_size, thinned

from palimpsest.tools.permission_rules.harmless_programs import HARMLESS_PROGRAMS
from palimpsest.tools.permission_rules.shell_files import protected_files
from palimpsest.transcript.errors import PermissionDenied
from palimpsest.transcript.values import Reply, Rule


def commands(table: str) -> list[str]:
    """Return the entries of a table, which are divided by line ends and by bars without blanks beside them."""
    return [
        spelling.strip() for spelling in re.split(r"\n|(?<! )\|(?! )", table) if spelling.strip()
    ]


MORE_PROGRAMS = "rg diff git less more awk sed od xxd strings base64 file date tree uniq paste fold bat find git\\ show git\\ blame"
APPROVED = tuple(
    Rule(permission="bash", pattern=f"{program} *", action="allow")
    for program in (*HARMLESS_PROGRAMS, *MORE_PROGRAMS.replace("\\ ", "_").split())
)
"""As if every harmless program, and by an earlier version also others, were always allowed."""

READERS = ("cat", "head -n 5", "tail -5", "grep x", "tac", "cut -c1-", "jq -R .", "nl", "wc", "sort", "rev", "cmp notes.txt")  # fmt: skip
SPELLINGS = commands("""
    $PWD/.env|~+/.env|$PWD/../../home/.aws/credentials|$XDG_CONFIG_HOME/../.env|$JUPYTER_RUNTIME_DIR/kernel-*.json
    links/*/data.csv|{notes.txt,.env}|.e*v|?env|[.]env|~root/.env|~-/.env|$'.env'|$".env"|< .env|<(cat .env)|${PWD}/.env
    .env|./.env|.//././.env|sub/../.env|'.env'|.e"n"v|.ENV|.env~|key|'we[i]rd'|'$x'|"\\$x"|link/data.csv|../outside/data.csv
    links/out/data.csv|-- -link|{out}/data.csv|/proc/self/environ|/proc/self/cwd/.env|/proc/self/root/etc/hosts|/dev/fd/../environ
    '~/key'|"~key"|moving/notes.txt|sub/.env.local|credentials.json|//etc/hosts|/etc/../etc/hosts|.aws/config
""")  # fmt: skip
BY_NAME = [f"{reader} {spelling}" for reader in READERS for spelling in SPELLINGS]

BY_OPTION = commands("""
du --files0-from=.env|du --files0=list|wc --files0-from=list|wc --files0-from list|sort --files0-from=list|wc --fi=list|du -X .env
du --exclude-from=list|grep -f list notes.txt|grep -flist notes.txt|grep -nf list notes.txt|grep --file=list x|grep --fil=list x
grep -r KEY .|grep -R KEY .|grep -rn KEY|grep --recursive KEY .|grep -d recurse KEY .|grep --directories=recurse KEY|grep -nrH KEY sub
egrep -r KEY .|fgrep -r KEY .|rg KEY|rg -uuu KEY .|rg --files|rg -f list x|diff -r . sub|diff . sub|diff notes.txt sub/notes.txt
jq -f list -n|jq -nf list|jq --from-file list|jq --slurpfile a list .|jq --rawfile a list .|jq -L . .|jq -Rnf list|jq --argfile a list .
jq -n 'import "credentials" as $d; $d'|jq -n 'import "./credentials" as $d {search:"."}; $d'|jq 'include "x"; .' notes.txt
jq -n '"x" | modulemeta'|jq -n "imp""ort \\"credentials\\" as \\$d; \\$d"|cut -d , -f 1 -- -link|tail -F notes.txt|tail --follow=name notes.txt
md5sum -c list|sha256sum --check list|cksum -c list|sort -T sub notes.txt|sort -o x notes.txt|sort --random-source=.env notes.txt
git diff|git diff --no-index notes.txt sub|git diff notes.txt {out}/data.csv|git diff -U0|git diff HEAD|git diff --stat -p|git diff --cached
git log -p|git log --patch|git log -u|git log -L 1,5:.env|git log -S KEY|git log -G KEY|git log --cc|git log -c|git log -m -p|git log -U3
git show|git show HEAD:.env|git show HEAD:sub/../.env|git show :.env|git show --stat HEAD:.env|git blame .env|git blame --contents .env notes.txt
git blame HEAD -- .env|git status -v|git status -vv|git cat-file -p HEAD:.env|git grep KEY|git archive HEAD|git log --word-diff
git ls-files -X .env|git ls-files --exclude-from=.env|git log --show-signature|git diff --check|git diff --stat --color-words
cd .. && cat notes.txt|cd sub; cat .env.local|cd $HOME; cat .ssh/id_rsa|pushd ..; cat x|tree --fromfile list|file -f list|date -f .env
less notes.txt|more notes.txt|awk 1 notes.txt|sed -n p notes.txt|od -c notes.txt|xxd notes.txt|strings notes.txt|base64 notes.txt
cat notes.txt .env|cat notes.txt; cat .env|cat notes.txt && cat key|cat notes.txt | cat - .env|cat < notes.txt|cat notes.txt > copy
cat `echo .env`|cat $(echo .env)|F=.env; cat $F|set -- .env; cat $1|cat .en?|cat s*/.env*|cat @(.env)|cat !(notes.txt)|cat ${x:-.env}
cat $((0)).env|!cat|cat !$|cat .env.|cat .env/.|cat $'\\x2eenv'|cat "$(<.env)"|cat *|cat .*|cat ** | head|echo $(<.env)|echo `<.env`
""")  # fmt: skip

HARMLESS = commands("""
cat notes.txt|cat -n notes.txt sub/notes.txt|cat -- notes.txt|cat 'my notes.txt'|cat "my notes.txt" | head -5|head -n 3 notes.txt|head -20 notes.txt
tail -n +2 notes.txt|tail -5 notes.txt|tac notes.txt|rev notes.txt|nl -ba notes.txt|wc -l notes.txt|wc --lines notes.txt|sort -rnk2,2 -t, notes.txt
sort -u notes.txt | head|cut -d, -f1,3 notes.txt|cut -d ' ' -f 2 notes.txt|grep -n 'foo.*bar' notes.txt|grep -c x sub/notes.txt|grep -A3 -i x notes.txt
grep -E '^[a-z]+$' notes.txt|egrep -o 'a.b' notes.txt|fgrep -x a notes.txt|grep --color=never -e x -e y notes.txt|jq . data.json|jq -r .a.b data.json
jq '.[] | {a, b}' data.json|jq -c 'map(.x)' data.json|jq --arg n v '.a == $n' data.json|ls|ls -la|ls -R sub|ls -la .env|du -sh|du -sh sub|df -h|pwd
stat notes.txt|realpath notes.txt|readlink key|basename a/b.txt .txt|dirname a/b|echo hello|echo "a b" 'c $d' e=f|seq 1 5|tr a-z A-Z|uname -a|whoami
which python|id|sleep 0|true|md5sum notes.txt|sha256sum notes.txt|cmp -s notes.txt sub/notes.txt|comm -12 notes.txt sub/notes.txt|expr 1 + 1
git status|git status --short|git log --oneline -5|git log --stat -3|git log HEAD~2 -- notes.txt|git log --author=ada --since=yesterday|git diff --stat
git diff --name-only HEAD~1|git diff --cached --stat|git branch -a|git remote -v|git ls-files|git rev-parse HEAD|git describe --tags|git shortlog -sn HEAD
cat notes.txt 2>/dev/null | wc -l|cat notes.txt; echo a|cat notes.txt && ls sub || echo no|head -c 100 notes.txt|cat -A notes.txt
""")  # fmt: skip


@pytest.fixture
def folder(harness: ToolHarness) -> Path:
    root, out = harness.root, harness.root.parent / "outside"
    out.mkdir()
    (out / "data.csv").write_text("1")
    for name in (".env", ".env~", "sub/.env.local", "credentials.json", ".aws/config"):
        harness.write(name, "opensesame")
    for name in ("notes.txt", "my notes.txt", "sub/notes.txt", "data.json", "list"):
        harness.write(name, "{}")
    for name, target in {
        "key": ".env", "we[i]rd": ".env", "$x": ".env", "-link": ".env", "link": str(out), "links/out": str(out), "moving": "/proc/self/cwd", ".ENV": ".env", "~/key": ".env", "~key": ".env", ".env.": ".env",
    }.items():  # fmt: skip
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).symlink_to(target if "/" in target else root / target)
    harness.user.approved = APPROVED
    harness.user.reply = Reply(answer="reject")
    return root


async def asks(harness: ToolHarness, text: str) -> bool:
    """Return whether a command asks; one that asks is refused."""
    harness.user.asked.clear()
    try:
        await harness.call(
            "bash", command=text.replace("{out}", str(harness.root.parent / "outside"))
        )
    except PermissionDenied:
        return True
    return bool(harness.user.asked)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("reader", READERS)
async def test_a_program_that_reads_asks_for_every_way_to_name_a_file(
    harness: ToolHarness, reader: str
) -> None:
    unasked = [
        command
        for command in BY_NAME
        if command.startswith(f"{reader} ") and not await asks(harness, command)
    ]

    assert unasked == []


@pytest.mark.usefixtures("folder")
async def test_an_option_that_names_files_asks(harness: ToolHarness) -> None:
    assert [command for command in BY_OPTION if not await asks(harness, command)] == []


def test_there_are_more_commands_than_were_tried_when_it_was_found() -> None:
    assert len(set(BY_NAME)) + len(set(BY_OPTION)) > 138


@pytest.mark.usefixtures("folder")
@pytest.mark.slow
async def test_always_still_answers_for_plain_commands_in_the_project(harness: ToolHarness) -> None:
    asked = {}
    for text in HARMLESS[:: sample_size(8, 1)]:
        if await asks(harness, text):
            asked[text] = harness.user.asked[-1]

    assert asked == {}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "program",
    thinned(sorted(name for name in HARMLESS_PROGRAMS if HARMLESS_PROGRAMS[name].allows_words), 4),
)
async def test_no_harmless_program_is_answered_with_a_word_that_is_not_plain(
    harness: ToolHarness, program: str
) -> None:
    words = ("$PWD/.env", "~+/.env", "~/x", ".e*v", "?env", "[.]env", "{a,.env}", "< .env", "$'.env'", "<(cat .env)", "$x")  # fmt: skip

    assert [word for word in words if not await asks(harness, f"{program} {word}")] == []


@pytest.mark.parametrize(
    ("text", "sees"),
    [
        ("cat $PWD/.env", True),
        ("cat ${PWD}/.env", True),
        ("cat ~+/.env", True),
        ("cat " + "./" * 600 + ".env", True),
        ("grep -f.env x", True),
        ("du --files0-from=.env", True),
        ("cd sub && cd deep && cat .env.local", True),
        ("cat " + " ".join(f"a{n}" for n in range(9_000)) + " .env", True),
        ("cat */deep/.env*", True),
        ("cat [.]env", True),
        ("cat [^a]env", True),
        ("cat *", False),
    ],
)
def test_a_file_of_keys_is_seen_where_everything_is_allowed(
    harness: ToolHarness, text: str, *, sees: bool
) -> None:
    harness.write(".env", "x")
    harness.write("sub/deep/.env.local", "x")
    harness.write("notes.txt", "x")

    assert bool(protected_files(text, harness.root, harness.root)) is sees


@pytest.mark.parametrize(
    "text",
    thinned(
        [
            "cat " + " ".join(f"*/a{n}*" for n in range(100)),
            "cat " + " ".join(f"{n}*/*/*/*" for n in range(100)),
            "cat " + " ".join("*/" * n + "*" for n in range(100)),
            "cat " + " ".join(f"*{n}" for n in range(5_000)),
            "rm " + " ".join(f"?{n}*" for n in range(5_000)),
            "cat " + "*a" * 1_000 + "b",
            "cat " + " ".join(f"a{n}" for n in range(20_000)),
            "cd d1; cd d2; cd d3; cd d4; cd d5; cat " + " ".join(f"*/*{n}" for n in range(100)),
        ],
        6,
    ),
)
def test_many_patterns_take_a_bounded_time(harness: ToolHarness, text: str) -> None:
    for n in range(60):
        for name in range(40):
            harness.write(f"d{n}/file-{name}-" + "a" * 40, "x")
    began = time.thread_time()

    protected_files(text, harness.root, harness.root)

    assert time.thread_time() - began < 2.0


def test_what_is_too_much_to_look_at_asks_as_for_a_file_of_keys(harness: ToolHarness) -> None:
    text = "cat " + " ".join(f"*{n}" for n in range(5_000))

    assert protected_files(text, harness.root, harness.root) == [("read", ".env")]
