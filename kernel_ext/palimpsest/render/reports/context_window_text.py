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

BAR_CHARS = 64
"""Characters of the bar, which with its border fits a terminal of 80 columns."""
MAX_TEXT_ENTRY_CHARS, MAX_MARKDOWN_ENTRY_CHARS = 60, 90
"""Maximum characters of the beginning of a message or result in a row."""
KIND_SIGNS = {
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


def bar(fills: Sequence[KindShare], window: int, width: int = BAR_CHARS) -> str:
    """Return what fills the window as a bar of signs; every kind present has at least one sign."""
    visible_fills = [fill for fill in fills if fill.tokens > 0]
    total_tokens = max(window, sum(fill.tokens for fill in visible_fills), 1)
    sign_counts = [max(1, width * fill.tokens // total_tokens) for fill in visible_fills]
    indexes_by_rest = sorted(
        range(len(visible_fills)),
        key=lambda index: -(width * visible_fills[index].tokens % total_tokens),
    )
    for index in indexes_by_rest[: max(0, width - sum(sign_counts))]:
        sign_counts[index] += 1
    while sign_counts and sum(sign_counts) > width:
        sign_counts[sign_counts.index(max(sign_counts))] -= 1
    return "".join(
        KIND_SIGNS.get(fill.kind, KIND_SIGNS["used"]) * sign_count
        for fill, sign_count in zip(visible_fills, sign_counts, strict=True)
    )


def to_text(report: ContextReportView) -> str:
    """Return the report as plain text."""
    blocks = [
        report.title,
        " · ".join(filter(None, report.head_phrases)),
        f"[{bar(report.kind_shares, report.window)}]" if report.window else "",
        f"! {report.warning}" if report.warning else "",
        "\n".join(_fill_lines(report)),
        "\n".join(filter(None, report.remarks)),
        "\n".join(
            [
                report.marks_title,
                *(_reduction_text(reduction) for reduction in report.reduction_rows),
            ]
        ),
        report.more_marks,
        "\n".join([report.entries_title, *_entry_lines(report.entries)]) if report.entries else "",
        report.more_entries,
    ]
    return "\n\n".join(visible_text(block) for block in blocks if block)


def to_markdown(report: ContextReportView) -> str:
    """Return the report as Markdown that is safe in a trusted notebook."""
    blocks = [
        f"**{escape_inline(report.title)}**",
        f"*{escape_inline(' · '.join(filter(None, report.head_phrases)))}*",
        f"`[{bar(report.kind_shares, report.window)}]`" if report.window else "",
        f"**{escape_inline(report.warning)}**" if report.warning else "",
        _fills_markdown(report),
        f"*{escape_inline(' '.join(filter(None, report.remarks)))}*" if report.remarks else "",
        f"**{escape_inline(report.marks_title)}**",
        *(_reduction_markdown(reduction) for reduction in report.reduction_rows),
        f"*{escape_inline(report.more_marks)}*" if report.more_marks else "",
        f"**{escape_inline(report.entries_title)}**" if report.entries else "",
        _entries_markdown(report.entries) if report.entries else "",
        f"*{escape_inline(report.more_entries)}*" if report.more_entries else "",
    ]
    return "\n\n".join(block for block in blocks if block)


def _fill_lines(report: ContextReportView) -> list[str]:
    name_width = max((len(fill.name) for fill in report.kind_shares), default=0)
    number_width = max((len(count(fill.tokens)) for fill in report.kind_shares), default=0)
    return [
        f"{KIND_SIGNS.get(fill.kind, ' ')} {fill.name.ljust(name_width)}  {count(fill.tokens).rjust(number_width)}"
        f"  {share(fill.tokens, report.window):>7}  {fill.remark}".rstrip()
        for fill in report.kind_shares
    ]


def _fills_markdown(report: ContextReportView) -> str:
    header = ("", "tokens", *(("share",) if report.window else ()), "")
    rows = [
        (
            f"{KIND_SIGNS.get(fill.kind, '')} {escape_inline(fill.name)}",
            count(fill.tokens),
            *((escape_inline(share(fill.tokens, report.window)),) if report.window else ()),
            escape_inline(fill.remark),
        )
        for fill in report.kind_shares
    ]
    return _table(header, rows)


def _reduction_text(reduction: ReductionRow) -> str:
    facts = " · ".join(filter(None, reduction.facts))
    reason = f"\n    {reduction.reason}" if reduction.reason else ""
    return f"--- {reduction.name} {reduction.sentence}".rstrip() + f" · {facts}{reason}"


def _reduction_markdown(reduction: ReductionRow) -> str:
    names = (code_span(reduction.name), escape_inline(reduction.sentence))
    facts = escape_inline(" · ".join(filter(None, reduction.facts)))
    reason = f": {escape_inline(reduction.reason)}" if reduction.reason else ""
    return f"╌╌╌ ⧄ {' '.join(filter(None, names))} · *{facts}*{reason}"


def _entry_lines(entries: Sequence[RequestItem]) -> list[str]:
    number_width = max((len(count(entry.tokens)) for entry in entries), default=0)
    name_width = max((len(entry.name) for entry in entries), default=0)
    return [
        f"{count(entry.tokens).rjust(number_width)} {KIND_SIGNS.get(entry.kind, ' ')} {entry.name.ljust(name_width)}"
        f"  {one_line(entry.words, MAX_TEXT_ENTRY_CHARS)}{f' ({entry.remarks})' if entry.remarks else ''}".rstrip()
        for entry in entries
    ]


def _entries_markdown(entries: Sequence[RequestItem]) -> str:
    rows = [
        (
            count(entry.tokens),
            f"{KIND_SIGNS.get(entry.kind, '')} {escape_inline(entry.name)}",
            escape_inline(one_line(entry.words, MAX_MARKDOWN_ENTRY_CHARS))
            + (f" *{escape_inline(entry.remarks)}*" if entry.remarks else ""),
        )
        for entry in entries
    ]
    return _table(("tokens", "what", ""), rows)


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    right_aligned_titles = ("tokens", "share")
    lines = [
        f"| {' | '.join(header)} |",
        f"|{'|'.join('---:' if cell in right_aligned_titles else '---' for cell in header)}|",
    ]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)
