"""Complete what is typed after ``%agent``: options, subcommands, and names that are known already.

Border: a matcher of IPython's completer; fast, no network access. What can be written is imported with the first look.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from IPython.core.completer import SimpleCompletion, context_matcher

from palimpsest.session.prompts.mention_matches import ranked_matches

_LINE = re.compile(r"^\s*(?:[^=#'\"%]+=\s*)?%{1,2}agent(\s.*)$")


_OURS = re.compile(r"\s*%{1,2}agent\b")
_MENTION = re.compile(r"(?:^|[\s(])@[\w.]*$")


class KnownValues(Protocol):
    """What knows the values that an option may take."""

    def known(self, field: str) -> Sequence[str]:
        """Return them, without any request."""

    def prepare(self) -> None:
        """Begin to import what the model needs; returns at once."""


class Completions:
    """A matcher for the lines of our magics.

    Responsibilities: parse the line up to the cursor; propose completions; register itself.
    """

    def __init__(self, front: Callable[[], KnownValues | None]) -> None:
        self._front = front
        self._matcher: Any = None

    def register(self, shell: Any) -> None:
        """Add the matcher to the shell's completer."""

        @context_matcher()  # type: ignore[untyped-decorator]  # IPython has no types
        def palimpsest_matcher(context: Any) -> Any:
            line = context.line_with_cursor[: context.cursor_position]
            if _OURS.match(context.full_text) and (front := self._front()) is not None:
                front.prepare()  # where no page of ours tells that a person is about to ask
            words = self.propose(line) or self.propose_in_body(context.full_text, line)
            matching = ranked_matches(words, context.token)
            return {
                "completions": [SimpleCompletion(text=word, type="magic") for word in matching],
                "suppress": bool(matching),
            }

        self._matcher = palimpsest_matcher
        shell.Completer.custom_matchers.append(palimpsest_matcher)

    def unregister(self, shell: Any) -> None:
        """Remove the matcher from the shell's completer."""
        if self._matcher in shell.Completer.custom_matchers:
            shell.Completer.custom_matchers.remove(self._matcher)

    def propose_in_body(self, cell: str, line: str) -> Sequence[str]:
        """Return the completions in the body of a cell that begins with ``%%agent``: what a prompt can name."""
        if not cell.lstrip().startswith("%%agent") or _MENTION.search(line) is None:
            return ()
        return self._values("mention")

    def propose(self, line: str) -> Sequence[str]:
        """Return the completions for the end of the line."""
        from palimpsest.frontends.magic.line_parser import OPTIONS
        from palimpsest.frontends.operation_table import TABLE
        from palimpsest.frontends.operations.argument_completion import arguments_after

        match = _LINE.match(line)
        if match is None:
            return ()
        words = match[1].split()
        current = "" if match[1][-1:].isspace() else words.pop()
        before = words[-1] if words else ""
        for option in OPTIONS:
            if option.value is not None and before in (option.long, option.short):
                return self._values(option.field)
        if current[:1] in ("/", "@"):
            return self._prompted(current, is_first=not words)
        if words and words[0] in TABLE.forms:
            return arguments_after(*TABLE.forms[words[0]], words[1:], current, self._values)
        if current.startswith("-"):
            return [option.long for option in OPTIONS]
        if not words and "%%" not in line:
            return list(TABLE.forms)
        return ()

    def _prompted(self, current: str, *, is_first: bool) -> Sequence[str]:
        """Return what a prompt can name: a command at its beginning, an agent anywhere."""
        if current.startswith("/"):
            return [f"/{name}" for name in self._values("own command")] if is_first else ()
        return self._values("mention")  # the completer counts the at sign as a separator

    def _values(self, field: str) -> Sequence[str]:
        """Return the values of an option that are known without any request."""
        if field == "variant":
            return ("low", "medium", "high")
        front = self._front()
        return front.known(field) if front is not None else ()
