"""Split HTML into the tags and texts that a page displays, in one pass.

Border: pure text, without a tree. The time is linear in the size of the page, also for malicious ones: the
tree of an untrusted page can take minutes to build and walk.
"""

import html
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

UNDISPLAYED_ELEMENTS = frozenset(
    ("title", "script", "style", "noscript", "template", "svg", "iframe", "object", "canvas")
)
"""Elements whose content is not displayed as text; the title is returned separately."""

RAW_ELEMENTS = frozenset(("script", "style", "title"))
"""Elements that contain no tags, and extend to the end of the page if they are not closed."""

FRAME_TAGS = frozenset(("html", "head", "body", "meta", "link", "base"))
"""Tags around the page; they are optional, so they are dropped."""

BLOCK_TAGS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt"),
        *("figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header"),
        *("hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "tr", "ul"),
    )
)
CELL_TAGS = frozenset(("td", "th"))
VOID_TAGS = frozenset(
    ("area", "br", "col", "embed", "hr", "img", "input", "param", "source", "track", "wbr")
)
MAX_DEPTH = 150
"""Maximum nested tags."""

_TAG_NAME = re.compile(r"</?([A-Za-z][^\s/>]*)")
_TAG_END = re.compile(r"[^\"'>]*+(?:\"[^\"]*+\"[^\"'>]*+|'[^']*+'[^\"'>]*+)*+>")
_SPACE = re.compile(r"[ \t\r\n\f]+")


@dataclass(frozen=True, slots=True)
class HtmlToken:
    """A tag, or the text between two tags."""

    source: str
    name: str = ""
    """Name of the tag; empty for text."""
    is_closing: bool = False


@dataclass
class HtmlReader:
    """Tokenizes a page in one pass, in linear time: yields displayed tags and texts in order, stores the title."""

    source: str
    title: str = ""
    _has_unclosed_quote: bool = False
    """Whether a quote was not closed, after which each tag ends at the next angle bracket."""
    _unclosed_names: set[str] = field(default_factory=set)
    """Names of elements that are not closed in the rest of the page."""

    def tokens(self) -> Iterator[HtmlToken]:
        """Yield the tags and texts that the page displays."""
        position, source = 0, self.source
        while position < len(source):
            start = source.find("<", position)
            if start < 0:
                yield HtmlToken(source[position:])
                return
            if start > position:
                yield HtmlToken(source[position:start])
            position = yield from self._tag(start)

    def _tag(self, start: int) -> Generator[HtmlToken, None, int]:
        source = self.source
        match = _TAG_NAME.match(source, start)
        if match is None:
            return (yield from self._skip_declaration(start))
        end = self._tag_end(match.end())
        if end < 0:
            yield HtmlToken(source[start:])
            return len(source)
        name = match[1].lower()
        is_closing = source[start + 1] == "/"
        if name in UNDISPLAYED_ELEMENTS:
            return end if is_closing else self._skip_element(name, start, end)
        if name not in FRAME_TAGS:
            # After an unclosed quote, attributes cannot be recognised.
            bare_tag = f"<{'/' * is_closing}{name}>"
            text = bare_tag if self._has_unclosed_quote else source[start:end]
            yield HtmlToken(text, name, is_closing)
        return end

    def _skip_declaration(self, start: int) -> Generator[HtmlToken, None, int]:
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

    def _tag_end(self, position: int) -> int:
        """Return the offset at which a tag ends; -1 if it does not end."""
        if not self._has_unclosed_quote:
            match = _TAG_END.match(self.source, position)
            if match is not None:
                return match.end()
            self._has_unclosed_quote = True
        return self.source.find(">", position) + 1 or -1

    def _skip_element(self, name: str, start: int, end: int) -> int:
        """Return the offset after an element that is not displayed."""
        if name in self._unclosed_names or self.source.startswith("/>", end - 2):
            return end
        if name in RAW_ELEMENTS:
            match = re.compile(rf"</{name}\b[^>]*>?", re.IGNORECASE).search(self.source, end)
            content = self.source[end : match.start() if match else len(self.source)]
            if name == "title" and not self.title:
                self.title = " ".join(html.unescape(content).split())
            return match.end() if match else len(self.source)
        depth = 0
        tag_pattern = re.compile(rf"<(/?){name}\b[^>]*>", re.IGNORECASE)
        for match in tag_pattern.finditer(self.source, start):
            depth += -1 if match[1] else 1
            if depth == 0:
                return match.end()
        self._unclosed_names.add(name)
        return end


@dataclass
class NestingDepth:
    """Tracks the nesting depth of tags until it exceeds ``MAX_DEPTH``."""

    is_too_deep: bool = False
    _stack: list[str] = field(default_factory=list)

    def process(self, token: HtmlToken) -> None:
        """Process the next tag; a closing tag also closes the unclosed tags inside it."""
        if self.is_too_deep or token.name in VOID_TAGS:
            return
        if not token.is_closing:
            self._stack.append(token.name)
            self.is_too_deep = len(self._stack) > MAX_DEPTH
        elif token.name in self._stack:
            while self._stack.pop() != token.name:
                pass


def displayed_markup(page: str) -> tuple[str, str, bool]:
    """Return the displayed markup of a page, its title, and whether its tags are nested too deep."""
    reader, depth = HtmlReader(page), NestingDepth()
    texts: list[str] = []
    for token in reader.tokens():
        if token.name:
            depth.process(token)
            texts.append(token.source)
        else:
            # Escape it: an angle bracket that begins no tag here must not begin one for the next parser.
            texts.append(token.source.replace("<", "&lt;"))
    return "".join(texts), reader.title, depth.is_too_deep


def visible_text(page: str) -> str:
    """Return the displayed text of a page, with each block element on its own line."""
    texts: list[str] = []
    pre_depth = 0
    for token in HtmlReader(page).tokens():
        if token.name:
            texts.append(_separator(token))
            if token.name == "pre":
                pre_depth = max(0, pre_depth + (-1 if token.is_closing else 1))
        elif pre_depth:
            texts.append(html.unescape(token.source))
        else:
            texts.append(html.unescape(_SPACE.sub(" ", token.source)))
    return "".join(texts)


def _separator(token: HtmlToken) -> str:
    if token.name in BLOCK_TAGS:
        return "\n"
    return "\t" if token.name in CELL_TAGS and token.is_closing else ""


def markup_text(markup: str) -> str:
    """Return markup as text for a model, with each block on its own line; never raises."""
    if "<" not in markup:
        return markup
    try:
        lines = map(str.strip, visible_text(markup).split("\n"))
    except Exception:  # noqa: BLE001  # untrusted markup, for which a parser may fail
        return markup
    return "\n".join(line for line in lines if line)
