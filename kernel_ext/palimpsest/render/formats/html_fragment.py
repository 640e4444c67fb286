"""Write a session as an HTML fragment inside another page; a cell saves it for ``session.view()``.

Border: pure. The same text and the same escaping as the page of ``render/formats/html.py``; the style
sheet has no effect outside the fragment. When not all turns fit, the oldest are left out.
"""

import html
from collections.abc import Sequence

from palimpsest.render.content.css import EXCERPT
from palimpsest.render.content.outline import Caps, OutlineNotes, Scrub
from palimpsest.render.content.phrases import count
from palimpsest.render.formats.html import PAGE_CAPS, render_turns
from palimpsest.render.formats.item_writer import begins_turn
from palimpsest.render.safety.escaping import in_html, one_line
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.values import Density

MAX_HTML_CHARS = 500_000
"""Maximum characters of HTML of a session in a cell; a notebook is opened and sent in one piece."""


def render_excerpt(
    messages: Messages,
    title: str,
    *,
    css_class: str,
    remark: str = "",
    caps: Caps = PAGE_CAPS,
    scrub: Scrub = str,
    notes: OutlineNotes | None = None,
    density: Density = "quiet",
    max_chars: int = MAX_HTML_CHARS,
) -> str:
    """Return a session's newest turns in at most ``max_chars`` characters, inside an element of the class ``css_class``.

    The newest turn is always included.
    """
    name = in_html(one_line(scrub(title)) or "Session")
    shown_rows: list[str] = []
    turns = _turns(messages)
    for turn in reversed(turns):
        turn_html = "\n".join(
            piece for piece in render_turns(turn, caps, scrub, notes, density) if piece
        )
        max_chars -= len(turn_html)
        if max_chars < 0 and shown_rows:
            break
        shown_rows.append(turn_html)
    left_out = len(turns) - len(shown_rows)
    body = (
        "\n".join(reversed(shown_rows))
        or '<p class="muted">Nothing was said in this session yet.</p>'
    )
    return (
        f'<div class="plm-Saved {html.escape(css_class)}"><div class="plm-Saved-words">'
        f"<style>{EXCERPT}</style>"
        f'<p class="title"><b>{name}</b></p>'
        f'<p class="facts">{in_html(one_line(remark))}</p>\n'
        f"{_left_out_note(left_out)}{body}\n</div></div>"
    )


def _turns(messages: Messages) -> Sequence[list[Message]]:
    turns: list[list[Message]] = []
    for message in messages:
        if not turns or begins_turn(message):
            turns.append([])
        turns[-1].append(message)
    return turns


def _left_out_note(turns: int) -> str:
    if not turns:
        return ""
    subject = f"{count(turns)} earlier turn{'s are' if turns > 1 else ' is'}"
    return (
        f'<p class="muted">{subject} not kept in the notebook; the session has all of them.</p>\n'
    )
