r"""Decide by the patterns of one ``.gitignore`` file, as git does, whether a path is ignored.

The last pattern that matches a path decides. A pattern is compared with the path itself only: a walk does not enter an
ignored folder, so the files in it are ignored, too. A library that also compares the folders above a path would
let ``*`` win over ``!*/`` and ignore every folder of a whitelist.

Border: pure. Patterns and paths are bytes, as they are for git. A pattern becomes a regular expression whose
stars do not backtrack into each other, since a folder from anybody may hold any pattern.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

BOM = b"\xef\xbb\xbf"
NAMED_CLASSES = {
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
SPECIAL_CHARACTER = re.compile(rb"[*?\[\\]")
CLASS_MEMBER = re.compile(
    rb"\[:(?P<name>[^\]]*):\]|(?P<low>\\.|[^\\])(?:-(?P<high>\\.|[^\]\\]))?", re.DOTALL
)
"""A named class, a range, or one byte; a byte after a backslash is literal."""
FOLDER_MARK = b"\0"
"""The byte that is appended to a folder's path for the comparison; no path and no pattern contains it."""
ALL_BYTES = bytes(range(256))

Token = bytes | Literal["star", "any folders", "anything"]


@dataclass(frozen=True, slots=True)
class _Rule:
    """One pattern: whether it ignores or includes matching paths, and its regular expression."""

    is_ignoring: bool
    by_name: bool
    """Whether only the last name of a path is compared, since the pattern has no slash inside."""
    regex: bytes


@dataclass(frozen=True, slots=True)
class _RuleRun:
    """Consecutive rules that all ignore, or all include."""

    is_ignoring: bool
    names: re.Pattern[bytes] | None
    paths: re.Pattern[bytes] | None


class GitignorePatterns:
    """The compiled patterns of one file."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        rules = [rule for line in lines for rule in _parsed_rules(line)]
        runs = [
            (is_ignoring, list(run))
            for is_ignoring, run in groupby(rules, lambda rule: rule.is_ignoring)
        ]
        self._rule_runs = tuple(
            _RuleRun(
                is_ignoring,
                _any_of([rule.regex for rule in run if rule.by_name]),
                _any_of([rule.regex for rule in run if not rule.by_name]),
            )
            for is_ignoring, run in reversed(runs)
        )

    def is_ignored(self, path: bytes, *, is_dir: bool) -> bool | None:
        """Return whether a path, relative to the file's folder, is ignored; None where no pattern matches it."""
        name = path.rpartition(b"/")[2]
        path_end = FOLDER_MARK if is_dir else b""
        for rule_run in self._rule_runs:
            if rule_run.names is not None and rule_run.names.fullmatch(name + path_end):
                return rule_run.is_ignoring
            if rule_run.paths is not None and rule_run.paths.fullmatch(path + path_end):
                return rule_run.is_ignoring
        return None


def _any_of(regexes: list[bytes]) -> re.Pattern[bytes] | None:
    return re.compile(b"|".join(regexes), re.DOTALL) if regexes else None


def pattern_lines(content: bytes) -> list[bytes]:
    """Return the patterns of a file as git reads them: without line ends, comments and trailing blanks.

    Of equal lines only the last one is returned, since it decides.
    """
    patterns: dict[bytes, None] = {}
    for line in reversed(content.removeprefix(BOM).split(b"\n")):
        if not line.startswith(b"#"):
            patterns[_without_blanks(line.removesuffix(b"\r").partition(b"\0")[0])] = None
    return list(reversed(patterns))


def _without_blanks(line: bytes) -> bytes:
    """Return a line without spaces at its end, except one after a backslash."""
    stripped = line.rstrip(b" ")
    backslashes = len(stripped) - len(stripped.rstrip(b"\\"))
    return line[: len(stripped) + 1] if backslashes % 2 else stripped


def _parsed_rules(line: bytes) -> Iterator[_Rule]:
    """Yield the rule of a line; none for a pattern that can match nothing."""
    is_ignoring = not line.startswith(b"!")
    pattern = line if is_ignoring else line[1:]
    is_for_folders = pattern.endswith(b"/")
    pattern = pattern[:-1] if is_for_folders else pattern
    is_name_only = b"/" not in pattern
    pattern = pattern.removeprefix(b"/")
    if not pattern:
        return
    # As git does: the text before the first special character is compared separately, so that
    # ``**`` directly after it counts as the beginning of a pattern.
    special = SPECIAL_CHARACTER.search(pattern)
    literal = pattern[: special.start()] if special else pattern
    tokens = _tokens(pattern[len(literal) :], by_name=is_name_only)
    if tokens is not None:
        regex = (
            re.escape(literal)
            + _regex(tokens)
            + (FOLDER_MARK if is_for_folders else FOLDER_MARK + b"?")
        )
        yield _Rule(is_ignoring, is_name_only, regex)


