"""Generate shell texts from a grammar, and run them with a real bash in a folder of marker programs.

Every program that a text can name is a marker: it writes a file with its name when it is run, and does
nothing else. Redirections name files in the same folder. So the effects of a text are the files that it
leaves behind.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

BASH = shutil.which("bash") or ""
MARKERS = ("m1", "m2", "m3", "rm", "cat")
SECONDS = 5.0
LIMITED = 'ulimit -t 2; ulimit -f 100; exec "$0" -c "$1"'
"""Runs a text with two seconds of a processor and files of 100 kB. Limits set by ``preexec_fn`` would fork the whole
process of the tests, which takes a hundred times as long as the text."""
KEPT = ("a", "b1")
"""Files that exist before a text is run."""

WORDS = (
    "a", "b", "b*", "?", "[ab]", "-n", "-e", "a=b", "a,b", "..", "~", "~+", "x~1", "@", "%s", "^", "!", "!!", "#", "a#b",
    "$X", "$HOME", "$?", "$$", "$!", "$1", "$@", "$", "$_", "$X[m1]", "''", '""', "'q r'", '"d $X"', "'it'\\''s'", '"a\\"b"',
    "'\"'", '"\'"', "\\;", "\\", "\\\\", "\\'", "\u00e9", "\u00e9\\", "\u00a0", "\u3000", "\u2028", "\u0085", "\r", "\x01", "\x0b",
    "\u0222\u5c5c", "\u65e5\u672c", "\ufeff", "\u200b", "$'a\\'b'", "$'\\x27'", "$'\\0'", '$"a"', "{a,b}", "{1..3}", "{}", "1", "2", "+x",
    "${X}", "${#X}", "${X:-a}", "${X@P}", "${!X}", "${X/a/b}", "$[1]", "$((1+1))", "$(( 1 ))",
)  # fmt: skip
PLAIN_WORDS = (
    "a",
    "b1",
    "-n",
    "-e",
    "a=b",
    "x~1",
    "'q r'",
    "'*'",
    '"d e"',
    "'$X'",
    "%s",
    "''",
    ".",
    "\u65e5\u672c",
)
RUNNING = (
    "$(%s)", "`%s`", '"$(%s)"', '"`%s`"', "<(%s)", ">(%s)", "${X:-$(%s)}", "${Y:=`%s`}", "$((%s))", "$((%s); m2)", "$((a); %s)",
    "$((1+$(%s)))", '"$((`%s`))"', "$[$(%s)]", "`echo \\`%s\\``", '"`echo \\`%s\\``"', "`echo \"`%s`\"`", "a[$(%s)]=1", "${ %s; }",
    "${|%s;}", "$(<%s)", "{a,$(%s)}", "'$(%s)'", "'`%s`'", "\"'$(%s)'\"", "\\$(%s)", "\\`%s\\`", "$'`%s`'", "$'\\'' %s '", "<<<$(%s)", "<<<'%s'",
)  # fmt: skip
JOINS = (
    "; ", ";", " && ", " || ", " | ", "|", "\n", " \n ", "&&", "; ; ", " & ", "&", "|&", ";;", ";&", ";;&", "\\\n", "\r\n", "\r",
    "\n\n", " # c\n", "\n#", " |\n", " &&\n", ";\n", "\u2028", "\v",
)  # fmt: skip
REDIRECTS = (
    "> o", ">o", ">> o", "2> o", "&> o", "&>> o", ">| o", "<> o", ">& o", "{fd}> o", "2>&1", ">&2", "1>&-", "> /dev/null", "2>/dev/null",
    "&>/dev/null", "< /dev/null", ">/dev/null/../o", "> '/dev/null'x", ">/dev/nullo", "3> o", "2>\\\no", "> \"o\"", "> $X", "> ~o", ">/dev/null&",
)  # fmt: skip
WRAPPED = (
    "if %s; then %s; fi", "for i in a; do %s; done", "while %s; do m1; break; done", "case a in a) %s;; esac", "case a in a) %s;& b) %s;; esac",
    "( %s )", "(%s)", "{ %s; }", "! %s", "time %s", "coproc %s", "coproc N { %s; }", "f() { %s; }; f", "echo() { %s; }; echo a",
    "function echo { %s; }\necho a", "alias echo=m1\n%s", "shopt -s expand_aliases\nalias echo=m1\necho a\n%s", "eval %s", "exec %s", "command %s",
    "builtin %s", "trap '%s' EXIT", "X='%s' echo a", "X=$(%s)", "X=$(%s) echo a", "declare X=$(%s)", "export 'X=%s'", "set -x; PS4='$(m1)'; %s",
    "[[ -n $(%s) ]]", "((X=$(%s)))", "let 'X=a[$(%s)]'", "test -v 'a[$(%s)]'", "printf -v 'a[$(%s)]' x", "printf 'a%%n' 'a[$(%s)]'", "select i in a; do %s; done",
    "until %s; do m1; break; done", "[ -v 'a[$(%s)]' ]", "read 'a[$(%s)]' <<<1", "mapfile -C m1 -c 1 <<<1; %s", "hash -p m1 echo; %s", "enable -n echo; %s",
    ". /dev/null; %s", "complete -C m1; %s", "echo a; }; %s", "echo a); (%s", "BASH_ALIASES[echo]=m1; %s", "shopt -s extglob\necho @(%s)", "true;function echo() m1\n%s",
)  # fmt: skip
DELIMITERS = (
    "E",
    "'E'",
    '"E"',
    "\\E",
    "E\\\nF",
    "$E",
    "$'E'",
    "E'F'",
    "`E`",
    '"E\n"',
    "{E}",
    "E\\",
    "EE",
    "''",
)
HEREDOC_LINES = (
    "%s", "$(%s)", "`%s`", "\\$(%s)", "E\\\n", "\\\nE", "\tE", "E ", " E", "'", '"', "a", "E\\\nF", "EF", "$((%s))", "E;%s", "\\\\", "\\", "E\\\n\n%s", "",
)  # fmt: skip
INSERTED = "'\"`$(){}<>;&|\\\n#!~*?[]=\t \r\u00a0\u00e9\x01-1aEm"


class ShellGrammar:
    """Generates texts; a seed always gives the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def text(self) -> str:
        """Generate one text: mostly echo commands, with some constructs that may run more."""
        kind = self._random.random()
        made = self._lines(0.03) if kind < 0.5 else self._lines(0.3)
        if kind > 0.8:
            made = self._wrapped(made)
        if self._random.random() < 0.15:
            made += self._heredoc()
        for _ in range(self._random.choice((0, 0, 1, 1, 2, 4))):
            made = self._mutated(made)
        return made

    def _lines(self, odd: float) -> str:
        made = self._command(odd)
        for _ in range(self._random.choice((0, 0, 1, 2, 3))):
            usual = self._random.random() > odd * 2
            made += self._random.choice(JOINS[:9] if usual else JOINS) + self._command(odd)
        return made

    def _command(self, odd: float) -> str:
        pick = self._random
        program = "echo" if pick.random() > odd / 2 else pick.choice((*MARKERS, "$X", "'echo'"))
        words = [program]
        for _ in range(pick.randrange(4)):
            tame = pick.random() > odd
            words.append(
                pick.choice(PLAIN_WORDS * 5 + WORDS[:32] if tame else WORDS)
                if pick.random() > odd
                else self._running()
            )
        if pick.random() < 0.1 + odd:
            words.append(pick.choice(REDIRECTS))
        return " ".join(words)

    def _running(self) -> str:
        form = self._random.choice(RUNNING)
        inner = self._random.choice(MARKERS)
        if self._random.random() < 0.3:
            inner = self._random.choice(
                (f"echo; {inner}", self._running(), f"{inner} '", f"{inner} # )")
            )
        return _filled(form, lambda: inner)

    def _wrapped(self, text: str) -> str:
        return _filled(
            self._random.choice(WRAPPED), lambda: self._random.choice((text, "m1", "echo a"))
        )

    def _heredoc(self) -> str:
        pick = self._random
        lines = [
            _filled(pick.choice(HEREDOC_LINES), lambda: pick.choice(MARKERS))
            for _ in range(pick.randrange(5))
        ]
        ending = pick.choice(("E", "EF", "EE", "", "E\nm1", "E\necho a", "\tE\nm2"))
        return (
            f" {pick.choice(('<<', '<<-', '<< ', '<<<'))}{pick.choice(DELIMITERS)}\n"
            + "\n".join([*lines, ending])
        )

    def _mutated(self, text: str) -> str:
        pick = self._random
        at = pick.randrange(len(text) + 1)
        match pick.randrange(4):
            case 0:
                return text[:at] + text[at + 1 :]
            case 1:
                return text[:at] + pick.choice(MARKERS) + text[at:]
            case 2:
                other = pick.randrange(len(text) + 1)
                return text[:at] + text[min(at, other) : max(at, other)] + text[at:]
            case _:
                return text[:at] + pick.choice(INSERTED) + text[at:]


