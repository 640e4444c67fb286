"""Split a shell text into its commands, as a shell does.

Border: pure text. Quotes, comments and heredocs (``<<END``) are parsed as by a shell, since otherwise a command
after their end could be missed. Where shells differ, the commands of both interpretations are returned.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

OPENERS = ("$(", "<(", ">(", "(", "`")
DEVICE = re.compile(r"/dev/(null|stdout|stderr|stdin|tty|fd/\d+)")

_SINGLE_COMMAND = re.compile(r"[\w./:,+@%=^~*?! \t-]*+", re.ASCII)
"""A text that is one command for every shell."""
_WORD = r"(?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|[^\s;&|<>()'\"\\])+"
_REDIRECT = re.compile(rf">{{1,2}}([|&]?)[ \t]*({_WORD})", re.DOTALL)
_HEREDOC = re.compile(
    r"<<(-?)[ \t]*((?:\"[^\"\\$`\n]*\"|'[^'\n]*'|\\[^\n]|[^\s;&|<>()'\"\\$`])+)(?=[\s;&|<>()]|\Z)"
)
_BACKTICK_END = re.compile(r"((?:[^\\`]|\\.)*+)`", re.DOTALL)
_BACKTICK_ESCAPES = (r"\\([\\$`])", r"\\([\\$`\"])")
"""Backslash escapes outside and inside double quotes."""
_BRACE_SUBSTITUTION = re.compile(r"\$\{[\s|]")
"""Begins a command substitution in newer shells."""


@dataclass(frozen=True, slots=True)
class _Heredoc:
    """A heredoc whose lines follow after the line of its command."""

    end_word: str
    is_tabbed: bool
    is_plain: bool
    """Whether the end word was quoted, so that the shell runs no substitution in the heredoc."""


def split_commands(text: str) -> Iterator[str]:
    """Yield every command in a text, and ``> file`` for each file that is written to."""
    if _SINGLE_COMMAND.fullmatch(text):
        yield text
        return
    yield from ShellSplitter(text).commands_and_files()
    if "$'" in text:
        yield from ShellSplitter(text, escapes=False).commands_and_files()


class ShellSplitter:
    """Parses a shell text in one pass."""

    def __init__(self, text: str, *, escapes: bool = True) -> None:
        self._text = text
        self._escapes = escapes
        """Whether backslashes escape characters in ``$'...'``."""
        self._position = 0
        self._command_text = ""
        self._quote = ""
        self._is_word_start = True
        """Whether a word or comment may begin here."""
        self._open_brace_count = 0
        self._written_files: list[str] = []
        self._waiting_heredocs: list[_Heredoc] = []

    def commands_and_files(self) -> Iterator[str]:
        """Yield the commands and written files, those in substitutions first."""
        while self._position < len(self._text):
            yield from self._parse_next()
        yield from self._flush_command()

    def _parse_next(self) -> Iterator[str]:
        text, position, char = self._text, self._position, self._text[self._position]
        if self._quote in ("'", "$'"):
            self._in_quotes(char)
        elif char == "\\":
            self._take_characters(
                2, is_word_start=self._is_word_start and text.startswith("\\\n", position)
            )
        elif _BRACE_SUBSTITUTION.match(text, position):
            yield from self._flush_command()
            self._position += 3
        elif opener := self._opener():
            inner_text, inner_end = substituted_text(text, position + len(opener), opener)
            if "<<" in inner_text.replace("<<<", ""):
                # A bracket in a heredoc inside the substitution does not end it.
                inner_text, inner_end = text[position + len(opener) :], len(text)
            for possible_text in _possible_texts(inner_text, opener):
                yield from ShellSplitter(possible_text, escapes=self._escapes).commands_and_files()
            self._command_text += opener + inner_text + ("`" if opener == "`" else ")")
            self._position, self._is_word_start = inner_end, opener == "(" and not self._quote
        elif self._quote:
            self._in_quotes(char)
        else:
            yield from self._unquoted(char)

    def _in_quotes(self, char: str) -> None:
        if self._quote == "$'" and char == "\\" and self._escapes:
            self._take_characters(2)
            return
        if char == self._quote[-1]:
            self._quote = ""
        self._take_characters(1)

    def _unquoted(self, char: str) -> Iterator[str]:
        text, position = self._text, self._position
        if text.startswith("$'", position):
            self._quote = "$'"
            self._take_characters(2)
        elif char in "'\"":
            self._quote = char
            self._take_characters(1)
        elif char == "#" and self._is_word_start and not self._open_brace_count:
            end = text.find("\n", position)
            self._position = len(text) if end < 0 else end
        elif char == "<" and text.startswith("<<", position):
            yield from self._heredoc_or_string()
        elif char in ";|\n" or (char == "&" and not _is_redirection(text, position)):
            yield from self._flush_command()
            self._position += 1
            self._is_word_start = True
            if char == "\n":
                yield from self._skip_heredocs()
        else:
            self._process_special(char)
            self._take_characters(1, is_word_start=char in " \t")

    def _process_special(self, char: str) -> None:
        """Process a character outside quotes that is a redirection or brace."""
        if char == ">":
            self._add_written_file()
        elif char == "{" and self._command_text.endswith("$"):
            self._open_brace_count += 1
        elif char == "}":
            self._open_brace_count = max(0, self._open_brace_count - 1)

    def _add_written_file(self) -> None:
        match = _REDIRECT.match(self._text, self._position)
        if match is None:
            return
        target = _unquoted_word(match[2])
        if match[1] == "&" and re.fullmatch(r"\d+-?|-", target):
            return
        if target and not DEVICE.fullmatch(target):
            self._written_files.append(f"> {target}")

    def _heredoc_or_string(self) -> Iterator[str]:
        text, position = self._text, self._position
        if text.startswith("<<<", position):
            self._take_characters(3)
            return
        match = _HEREDOC.match(text, position)
        if match is None:
            # The heredoc's end is unknown, so any line may be a command.
            for line in text[position + 2 :].split("\n"):
                yield from ShellSplitter(line, escapes=self._escapes).commands_and_files()
            self._take_characters(2)
            return
        word = match[2]
        is_quoted = any(char in word for char in "'\"\\")
        self._waiting_heredocs.append(_Heredoc(_unquoted_word(word), bool(match[1]), is_quoted))
        self._take_characters(len(match[0]))

    def _skip_heredocs(self) -> Iterator[str]:
        """Skip the heredocs that begin here, and yield the commands in their substitutions."""
        heredocs, self._waiting_heredocs = self._waiting_heredocs, []
        for heredoc in heredocs:
            lines: list[str] = []
            is_end_known = True
            while self._position < len(self._text):
                line, is_joined = self._take_heredoc_line(joins=not heredoc.is_plain)
                if (line.lstrip("\t") if heredoc.is_tabbed else line) == heredoc.end_word:
                    break
                lines.append(line)
                if is_joined and is_end_known:
                    is_end_known = False
                    # The heredoc's end depends on the shell, so any line may be a command.
                    for possible_command in self._text[self._position :].split("\n"):
                        yield from ShellSplitter(
                            possible_command, escapes=self._escapes
                        ).commands_and_files()
            if not heredoc.is_plain:
                yield from _substituted_commands("\n".join(lines), escapes=self._escapes)

    def _take_heredoc_line(self, *, joins: bool) -> tuple[str, bool]:
        """Consume a line of a heredoc with lines joined by backslashes; returns the line and whether any was joined."""
        line, is_joined = "", False
        while True:
            end = self._text.find("\n", self._position)
            end = len(self._text) if end < 0 else end
            line += self._text[self._position : end]
            self._position = end + 1
            backslashes = len(line) - len(line.rstrip("\\"))
            if not joins or backslashes % 2 == 0 or self._position > len(self._text):
                return line, is_joined
            line, is_joined = line[:-1], True

    def _opener(self) -> str | None:
        for opener in ("$(", "`") if self._quote else OPENERS:
            # "$((" may begin arithmetic or a command, which only its end shows.
            if self._text.startswith(opener, self._position):
                return opener
        return None

    def _take_characters(self, count: int, *, is_word_start: bool = False) -> None:
        self._command_text += self._text[self._position : self._position + count]
        self._position += count
        self._is_word_start = is_word_start

    def _flush_command(self) -> Iterator[str]:
        yield self._command_text
        yield from self._written_files
        self._command_text, self._written_files = "", []


def _substituted_commands(heredoc_text: str, *, escapes: bool) -> Iterator[str]:
    """Yield the commands in the substitutions of a heredoc's text."""
    position = 0
    while position < len(heredoc_text):
        opener = next(
            (start for start in ("$(", "`") if heredoc_text.startswith(start, position)), None
        )
        if heredoc_text[position] == "\\":
            position += 2
        elif opener is None:
            position += 1
        else:
            inner, position = substituted_text(heredoc_text, position + len(opener), opener)
            for possible_text in _possible_texts(inner, opener):
                yield from ShellSplitter(possible_text, escapes=escapes).commands_and_files()


