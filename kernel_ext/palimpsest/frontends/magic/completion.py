"""Complete the text after ``%agent``: options, subcommands, and known names.

Border: a matcher of IPython's completer, without network access. The options and operations are imported at the first use.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from IPython.core.completer import SimpleCompletion, context_matcher

from palimpsest.session.prompts.mention_matches import ranked_matches
from palimpsest.transcript.context_values.cell_runs import is_prompt_cell

_LINE = re.compile(r"^\s*(?:[^=#'\"%]+=\s*)?%{1,2}agent(\s.*)$")
_MENTION = re.compile(r"(?:^|[\s(])@[\w.]*$")


class KnownValues(Protocol):
    """Provides values that complete an option."""

    def completion_values(self, kind: str) -> Sequence[str]:
        """Return values of a kind, such as ``model``, without a request."""

    def prepare(self) -> None:
        """Begin to import the model's modules; returns at once."""


class Completions:
    """A matcher for the lines of the magics: parses the line up to the cursor and returns completions."""

    def __init__(self, get_front_end: Callable[[], KnownValues | None]) -> None:
        self._get_front_end = get_front_end
        self._matcher: Any = None

    def register(self, shell: Any) -> None:
        """Add the matcher to the shell's completer."""

        @context_matcher()  # type: ignore[untyped-decorator]  # IPython has no types
        def palimpsest_matcher(context: Any) -> Any:
            line = context.line_with_cursor[: context.cursor_position]
            if (
                is_prompt_cell(context.full_text)
                and (front_end := self._get_front_end()) is not None
            ):
                front_end.prepare()  # here because no page announces that the user is about to ask
            completions = self.line_completions(line) or self.body_completions(
                context.full_text, line
            )
            matches = ranked_matches(completions, context.token)
            return {
                "completions": [SimpleCompletion(text=word, type="magic") for word in matches],
                "suppress": bool(matches),
            }

        self._matcher = palimpsest_matcher
        shell.Completer.custom_matchers.append(palimpsest_matcher)

    def unregister(self, shell: Any) -> None:
        """Remove the matcher from the shell's completer."""
        if self._matcher in shell.Completer.custom_matchers:
            shell.Completer.custom_matchers.remove(self._matcher)

    def body_completions(self, cell: str, line: str) -> Sequence[str]:
        """Return completions of mentions in the body of a ``%%agent`` cell."""
        if not cell.lstrip().startswith("%%agent") or _MENTION.search(line) is None:
            return ()
        return self._known_values("mention")

    def line_completions(self, line: str) -> Sequence[str]:
        """Return completions for the end of the line."""
        from palimpsest.frontends.magic.line_parser import OPTIONS
        from palimpsest.frontends.operation_base.argument_completion import argument_completions
        from palimpsest.frontends.operation_table import TABLE

        match = _LINE.match(line)
        if match is None:
            return ()
        words = match[1].split()
        word_start = "" if match[1][-1:].isspace() else words.pop()
        word_before = words[-1] if words else ""
        for option in OPTIONS:
            if option.placeholder is not None and word_before in (
                option.long_name,
                option.short_name,
            ):
                return self._known_values(option.field)
        if word_start[:1] in ("/", "@"):
            return self._prompt_mentions(word_start, is_first=not words)
        if words and words[0] in TABLE.forms:
            form, operation = TABLE.forms[words[0]]
            return argument_completions(form, operation, words[1:], word_start, self._known_values)
        if word_start.startswith("-"):
            return [option.long_name for option in OPTIONS]
        if not words and "%%" not in line:
            return list(TABLE.forms)
        return ()

    def _prompt_mentions(self, word_start: str, *, is_first: bool) -> Sequence[str]:
        """Return completions for a prompt: commands at its beginning, agents anywhere."""
        if word_start.startswith("/"):
            return [f"/{name}" for name in self._known_values("own command")] if is_first else ()
        return self._known_values("mention")  # the completer treats the at sign as a separator

    def _known_values(self, kind: str) -> Sequence[str]:
        if kind == "variant":
            return ("low", "medium", "high")
        front_end = self._get_front_end()
        return front_end.completion_values(kind) if front_end is not None else ()