def _filled(form: str, inner: Callable[[], str]) -> str:
    parts = form.replace("%%", "\0").split("%s")
    made = parts[0]
    for part in parts[1:]:
        made += inner() + part
    return made.replace("\0", "%")


class BashSandbox:
    """A folder with marker programs, in which bash runs texts."""

    def __init__(self, folder: Path) -> None:
        self._bin, self._marks, self._here = (folder / name for name in ("bin", "marks", "here"))
        for made in (self._bin, self._marks, self._here):
            made.mkdir(parents=True)
        for name in MARKERS:
            marker = self._bin / name
            marker.write_text(f"#!/bin/sh\n: > '{self._marks}/{name}'\n")
            marker.chmod(0o700)
        self._clear()

    def run(self, text: str, locale: str = "C.UTF-8") -> set[str]:
        """Run a text; return the markers that ran and the files that it wrote."""
        environment = {"PATH": str(self._bin), "HOME": str(self._here), "X": "a", "LC_ALL": locale}
        running = subprocess.Popen(
            [BASH, "-c", LIMITED, BASH, text], cwd=self._here, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        left = {f"ran {mark.name}" for mark in self._marks.iterdir()}
        left |= {f"wrote {path.name}" for path in self._here.iterdir() if path.name not in KEPT}
        if left:
            self._clear()
        return left

    def _clear(self) -> None:
        for folder in (self._marks, self._here):
            shutil.rmtree(folder)
            folder.mkdir()
        for name in KEPT:
            (self._here / name).touch()
