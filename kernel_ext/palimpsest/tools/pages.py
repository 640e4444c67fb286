"""Turn an HTML page into what a model reads: Markdown or plain text.

Border: pure but for its libraries, which live here: Beautiful Soup and markdownify. Scripts, styles
and drawings are left out; links lead where they lead on the page.
"""

import re
import warnings
from urllib.parse import urljoin

import bs4
import markdownify

UNREAD = ("script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "head")
"""What a reader of the page does not see as words."""

BLOCKS = (
    *("address", "article", "aside", "blockquote", "body", "br", "dd", "div", "dl", "dt"),
    *("figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header"),
    *("hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "tr", "ul"),
)

DEEPEST = 150
"""Markdownify goes down by recursion; deeper pages are given as plain text."""


def to_markdown(html: str, url: str) -> str:
    """Return a page as Markdown, its title first."""
    soup = _soup(html)
    title = _title(soup)
    _clean(soup, url)
    if _too_deep(soup):
        body = _plain(soup)
    else:
        made: str = markdownify.MarkdownConverter(
            heading_style="ATX", bullets="-", escape_underscores=False, escape_misc=False
        ).convert_soup(soup)
        body = _tidy(made)
    return body if not title or body.startswith(f"# {title}") else f"# {title}\n\n{body}"


def to_text(html: str, url: str) -> str:
    """Return the words of a page, its title first."""
    soup = _soup(html)
    title = _title(soup)
    _clean(soup, url)
    body = _plain(soup)
    return body if not title or body.startswith(title) else f"{title}\n\n{body}"


def _soup(html: str) -> bs4.BeautifulSoup:
    with warnings.catch_warnings():
        # What looks like XML or a file name is read as the page it was sent as.
        warnings.simplefilter("ignore")
        return bs4.BeautifulSoup(html, "html.parser")


def _title(soup: bs4.BeautifulSoup) -> str:
    return " ".join(soup.title.get_text().split()) if soup.title is not None else ""


def _clean(soup: bs4.BeautifulSoup, url: str) -> None:
    for tag in soup(UNREAD):
        tag.decompose()
    for comment in soup.find_all(
        string=lambda text: isinstance(text, bs4.element.PreformattedString)
    ):
        comment.extract()
    base = url
    for link in soup("a", href=True):
        link["href"] = _joined(base, str(link["href"]))
    for image in soup("img"):
        source = str(image.get("src") or "")
        if not source or source.startswith("data:"):
            image.replace_with(str(image.get("alt") or ""))
        else:
            image["src"] = _joined(base, source)


def _joined(base: str, address: str) -> str:
    try:
        return urljoin(base, address.strip())
    except ValueError:
        return address


def _too_deep(soup: bs4.BeautifulSoup) -> bool:
    depth, deepest = 0, 0
    node: bs4.element.PageElement | None = soup
    level = {id(soup): 0}
    for node in soup.descendants:
        parent = node.parent
        depth = level.get(id(parent), 0) + 1
        if isinstance(node, bs4.Tag):
            level[id(node)] = depth
        deepest = max(deepest, depth)
        if deepest > DEEPEST:
            return True
    return False


def _plain(soup: bs4.BeautifulSoup) -> str:
    for text in soup.find_all(string=True):
        if text.find_parent("pre") is None:
            text.replace_with(re.sub(r"\s+", " ", str(text)))
    for tag in soup(BLOCKS):
        tag.insert_before("\n")
        tag.insert_after("\n")
    for cell in soup(["td", "th"]):
        cell.insert_after("\t")
    return _tidy(soup.get_text())


def _tidy(text: str) -> str:
    lines = [line.rstrip() for line in text.replace("\xa0", " ").split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