def _tokens(pattern: bytes, *, by_name: bool) -> list[Token] | None:
    """Return the parts of a pattern; None where it is invalid and so matches nothing."""
    tokens: list[Token] = []
    position = 0
    while position < len(pattern):
        char = pattern[position : position + 1]
        token: Token
        if char == b"*":
            token, position = _star_token(pattern, position, by_name=by_name)
        elif char == b"[":
            character_class = _character_class(pattern, position + 1)
            if character_class is None:
                return None
            token, position = character_class
        else:
            position += char == b"\\"
            literal = pattern[position : position + 1]
            if not literal:
                return None
            token = rb"[^/\0]" if char == b"?" else re.escape(literal)
            position += 1
        tokens.append(token)
    return tokens


def _star_token(pattern: bytes, position: int, *, by_name: bool) -> tuple[Token, int]:
    """Return the token for the stars at a position, and the position after them."""
    stars_end = position
    while pattern[stars_end : stars_end + 1] == b"*":
        stars_end += 1
    next_chars = pattern[stars_end : stars_end + 2]
    is_whole_name = position == 0 or pattern[position - 1 : position] == b"/"
    if by_name or stars_end - position == 1 or not is_whole_name:
        return "star", stars_end
    if next_chars.startswith(b"/"):
        return "any folders", stars_end + 1
    return ("anything" if not next_chars or next_chars == b"\\/" else "star"), stars_end


def _character_class(pattern: bytes, position: int) -> tuple[bytes, int] | None:
    """Return the regular expression of the class at a position, and the position after it; None if invalid."""
    is_negated = pattern.startswith((b"!", b"^"), position)
    position += is_negated
    members: set[int] = set()
    class_start = position
    while position == class_start or not pattern.startswith(b"]", position):
        member = CLASS_MEMBER.match(pattern, position)
        if member is None:
            return None
        name, first_char, last_char = member.group("name", "low", "high")
        if name is not None and name not in NAMED_CLASSES:
            return None
        if name is not None:
            members.update(b"".join(re.findall(b"[" + NAMED_CLASSES[name] + b"]", ALL_BYTES)))
        else:
            # A range that runs backwards has only its first byte.
            members.update(
                [first_char[-1]], range(first_char[-1], (last_char or first_char)[-1] + 1)
            )
        position = member.end()
    if is_negated:
        members = set(ALL_BYTES) - members
    members -= {ord("/"), FOLDER_MARK[0]}
    if not members:
        return None
    return b"[" + b"".join(_byte_ranges(sorted(members))) + b"]", position + 1


def _byte_ranges(members: list[int]) -> Iterator[bytes]:
    """Yield sorted bytes as ranges, so that a regular expression is about as long as its pattern."""
    for _, run in groupby(enumerate(members), lambda pair: pair[1] - pair[0]):
        range_bytes = [member for _, member in run]
        yield rb"\x%02x-\x%02x" % (range_bytes[0], range_bytes[-1])


def _regex(tokens: list[Token]) -> bytes:
    """Return the regular expression of a pattern's parts.

    A star, or any number of folders, is followed by fixed text up to the next one: the first occurrence of that text is as
    good as any other, so no other is tried (an atomic group), except at the end.
    """
    separators: list[bytes] = [b""]
    token_groups: list[list[Token]] = [[]]
    for token in tokens:
        if token == "any folders" or token == "anything":
            separators.append(rb"(?:[^\0]*?/)??" if token == "any folders" else rb"[^\0]*?")
            token_groups.append([])
        else:
            token_groups[-1].append(token)
    regex_pieces = [
        separator + _between_folders(token_group)
        for separator, token_group in zip(separators, token_groups, strict=True)
    ]
    return _atomic_groups(regex_pieces)


def _between_folders(tokens: list[Token]) -> bytes:
    regex_pieces = [b""]
    for token in tokens:
        if isinstance(token, bytes):
            regex_pieces[-1] += token
        else:
            regex_pieces.append(rb"[^/\0]*?")
    return _atomic_groups(regex_pieces)


def _atomic_groups(regex_pieces: list[bytes]) -> bytes:
    first, *rest = regex_pieces
    middle = b"".join(b"(?>" + piece + b")" for piece in rest[:-1])
    return first + middle + (rest[-1] if rest else b"")
