"""The report of a context window as text, the same for each renderer: titles, rows, reductions; and in a notebook cell.

``window_contents.py`` defines the values. Secrets were removed from the session's texts before; each renderer escapes
the texts.
"""

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from palimpsest.render.content.phrases import count, counted_noun, share_text
from palimpsest.render.reports.context_window import (
    FILL_KINDS,
    ContextReportView,
    KindShare,
    ReductionRow,
    to_html,
)
from palimpsest.render.reports.context_window_text import to_markdown, to_text
from palimpsest.render.reports.table import ShownInCell
from palimpsest.review.context_report.window_contents import DecisionTime, Reduction, WindowContents
from palimpsest.transcript.context_values.request_items import RequestItem, ShownAs

KIND_NAMES: Mapping[str, str] = {
    "system": "System prompt",
    "tools": "Tool descriptions",
    "instructions": "Instructions",
    "summary": "Summary of older turns",
    "user": "You",
    "notebook": "Notebook cells",
    "assistant": "Agent",
    "reasoning": "Agent's thoughts",
    "output": "Tool outputs",
    "used": "Used",
}
"""Names of the item kinds, as shown in the panel."""
MAX_ITEM_ROWS = 40
"""Maximum items in a cell, the largest first."""
MAX_REDUCTION_ROWS = 12
"""Maximum reductions in a cell; ``ContextReport.items`` and ``ContextReport.reductions`` have everything."""
_TEXT_BY_WAY = {
    "truncate": "truncated",
    "clear": "cleared",
    "drop": "left out",
    "summarise": "",
    "limit": "left out",
    "exclude": "excluded",
    "fail": "left out",
    "shrink": "pictures smaller",
    "omit": "pictures left out",
    "tell": "told as text",
}
STATE_ORDER = [shown_as for group in get_args(ShownAs) for shown_as in get_args(group)]
MAX_COUNTED_TOOLS = 3
"""Maximum tools whose outputs are counted by name."""
MAX_NAMED_TOOLS = 60
"""Maximum tools that are listed; a provider accepts 128 at most."""


@dataclass(frozen=True)
class ContextReport(ShownInCell, WindowContents):
    """A context window: its items, the free tokens, and the reductions."""

    @property
    def sheet(self) -> ContextReportView:
        """The report as titles and rows of text, for every renderer."""
        items_by_size = sorted(self.items, key=lambda item: -item.tokens)
        largest_reductions, other_reductions = _split_off_largest(self.reductions)
        return ContextReportView(
            title=f"Context window of {self.model}",
            head_phrases=_head_phrases(self),
            window=self.window,
            kind_shares=_kind_shares(self),
            warning=_excess_warning(self),
            remarks=_remark_sentences(self),
            entries_title=f"Everything in it, largest first ({counted_noun(len(items_by_size), 'item')})",
            entries=tuple(items_by_size[:MAX_ITEM_ROWS]),
            more_entries=_more_items_text(items_by_size[MAX_ITEM_ROWS:]),
            marks_title=_reductions_title(self),
            reduction_rows=tuple(map(_reduction_row, largest_reductions)),
            more_marks=_more_reductions_text(other_reductions),
        )

    @property
    def text(self) -> str:
        """The window as plain text: a bar and tables."""
        return to_text(self.sheet)

    @property
    def markdown(self) -> str:
        """The report as Markdown."""
        return to_markdown(self.sheet)

    @property
    def html(self) -> str:
        """The report as an HTML fragment for a notebook."""
        return to_html(self.sheet)

    def __repr__(self) -> str:
        request_text = f" of {self.request_id}" if self.request_id else ""
        window_text = f" of {self.window:,}" if self.window else ""
        return f"<ContextReport{request_text}: {self.used_tokens:,}{window_text} tokens, {len(self.items)} items, {len(self.reductions)} gone>"


def _head_phrases(contents: WindowContents) -> tuple[str, ...]:
    if contents.recorded_by:
        recorded_text = f"the last one that {contents.recorded_by} recorded"
        description = f"request {contents.request_id}, {recorded_text}"
    elif contents.request_id:
        description = f"request {contents.request_id}, as it was sent"
    else:
        description = "as the next request would begin"
    phrases = [_fill_level(contents), description]
    if contents.window_assumed:
        phrases.append("this window is assumed, since nobody knows the model")
    return tuple(phrases)


