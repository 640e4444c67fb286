"""The table of harmless programs, for which an "always" also allows other arguments, with their options.

With the listed options, a program in this table neither writes a file nor runs another program,
whatever its other arguments are; for other programs an "always" allows the exact command only. Border:
reads the words of a plain command (``plain_shell``) and no files.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from palimpsest.tools.permission_rules.plain_shell import PlainCommand, ShellWord


@dataclass(frozen=True, slots=True)
class HarmlessOptions:
    """The harmless options of a program; with others, or abbreviated names, a command is not harmless."""

    any: bool = False
    """All options are harmless."""
    flags: str = ""
    """Option letters that take no value."""
    valued: str = ""
    """Option letters that take a value."""
    long: frozenset[str] = frozenset()
    """Long option names, with or without a value."""
    words: bool = True
    """The program may have arguments other than options."""


def _long(names: str) -> frozenset[str]:
    return frozenset(names.split())


ANY = HarmlessOptions(any=True)
_LIST_ONLY = HarmlessOptions(
    flags="avr", long=_long("all remotes verbose show-current"), words=False
)
_HISTORY = HarmlessOptions(
    flags="0123456789pswbMCiEFGPhm",
    valued="nUSGL",
    long=_long(
        "oneline stat shortstat numstat dirstat summary graph decorate no-decorate all branches tags remotes "
        "max-count skip since after until before author committer grep invert-grep all-match regexp-ignore-case "
        "name-only name-status format pretty no-merges merges reverse follow date relative-date abbrev abbrev-commit "
        "no-abbrev-commit first-parent patch no-patch unified word-diff color no-color cached staged quiet exit-code "
        "ignore-all-space ignore-space-change ignore-blank-lines minimal patience histogram find-renames find-copies "
        "diff-filter full-index no-ext-diff no-textconv topo-order date-order left-right cherry-pick"
    ),
)

PROGRAMS: Mapping[str, HarmlessOptions] = {
    **dict.fromkeys(
        ["basename", "cat", "cksum", "cmp", "comm", "cut", "df", "dirname", "du", "echo", "egrep", "expr", "false", "fgrep", "grep", "groups", "head", "id", "jq", "ls", "md5sum", "nl", "nproc", "pwd", "readlink", "realpath", "rev", "seq", "sha1sum", "sha256sum", "sha512sum", "sleep", "stat", "tac", "tail", "tr", "true", "uname", "wc", "which", "whoami"],
        ANY,
    ),
    "diff": HarmlessOptions(
        flags="abBcdeEiNpqrstuwyZ",
        valued="CUxWI",
        long=_long("brief unified context recursive ignore-case ignore-all-space exclude side-by-side color"),
    ),
    "sort": HarmlessOptions(
        flags="bdfgiMhnRrVcCmsuz",
        valued="kt",
        long=_long("reverse numeric-sort human-numeric-sort unique key field-separator ignore-case version-sort stable"),
    ),
    "rg": HarmlessOptions(
        flags="0123456789FHINPSUVaceilnopqsuvwx",
        valued="ABCMTdegmt",
        long=_long(
            "count files files-with-matches files-without-match fixed-strings glob iglob hidden ignore-case json "
            "line-number max-count max-depth multiline no-heading no-ignore no-line-number only-matching pcre2 regexp "
            "smart-case sort stats type type-not word-regexp context after-context before-context color column trim"
        ),
    ),
    "git blame": HarmlessOptions(flags="wCMelst", valued="L", long=_long("date porcelain show-email")),
    "git branch": _LIST_ONLY,
    "git describe": HarmlessOptions(long=_long("tags all always dirty long abbrev")),
    "git diff": _HISTORY,
    "git log": _HISTORY,
    "git ls-files": HarmlessOptions(flags="cdmosutz", long=_long("cached deleted modified others stage exclude-standard")),
    "git remote": _LIST_ONLY,
    "git rev-parse": HarmlessOptions(long=_long("abbrev-ref short show-toplevel show-prefix is-inside-work-tree verify quiet git-dir")),
    "git shortlog": HarmlessOptions(flags="nsec", long=_long("numbered summary email")),
    "git show": _HISTORY,
    "git status": HarmlessOptions(flags="sbvz", valued="u", long=_long("short branch porcelain long ignored untracked-files show-stash ahead-behind")),
    "pip freeze": HarmlessOptions(long=_long("local user all"), words=False),
    "pip list": HarmlessOptions(flags="o", long=_long("outdated local user format not-required"), words=False),
    "pip show": HarmlessOptions(flags="f", long=_long("files")),
}  # fmt: skip
"""Harmless options by program, or by program and subcommand.

Left out on purpose: ``uniq`` writes its second file, ``date`` sets the clock, ``printf`` and ``test``
evaluate expressions in brackets, ``ps`` shows the environment of this kernel, ``git grep`` opens a pager
of the caller's choice. Programs that ``git`` and ``rg`` run because of their configuration are not detected.
"""


def widened_pattern(command: PlainCommand) -> str | None:
    """Return the pattern for a harmless command with any arguments; None if it is not known as harmless."""
    name, words = _named(command)
    options = PROGRAMS.get(name)
    if options is None or not (options.any or all(_harmless(word, options) for word in words)):
        return None
    return f"{name} *"


def _named(command: PlainCommand) -> tuple[str, tuple[ShellWord, ...]]:
    two = " ".join(word.raw for word in command.words[:2])
    if two in PROGRAMS:
        return two, command.words[2:]
    return command.program, command.words[1:]


def _harmless(word: ShellWord, options: HarmlessOptions) -> bool:
    if word.loose:
        return False
    text = word.text
    if text == "--" or not text.startswith("-") or text == "-":
        return options.words or text == "--"
    if text.startswith("--"):
        return text[2:].partition("=")[0] in options.long
    return all(letter in options.flags for letter in _unvalued(text[1:], options.valued))


def _unvalued(letters: str, valued: str) -> Iterator[str]:
    """Yield the option letters before the first one that takes a value."""
    for letter in letters:
        if letter in valued:
            return
        yield letter
