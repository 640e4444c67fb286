"""What a walk of the project leaves out is what git ignores, whatever the rules are."""

import os
import random
import subprocess
from pathlib import Path

import pytest
from tests.sample_size import seeds

from palimpsest.tools.file_access.gitignore import GitignoreRules, walk_files
from palimpsest.tools.file_access.gitignore_patterns import GitignorePatterns, pattern_lines

PIECES = (
    b"* ** ? [ab] [!a] [^b] [a-c] []a] [a [[:alpha:]] [[:digit:]_] [[:bad:]] [[:punct:]] [\\a-c] [a-] [c-a] [[:] "
    b"[a[:x] [!/] \\ \\* \\a a b c ab a b / / / .py .txt \\\x20 # ! \xff \xc3\xa9 - **/ /** \t *.py keep"
).split(b" ")
WHOLE = (
    b"*|!*/|!*.py|!/keep/|/*|!/keep|keep/*|!keep/a.py|**|!**/|**/a|a/**|a/**/b|!a/b/|/a/|*/|!keep/**|/keep/**|*.txt|"
    b"a*b|#a|\\#a|\\!a|a |a\\ |a\\\\ |\r|a\r||/|//|!|ab**/c|a**|b\x0bc|!/"
).split(b"|")
NAMES = (
    b"a|b|c|ab|keep|a.py|b.txt|#a|!a|a |a\xc3\xa9|\xff|x.py|[a|a*b|1_|abc|\\a|-|a\\|]|b\x0bc|a\r"
).split(b"|")


def made_rule(choose: random.Random) -> bytes:
    if choose.random() < 0.45:
        return choose.choice(WHOLE)
    rule = b"".join(choose.choice(PIECES) for _ in range(choose.randint(1, 5)))
    before = b"!" if choose.random() < 0.3 else b""
    before += b"/" if choose.random() < 0.2 else b""
    return before + rule + (b"/" if choose.random() < 0.2 else b"")


def made_file(choose: random.Random) -> bytes:
    end = b"\r\n" if choose.random() < 0.15 else b"\n"
    text = end.join(made_rule(choose) for _ in range(choose.randint(1, 6)))
    text += end if choose.random() < 0.7 else b""
    return b"\xef\xbb\xbf" + text if choose.random() < 0.15 else text


def planted(root: Path, choose: random.Random) -> list[Path]:
    """Make a repository with odd names, three folders deep; returns its folders."""
    folders = [root]
    level = [root]
    for _ in range(3):
        level = [base / os.fsdecode(name) for base in level for name in choose.sample(NAMES, 4)]
        folders += level
    for folder in folders:
        folder.mkdir(exist_ok=True)
    for folder in folders:
        for name in choose.sample(NAMES, 7):
            place = folder / os.fsdecode(name)
            if not place.exists():
                place.touch()
    (root / "link").symlink_to("keep")
    git(root, "init", "-q")
    return folders


def git(root: Path, *words: str) -> bytes:
    home = {"HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    environment = {"PATH": os.environ["PATH"], **home}
    command = ["git", "-C", str(root), *words]
    return subprocess.run(command, capture_output=True, env=environment, check=True).stdout


def walked(root: Path) -> set[bytes]:
    return {os.fsencode(entry.path.relative_to(root)) for entry in walk_files(root, root)}


def shown_by_git(root: Path) -> set[bytes]:
    listed = git(root, "ls-files", "-z", "--others", "--exclude-standard")
    return set(listed.split(b"\0")) - {b""}


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(1, 40))
def test_a_walk_finds_what_git_lists_for_any_rules_in_any_folders(
    tmp_path: Path, seed: int
) -> None:
    choose = random.Random(seed)
    folders = planted(tmp_path, choose)
    for _ in range(60):
        placed = {tmp_path, *choose.sample(folders, choose.choice([0, 0, 1, 3]))}
        rules = {folder / ".gitignore": made_file(choose) for folder in sorted(placed)}
        for file, content in rules.items():
            file.write_bytes(content)

        found, wanted = walked(tmp_path), shown_by_git(tmp_path)

        assert found == wanted, rules
        for file in rules:
            file.unlink()


WHITELISTS = {
    "*\n!*/\n!*.py\n!.gitignore\n": [".gitignore", "a.py", "deep/er/b.py", "keep/c.py"],
    "*\n!/keep/\n!/keep/**\n": ["keep/c.py", "keep/d.csv"],
    "/*\n!/keep/\n": ["keep/c.py", "keep/d.csv"],
    "/*\n!/keep\n/keep/*\n!/keep/c.py\n": ["keep/c.py"],
    "\ufeff*\r\n!*/\r\n!*.csv\r\n": ["keep/d.csv"],
    "*.py\n!/deep/**/*.py\n": [".gitignore", "deep/er/b.py", "e.txt", "keep/d.csv"],
    "[c-a]\n[a\na\\\n*.py\n": [".gitignore", "e.txt", "keep/d.csv"],
    "keep/\n!keep/c.py\n": [".gitignore", "a.py", "deep/er/b.py", "e.txt"],
}  # fmt: skip


@pytest.mark.parametrize("rules", WHITELISTS)
def test_a_whitelist_shows_what_it_names(tmp_path: Path, rules: str) -> None:
    for name in ("a.py", "deep/er/b.py", "keep/c.py", "keep/d.csv", "e.txt"):
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    (tmp_path / ".gitignore").write_text(rules, encoding="utf-8", newline="")

    listed = [
        entry.path.relative_to(tmp_path).as_posix() for entry in walk_files(tmp_path, tmp_path)
    ]

    assert sorted(listed) == WHITELISTS[rules]


def test_a_file_beyond_the_limits_hides_nothing_since_its_last_lines_may_show_all(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.txt"
    for content in (
        "*\n" + "x" * 1_000_000,
        "*\n" + "\n".join(f"n{number}" for number in range(6_000)),
    ):
        (tmp_path / ".gitignore").write_text(content)

        assert not GitignoreRules(tmp_path).is_ignored(path, is_dir=False)


@pytest.mark.parametrize(
    "pattern", ["*a" * 40, "**/a" * 40, "*a*/" * 20 + "b", "[!b]*" * 40, "?*" * 40 + "/**/b"]
)
def test_no_pattern_takes_time_that_grows_without_end(pattern: str) -> None:
    """Regular expressions of the plain kind would try some 2 ** 40 ways here, so this test would not end."""
    rules = GitignorePatterns(pattern_lines(f"{pattern}b\n".encode()))

    assert rules.is_ignored(b"a/" * 60 + b"a" * 120, is_dir=False) is None
