"""The documentation of settings lists every setting, and no other."""

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from palimpsest.session.config.layer_merge import _entry_type, _table_type
from palimpsest.session.config.settings import Config

PAGE = Path(__file__).parents[3] / "docs" / "config.md"
WHOLE = frozenset({"policy"})
"""Tables that are documented on another page."""


def settings(table: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield every setting by its dotted name; ``*`` stands for a name that the user chooses."""
    for name, field in table.model_fields.items():
        where = (*path, name)
        entry, inner = _entry_type(field.annotation), _table_type(field.annotation)
        if entry is not None:
            yield from settings(entry, (*where, "*"))
        elif inner is not None and name not in WHOLE:
            yield from settings(inner, where)
        else:
            yield ".".join(where)


def told() -> Iterator[str]:
    """Yield the settings in the page's table; ``.b`` after ``a.x`` means ``a.b``."""
    table = PAGE.read_text(encoding="utf-8").partition("## What\n")[2].partition("\n```")[0]
    for row in re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE):
        names = re.findall(r"`([^`]+)`", row)
        first = re.sub(r"<[^>]*>", "*", names[0])
        for name in names:
            if not name.startswith("."):
                yield re.sub(r"<[^>]*>", "*", name)
                continue
            depth = name.count(".")
            beginning = first.split(".")[: len(first.split(".")) - depth]
            # A name with more parts than the first one replaces the first's last part.
            yield ".".join(beginning or first.split(".")[:1]) + name


def test_the_page_tells_every_setting_and_no_other() -> None:
    there, written = set(settings(Config)), set(told())

    assert there - written == set(), "not on the page"
    assert written - there == set(), "on the page, and not there"