def _fill_level(contents: WindowContents) -> str:
    if not contents.window:
        return f"{count(contents.used_tokens)} tokens, no limit"
    percent = share_text(contents.used_tokens, contents.window).partition(" of ")[0]
    return f"{count(contents.used_tokens)} of {count(contents.window)} tokens ({percent})"


def _kind_shares(contents: WindowContents) -> tuple[KindShare, ...]:
    shares = [
        KindShare(
            kind, KIND_NAMES[kind], contents.tokens_by_kind[kind], _kind_remark(contents, kind)
        )
        for kind in FILL_KINDS
        if contents.tokens_by_kind.get(kind)
    ]
    if not contents.window:
        return tuple(shares)
    reserve_tokens = max(contents.reserve - contents.excess_tokens, 0)
    return (
        *shares,
        KindShare("free", "Free", contents.free_tokens),
        KindShare("reserve", "Kept for the answer", reserve_tokens),
    )


def _kind_remark(contents: WindowContents, kind: str) -> str:
    items = [item for item in contents.items if item.kind == kind]
    if kind == "instructions":
        return ", ".join(item.name for item in items)
    if kind == "output":
        return _outputs_text(items)
    if kind == "user":
        return _prompts_and_notes(items)
    return _tool_names(items) if kind == "tools" else ""


def _tool_names(items: Sequence[RequestItem]) -> str:
    """Return the names of the tools that the request offers."""
    names = [item.name for item in items]
    further_text = (
        f" and {len(names) - MAX_NAMED_TOOLS} more" if len(names) > MAX_NAMED_TOOLS else ""
    )
    changed_texts = [f"{item.name}: {item.remark}" for item in items if item.remark]
    others_text = (
        f" and {len(changed_texts) - MAX_REDUCTION_ROWS} more"
        if len(changed_texts) > MAX_REDUCTION_ROWS
        else ""
    )
    changed_text = (
        f" ({'; '.join(changed_texts[:MAX_REDUCTION_ROWS])}{others_text})" if changed_texts else ""
    )
    return f"{counted_noun(len(names), 'tool')}: {', '.join(names[:MAX_NAMED_TOOLS])}{further_text}{changed_text}"


def _prompts_and_notes(items: Sequence[RequestItem]) -> str:
    """Return the number of the user's prompts and that of the engine's notes, as a phrase."""
    prompt_ids = {item.message_id for item in items if item.name != "note"}
    note_ids = {item.message_id for item in items} - prompt_ids
    phrases = [counted_noun(len(prompt_ids), "prompt")] if prompt_ids else []
    if note_ids:
        phrases.append(f"{counted_noun(len(note_ids), 'note')} by the engine")
    return ", ".join(phrases)


def _outputs_text(items: Sequence[RequestItem]) -> str:
    tools = Counter(item.name for item in items).most_common(MAX_COUNTED_TOOLS)
    common_tools_text = ", ".join(f"{number} {name}" for name, number in tools)
    further_text = ", …" if len({item.name for item in items}) > len(tools) else ""
    state_counts = Counter(item.state for item in items if item.state != "whole")
    state_texts = [
        f"{count(state_counts[word])} {word}"
        for word in sorted(state_counts, key=STATE_ORDER.index)
    ]
    return "; ".join([f"{common_tools_text}{further_text}", *state_texts])


def _excess_warning(contents: WindowContents) -> str:
    if not contents.excess_tokens:
        return ""
    return (
        f"It does not fit: {count(contents.excess_tokens)} tokens are more than the window leaves beside the "
        "answer, so that room is made before the next request."
    )


