r"""The patterns of one ``.gitignore`` file, with git's meaning of each.

The last pattern that matches a path decides, and only the path itself is compared, never what lies
below it: a walk that does not enter an ignored folder ignores its files with it. A library that
judges whole paths takes ``*`` for stronger than ``!*/`` and hides every folder of a whitelist.

Border: pure. Patterns and paths are bytes, as they are for git. A pattern becomes a regular expression whose
stars do not backtrack into each other, since a stranger's folder may hold any pattern.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

BOM = b"\xef\xbb\xbf"
CLASSES = {
    b"alnum": b"0-9A-Za-z",
    b"alpha": b"A-Za-z",
    b"blank": rb"\t ",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": b"0-9",
    b"graph": b"!-~",
    b"lower": b"a-z",
    b"print": b" -~",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb"\t\n\r ",
    b"upper": b"A-Z",
    b"xdigit": b"0-9A-Fa-f",
}
SPECIAL = re.compile(rb"[*?\[\\]")
CLASS_MEMBER = re.compile(
    rb"\[:(?P<name>[^\]]*):\]|(?P<low>\\.|[^\\])(?:-(?P<high>\\.|[^\]\\]))?", re.DOTALL
)
"""A named class, a range, or one byte; after a backslash any byte stands for itself."""
FOLDER = b"\0"
"""Stands behind the path of a folder that is compared; no path and no pattern holds this byte."""
ALL_BYTES = bytes(range(256))

Token = bytes | Literal["star", "any folders", "anything"]


@dataclass(frozen=True, slots=True)
class _Rule:
    """One pattern: whether it ignores what it matches, and its regular expression."""

    ignores: bool
    by_name: bool
    """Compared with the last name of a path alone, since the pattern has no slash inside."""
    regex: bytes


@dataclass(frozen=True, slots=True)
class _RuleRun:
    """Neighbouring rules that all ignore, or all do not."""

    ignores: bool
    names: re.Pattern[bytes] | None
    paths: re.Pattern[bytes] | None


class GitignorePatterns:
    """The compiled patterns of one file."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        rules = [one for line in lines for one in _rules(line)]
        runs = [(key, list(run)) for key, run in groupby(rules, lambda one: one.ignores)]
        self._runs = tuple(
            _RuleRun(
                ignores,
                _either([one.regex for one in run if one.by_name]),
                _either([one.regex for one in run if not one.by_name]),
            )
            for ignores, run in reversed(runs)
        )

    def verdict(self, path: bytes, *, is_dir: bool) -> bool | None:
        """Return whether a path, relative to the file's folder, is ignored; None where no pattern matches it."""
        name = path.rpartition(b"/")[2]
        end = FOLDER if is_dir else b""
        for run in self._runs:
            if run.names is not None and run.names.fullmatch(name + end):
                return run.ignores
            if run.paths is not None and run.paths.fullmatch(path + end):
                return run.ignores
        return None


def _either(found: list[bytes]) -> re.Pattern[bytes] | None:
    return re.compile(b"|".join(found), re.DOTALL) if found else None


def pattern_lines(content: bytes) -> list[bytes]:
    """Return the patterns of a file as git reads them: without line ends, comments, and blanks at an end.

    Of equal lines the last one is kept, since it decides.
    """
    found: dict[bytes, None] = {}
    for line in reversed(content.removeprefix(BOM).split(b"\n")):
        if not line.startswith(b"#"):
            found[_without_blanks(line.removesuffix(b"\r").partition(b"\0")[0])] = None
    return list(reversed(found))


def _without_blanks(line: bytes) -> bytes:
    """Return a line without spaces at its end, unless a backslash keeps them."""
    kept = line.rstrip(b" ")
    backslashes = len(kept) - len(kept.rstrip(b"\\"))
    return line[: len(kept) + 1] if backslashes % 2 else kept


def _rules(line: bytes) -> Iterator[_Rule]:
    """Yield the rule of a line; none for a pattern that can match nothing."""
    ignores = not line.startswith(b"!")
    pattern = line if ignores else line[1:]
    folders_only = pattern.endswith(b"/")
    pattern = pattern[:-1] if folders_only else pattern
    by_name = b"/" not in pattern
    pattern = pattern.removeprefix(b"/")
    if not pattern:
        return
    # As git does: what stands before the first special character is compared by itself, so that
    # ``**`` right behind it counts as the beginning of a pattern.
    special = SPECIAL.search(pattern)
    plain = pattern[: special.start()] if special else pattern
    tokens = _tokens(pattern[len(plain) :], by_name=by_name)
    if tokens is not None:
        regex = re.escape(plain) + _regex(tokens) + (FOLDER if folders_only else FOLDER + b"?")
        yield _Rule(ignores, by_name, regex)


