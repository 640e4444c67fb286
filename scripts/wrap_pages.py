"""Wrap the paragraphs and list items of Markdown pages at 120 columns; ``--check`` changes nothing.

Tables, code and titles stay as they are: only running text is filled, and a code span or the address of a
link is never broken. Without arguments these are the pages of ``docs/design``, CONTRIBUTING.md,
CHANGELOG.md and the README of each folder.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 120
FENCE = re.compile(r"\s*(```|~~~)")
ITEM = re.compile(r"(\s*)([-*+]|\d+[.)]) +")
AS_IT_STANDS = re.compile(r"\s*([#|>]|<!--|!\[)|\s*$|( {4}|\t)\S|\s*[-=*_]{3,}\s*$")
"""A title, a row of a table, a quote, a picture alone, an empty line, indented code, a rule."""
A_BLOCK = re.compile(r"([-*+#>|]|#+|\d+[.)])$")
"""A word that would begin an item, a title, a quote or a table at the beginning of a line."""


def pages() -> list[Path]:
    """Return the pages that are kept wrapped."""
    folders = (ROOT / "kernel_ext/palimpsest", ROOT / "labextension/src")
    found = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs/design").glob("*.md")]
    return sorted(
        [*found, *(page for folder in folders for page in folder.rglob("README.md"))],
    )


def wrapped(text: str) -> str:
    """Return a page with its paragraphs filled."""
    lines: list[str] = []
    paragraph: list[str] = []
    fence = ""
    for line in text.splitlines():
        marked = FENCE.match(line)
        if fence or marked:
            lines += [*filled(paragraph), line]
            paragraph = []
            fence = ("" if fence == marked[1] else fence or marked[1]) if marked else fence
        elif AS_IT_STANDS.match(line) and not (paragraph and line.startswith(" ") and line.strip()):
            lines += [*filled(paragraph), line]
            paragraph = []
        elif ITEM.match(line):
            lines += filled(paragraph)
            paragraph = [line]
        else:
            paragraph.append(line)
    lines += filled(paragraph)
    return "\n".join(lines) + "\n"


def filled(paragraph: list[str]) -> Iterator[str]:
    """Yield the lines of one paragraph or list item, filled."""
    if not paragraph:
        return
    item = ITEM.match(paragraph[0])
    indent = re.match(r"\s*", paragraph[0])
    first = item[0] if item else indent[0] if indent else ""
    rest = " " * len(first)
    text = " ".join([paragraph[0][len(first) :], *(line.strip() for line in paragraph[1:])])
    line = first
    for word in words(text):
        if line in (first, rest):
            line += word
        elif len(line) + 1 + len(word) <= COLUMNS or A_BLOCK.match(word):
            line += f" {word}"
        else:
            yield line
            line = rest + word
    yield line


def words(text: str) -> Iterator[str]:
    """Yield what is not broken: words, code spans with what touches them."""
    whole = ""
    for piece in re.split(r"(`[^`]*`|\s+)", text):
        if piece.isspace():
            if whole:
                yield whole
            whole = ""
        else:
            whole += piece
    if whole:
        yield whole


def main(arguments: list[str]) -> int:
    """Wrap the pages, or name those that are not wrapped."""
    check = "--check" in arguments
    named = [Path(one) for one in arguments if one != "--check"] or pages()
    unlike = []
    for page in named:
        text = page.read_text(encoding="utf-8")
        if (better := wrapped(text)) != text:
            unlike.append(page)
            if not check:
                page.write_text(better, encoding="utf-8")
    for page in unlike if check else ():
        print(f"{page}: not wrapped at {COLUMNS} columns; run `make fix`")
    return 1 if check and unlike else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
