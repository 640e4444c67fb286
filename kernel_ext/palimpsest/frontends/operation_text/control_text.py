"""Texts about approvals, trust and the spending limit."""

import time
from collections.abc import Sequence

from palimpsest.frontends.operation_text.command_output import CommandOutput
from palimpsest.render.content.phrases import first_names
from palimpsest.render.safety.escaping import code_span, escape_inline, one_line
from palimpsest.session.config.layer_merge import UntrustedSetting
from palimpsest.session.controls.spending_limit import reached_limit_text, spent_text
from palimpsest.session.permissions.effective_rules import Allowance
from palimpsest.transcript.session_record.sessions import Budget, Measure, Spent

NOTHING_ALLOWED = (
    "Nothing was always allowed yet. Answer a question with always, and it is listed here."
)
REVOKE_HINT = "%agent permissions revoke NUMBER takes one back, revoke all every one."
NO_LIMIT = (
    "This session has no spending limit. %agent budget 2usd or %agent budget 500k tokens sets one."
)
NOTHING_WITHHELD = (
    "The log of this session claims nothing that was not allowed here. "
    "%agent config shows what waits in this project's files."
)
UNKNOWN_PRICE = "A model whose price is not known asks before it answers."


def titled_list(title: str, lines: Sequence[str]) -> CommandOutput:
    """Return a list with a title."""
    return CommandOutput(
        f"{escape_inline(title)}\n\n" + "\n".join(f"- {code_span(line)}" for line in lines),
        "\n".join([title, *(f"- {line}" for line in lines)]),
    )


def budget_text(budget: Budget, spent: Spent) -> str:
    """Return one sentence about the spending limit, if any, and the spending so far."""
    spent_of_limits = (
        _spent_of_limit(budget, spent, "usd"),
        _spent_of_limit(budget, spent, "tokens"),
    )
    spent_texts = [text for text in spent_of_limits if text]
    if not spent_texts:
        return f"{NO_LIMIT} So far: {spent_text(spent, 'usd')}, {spent_text(spent, 'tokens')}."
    owner_text = "of this session" if budget.own else "from the settings"
    sentence = f"The spending limit {owner_text}: {'; '.join(spent_texts)}. At the limit it asks whether to go on."
    return f"{sentence} {UNKNOWN_PRICE}" if budget.usd is not None else sentence


def _spent_of_limit(budget: Budget, spent: Spent, measure: Measure) -> str:
    limit = budget.usd if measure == "usd" else budget.tokens
    if limit is None:
        return ""
    return f"{spent_text(spent, measure).removesuffix(' tokens')} of {reached_limit_text(budget, measure)}"


MAX_NAMED_SETTINGS = 6
MAX_NAME_CHARS = 60


def waiting_text(untrusted: Sequence[UntrustedSetting]) -> str:
    """Return one sentence about the project's settings that wait for trust; empty where none do."""
    names = list(dict.fromkeys(setting.key for setting in untrusted))
    if not names:
        return ""
    setting_names = first_names(
        [one_line(name, MAX_NAME_CHARS) for name in names], MAX_NAMED_SETTINGS
    )
    return (
        f"This project's files also set {setting_names}, which waits until you trust them: "
        "%agent config shows what, %agent config trust believes it."
    )


def trust_text(untrusted: Sequence[UntrustedSetting], unwritten: str = "") -> CommandOutput:
    """Return the settings that are trusted now; ``unwritten`` is the reason why the trust ends with this kernel."""
    if not untrusted:
        sentence = "This project's files say nothing that needs your trust."
        return CommandOutput(sentence, sentence)
    markdown_lines = [
        f"- {code_span(setting.words)} ({escape_inline(setting.origin)})" for setting in untrusted
    ]
    plain_lines = [f"- {setting.words} ({setting.origin})" for setting in untrusted]
    first_sentence = "You trust what this project's files say now; a changed file asks again."
    last_sentence = "Rules, mode and limit hold from the next call on, the rest from the next start of the kernel. %agent config distrust takes it back."
    if unwritten:
        last_sentence = f"Rules, mode and limit hold from the next call on. {unwritten}"
    return CommandOutput(
        "\n".join([first_sentence, "", *markdown_lines, "", escape_inline(last_sentence)]),
        "\n".join([first_sentence, *plain_lines, last_sentence]),
    )


def approval_scope_text(approval: Allowance) -> str:
    """Return the scope and the date of an approval."""
    scope_text = "this session" if approval.scope == "session" else "this project"
    if not approval.allowed_at:
        return scope_text
    return f"{scope_text}, {time.strftime('%Y-%m-%d', time.localtime(approval.allowed_at / 1000))}"