def _is_redirection(text: str, position: int) -> bool:
    """Return whether an ampersand belongs to a redirection such as ``2>&1`` or ``&>``."""
    return text[position - 1 : position] in (">", "<") or text[position + 1 : position + 2] == ">"


def substituted_text(text: str, start_index: int, opener: str) -> tuple[str, int]:
    """Return the text between an opener and its end, and the position after it."""
    if opener == "`":
        end = _BACKTICK_END.match(text, start_index)
        return (text[start_index:], len(text)) if end is None else (end[1], end.end())
    depth, position, quote = 1, start_index, ""
    while position < len(text):
        char = text[position]
        if char == "\\" and quote != "'":
            position += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        else:
            depth += (char == "(") - (char == ")")
            if depth == 0:
                return text[start_index:position], position + 1
        position += 1
    return text[start_index:], len(text)


def _possible_texts(inner_text: str, opener: str) -> tuple[str, ...]:
    """Return the possible texts that a substitution runs: in backticks, backslashes escape one more level."""
    if opener != "`" or "\\" not in inner_text:
        return (inner_text,)
    return tuple(
        dict.fromkeys(
            re.sub(escape_pattern, r"\1", inner_text) for escape_pattern in _BACKTICK_ESCAPES
        )
    )


def _unquoted_word(word: str) -> str:
    return re.sub(r"\\(.)|[\"']", lambda match: match[1] or "", word, flags=re.DOTALL)
