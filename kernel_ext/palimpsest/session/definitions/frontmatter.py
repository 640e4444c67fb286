"""Parse a Markdown file with YAML frontmatter between two lines of dashes.

Border: the only module that uses yaml; text in, values out. Frontmatter is often written by hand without quotes
(``description: Use it so: first ...``), so what YAML refuses is parsed again with such values quoted. Aliases are
refused: they are not needed here, and a small file of them can expand to gigabytes.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml  # type: ignore[import-untyped]  # its types are a package of their own

from palimpsest.transcript.errors import ConfigError

_FRONTMATTER = re.compile(r"\A\ufeff?---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_UNQUOTED_VALUE = re.compile(
    r"""^([A-Za-z_][\w-]*):[ \t]+(?!["'\[{|>&*])(.*(?::[ \t]|[ \t]#).*|.*:)[ \t]*$""", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown file: its frontmatter, and the text below it."""

    fields: dict[str, Any] = field(default_factory=dict)
    body: str = ""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # yaml has no types
    """Loads plain values only, and refuses aliases."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not read here")
        return super().compose_node(parent, index)


def parse_definition(text: str) -> Document:
    """Parse a file; raises ConfigError with what is wrong in its frontmatter."""
    text = text.replace("\r\n", "\n")
    match = _FRONTMATTER.match(text)
    if match is None:
        if re.match(r"\A\ufeff?---[ \t]*\n", text):
            raise ConfigError("its head begins with --- and never ends; add a line of --- below it")
        return Document(body=text.strip().removeprefix("\ufeff"))
    head = _load_leniently(match[1]) or {}
    if not isinstance(head, dict):
        raise ConfigError("its head must be lines of the form name: value")
    return Document({str(name): value for name, value in head.items()}, text[match.end() :].strip())


def _load_leniently(text: str) -> Any:
    try:
        return _load_yaml(text)
    except yaml.YAMLError as error:
        try:
            return _load_yaml(_UNQUOTED_VALUE.sub(_quote_value, text))
        except yaml.YAMLError:
            raise ConfigError(f"its head is not valid YAML: {_problem_line(error)}") from None


def _load_yaml(text: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)  # The loader is a safe one, defined above.
    except (ValueError, RecursionError) as error:  # The date 2026-99-99 is an example.
        raise yaml.YAMLError(str(error)) from None


def _quote_value(match: "re.Match[str]") -> str:
    value = match[2].replace("'", "''")
    return f"{match[1]}: '{value}'"


def _problem_line(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    # The frontmatter's first line is the second of the file.
    return f"{problem} (line {mark.line + 2})" if mark is not None else str(problem)
