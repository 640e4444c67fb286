"""Convert a model's Markdown to HTML that is safe by construction.

Border: pure. markdown-it-py parses the text (CommonMark, with tables and strikethrough; no HTML); every character of it
is escaped when it is written, and the only tags are those of this module and of markdown-it's own blocks. Links lead to
the web, to mail or within the page, images become links, maths stays as it is.
"""

# ruff: noqa: ARG002 -- markdown-it calls each rule with all of its arguments

import html
import re
from collections.abc import Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from palimpsest.render.safety.allowed_elements import may_lead
from palimpsest.render.safety.escaping import clean, in_html
from palimpsest.render.safety.safe_markdown import browser_address

_MAX_DEPTH = 20
"""Maximum nesting of quotes and lists; a text with deeper nesting is shown as source."""
_MAX_EMPHASIS_CHARS = 20_000
"""Maximum characters of a paragraph in which emphasis is shown."""
_MATHS = re.compile(
    r"\$\$[^$`]+?\$\$|(?<![\\$\w])\$(?=[^\s$])[^$`\n]*?(?<=[^\s\\])\$(?![\d$])", re.DOTALL
)
_ADDRESS = re.compile(r"https?://[^\s<>()\[\]`*\"']+[^\s<>()\[\]`*\"'.,;:!?]")
_TASK = re.compile(r"\[([ xX])\][ \t]+")


def to_html(text: str) -> str:
    """Return the Markdown as HTML."""
    text = clean(text)
    tokens = _READER.parse(text, {})
    if any(token.level >= _MAX_DEPTH - 1 for token in tokens):
        return f"<pre>{html.escape(text)}</pre>"
    return _WRITER.render(tokens, _READER.options, {}).strip("\n")


class _HtmlWriter(RendererHTML):
    """Writes tokens as HTML; token types without a method here are markdown-it's own and contain no text."""

    def text(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        text, text_html, position = tokens[idx].content, "", 0
        if not env.get("links"):
            for match in _ADDRESS.finditer(text):
                text_html += in_html(text[position : match.start()])
                text_html += _link(html.escape(match[0]), match[0])
                position = match.end()
        return text_html + in_html(text[position:])

    def text_special(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return html.escape(tokens[idx].content)

    def maths(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f'<span class="maths">{in_html(tokens[idx].content)}</span>'

    def code_inline(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f"<code>{html.escape(tokens[idx].content)}</code>"

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f"<pre><code>{html.escape(tokens[idx].content.removesuffix(chr(10)))}</code></pre>\n"

    fence = code_block

    def softbreak(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "\n"

    def hardbreak(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "<br>"

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        url = str(tokens[idx].attrs.get("href", ""))
        env.setdefault("links", []).append(_is_link_target(url))
        return _link_start(url) if env["links"][-1] else ""

    def link_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "</a>" if env["links"].pop() else ""

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        token = tokens[idx]
        url = str(token.attrs.get("src", ""))
        label = in_html(self.renderInlineAsText(token.children or [], options, env))
        return label if env.get("links") else _link(label, url)

    def heading_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f"<{_heading_tag(tokens[idx])}>"

    def heading_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f"</{_heading_tag(tokens[idx])}>\n"


def _heading_tag(token: Token) -> str:
    return f"h{min(6, int(token.tag[1:]) + 2)}"


def _link(label: str, url: str) -> str:
    return f"{_link_start(url)}{label or html.escape(url)}</a>" if _is_link_target(url) else label


def _is_link_target(url: str) -> bool:
    return may_lead(url) and may_lead(browser_address(url))


def _link_start(url: str) -> str:
    return f'<a href="{html.escape(url)}" rel="noopener noreferrer">'


def _maths(state: StateInline, is_silent: bool) -> bool:  # noqa: FBT001  # markdown-it's interface
    """Parse a formula as one token, so that characters in it are not read as emphasis."""
    formula = _MATHS.match(state.src, state.pos) if state.src[state.pos] == "$" else None
    if formula is None:
        return False
    if not is_silent:
        state.push("maths", "", 0).content = formula[0]
    state.pos = formula.end()
    return True


def _turn_long_into_text(state: StateCore) -> None:
    """Turn paragraphs that are too long to be parsed for emphasis into plain text."""
    for token in state.tokens:
        if token.type == "inline" and len(token.content) > _MAX_EMPHASIS_CHARS:
            token.children = [Token("text", "", 0, content=token.content)]
            token.type = "inline_text"


def _mark_cells_and_tasks(state: StateCore) -> None:
    """Replace the style of table cells by a class, and write the boxes of task list items."""
    for token in state.tokens:
        if token.type == "inline_text":
            token.type = "inline"
        if token.type in {"th_open", "td_open"}:
            style = str(token.attrs.pop("style", ""))
            css_class = {"text-align:right": "right", "text-align:center": "middle"}.get(style)
            if css_class:
                token.attrs["class"] = css_class
    for item, paragraph, inline in zip(
        state.tokens, state.tokens[1:], state.tokens[2:], strict=False
    ):
        if item.type == "list_item_open" and paragraph.type == "paragraph_open" and inline.children:
            first_child = inline.children[0]
            task_box = _TASK.match(first_child.content) if first_child.type == "text" else None
            if task_box:
                first_child.content = ("☐ " if task_box[1] == " " else "☑ ") + first_child.content[
                    task_box.end() :
                ]


class _MarkdownReader(MarkdownIt):
    """Parses CommonMark with tables, strikethrough and formulas; HTML is kept as text."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"html": False, "maxNesting": _MAX_DEPTH})
        self.enable(["table", "strikethrough"])
        self.inline.ruler.before("escape", "maths", _maths)
        self.core.ruler.before("inline", "long_as_text", _turn_long_into_text)
        self.core.ruler.push("finish", _mark_cells_and_tasks)

    def validateLink(self, url: str) -> bool:  # noqa: N802
        """Accept every link: its target is checked when the link is written."""
        return True

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        """Return the URL unchanged."""
        return url


_READER = _MarkdownReader()
_WRITER = _HtmlWriter()
