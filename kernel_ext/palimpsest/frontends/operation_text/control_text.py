"""The texts about what is allowed and what may be spent, as sentences or as Markdown and text."""

import time
from collections.abc import Sequence

from palimpsest.frontends.operation_text.command_output import CommandOutput
from palimpsest.render.safety.escaping import code_span, inline, one_line
from palimpsest.session.config.layer_merge import UntrustedSetting
from palimpsest.session.controls.spending_limit import reached_limit_text, spent_text
from palimpsest.session.permissions.effective_rules import Allowance
from palimpsest.transcript.session_record.sessions import Budget, Measure, Spent

NOTHING_ALLOWED = (
    "Nothing was always allowed yet. Answer a question with always, and it is listed here."
)
REVOKE = "%agent permissions revoke NUMBER takes one back, revoke all every one."
NO_LIMIT = (
    "This session has no spending limit. %agent budget 2usd or %agent budget 500k tokens sets one."
)
NOTHING_WITHHELD = (
    "The log of this session claims nothing that was not allowed here. "
    "%agent config shows what waits in this project's files."
)
UNKNOWN = "A model whose price is not known asks before it answers."


def listed(title: str, lines: Sequence[str]) -> CommandOutput:
    """Return a list with a title."""
    return CommandOutput(
        f"{inline(title)}\n\n" + "\n".join(f"- {code_span(line)}" for line in lines),
        "\n".join([title, *(f"- {line}" for line in lines)]),
    )


def budget_text(budget: Budget, spent: Spent) -> str:
    """Return one sentence about the spending limit, or that there is none, and what was spent."""
    parts = [one for one in (_of(budget, spent, "usd"), _of(budget, spent, "tokens")) if one]
    if not parts:
        return f"{NO_LIMIT} So far: {spent_text(spent, 'usd')}, {spent_text(spent, 'tokens')}."
    whose = "of this session" if budget.own else "from the settings"
    words = (
        f"The spending limit {whose}: {'; '.join(parts)}. At the limit it asks whether to go on."
    )
    return f"{words} {UNKNOWN}" if budget.usd is not None else words


def _of(budget: Budget, spent: Spent, measure: Measure) -> str:
    limit = budget.usd if measure == "usd" else budget.tokens
    if limit is None:
        return ""
    return f"{spent_text(spent, measure).removesuffix(' tokens')} of {reached_limit_text(budget, measure)}"


MOST_NAMED = 6


def waiting_text(held: Sequence[UntrustedSetting]) -> str:
    """Return one sentence about the project's settings that wait for trust; empty where none do."""
    names = list(dict.fromkeys(one.key for one in held))
    if not names:
        return ""
    shown = ", ".join(one_line(name, 60) for name in names[:MOST_NAMED])
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return (
        f"This project's files also set {shown}{more}, which waits until you trust them: "
        "%agent config shows what, %agent config trust believes it."
    )


def trust_text(held: Sequence[UntrustedSetting], unwritten: str = "") -> CommandOutput:
    """Return the settings that are trusted now, as text; ``unwritten`` says why that ends with this kernel."""
    if not held:
        words = "This project's files say nothing that needs your trust."
        return CommandOutput(words, words)
    lines = [f"- {code_span(one.words)} ({inline(one.origin)})" for one in held]
    plain = [f"- {one.words} ({one.origin})" for one in held]
    head = "You trust what this project's files say now; a changed file asks again."
    tail = "Rules, mode and limit hold from the next call on, the rest from the next start of the kernel. %agent config distrust takes it back."
    if unwritten:
        tail = f"Rules, mode and limit hold from the next call on. {unwritten}"
    return CommandOutput(
        "\n".join([head, "", *lines, "", inline(tail)]), "\n".join([head, *plain, tail])
    )


def origin(one: Allowance) -> str:
    """Return where something was allowed, and when."""
    where = "this session" if one.scope == "session" else "this project"
    if not one.at:
        return where
    return f"{where}, {time.strftime('%Y-%m-%d', time.localtime(one.at / 1000))}"
