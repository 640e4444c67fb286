"""A session as one HTML page that needs nothing else: no script, no font, no network.

Border: pure. The look is the cell's: a thin rule at the left for what is the agent's, tool calls
as rows that open, a dashed strip for what was scraped off. Calls open and close with ``details``,
so the page works where scripts do not. Everything of others is escaped when it is written.
"""

import html
import re
from collections.abc import Iterable, Sequence

from palimpsest.render.escape import clean, one_line
from palimpsest.render.figures import Share, gauge
from palimpsest.render.markup import to_html
from palimpsest.render.pieces import Piece
from palimpsest.render.story import (
    LOOKING,
    Call,
    Caps,
    Item,
    Notes,
    Notice,
    Said,
    Scrub,
    Step,
    Strip,
    Thought,
    tell,
    tell_error,
)
from palimpsest.render.words import SIGNS, duration, share_words, size
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.parts import Attachment

_PICTURE = re.compile(r"^data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$")
PAGE_CAPS = Caps(looking_lines=40)
"""Rows of calls that only look are closed here, so more fits under them."""
_TONES = {"completed": "good", "error": "bad", "refused": "bad", "waiting": "warm"}


def render_page(
    messages: Messages,
    title: str,
    *,
    facts: Sequence[tuple[str, str]] = (),
    caps: Caps | None = None,
    scrub: Scrub = str,
    notes: Notes | None = None,
) -> str:
    """Return a whole session as a page; ``facts`` are pairs of words under its title."""
    name = html.escape(one_line(scrub(title)) or "Session")
    told = " · ".join(
        f"<span><b>{html.escape(one_line(scrub(key)))}</b> "
        f"{html.escape(one_line(scrub(value)))}</span>"
        for key, value in facts
    )
    body = "\n".join(_turns(messages, caps or PAGE_CAPS, scrub, notes))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
        " style-src 'unsafe-inline'; img-src data:\">\n"
        f"<title>{name}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<header><h1>{name}</h1><p class="facts">{told}</p></header>\n'
        f"{body}\n</main>\n</body>\n</html>\n"
    )


def render_message(
    message: Message,
    *,
    caps: Caps | None = None,
    scrub: Scrub = str,
    notes: Notes | None = None,
    first_step: int = 1,
) -> str:
    """Return one message as a piece of HTML without style."""
    items = tell(
        message.parts, caps=caps or PAGE_CAPS, scrub=scrub, notes=notes, first_step=first_step
    )
    made = [_item(item) for item in items]
    if message.info.role == "assistant" and message.info.error:
        made.append(_item(tell_error(message.info.error, scrub)))
    kind = "prompt" if message.info.role == "user" else "answer"
    return f'<section class="{kind}">\n{_join(made)}\n</section>' if any(made) else ""


def _turns(messages: Messages, caps: Caps, scrub: Scrub, notes: Notes | None) -> Iterable[str]:
    left, step = caps, 1
    for message in messages:
        if message.info.role == "user":
            left, step = caps, 1
        yield render_message(message, caps=left, scrub=scrub, notes=notes, first_step=step)
        left = left.after(message.parts)
        step += sum(part.type == "step-finish" for part in message.parts)


def _join(blocks: Iterable[str]) -> str:
    return "\n".join(block for block in blocks if block)


def _item(item: Item) -> str:
    match item:
        case Said():
            more = _muted(f"{size(item.left_out)} of text not shown here") if item.left_out else ""
            return f'<div class="said">{to_html(item.text)}{more}</div>'
        case Thought():
            return _thought(item)
        case Call():
            return _call(item)
        case Step():
            return _step(item)
        case Strip():
            return _strip(item.words)
        case Notice():
            return _notice(item)


def _thought(item: Thought) -> str:
    head = "Thought" if item.seconds is None else f"Thought for {duration(item.seconds)}"
    if not item.text.strip():
        return _muted(head)
    return (
        f'<details class="thought"><summary>{head}</summary>'
        f'<div class="said">{to_html(item.text)}</div></details>'
    )


