"""The table of harmless programs and options, which the answer "always" allows with any arguments.

With the listed options, a program in this table writes no file and runs no other program, and it
prints only the content of files that its words name, whose paths are checked separately
(``shell_files``). For other programs and options an "always" allows the exact command only. Border: reads
the words of a plain command (``plain_shell``) and no files.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile

from palimpsest.tools.permission_rules.plain_shell import PlainCommand


@dataclass(frozen=True, slots=True)
class HarmlessOptions:
    """The harmless options of a program; with others, or abbreviated names, a command is not harmless."""

    allows_all: bool = False
    """Whether all options are harmless."""
    flags: str = ""
    """Option letters that take no value."""
    letters_with_value: str = ""
    """Option letters that take a value which is not the name of a file."""
    long_options: frozenset[str] = frozenset()
    """Long option names, with or without a value which is not the name of a file."""
    allows_words: bool = True
    """Whether the program may have arguments other than options."""
    required_options: frozenset[str] = frozenset()
    """Long option names of which one is required."""
    harmful_characters: "re.Pattern[str] | None" = None
    """Characters that no word may contain."""


def _long_options(names: str) -> frozenset[str]:
    return frozenset(names.split())


ALL_OPTIONS = HarmlessOptions(allows_all=True)
_HEAD_AND_TAIL_OPTIONS = HarmlessOptions(
    flags="qvz0123456789",
    letters_with_value="cn",
    long_options=_long_options("bytes lines quiet silent verbose"),
)
_CHECKSUM_OPTIONS = HarmlessOptions(flags="btz", long_options=_long_options("binary text tag zero"))
_GREP_OPTIONS = HarmlessOptions(
    flags="abcEFGHhiLlnoPqsTUvwxyZz0123456789",
    letters_with_value="ABCem",
    long_options=_long_options(
        "after-context basic-regexp before-context binary byte-offset color colour context count extended-regexp "
        "files-with-matches files-without-match fixed-strings ignore-case initial-tab invert-match line-buffered "
        "line-number line-regexp max-count no-filename no-ignore-case no-messages null null-data only-matching "
        "perl-regexp quiet regexp silent text with-filename word-regexp"
    ),
)
_GIT_LIST_OPTIONS = HarmlessOptions(
    flags="avr", long_options=_long_options("all remotes verbose show-current"), allows_words=False
)
_GIT_SUMMARY_OPTIONS = _long_options(
    "stat shortstat numstat dirstat summary name-only name-status quiet"
)
_GIT_LOG_OPTIONS = HarmlessOptions(
    flags="0123456789swbMCiEF",
    letters_with_value="n",
    long_options=_GIT_SUMMARY_OPTIONS
    | _long_options(
        "oneline graph decorate no-decorate all branches tags remotes max-count skip since after until before author "
        "committer grep invert-grep all-match regexp-ignore-case format pretty no-merges merges reverse follow date "
        "relative-date abbrev abbrev-commit no-abbrev-commit first-parent no-patch color no-color "
        "ignore-all-space ignore-space-change ignore-blank-lines find-renames find-copies diff-filter "
        "no-ext-diff no-textconv topo-order date-order left-right cherry-pick"
    ),
)

HARMLESS_PROGRAMS: Mapping[str, HarmlessOptions] = {
    # These print no content of files.
    **dict.fromkeys(
        ["basename", "df", "dirname", "echo", "expr", "false", "groups", "id", "ls", "nproc", "pwd", "readlink", "realpath", "seq", "sleep", "stat", "tr", "true", "uname", "which", "whoami"],
        ALL_OPTIONS,
    ),
    **dict.fromkeys(["cksum", "md5sum", "sha1sum", "sha256sum", "sha512sum"], _CHECKSUM_OPTIONS),
    **dict.fromkeys(["egrep", "fgrep", "grep"], _GREP_OPTIONS),
    **dict.fromkeys(["head", "tail"], _HEAD_AND_TAIL_OPTIONS),
    "cat": HarmlessOptions(
        flags="AbEensTtuv",
        long_options=_long_options("number number-nonblank show-all show-ends show-nonprinting show-tabs squeeze-blank"),
    ),
    "cmp": HarmlessOptions(flags="bls", letters_with_value="n", long_options=_long_options("bytes print-bytes quiet silent verbose")),
    "comm": HarmlessOptions(flags="123z", long_options=_long_options("check-order nocheck-order output-delimiter total zero-terminated")),
    "cut": HarmlessOptions(
        flags="nsz",
        letters_with_value="bcdf",
        long_options=_long_options("bytes characters complement delimiter fields only-delimited output-delimiter zero-terminated"),
    ),
    "du": HarmlessOptions(
        flags="abchkmsx0",
        letters_with_value="Bdt",
        long_options=_long_options("all apparent-size block-size bytes exclude human-readable max-depth null one-file-system si summarize threshold time total"),
    ),
    # A program of jq can load files.
    "jq": HarmlessOptions(
        flags="aCcejMnRrSs",
        long_options=_long_options(
            "arg argjson args ascii-output color-output compact-output exit-status indent join-output jsonargs "
            "monochrome-output null-input raw-input raw-output slurp sort-keys tab"
        ),
        harmful_characters=re.compile("import|include|module"),
    ),
    "nl": HarmlessOptions(flags="p", letters_with_value="bdfhilnsvw"),
    "rev": HarmlessOptions(),
    "sort": HarmlessOptions(
        flags="bdfgiMhnRrVcCmsuz",
        letters_with_value="kt",
        long_options=_long_options("reverse numeric-sort human-numeric-sort unique key field-separator ignore-case version-sort stable"),
    ),
    "tac": HarmlessOptions(flags="br", letters_with_value="s", long_options=_long_options("before regex separator")),
    "wc": HarmlessOptions(flags="cLlmw", long_options=_long_options("bytes chars lines max-line-length words")),
    "git branch": _GIT_LIST_OPTIONS,
    "git describe": HarmlessOptions(long_options=_long_options("tags all always dirty long abbrev")),
    # Without one of these it prints a patch; none of its options takes the next word as a value.
    "git diff": HarmlessOptions(
        flags="bMCw",
        long_options=_GIT_SUMMARY_OPTIONS
        | _long_options("cached staged exit-code find-copies find-renames ignore-all-space ignore-blank-lines ignore-space-change no-color"),
        required_options=_GIT_SUMMARY_OPTIONS,
    ),
    "git log": _GIT_LOG_OPTIONS,
    "git ls-files": HarmlessOptions(flags="cdmosutz", long_options=_long_options("cached deleted modified others stage exclude-standard")),
    "git remote": _GIT_LIST_OPTIONS,
    "git rev-parse": HarmlessOptions(long_options=_long_options("abbrev-ref short show-toplevel show-prefix is-inside-work-tree verify quiet git-dir")),
    "git shortlog": HarmlessOptions(flags="nse", long_options=_long_options("numbered summary email")),
    "git status": HarmlessOptions(flags="sbz", letters_with_value="u", long_options=_long_options("short branch porcelain long ignored untracked-files show-stash ahead-behind")),
    "pip freeze": HarmlessOptions(long_options=_long_options("local user all"), allows_words=False),
    "pip list": HarmlessOptions(flags="o", long_options=_long_options("outdated local user format not-required"), allows_words=False),
    "pip show": HarmlessOptions(flags="f", long_options=_long_options("files")),
}  # fmt: skip
"""Harmless options by program, or by program and subcommand.

