"""Generate shell texts that try to read a key file or a file outside the project, by an allowed program.

The project has key files, links to them and out of it under odd names, and a file of names; each file that must
not be read without a question holds ``MARKER``.
"""

import random
from pathlib import Path

MARKER = "pebbles under the harbour"

PROGRAMS = (
    "cat", "cat", "head", "tail", "grep -h", "grep", "tac", "cut", "jq", "nl", "sort", "rev", "wc", "comm", "cmp", "du", "ls", "echo", "egrep", "md5sum",
    "stat", "git diff", "git log", "git status", "tr", "expr", "seq", "git ls-files", "readlink", "realpath", "which", "diff", "rg", "git show", "git blame",
)  # fmt: skip
OPTIONS = (
    "-n", "-5", "-c1-", "-f1-", "-d,", "-r", "-R", "-rn", "-f", "-fnames", "-Rnf", "-h", "-A 3", "-e", "-e .", "-m 5", "--", "-", "-v", "-la", "-s", "-u",
    "-p", "--stat", "--no-index", "--files0-from=names", "--files0=names", "--file=names", "--from-file", "--slurpfile x", "--rawfile x", "-L", "-b",
    "--recursive", "--include=*", "-d recurse", "--exclude-from=names", "-X", "-C 2", "--color", "-z", "-l", "-F", "-t", "-k1", "-o /dev/stdout", "-c",
)  # fmt: skip
WORDS = (
    ".", "''", "x", "peb", "-", "[a-z]", "'.'", "'[a-z]*'", "1", "notes.txt", "sub/notes.txt", "names", '"my notes.txt"', "HEAD", "HEAD:.env", "/dev/null",
    "'import \"secrets\" as $d; $d'", "'input'", "'.a'", "$x", "a=b",
)  # fmt: skip
TARGETS = (
    ".env", "secrets.json", "sub/.env.local", "key", "'we[i]rd'", "'$x'", "-link", "../outside/data.csv", "out/data.csv", "kernel-abcdefgh-1.json", "'odd name'",
)  # fmt: skip
STARTS = (
    "", "", "", "", "./", ".//", "sub/../", "$PWD/", "~+/", "~/", "$HOME/", "${PWD}/", "$OLDPWD/", "~-/", "*/../", "././././", "/proc/self/cwd/", "sub/moving/",
    "$X", "{here}/", "/{here}/", "/dev/fd/../cwd/", "here/", "here/here/", "$(pwd)/", "`pwd`/", "$PWD/sub/../",
)  # fmt: skip
PLAIN_STARTS = (
    "",
    "",
    "./",
    "sub/../",
    "here/",
    "{here}/",
    "here/sub/../../",
    ".//.//",
    "/proc/self/cwd/",
    "sub/moving/",
    "nothing/../",
)
MANGLED = (
    "%s", "%s", "%s", "'%s'", '"%s"', "%s*", "{%s,notes.txt}", "< %s", "<(cat %s)", "$'%s'", '$"%s"', "$(echo %s)", "@(%s)", "${Y:-%s}", "''%s", "%s''", "\\%s",
    "-f%s", "--file=%s", "--files0-from=%s", "$(<%s)", "<<<%s", "%s/.", "%s\\\n", "?%s", "*%s",
)  # fmt: skip
JOINS = ("; ", " && ", " || ", " | ", "\n", "|", ";")
BEFORE = (
    "",
    "",
    "",
    "",
    "",
    "cd sub; ",
    "cd ..; ",
    "cd here && ",
    "X=.env; ",
    "set -- .env; ",
    "echo a; ",
    "shopt -s dotglob; ",
    "true && ",
)
INSERTED = "'\"`$(){}<>;&|\\\n!~*?[]= ./-"


def make_project(root: Path) -> None:
    """Fill a folder with a project, and the folder beside it with a file of somebody else."""
    for name in (
        ".env",
        "secrets.json",
        "sub/.env.local",
        "kernel-abcdefgh-1.json",
        "../outside/data.csv",
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'"{MARKER}"\n')
    for name in ("notes.txt", "sub/notes.txt", "my notes.txt"):
        (root / name).write_text("{}\n")
    (root / "names").write_text(".env\0secrets.json\0")
    for name, target in {
        "key": ".env", "we[i]rd": ".env", "$x": "secrets.json", "-link": ".env", "odd name": "sub/.env.local", "out": "../outside", "here": ".", "sub/moving": "/proc/self/cwd",
    }.items():  # fmt: skip
        (root / name).symlink_to(target)


class ReadingGrammar:
    """Generates texts; a seed always gives the same ones."""

    def __init__(self, seed: int, root: Path) -> None:
        self._random = random.Random(seed)
        self._root = root

    def text(self) -> str:
        """Generate one text of a few commands, most of them with a path that asks."""
        pick = self._random
        made = pick.choice(BEFORE) + self._command()
        for _ in range(pick.choice((0, 0, 0, 1, 2))):
            made += pick.choice(JOINS) + self._command()
        for _ in range(pick.choice((0, 0, 0, 0, 1, 2))):
            made = self._mutated(made)
        return made

    def _command(self) -> str:
        pick = self._random
        if pick.random() < 0.4:
            # Plain words, as an "always" answers them: the paths alone decide.
            tame = [word for word in WORDS if "$" not in word]
            words = [pick.choice(PROGRAMS), pick.choice(("", "", "-n", "--", "-h", "-s", "--stat"))]
            words += [pick.choice(tame) for _ in range(pick.choice((0, 1, 1, 2)))]
            words += [pick.choice(PLAIN_STARTS) + pick.choice(TARGETS)] * pick.choice((0, 0, 1))
            return " ".join(words).replace("{here}", str(self._root))
        words = [pick.choice(PROGRAMS)]
        words += [pick.choice(OPTIONS) for _ in range(pick.choice((0, 0, 1, 2)))]
        words += [pick.choice(WORDS) for _ in range(pick.choice((0, 0, 1, 2)))]
        words += [self._target() for _ in range(pick.choice((0, 1, 1, 1, 2)))]
        if pick.random() < 0.1:
            pick.shuffle(words[1:])
        return " ".join(words)

    def _target(self) -> str:
        pick = self._random
        path = (pick.choice(STARTS) + pick.choice(TARGETS)).replace("{here}", str(self._root))
        if pick.random() < 0.2:
            at = pick.randrange(len(path))
            path = path[:at] + pick.choice(("?", "*", "[!x]", "''", "[a-z.]")) + path[at + 1 :]
        return pick.choice(MANGLED).replace("%s", path)

    def _mutated(self, text: str) -> str:
        pick = self._random
        at = pick.randrange(len(text) + 1)
        if pick.random() < 0.5:
            return text[:at] + text[at + 1 :]
        return text[:at] + pick.choice(INSERTED) + text[at:]
