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

MAX_MARKDOWN_CHARS = 1_000_000
"""Maximum characters of a page that becomes Markdown, which takes about four seconds; a larger one becomes plain text in one second."""

TOO_LARGE_NOTE = (
    "(The page is too large to be put into Markdown; these are its words, without links.)"
)


def to_markdown(html: str, url: str) -> str:
    """Return a page as Markdown, its title first."""
    page, title, is_too_deep = html_tokens.displayed_markup(html)
    if is_too_deep:
        # Markdownify is recursive, and slow for deep pages.
        body = _without_blank_runs(html_tokens.visible_text(page))
    elif len(page) > MAX_MARKDOWN_CHARS:
        body = f"{TOO_LARGE_NOTE}\n\n{_without_blank_runs(html_tokens.visible_text(page))}"
    else:
        body = _without_blank_runs(_converted_body(page, url))
    return body if not title or body.startswith(f"# {title}") else f"# {title}\n\n{body}"


def to_text(html: str, url: str) -> str:  # noqa: ARG001  called with the same arguments as to_markdown
    """Return the visible text of a page, its title first."""
    page, title, _ = html_tokens.displayed_markup(html)
    body = _without_blank_runs(html_tokens.visible_text(page))
    return body if not title or body.startswith(title) else f"{title}\n\n{body}"


def _converted_body(page: str, url: str) -> str:
    with warnings.catch_warnings():
        # Suppress warnings about text that looks like XML or a file name.
        warnings.simplefilter("ignore")
        soup = bs4.BeautifulSoup(page, "html.parser")
    for link in soup("a", href=True):
        link["href"] = _joined_url(url, str(link["href"]))
    for image in soup("img"):
        source = str(image.get("src") or "")
        if not source or source.startswith("data:"):
            # Replace it in place by its alternative text, since moving nodes among many siblings is slow.
            image.name, image.attrs, image.string = "span", {}, str(image.get("alt") or "")
        else:
            image["src"] = _joined_url(url, source)
    markdown: str = markdownify.MarkdownConverter(
        heading_style="ATX", bullets="-", escape_underscores=False, escape_misc=False
    ).convert_soup(soup)
    return markdown


def _joined_url(base_url: str, address: str) -> str:
    try:
        return urljoin(base_url, address.strip())
    except ValueError:
        return address


def _without_blank_runs(text: str) -> str:
    lines = [line.rstrip() for line in text.replace("\xa0", " ").split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