def _tokens(pattern: bytes, *, by_name: bool) -> list[Token] | None:
    """Return the parts of a pattern; None where it is invalid and so matches nothing."""
    found: list[Token] = []
    at = 0
    while at < len(pattern):
        char = pattern[at : at + 1]
        if char == b"*":
            token, at = _stars(pattern, at, by_name=by_name)
            found.append(token)
            continue
        if char == b"[":
            read = _character_class(pattern, at + 1)
            if read is None:
                return None
            members, at = read
            found.append(members)
            continue
        if char == b"?":
            found.append(rb"[^/\0]")
        elif char == b"\\":
            at += 1
            if at == len(pattern):
                return None
            found.append(re.escape(pattern[at : at + 1]))
        else:
            found.append(re.escape(char))
        at += 1
    return found


def _stars(pattern: bytes, at: int, *, by_name: bool) -> tuple[Token, int]:
    """Return what the stars at a place stand for, and the place behind them."""
    end = at
    while pattern[end : end + 1] == b"*":
        end += 1
    rest = pattern[end : end + 2]
    alone = at == 0 or pattern[at - 1 : at] == b"/"
    if by_name or end - at == 1 or not alone:
        return "star", end
    if rest.startswith(b"/"):
        return "any folders", end + 1
    return ("anything" if not rest or rest == b"\\/" else "star"), end


def _character_class(pattern: bytes, at: int) -> tuple[bytes, int] | None:
    """Return the regular expression of a class that begins at a place, and the place behind it; None if invalid."""
    negated = pattern.startswith((b"!", b"^"), at)
    at += negated
    members: set[int] = set()
    begin = at
    while at == begin or not pattern.startswith(b"]", at):
        read = CLASS_MEMBER.match(pattern, at)
        if read is None:
            return None
        name, low, high = read.group("name", "low", "high")
        if name is not None and name not in CLASSES:
            return None
        if name is not None:
            members.update(b"".join(re.findall(b"[" + CLASSES[name] + b"]", ALL_BYTES)))
        else:
            # Of a range that runs backwards its first byte is left.
            members.update([low[-1]], range(low[-1], (high or low)[-1] + 1))
        at = read.end()
    if negated:
        members = set(ALL_BYTES) - members
    members -= {ord("/"), FOLDER[0]}
    if not members:
        return None
    return b"[" + b"".join(_ranges(sorted(members))) + b"]", at + 1


def _ranges(members: list[int]) -> Iterator[bytes]:
    """Yield sorted bytes as ranges, so that a regular expression is about as long as its pattern."""
    for _, run in groupby(enumerate(members), lambda one: one[1] - one[0]):
        found = [member for _, member in run]
        yield rb"\x%02x-\x%02x" % (found[0], found[-1])


def _regex(tokens: list[Token]) -> bytes:
    """Return the regular expression of a pattern's parts.

    A star, or any number of folders, is followed by fixed text up to the next one: the first place of that text is as
    good as any other, so it is not looked for again (an atomic group) except at the end.
    """
    heads: list[bytes] = [b""]
    parts: list[list[Token]] = [[]]
    for one in tokens:
        if one == "any folders" or one == "anything":
            heads.append(rb"(?:[^\0]*?/)??" if one == "any folders" else rb"[^\0]*?")
            parts.append([])
        else:
            parts[-1].append(one)
    pieces = [head + _between_folders(part) for head, part in zip(heads, parts, strict=True)]
    return _atomic(pieces)


def _between_folders(tokens: list[Token]) -> bytes:
    pieces = [b""]
    for one in tokens:
        if isinstance(one, bytes):
            pieces[-1] += one
        else:
            pieces.append(rb"[^/\0]*?")
    return _atomic(pieces)


def _atomic(pieces: list[bytes]) -> bytes:
    first, *rest = pieces
    inner = b"".join(b"(?>" + one + b")" for one in rest[:-1])
    return first + inner + (rest[-1] if rest else b"")
