"""Write what a notebook saves of an inspector: a picture and tables that need no kernel, script or style sheet.

Border: pure. The picture is an image with its content in the address: GitHub shows that in a notebook, and
takes ``svg`` elements, styles and scripts out.
"""

import base64
import html
from collections.abc import Sequence

from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.reports.table import ReportTable
from palimpsest.render.reports.timeline_picture import TimelinePicture, timeline_svg
from palimpsest.render.safety.escaping import in_html, line_in_html, one_line

MAX_SAVED_CHARS = 64_000
MAX_SENTENCE_CHARS = 400
MAX_PICTURE_SENTENCE_CHARS = 600
MAX_SENTENCES = 24
"""Maximum sentences: enough for the totals, a recording's gaps, and the eleven sentences about its unreadable places."""


def saved_inspector(
    title: str,
    picture: TimelinePicture | None,
    tables: Sequence[ReportTable],
    sentences: Sequence[str],
    *,
    css_class: str,
) -> str:
    """Return at most ``MAX_SAVED_CHARS`` characters of HTML in an element of the class ``css_class``.

    Each table that does not fit into the remaining room is left out.
    """
    opening_html = (
        f'<div class="plm-Saved {html.escape(css_class)}"><div class="plm-Saved-words">'
        f"<p><b>{in_html(one_line(title) or 'Session')}</b></p>\n"
        f"{'' if picture is None else _picture_html(picture)}{sentence_list(sentences)}\n"
    )
    closing_html = "</div></div>"
    page = opening_html
    for table in tables:
        table_html = f"{table.html}\n"
        if len(page) + len(table_html) + len(closing_html) <= MAX_SAVED_CHARS:
            page += table_html
    return page + closing_html


def _picture_html(picture: TimelinePicture) -> str:
    svg = base64.b64encode(timeline_svg(picture).encode()).decode()
    sentence = one_line(picture.sentence, MAX_PICTURE_SENTENCE_CHARS)
    return (
        f'<p><img alt="{html.escape(sentence)}" width="760" src="data:image/svg+xml;base64,{svg}"></p>\n'
        f"<p>{in_html(sentence)}</p>\n"
    )


def sentence_list(sentences: Sequence[str]) -> str:
    """Return sentences as a list in HTML, with the number of omitted ones at its end; empty without sentences."""
    shown_sentences = [*sentences[:MAX_SENTENCES]]
    if len(sentences) > MAX_SENTENCES:
        omitted_text = counted_noun(len(sentences) - MAX_SENTENCES, "more sentence")
        shown_sentences.append(f"{omitted_text} left out here.")
    items_html = "".join(
        f"<li>{line_in_html(sentence, MAX_SENTENCE_CHARS)}</li>" for sentence in shown_sentences
    )
    return f"<ul>{items_html}</ul>" if items_html else ""
