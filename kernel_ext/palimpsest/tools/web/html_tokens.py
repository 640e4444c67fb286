"""Read HTML as a row of tags and texts, in one pass: what nobody sees is left out, words are kept.

Border: pure text, and no tree. Time grows with the size of a page and with nothing else, however it
was made: a tree of a page that a stranger wrote can take minutes to build and to walk.
"""

import html
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

UNREAD = frozenset(
    ("title", "script", "style", "noscript", "template", "svg", "iframe", "object", "canvas")
)
"""What a reader of the page does not see as words; the title is told apart."""

RAW = frozenset(("script", "style", "title"))
"""What holds no tags, and reaches to the end of the page where it is not closed."""

FRAME = frozenset(("html", "head", "body", "meta", "link", "base"))
"""Tags around the page; they may be left out on either side, so nothing hangs on them."""

BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt"),
        *("figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header"),
        *("hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "tr", "ul"),
    )
)
CELLS = frozenset(("td", "th"))
VOID = frozenset(
    ("area", "br", "col", "embed", "hr", "img", "input", "param", "source", "track", "wbr")
)
DEEPEST = 150
"""Tags in tags that are counted."""

_NAME = re.compile(r"</?([A-Za-z][^\s/>]*)")
_END = re.compile(r"[^\"'>]*+(?:\"[^\"]*+\"[^\"'>]*+|'[^']*+'[^\"'>]*+)*+>")
_SPACE = re.compile(r"[ \t\r\n\f]+")


@dataclass(frozen=True, slots=True)
class HtmlToken:
    """A tag, or a text between tags."""

    source: str
    name: str = ""
    """Name of the tag; empty for a text."""
    closes: bool = False


@dataclass
class HtmlReader:
    """Goes through a page once.

    Responsibilities: yield what is seen, in order; remember the title; never look at a place twice.
    """

    source: str
    title: str = ""
    _loose: bool = False
    """A quote was never closed: from here on a tag ends at the next angle bracket."""
    _open: set[str] = field(default_factory=set)
    """Names that are never closed from here on."""

    def pieces(self) -> Iterator[HtmlToken]:
        """Yield the tags and texts that a reader of the page sees."""
        at, source = 0, self.source
        while at < len(source):
            start = source.find("<", at)
            if start < 0:
                yield HtmlToken(source[at:])
                return
            if start > at:
                yield HtmlToken(source[at:start])
            at = yield from self._tag(start)

    def _tag(self, start: int) -> Generator[HtmlToken, None, int]:
        source = self.source
        match = _NAME.match(source, start)
        if match is None:
            return (yield from self._other(start))
        end = self._end(match.end())
        if end < 0:
            yield HtmlToken(source[start:])
            return len(source)
        name = match[1].lower()
        closes = source[start + 1] == "/"
        if name in UNREAD:
            return end if closes else self._beyond(name, start, end)
        if name not in FRAME:
            # After a quote that was never closed nobody can tell what is an attribute.
            plain = f"<{'/' * closes}{name}>"
            yield HtmlToken(plain if self._loose else source[start:end], name, closes)
        return end

    def _other(self, start: int) -> Generator[HtmlToken, None, int]:
        """Pass over a comment or a declaration; an angle bracket on its own is a word."""
        source = self.source
        if source.startswith("<!--", start):
            end = source.find("-->", start + 4)
            return end + 3 if end >= 0 else len(source)
        if source.startswith(("<!", "<?", "</"), start):
            end = source.find(">", start)
            return end + 1 if end >= 0 else len(source)
        yield HtmlToken("<")
        return start + 1

    def _end(self, at: int) -> int:
        """Return where a tag ends; -1 where it does not."""
        if not self._loose:
            match = _END.match(self.source, at)
            if match is not None:
                return match.end()
            self._loose = True
        return self.source.find(">", at) + 1 or -1

    def _beyond(self, name: str, start: int, end: int) -> int:
        """Return where what is not seen is over."""
        if name in self._open or self.source.startswith("/>", end - 2):
            return end
        if name in RAW:
            match = re.compile(rf"</{name}\b[^>]*>?", re.IGNORECASE).search(self.source, end)
            inner = self.source[end : match.start() if match else len(self.source)]
            if name == "title" and not self.title:
                self.title = " ".join(html.unescape(inner).split())
            return match.end() if match else len(self.source)
        depth = 0
        for match in re.compile(rf"<(/?){name}\b[^>]*>", re.IGNORECASE).finditer(
            self.source, start
        ):
            depth += -1 if match[1] else 1
            if depth == 0:
                return match.end()
        self._open.add(name)
        return end


@dataclass
class NestingDepth:
    """Counts how deep tags stand in tags, as far as anybody wants to know."""

    too_deep: bool = False
    _stack: list[str] = field(default_factory=list)

    def take(self, piece: HtmlToken) -> None:
        """Take in the next tag; what was left open ends with what it stands in."""
        if self.too_deep or piece.name in VOID:
            return
        if not piece.closes:
            self._stack.append(piece.name)
            self.too_deep = len(self._stack) > DEEPEST
        elif piece.name in self._stack:
            while self._stack.pop() != piece.name:
                pass


def head_and_body(page: str) -> tuple[str, str, bool]:
    """Return a page without what nobody sees, its title, and whether its tags are nested too deep."""
    reader, depth = HtmlReader(page), NestingDepth()
    made: list[str] = []
    for piece in reader.pieces():
        if piece.name:
            depth.take(piece)
            made.append(piece.source)
        else:
            # An angle bracket that begins no tag here begins none for whoever reads it next.
            made.append(piece.source.replace("<", "&lt;"))
    return "".join(made), reader.title, depth.too_deep


def visible_text(page: str) -> str:
    """Return the words of a page, a line for each block."""
    made: list[str] = []
    verbatim = 0
    for piece in HtmlReader(page).pieces():
        if piece.name:
            made.append(_between(piece))
            if piece.name == "pre":
                verbatim = max(0, verbatim + (-1 if piece.closes else 1))
        elif verbatim:
            made.append(html.unescape(piece.source))
        else:
            made.append(html.unescape(_SPACE.sub(" ", piece.source)))
    return "".join(made)


def _between(piece: HtmlToken) -> str:
    if piece.name in BLOCKS:
        return "\n"
    return "\t" if piece.name in CELLS and piece.closes else ""
