"""The HTML elements and links that text of models, tools and users may become: the sanitizer's list.

Border: constants and pure functions. The renderers here write their own tags around escaped text, so
the list is not what makes them safe; tests compare them with it, and it defines where links may lead.
``labextension/src/views/dom/allowedElements.json`` is the same list; a test compares the two.
"""

import re

TAGS = frozenset([
    "a", "abbr", "b", "bdi", "blockquote", "br", "caption", "cite", "code", "col", "colgroup", "dd",
    "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "h1", "h2", "h3",
    "h4", "h5", "h6", "hr", "i", "img", "input", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q",
    "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "summary", "sup",
    "table", "tbody", "td", "tfoot", "th", "thead", "tr", "tt", "u", "ul", "var", "wbr",
])  # fmt: skip
ATTRIBUTES = frozenset([
    "align", "alt", "checked", "class", "colspan", "dir", "disabled", "href", "id", "lang", "open",
    "rel", "reversed", "rowspan", "scope", "src", "start", "target", "title", "type",
])  # fmt: skip
LINK_STARTS = ("http:", "https:", "mailto:", "#")
PICTURE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")

_LOCAL_FILE = re.compile(r"(?!.*%(?:2e|2f|5c|00))[^\s:\\/?#<][^:\\]*", re.IGNORECASE | re.DOTALL)
"""A file of the notebook's folder; a path from the server's root could be a command to the server."""


def may_lead(address: str, *, allows_local: bool = False) -> bool:
    """Return whether a link may lead there: to the web, to mail, within the page, or to a file beside it."""
    lower_address = address.lower()
    return lower_address.startswith(LINK_STARTS) or (
        allows_local and bool(_LOCAL_FILE.fullmatch(lower_address))
    )


_HARMFUL_COMMANDS = re.compile(
    r"\\(?P<name>href|url|class|style|cssId|data|html[A-Za-z]*|includegraphics|require|mmlToken|bbox|unicode)"
    r"(?![A-Za-z])"
)
"""TeX commands that make a link, load something or change the page, where MathJax reads them unguarded."""


def tex_without_commands(tex: str, prefix: str) -> str:
    """Return TeX in which commands that link, load or style are disabled.

    ``prefix`` replaces the backslash of such a command.
    """
    return _HARMFUL_COMMANDS.sub(lambda match: prefix + match["name"], tex)


def tex_as_text(tex: str) -> str:
    """Return TeX in which commands that link, load or style only show their arguments as text."""
    return _HARMFUL_COMMANDS.sub(lambda _: r"\text", tex)