def _remark_sentences(contents: WindowContents) -> tuple[str, ...]:
    author, calibration = contents.opaque_by, contents.calibration
    reported_tokens = contents.reported_tokens
    remarks = []
    if author:
        remarks.append(
            f"{author} wrote this request: it is stored whole, and what follows is what was sent."
        )
    scale_text = (
        "" if calibration == 1.0 else f", times {calibration:.2f}, as the provider's own counts say"
    )
    remarks.append(f"Estimated with {contents.estimator}{scale_text}.")
    if reported_tokens is not None:
        remarks.append(
            f"The provider counted {count(reported_tokens)} tokens in the newest request that was answered."
        )
    notices = (
        _hidden_cells_sentence(contents),
        _hidden_variables_sentence(contents),
        *contents.tools_left_out,
    )
    return (*remarks, *filter(None, notices), f"Policy: {contents.policy}.")


def _hidden_cells_sentence(contents: WindowContents) -> str:
    """Return a sentence on runs of the user's cells that are not in the window; empty where all are."""
    phrases = [
        f"{count(run_count)} {label}"
        for run_count, label in (
            (contents.hidden_cells, "kept from the agent (tag agent-hidden, or %agent private)"),
            (contents.omitted_cells, "only named, for want of tokens (notebook_tokens)"),
        )
        if run_count
    ]
    return f"Runs of your cells that are not in it: {', '.join(phrases)}." if phrases else ""


def _hidden_variables_sentence(contents: WindowContents) -> str:
    """Return a sentence on variables that were hidden from the agent by their names; empty where none was."""
    if not contents.hidden_variables:
        return ""
    hidden_text = counted_noun(contents.hidden_variables, "variable")
    return f"Kept from the agent by the setting hidden_variables: {hidden_text}."


def _more_items_text(items: Sequence[RequestItem]) -> str:
    if not items:
        return ""
    tokens_text = count(sum(item.tokens for item in items))
    return f"and {counted_noun(len(items), 'smaller item')}, {tokens_text} tokens together"


def _reductions_title(contents: WindowContents) -> str:
    if not contents.reductions:
        return "Nothing was taken out: the model sees everything that was said and done."
    saved_tokens = sum(row.saved for row in contents.reductions)
    saved_text = f", {count(saved_tokens)} tokens saved" if saved_tokens > 0 else ""
    return f"What the model no longer sees whole{saved_text}; the session keeps all of it"


def _split_off_largest(
    reductions: Sequence[Reduction],
) -> tuple[list[Reduction], list[Reduction]]:
    """Return the reductions that saved most, those of whole messages first of all, and the others; both in their order."""
    by_precedence = sorted(
        range(len(reductions)),
        key=lambda row: (reductions[row].part_id is not None, -reductions[row].saved),
    )
    largest_indexes = frozenset(by_precedence[:MAX_REDUCTION_ROWS])
    return (
        [row for index, row in enumerate(reductions) if index in largest_indexes],
        [row for index, row in enumerate(reductions) if index not in largest_indexes],
    )


def _reduction_row(reduction: Reduction) -> ReductionRow:
    is_counted = reduction.tokens_before is not None and reduction.tokens_after is not None
    sizes_text = (
        f"{count(reduction.tokens_before or 0)} → {count(reduction.tokens_after or 0)} tokens"
    )
    if reduction.way == "summarise":  # the sizes include the messages that stay whole
        sizes_text = f"the whole conversation {sizes_text}, with the messages that stay as they are"
    facts = (
        _TEXT_BY_WAY[reduction.way],
        sizes_text if is_counted else "",
        _since_text(reduction.decided_at),
        f"rule {reduction.rule}",
    )
    return ReductionRow(
        reduction.name,
        reduction.text,
        facts,
        reduction.reason,
        is_code=reduction.part_id is not None,
    )


def _since_text(decision_time: DecisionTime | None) -> str:
    if decision_time is None:
        return ""
    moment = datetime.datetime.fromtimestamp(decision_time.time / 1000).astimezone()
    turn, step = decision_time.turn, decision_time.step
    place_text = f"since turn {turn}, step {step}" if step else f"after turn {turn}"
    return f"{place_text} ({moment:%Y-%m-%d %H:%M})"


def _more_reductions_text(reductions: Sequence[Reduction]) -> str:
    if not reductions:
        return ""
    saved_tokens = sum(row.saved for row in reductions)
    return f"and {count(len(reductions))} more, {count(saved_tokens)} tokens saved by them"