def _call(item: Call) -> str:
    time = "" if item.seconds is None else duration(item.seconds)
    right = {"waiting": "waiting for you", "running": "running", "pending": "being written"}
    row = (
        f'<span class="sign {_TONES.get(item.status, "")}" title="{item.status}">'
        f'{SIGNS[item.status]}</span> <b class="name">{_words(item.tool)}</b> '
        f'<span class="subject">{_words(item.subject)}</span>'
        f'<span class="remark">{_words(item.remark)}</span>'
        f'<span class="time">{right.get(item.status, time)}</span>'
    )
    body = _join(
        [
            f'<p class="ask">{_words(item.question)}</p>' if item.question else "",
            _piece(item.input, "input"),
            _piece(item.output, "output"),
            f'<p class="kept">{_words(item.kept)}</p>' if item.kept else "",
        ]
    )
    after = _join([*(_figure(one) for one in item.figures), *(_strip(s) for s in item.strips)])
    warm = " waiting" if item.status == "waiting" else ""
    if not body:
        return _join([f'<div class="call{warm}"><div class="row">{row}</div></div>', after])
    opened = "" if item.tool in LOOKING and item.status == "completed" else " open"
    return _join(
        [
            f'<details class="call{warm}"{opened}><summary class="row">{row}</summary>{body}</details>',
            after,
        ]
    )


def _piece(piece: Piece | None, kind: str) -> str:
    if piece is None or not piece.text.strip():
        return ""
    text = clean(piece.text).strip("\n")
    made = _diff(text) if piece.language == "diff" else html.escape(text)
    return f'<pre class="{kind}"><code>{made}</code></pre>'


def _diff(text: str) -> str:
    classes = {"+": "added", "-": "removed", "@": "place"}
    return "\n".join(
        f'<span class="{classes[line[0]]}">{html.escape(line)}</span>'
        if line[:1] in classes
        else html.escape(line)
        for line in text.split("\n")
    )


def _figure(figure: Attachment) -> str:
    name = _words(figure.filename or "figure")
    if _PICTURE.match(figure.url):
        return f'<figure><img src="{html.escape(figure.url)}" alt="{name}"></figure>'
    return _muted(f"{figure.filename or 'file'} ({figure.mime})")


def _step(item: Step) -> str:
    made = f"<span>{_words(item.words)}</span>"
    if item.used is not None and item.window is not None:
        made += (
            f" {gauge([Share('used', item.used)], item.window)}"
            f" <span>{_words(share_words(item.used, item.window))}</span>"
        )
    return f'<p class="step">{made}</p>'


def _strip(words: str) -> str:
    return f'<p class="strip">{_words(words)}</p>'


def _notice(item: Notice) -> str:
    do = f" <span>{_words(item.do)}</span>" if item.do else ""
    return (
        f'<p class="notice {"bad" if item.tone == "error" else "muted"}">'
        f'<span class="sign">{_words(item.sign)}</span> <b>{_words(item.words)}</b>{do}</p>'
    )


def _muted(words: str) -> str:
    return f'<p class="muted">{_words(words)}</p>'


def _words(text: str) -> str:
    return html.escape(one_line(text, 600))