Left out on purpose: ``uniq`` writes its second file, ``date`` sets the clock, ``printf`` and ``test`` evaluate
expressions in brackets, ``ps`` shows the environment of this kernel, ``git grep`` opens a pager of the caller's choice.
``rg``, ``diff`` and ``grep -r`` read files in folders, ``git show``, ``git blame`` and patches show files of earlier
commits, which may hold keys. Programs that ``git`` runs because of its configuration are not detected.
"""


def widened_pattern(command: PlainCommand) -> str | None:
    """Return the pattern for a harmless command with any arguments; None for other commands."""
    name, words = " ".join(command.words[:2]), command.words[2:]
    if name not in HARMLESS_PROGRAMS:
        name, words = command.words[0], command.words[1:]
    options = HARMLESS_PROGRAMS.get(name)
    if options is None or not (options.allows_all or _are_harmless(words, options)):
        return None
    return f"{name} *"


def _are_harmless(words: tuple[str, ...], options: HarmlessOptions) -> bool:
    harmful_characters = options.harmful_characters
    if harmful_characters is not None and any(map(harmful_characters.search, words)):
        return False
    # After "--", a word that looks like an option is the name of a file, which may be a link.
    end = words.index("--") if "--" in words else len(words)
    if any(word.startswith("-") for word in words[end + 1 :]):
        return False
    long_options = {word[2:].partition("=")[0] for word in words[:end] if word.startswith("--")}
    if options.required_options and not options.required_options & long_options:
        return False
    return all(_is_harmless_word(word, options) for word in words)


def _is_harmless_word(word: str, options: HarmlessOptions) -> bool:
    if word == "--" or not word.startswith("-") or word == "-":
        return options.allows_words or word == "--"
    if word.startswith("--"):
        return word[2:].partition("=")[0] in options.long_options
    # After a letter that takes a value, the rest of the word is that value.
    letters = takewhile(lambda letter: letter not in options.letters_with_value, word[1:])
    return all(letter in options.flags for letter in letters)
