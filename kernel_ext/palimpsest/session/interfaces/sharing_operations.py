"""The forms of an export, the file that one wrote, and the progress of an import."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Progress = Callable[[int, int], None]
Form = Literal["md", "ipynb", "json", "html", "opencode", "atif"]
"""Markdown, a notebook, Palimpsest's JSON, an HTML page, OpenCode's storage folder, an ATIF trajectory."""
FORMS: tuple[str, ...] = get_args(Form)


@dataclass(frozen=True, slots=True)
class Exported:
    """The file that an export wrote."""

    path: Path
    form: Form
    bytes: int