STYLE = """
:root {
  --page: #fff; --text: #1b1b1f; --muted: #63636b; --line: #dcdce1; --code: #f6f6f7;
  --accent: #5b49b4; --tint: #eae8f2; --good: #1d7f4e; --bad: #b3261e; --warm: #96590a;
  --warm-page: #fff7ea; --scraped: #1f7f72; --strokes: #1f7f7214;
  --system: #8a94ad; --tools: #a9b1c6; --instructions: #c3a5d8; --summary: #2a9080;
  --user: #3b82c4; --assistant: #5b49b4; --reasoning: #a89be0; --output: #d08a3c;
  --used: #5b49b4; --free: #ececef; --reserve: #c9c9d0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #111216; --text: #ececf0; --muted: #a0a1ab; --line: #33353d; --code: #1a1c21;
    --accent: #a596f2; --tint: #282736; --good: #58c08a; --bad: #f28b82; --warm: #f0b453;
    --warm-page: #2a2319; --scraped: #4fbfae; --strokes: #4fbfae1a;
    --system: #6f7c9c; --tools: #55607b; --instructions: #8d6aa6; --summary: #4fbfae;
    --user: #5aa5e6; --assistant: #8b7ce6; --reasoning: #5f52a8; --output: #e0a55c;
    --used: #a596f2; --free: #26282e; --reserve: #4a4c55;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 14px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 860px; margin: 0 auto; padding: 24px 16px 64px; }
h1 { font-size: 20px; margin: 0; }
h3, h4, h5, h6 { font-size: 14px; margin: 12px 0 4px; }
.facts, .muted, .kept, .step { color: var(--muted); font-size: 12px; margin: 4px 0;
  font-variant-numeric: tabular-nums; }
.facts b { font-weight: 500; }
section { margin: 16px 0; display: flex; flex-direction: column; gap: 8px; }
section > * { margin: 0; }
.prompt { background: var(--tint); border-radius: 6px; padding: 8px 12px; margin-top: 24px; }
.answer { border-left: 2px solid var(--accent); padding-left: 16px; }
.answer + .answer { margin-top: -16px; padding-top: 12px; }
.said > :first-child { margin-top: 0; } .said > :last-child { margin-bottom: 0; }
.said p { margin: 8px 0; } .said p { white-space: pre-line; }
pre, code, .name, .subject { font-family: ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace;
  font-size: 12px; }
code { background: var(--code); padding: 1px 3px; border-radius: 3px; }
pre { background: var(--code); margin: 0; padding: 8px 12px; overflow-x: auto; border-radius: 6px; }
pre code { background: none; padding: 0; }
a { color: var(--accent); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: 3px 10px; text-align: left; }
th.right, td.right { text-align: right; } th.middle, td.middle { text-align: center; }
blockquote { margin: 8px 0; padding-left: 12px; border-left: 2px solid var(--line);
  color: var(--muted); }
summary { cursor: pointer; list-style: none; min-height: 24px; }
summary::-webkit-details-marker { display: none; }
summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 6px; }
.thought > summary { color: var(--muted); }
.thought > summary::before { content: "\\25B8\\00A0"; }
.thought[open] > summary::before { content: "\\25BE\\00A0"; }
.thought > .said { color: var(--muted); margin-top: 4px; font-size: 13px; }
.call { border: 1px solid var(--line); border-radius: 6px; overflow: hidden; }
.row { display: flex; align-items: baseline; gap: 8px; padding: 5px 10px; min-width: 0; }
.row .subject { color: var(--muted); overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
  flex: 1 1 auto; min-width: 0; }
.row .remark, .row .time { color: var(--muted); font-size: 12px; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
details.call > .row .time::after { content: "\\00A0\\25B8"; }
details.call[open] > .row .time::after { content: "\\00A0\\25BE"; }
.sign { font-size: 12px; } .good { color: var(--good); } .bad { color: var(--bad); }
.warm { color: var(--warm); }
.call pre { border-radius: 0; border-top: 1px solid var(--line); }
.call pre.output { background: var(--page); border-top: 1px dashed var(--line); }
.call .kept { padding: 0 12px 6px; }
.waiting { border-color: var(--warm); background: var(--warm-page); }
.waiting .time { color: var(--warm); } .ask { margin: 0; padding: 0 12px 8px; font-weight: 500; }
.added { color: var(--good); } .removed { color: var(--bad); } .place { color: var(--muted); }
.strip { border: 1px dashed var(--scraped); border-radius: 6px; padding: 5px 12px; font-size: 13px;
  background: repeating-linear-gradient(135deg, transparent 0 7px, var(--strokes) 7px 8px); }
.notice { font-size: 13px; } .notice b { font-weight: 500; } .notice span { color: var(--muted); }
.notice.bad b, .notice.bad .sign { color: var(--bad); }
.notice.muted { color: var(--muted); }
.step { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 12px; }
.gauge { border-radius: 3px; }
figure { margin: 0; } figure img { max-width: 100%; background: #fff; border-radius: 6px; }
@media (max-width: 480px) { .row { flex-wrap: wrap; } .row .subject { flex-basis: 60%; } }
@media print { .call { break-inside: avoid; } }
"""
