"""Write a context window as plain text and as Markdown: a bar of characters and tables.

Border: pure. Every kind has a sign of its own in the bar, which its row repeats, so that nothing depends on colour.
Numbers come before text from a session, so that right-to-left text moves nothing.
"""

from collections.abc import Sequence

from palimpsest.render.content.phrases import count
from palimpsest.render.reports.context_window import (
    ContextReportView,
    KindShare,
    ReductionRow,
    share,
)
from palimpsest.render.safety.escaping import code_span, escape_inline, one_line
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.visible_text import visible_text

BAR = 64
"""Characters of the bar, which with its border fits a terminal of 80 columns."""
SIGNS = {
    "system": "█",
    "tools": "▓",
    "instructions": "▒",
    "summary": "◆",
    "user": "▲",
    "notebook": "◇",
    "assistant": "■",
    "reasoning": "□",
    "output": "▤",
    "used": "█",
    "free": "·",
    "reserve": "/",
}


def bar(fills: Sequence[KindShare], window: int, width: int = BAR) -> str:
    """Return what fills the window as a bar of signs; every kind present has at least one sign."""
    there = [fill for fill in fills if fill.tokens > 0]
    total = max(window, sum(fill.tokens for fill in there), 1)
    cells = [max(1, width * fill.tokens // total) for fill in there]
    rests = sorted(range(len(there)), key=lambda index: -(width * there[index].tokens % total))
    for index in rests[: max(0, width - sum(cells))]:
        cells[index] += 1
    while cells and sum(cells) > width:
        cells[cells.index(max(cells))] -= 1
    return "".join(
        SIGNS.get(fill.kind, SIGNS["used"]) * cell for fill, cell in zip(there, cells, strict=True)
    )


def to_text(sheet: ContextReportView) -> str:
    """Return the report as plain text."""
    blocks = [
        sheet.title,
        " · ".join(word for word in sheet.head_phrases if word),
        f"[{bar(sheet.kind_shares, sheet.window)}]" if sheet.window else "",
        f"! {sheet.warning}" if sheet.warning else "",
        "\n".join(_fill_lines(sheet)),
        "\n".join(remark for remark in sheet.remarks if remark),
        "\n".join([sheet.marks_title, *(_mark_text(mark) for mark in sheet.reduction_rows)]),
        sheet.more_marks,
        "\n".join([sheet.entries_title, *_entry_lines(sheet.entries)]) if sheet.entries else "",
        sheet.more_entries,
    ]
    return "\n\n".join(visible_text(block) for block in blocks if block)


def to_markdown(sheet: ContextReportView) -> str:
    """Return the report as Markdown that is safe in a trusted notebook."""
    blocks = [
        f"**{escape_inline(sheet.title)}**",
        f"*{escape_inline(' · '.join(word for word in sheet.head_phrases if word))}*",
        f"`[{bar(sheet.kind_shares, sheet.window)}]`" if sheet.window else "",
        f"**{escape_inline(sheet.warning)}**" if sheet.warning else "",
        _fills_markdown(sheet),
        f"*{escape_inline(' '.join(remark for remark in sheet.remarks if remark))}*"
        if sheet.remarks
        else "",
        f"**{escape_inline(sheet.marks_title)}**",
        *(_mark_markdown(mark) for mark in sheet.reduction_rows),
        f"*{escape_inline(sheet.more_marks)}*" if sheet.more_marks else "",
        f"**{escape_inline(sheet.entries_title)}**" if sheet.entries else "",
        _entries_markdown(sheet.entries) if sheet.entries else "",
        f"*{escape_inline(sheet.more_entries)}*" if sheet.more_entries else "",
    ]
    return "\n\n".join(block for block in blocks if block)


def _fill_lines(sheet: ContextReportView) -> list[str]:
    names = max((len(fill.name) for fill in sheet.kind_shares), default=0)
    numbers = max((len(count(fill.tokens)) for fill in sheet.kind_shares), default=0)
    return [
        f"{SIGNS.get(fill.kind, ' ')} {fill.name.ljust(names)}  {count(fill.tokens).rjust(numbers)}"
        f"  {share(fill.tokens, sheet.window):>7}  {fill.remark}".rstrip()
        for fill in sheet.kind_shares
    ]


def _fills_markdown(sheet: ContextReportView) -> str:
    head = ("", "tokens", *(("share",) if sheet.window else ()), "")
    rows = [
        (
            f"{SIGNS.get(fill.kind, '')} {escape_inline(fill.name)}",
            count(fill.tokens),
            *((escape_inline(share(fill.tokens, sheet.window)),) if sheet.window else ()),
            escape_inline(fill.remark),
        )
        for fill in sheet.kind_shares
    ]
    return _table(head, rows)


def _mark_text(mark: ReductionRow) -> str:
    facts = " · ".join(fact for fact in mark.facts if fact)
    lines = [
        f"--- {mark.name} {mark.sentence}".rstrip() + f" · {facts}",
        f"    {mark.reason}" if mark.reason else "",
    ]
    return "\n".join(line for line in lines if line)


def _mark_markdown(mark: ReductionRow) -> str:
    head = " ".join(
        piece for piece in (code_span(mark.name), escape_inline(mark.sentence)) if piece
    )
    facts = escape_inline(" · ".join(fact for fact in mark.facts if fact))
    why = f": {escape_inline(mark.reason)}" if mark.reason else ""
    return f"╌╌╌ ⧄ {head} · *{facts}*{why}"


def _entry_lines(entries: Sequence[RequestItem]) -> list[str]:
    numbers = max((len(count(entry.tokens)) for entry in entries), default=0)
    names = max((len(entry.name) for entry in entries), default=0)
    return [
        f"{count(entry.tokens).rjust(numbers)} {SIGNS.get(entry.kind, ' ')} {entry.name.ljust(names)}"
        f"  {one_line(entry.words, 60)}{f' ({entry.remarks})' if entry.remarks else ''}".rstrip()
        for entry in entries
    ]


def _entries_markdown(entries: Sequence[RequestItem]) -> str:
    rows = [
        (
            count(entry.tokens),
            f"{SIGNS.get(entry.kind, '')} {escape_inline(entry.name)}",
            escape_inline(one_line(entry.words, 90))
            + (f" *{escape_inline(entry.remarks)}*" if entry.remarks else ""),
        )
        for entry in entries
    ]
    return _table(("tokens", "what", ""), rows)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    right = ("tokens", "share")
    lines = [
        f"| {' | '.join(head)} |",
        f"|{'|'.join('---:' if cell in right else '---' for cell in head)}|",
    ]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)
