"""Convert an HTML page to Markdown or plain text for the model.

Border: pure; the only module that imports Beautiful Soup and markdownify. Scripts, styles and drawings
are removed; links become absolute.
"""

import re
import warnings
from urllib.parse import urljoin

import bs4
import markdownify

from palimpsest.tools.web import html_tokens

LARGEST_CHARS = 1_000_000
"""Markdownify takes about four seconds for this size; a larger page becomes plain text, in one second."""

TOO_LARGE = "(The page is too large to be put into Markdown; these are its words, without links.)"


def to_markdown(html: str, url: str) -> str:
    """Return a page as Markdown, its title first."""
    page, title, too_deep = html_tokens.head_and_body(html)
    if too_deep:
        # Markdownify is recursive, and takes ever longer.
        body = _tidy(html_tokens.visible_text(page))
    elif len(page) > LARGEST_CHARS:
        body = f"{TOO_LARGE}\n\n{_tidy(html_tokens.visible_text(page))}"
    else:
        body = _tidy(_marked_down(page, url))
    return body if not title or body.startswith(f"# {title}") else f"# {title}\n\n{body}"


def to_text(html: str, url: str) -> str:  # noqa: ARG001  both are called alike
    """Return the visible text of a page, its title first."""
    page, title, _ = html_tokens.head_and_body(html)
    body = _tidy(html_tokens.visible_text(page))
    return body if not title or body.startswith(title) else f"{title}\n\n{body}"


def _marked_down(page: str, url: str) -> str:
    soup = _soup(page)
    for link in soup("a", href=True):
        link["href"] = _joined(url, str(link["href"]))
    for image in soup("img"):
        source = str(image.get("src") or "")
        if not source or source.startswith("data:"):
            # Its alternative text replaces it; moving nodes in a tree of many siblings is slow.
            image.name, image.attrs, image.string = "span", {}, str(image.get("alt") or "")
        else:
            image["src"] = _joined(url, source)
    made: str = markdownify.MarkdownConverter(
        heading_style="ATX", bullets="-", escape_underscores=False, escape_misc=False
    ).convert_soup(soup)
    return made


def _soup(html: str) -> bs4.BeautifulSoup:
    with warnings.catch_warnings():
        # What looks like XML or a file name is read as the page it was sent as.
        warnings.simplefilter("ignore")
        return bs4.BeautifulSoup(html, "html.parser")


def _joined(base: str, address: str) -> str:
    try:
        return urljoin(base, address.strip())
    except ValueError:
        return address


def _tidy(text: str) -> str:
    lines = [line.rstrip() for line in text.replace("\xa0", " ").split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
