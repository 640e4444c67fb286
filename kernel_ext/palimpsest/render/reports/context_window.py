"""Write a context window as an HTML fragment: one bar, what fills it, and what was removed from it.

Border: pure; text and numbers in, markup out. An untrusted notebook loses style sheets and drawings
(JupyterLab's sanitiser), so the bar is made of plain elements with size and colour in their ``style``
attribute; the style sheet adds the notebook's own colours where it is allowed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.render.content.css import FILL_COLOURS, WINDOW
from palimpsest.render.content.phrases import count
from palimpsest.render.safety.escaping import text_in_html
from palimpsest.transcript.context_values.decisions import REQUEST_KINDS
from palimpsest.transcript.context_values.request_items import RequestItem

FILL_KINDS = (*REQUEST_KINDS, "used")
"""The kinds of tokens in the window, always in this order; ``used`` is for tokens of no known kind."""


@dataclass(frozen=True, slots=True)
class KindShare:
    """The tokens of one kind in the window; ``free`` and ``reserve`` end the bar."""

    kind: str
    name: str
    tokens: int
    remark: str = ""


@dataclass(frozen=True, slots=True)
class ReductionRow:
    """A reduction in the context, as a row."""

    name: str
    sentence: str
    facts: tuple[str, ...]
    """The action, the tokens it saved, since when, and the rule."""
    reason: str
    is_code: bool = True
    """Whether ``sentence`` is the subject of a tool call, shown as code."""


@dataclass(frozen=True, slots=True)
class ContextReportView:
    """The texts and numbers of a context report, ready to be drawn."""

    title: str
    head_phrases: tuple[str, ...]
    """Phrases on how full the window is, and in which request."""
    window: int
    """Tokens of the window; 0 where it has no limit: then no bar and no percentages are shown."""
    kind_shares: tuple[KindShare, ...]
    """The kinds in the order of the bar."""
    warning: str
    """A warning for the user; empty without one."""
    remarks: tuple[str, ...]
    """Sentences on how the tokens were counted."""
    entries_title: str
    entries: tuple[RequestItem, ...]
    more_entries: str
    marks_title: str
    """Heading of the reductions."""
    reduction_rows: tuple[ReductionRow, ...]
    more_marks: str


def to_html(view: ContextReportView) -> str:
    """Return the report as an HTML fragment for a notebook."""
    blocks = [
        f'<p class="title"><b>{text_in_html(view.title)}</b></p>',
        f'<p class="facts">{_joined_spans(view.head_phrases)}</p>',
        _bar(view),
        f'<p class="notice bad"><b>{text_in_html(view.warning)}</b></p>' if view.warning else "",
        _fill_table(view),
        f'<p class="facts">{text_in_html(" ".join(view.remarks))}</p>' if view.remarks else "",
        _reduction_list_html(view),
        _entry_table(view),
    ]
    body = "\n".join(block for block in blocks if block)
    return (
        '<div class="plm-Saved plm-Saved-window"><div class="plm-Saved-words">'
        f"<style>{WINDOW}</style>\n{body}\n</div></div>"
    )


def share(tokens: int, window: int) -> str:
    """Return a share of the window as a percentage, at least "<0.1 %"; empty without a limit."""
    if not window:
        return ""
    percent = 100 * tokens / window
    if 0 < percent < 0.1:
        return "<0.1 %"
    return f"{percent:.1f} %" if percent < 10 else f"{percent:.0f} %"


def _bar(view: ContextReportView) -> str:
    if not view.window:
        return ""
    total_tokens = max(view.window, sum(fill.tokens for fill in view.kind_shares))
    pieces = []
    for fill in view.kind_shares:
        if fill.tokens <= 0:
            continue
        title = f"{fill.name}: {count(fill.tokens)} tokens, {share(fill.tokens, view.window)}"
        min_width = "" if fill.kind == "free" else "min-width:2px;"
        pieces.append(
            f'<span class="fill k-{_kind_label(fill.kind)}" title="{text_in_html(title)}"'
            f' style="width:{100 * fill.tokens / total_tokens:.3f}%;{min_width}{_colour_style(fill.kind)}"></span>'
        )
    label = text_in_html(f"{view.title}. {', '.join(view.head_phrases)}")
    return (
        f'<div class="bar" role="img" aria-label="{label}" style="display:flex;height:14px;'
        f'overflow:hidden;border:1px solid #9a9ca6;border-radius:4px">{"".join(pieces)}</div>'
    )


def _fill_table(view: ContextReportView) -> str:
    rows = "\n".join(
        f'<tr><th style="text-align:left">{_swatch(fill.kind)}{text_in_html(fill.name)}</th>'
        f'<td class="number" style="text-align:right">{count(fill.tokens)}</td>'
        f'<td class="number" style="text-align:right">{share(fill.tokens, view.window)}</td>'
        f'<td class="words" style="text-align:left"><bdi>{text_in_html(fill.remark)}</bdi></td></tr>'
        for fill in view.kind_shares
    )
    return f'<table class="fills"><tbody>\n{rows}\n</tbody></table>'


def _reduction_list_html(view: ContextReportView) -> str:
    rows_html = "\n".join(map(_reduction_html, view.reduction_rows))
    header_html = _muted_line(view.marks_title)
    if view.reduction_rows:
        header_html = f'<p class="heading"><b>{text_in_html(view.marks_title)}</b></p>'
    omitted_html = f"\n{_muted_line(view.more_marks)}" if view.more_marks else ""
    return f"{header_html}\n{rows_html}{omitted_html}"


def _muted_line(text: str) -> str:
    return f'<p class="muted">{text_in_html(text)}</p>'


def _reduction_html(reduction: ReductionRow) -> str:
    css_class = "subject" if reduction.is_code else "told"
    reason = text_in_html(reduction.reason)
    reason_html = f'<div class="why">{reason}</div>' if reduction.reason else ""
    return (
        '<div class="strip" style="border:1px dashed #3d8f84;border-radius:6px;'
        'padding:5px 12px;margin:6px 0"><div>'
        f'<b class="name">{text_in_html(reduction.name)}</b> <bdi class="{css_class}">{text_in_html(reduction.sentence)}</bdi> '
        f'<span class="did">· {_joined_spans(reduction.facts)}</span></div>{reason_html}</div>'
    )


def _entry_table(view: ContextReportView) -> str:
    if not view.entries:
        return ""
    rows = "\n".join(
        f'<tr><td class="number" style="text-align:right">{count(entry.tokens)}</td>'
        f'<td style="text-align:left">{_swatch(entry.kind)}<span class="name">{text_in_html(entry.name)}</span></td>'
        f'<td class="words" style="text-align:left"><bdi>{text_in_html(entry.words)}</bdi>'
        + (f' <i class="remark">{text_in_html(entry.remarks)}</i>' if entry.remarks else "")
        + "</td></tr>"
        for entry in view.entries
    )
    omitted_html = f"\n{_muted_line(view.more_entries)}" if view.more_entries else ""
    return (
        f'<details class="items"><summary>{text_in_html(view.entries_title)}</summary>'
        f'<table class="entries"><tbody>\n{rows}\n</tbody></table>{omitted_html}</details>'
    )


def _swatch(kind: str) -> str:
    return (
        f'<span class="swatch k-{_kind_label(kind)}" style="display:inline-block;width:10px;height:10px;'
        f'margin-right:6px;border-radius:2px;{_colour_style(kind)}"></span>'
    )


def _kind_label(kind: str) -> str:
    return kind if kind in FILL_COLOURS else "used"


def _colour_style(kind: str) -> str:
    colour = FILL_COLOURS.get(kind, FILL_COLOURS["used"])
    return f"background-color:{colour}" if colour else "background-color:transparent"


def _joined_spans(texts: Sequence[str]) -> str:
    return " · ".join(f"<span>{text_in_html(word)}</span>" for word in texts if word)
