"""Write a session as an HTML fragment inside another page; a cell saves it for ``session.view()``.

Border: pure. Text and escaping are those of ``render/formats/html.py``; the style sheet has no effect outside the
fragment. When not all turns fit, the oldest are left out.
"""

import html

from palimpsest.render.content.css import EXCERPT
from palimpsest.render.content.outline import Caps, OutlineNotes, Scrub
from palimpsest.render.content.phrases import count
from palimpsest.render.formats.html import PAGE_CAPS, render_turn
from palimpsest.render.formats.item_writer import in_turns
from palimpsest.render.safety.escaping import in_html, one_line
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.values import Density

MAX_HTML_CHARS = 500_000
"""Maximum characters of HTML of a session in a cell; a notebook is opened and sent in one piece."""
NOTHING_SAID = '<p class="muted">Nothing was said in this session yet.</p>'


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
    shown_turns: list[str] = []
    turns = [list(turn) for turn in in_turns(messages, caps)]
    for turn in reversed(turns):
        turn_html = render_turn(turn, scrub=scrub, notes=notes, density=density, is_whole=True)
        max_chars -= len(turn_html)
        if max_chars < 0 and shown_turns:
            break
        shown_turns.append(turn_html)
    omitted_count = len(turns) - len(shown_turns)
    body = "\n".join(reversed(shown_turns)) or NOTHING_SAID
    return (
        f'<div class="plm-Saved {html.escape(css_class)}"><div class="plm-Saved-words">'
        f"<style>{EXCERPT}</style>"
        f'<p class="title"><b>{name}</b></p>'
        f'<p class="facts">{in_html(one_line(remark))}</p>\n'
        f"{_omitted_turns_note(omitted_count)}{body}\n</div></div>"
    )


def _omitted_turns_note(turn_count: int) -> str:
    if not turn_count:
        return ""
    subject = f"{count(turn_count)} earlier turn{'s are' if turn_count > 1 else ' is'}"
    return (
        f'<p class="muted">{subject} not kept in the notebook; the session has all of them.</p>\n'
    )
