"""Split HTML into tags and texts in one pass, without what a page does not display.

Border: pure text, and no tree. The time is linear in the size of the page, also for malicious ones: the
tree of an untrusted page can take minutes to build and walk.
"""

import html
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

UNREAD = frozenset(
    ("title", "script", "style", "noscript", "template", "svg", "iframe", "object", "canvas")
)
"""Elements whose content is not displayed as text; the title is returned separately."""

RAW = frozenset(("script", "style", "title"))
"""Elements that contain no tags, and extend to the end of the page if they are not closed."""

FRAME = frozenset(("html", "head", "body", "meta", "link", "base"))
"""Tags around the page; they are optional, so they are dropped."""

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
"""Maximum nesting depth of tags."""

_NAME = re.compile(r"</?([A-Za-z][^\s/>]*)")
_END = re.compile(r"[^\"'>]*+(?:\"[^\"]*+\"[^\"'>]*+|'[^']*+'[^\"'>]*+)*+>")
_SPACE = re.compile(r"[ \t\r\n\f]+")


@dataclass(frozen=True, slots=True)
class HtmlToken:
    """A tag, or the text between two tags."""

    source: str
    name: str = ""
    """Name of the tag; empty for text."""
    closes: bool = False


@dataclass
class HtmlReader:
    """Tokenizes a page in one pass.

    Responsibilities: yield what is displayed, in order; keep the title; never scan a place twice.
    """

    source: str
    title: str = ""
    _loose: bool = False
    """A quote was not closed: from here on a tag ends at the next angle bracket."""
    _open: set[str] = field(default_factory=set)
    """Names of elements that are not closed in the rest of the page."""

    def pieces(self) -> Iterator[HtmlToken]:
        """Yield the tags and texts that the page displays."""
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
            # After an unclosed quote, attributes cannot be recognised.
            plain = f"<{'/' * closes}{name}>"
            yield HtmlToken(plain if self._loose else source[start:end], name, closes)
        return end

    def _other(self, start: int) -> Generator[HtmlToken, None, int]:
        """Skip a comment or declaration; a single angle bracket is text. Returns the offset after it."""
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
        """Return the offset at which a tag ends; -1 if it does not end."""
        if not self._loose:
            match = _END.match(self.source, at)
            if match is not None:
                return match.end()
            self._loose = True
        return self.source.find(">", at) + 1 or -1

    def _beyond(self, name: str, start: int, end: int) -> int:
        """Return the offset after an element that is not displayed."""
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
    """Tracks the nesting depth of tags until it exceeds ``DEEPEST``."""

    too_deep: bool = False
    _stack: list[str] = field(default_factory=list)

    def take(self, piece: HtmlToken) -> None:
        """Process the next tag; a closing tag also closes the unclosed tags inside it."""
        if self.too_deep or piece.name in VOID:
            return
        if not piece.closes:
            self._stack.append(piece.name)
            self.too_deep = len(self._stack) > DEEPEST
        elif piece.name in self._stack:
            while self._stack.pop() != piece.name:
                pass


def head_and_body(page: str) -> tuple[str, str, bool]:
    """Return a page without what is not displayed, its title, and whether its tags are nested too deep."""
    reader, depth = HtmlReader(page), NestingDepth()
    made: list[str] = []
    for piece in reader.pieces():
        if piece.name:
            depth.take(piece)
            made.append(piece.source)
        else:
            # An angle bracket that begins no tag here must begin none for the next parser.
            made.append(piece.source.replace("<", "&lt;"))
    return "".join(made), reader.title, depth.too_deep


def visible_text(page: str) -> str:
    """Return the displayed text of a page, a line for each block element."""
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


def markup_text(markup: str) -> str:
    """Return HTML or other markup as text that a model reads, a line each block; never raises."""
    if "<" not in markup:
        return markup
    try:
        lines = map(str.strip, visible_text(markup).split("\n"))
    except Exception:  # noqa: BLE001  # markup of anybody, which a parser may refuse
        return markup
    return "\n".join(line for line in lines if line)
