"""Turn the contents of a context window into text: titles, rows, reductions, the same for each renderer.

Texts of the session are scrubbed already; each renderer escapes them.
"""

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, get_args

from palimpsest.render.content.phrases import count, share_text, some
from palimpsest.render.reports.context_window import (
    KINDS,
    ContextReportView,
    KindShare,
    ReductionRow,
)
from palimpsest.transcript.context_values.request_items import RequestItem, ShownAs

if TYPE_CHECKING:
    from palimpsest.review.inspection.window_contents import DecisionTime, Reduction, WindowContents

NAMES: Mapping[str, str] = {
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
"""Names of the kinds, as the panel shows them."""
MOST_ENTRIES = 40
MOST_MARKS = 12
"""What a user reads in a cell; ``ContextReport.items`` and ``ContextReport.gone`` have everything."""
_DONE = {
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

STATES = [one for group in get_args(ShownAs) for one in get_args(group)]
MOST_NAMED = 60
"""Tools that are named; a provider takes 128 at most, and more names than this say little."""


def report_view(ledger: "WindowContents") -> ContextReportView:
    """Return the contents of a window as titles and rows of text."""
    entries = sorted(ledger.items, key=lambda item: -item.tokens)
    marked, others = _parted(ledger.gone)
    return ContextReportView(
        title=f"Context window of {ledger.model}",
        head=_head(ledger),
        window=ledger.window,
        fills=_fills(ledger),
        warning=_warning(ledger),
        remarks=_remarks(ledger),
        entries_title=f"Everything in it, largest first ({some(len(entries), 'item')})",
        entries=tuple(entries[:MOST_ENTRIES]),
        more_entries=_more(entries[MOST_ENTRIES:]),
        marks_title=_marks_title(ledger),
        marks=tuple(map(_mark, marked)),
        more_marks=_more_marks(others),
    )


def _head(ledger: "WindowContents") -> tuple[str, ...]:
    if ledger.recorded_by:
        which = f"request {ledger.request_id}, the last one that {ledger.recorded_by} recorded"
    elif ledger.request_id:
        which = f"request {ledger.request_id}, as it was sent"
    else:
        which = "as the next request would begin"
    full = _full(ledger)
    assumed = (
        "this window is assumed, since nobody knows the model" if ledger.window_assumed else ""
    )
    return tuple(filter(None, (full, which, assumed)))


def _full(ledger: "WindowContents") -> str:
    if not ledger.window:
        return f"{count(ledger.used)} tokens, no limit"
    percent = share_text(ledger.used, ledger.window).partition(" of ")[0]
    return f"{count(ledger.used)} of {count(ledger.window)} tokens ({percent})"


def _fills(ledger: "WindowContents") -> tuple[KindShare, ...]:
    filled = [
        KindShare(kind, NAMES[kind], ledger.kinds[kind], _remark(ledger, kind))
        for kind in KINDS
        if ledger.kinds.get(kind)
    ]
    if not ledger.window:
        return tuple(filled)
    reserve = max(ledger.reserve - ledger.over, 0)
    return (
        *filled,
        KindShare("free", "Free", ledger.free),
        KindShare("reserve", "Kept for the answer", reserve),
    )


def _remark(ledger: "WindowContents", kind: str) -> str:
    items = [item for item in ledger.items if item.kind == kind]
    if kind == "instructions":
        return ", ".join(item.name for item in items)
    if kind == "output":
        return _outputs(items)
    if kind == "user":
        return _said(items)
    return _offered(items) if kind == "tools" else ""


def _offered(items: Sequence[RequestItem]) -> str:
    """Name the tools that the request offers."""
    names = [item.name for item in items]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    changed = [f"{item.name}: {item.remark}" for item in items if item.remark]
    others = f" and {len(changed) - MOST_MARKS} more" if len(changed) > MOST_MARKS else ""
    told = f" ({'; '.join(changed[:MOST_MARKS])}{others})" if changed else ""
    return f"{some(len(names), 'tool')}: {', '.join(names[:MOST_NAMED])}{more}{told}"


def _said(items: Sequence[RequestItem]) -> str:
    """Count the user's prompts apart from notes by the engine."""
    asked = {item.message_id for item in items if item.name != "note"}
    noted = {item.message_id for item in items} - asked
    words = [some(len(asked), "prompt")] if asked else []
    notes = [f"{some(len(noted), 'note')} by the engine"] if noted else []
    return ", ".join([*words, *notes])


def _outputs(items: Sequence[RequestItem]) -> str:
    tools = Counter(item.name for item in items).most_common(3)
    listed = ", ".join(f"{number} {name}" for name, number in tools)
    more = ", …" if len({item.name for item in items}) > len(tools) else ""
    shown = Counter(item.state for item in items if item.state != "whole")
    states = [f"{count(shown[word])} {word}" for word in sorted(shown, key=STATES.index)]
    return "; ".join([f"{listed}{more}", *states])


def _warning(ledger: "WindowContents") -> str:
    if not ledger.over:
        return ""
    return (
        f"It does not fit: {count(ledger.over)} tokens are more than the window leaves beside the "
        "answer, so that room is made before the next request."
    )


def _remarks(ledger: "WindowContents") -> tuple[str, ...]:
    counted = f"Estimated with {ledger.estimator}"
    if ledger.calibration == 1.0:
        counted += "."
    else:
        counted += f", times {ledger.calibration:.2f}, as the provider's own counts say."
    told = (
        f"The provider counted {count(ledger.reported)} tokens in the newest request that was answered."
        if ledger.reported is not None
        else ""
    )
    opaque = (
        f"{ledger.opaque_by} wrote this request: it is stored whole, and what follows is what was sent."
        if ledger.opaque_by
        else ""
    )
    told_of = (_cells(ledger), _variables(ledger), *ledger.tools_left_out)
    return tuple(filter(None, (opaque, counted, told, *told_of, f"Policy: {ledger.policy}.")))


def _cells(ledger: "WindowContents") -> str:
    """Return how many runs of the user's cells are not in the window; empty where all are."""
    facts = [
        f"{count(number)} {words}"
        for number, words in (
            (ledger.hidden_cells, "kept from the agent (tag agent-hidden, or %agent private)"),
            (ledger.omitted_cells, "only named, for want of tokens (notebook_tokens)"),
        )
        if number
    ]
    return f"Runs of your cells that are not in it: {', '.join(facts)}." if facts else ""


def _variables(ledger: "WindowContents") -> str:
    """Return how many variables were kept from the agent by their names; empty where none was."""
    number = ledger.hidden_variables
    return (
        f"Kept from the agent by the setting hidden_variables: {some(number, 'variable')}."
        if number
        else ""
    )


def _more(items: Sequence[RequestItem]) -> str:
    if not items:
        return ""
    tokens = count(sum(item.tokens for item in items))
    return f"and {some(len(items), 'smaller item')}, {tokens} tokens together"


def _marks_title(ledger: "WindowContents") -> str:
    if not ledger.gone:
        return "Nothing was taken out: the model sees everything that was said and done."
    saved = sum(one.saved for one in ledger.gone)
    spared = f", {count(saved)} tokens saved" if saved > 0 else ""
    return f"What the model no longer sees whole{spared}; the session keeps all of it"


def _parted(
    gone: "Sequence[Reduction]",
) -> "tuple[list[Reduction], list[Reduction]]":
    """Split off the reductions that saved most, in their order; those of whole messages come first."""
    places = sorted(
        range(len(gone)), key=lambda at: (gone[at].part_id is not None, -gone[at].saved)
    )
    shown = frozenset(places[:MOST_MARKS])
    return (
        [one for at, one in enumerate(gone) if at in shown],
        [one for at, one in enumerate(gone) if at not in shown],
    )


def _mark(one: "Reduction") -> ReductionRow:
    known = one.tokens_before is not None and one.tokens_after is not None
    sizes = f"{count(one.tokens_before or 0)} → {count(one.tokens_after or 0)} tokens"
    if one.way == "summarise":  # the sizes include the messages that were kept as they are
        sizes = f"the whole conversation {sizes}, with the messages that stay as they are"
    facts = (_DONE[one.way], sizes if known else "", _since(one.since), f"rule {one.rule}")
    return ReductionRow(one.name, one.words, facts, one.reason, code=one.part_id is not None)


def _since(moment: "DecisionTime | None") -> str:
    if moment is None:
        return ""
    day = datetime.datetime.fromtimestamp(moment.time / 1000).astimezone()
    where = (
        f"since turn {moment.turn}, step {moment.step}"
        if moment.step
        else f"after turn {moment.turn}"
    )
    return f"{where} ({day:%Y-%m-%d %H:%M})"


def _more_marks(gone: "Sequence[Reduction]") -> str:
    if not gone:
        return ""
    saved = sum(one.saved for one in gone)
    return f"and {count(len(gone))} more, {count(saved)} tokens saved by them"
