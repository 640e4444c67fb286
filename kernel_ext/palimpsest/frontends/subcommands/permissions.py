"""Run ``%agent mode``, ``permissions``, ``budget``, ``trust`` and ``config``, and write their output.

Border: calls a session's ``SessionControls`` and formats the result, as Markdown and as plain text, or
as rows for a page.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from palimpsest.frontends.magic.permission_arguments import amounts
from palimpsest.frontends.protocol.permissions import ApprovalRow, RuleRow
from palimpsest.render.safety.escaping import code_span, inline, one_line
from palimpsest.session.controls.session_controls import Allowance, SessionControls
from palimpsest.session.controls.spending_limit import reached_limit_text, spent_text
from palimpsest.tools.permission_rules.modes import MEANINGS, MODES
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.sessions import Budget, Measure, Spent

MarkdownAndText = tuple[str, str]
"""Markdown and plain text."""
Row = tuple[str, ...]
Table = Callable[[tuple[str, ...], Sequence[Row]], MarkdownAndText]

NOTHING_ALLOWED = (
    "Nothing was always allowed yet. Answer a question with always, and it is listed here."
)
REVOKE = "%agent permissions revoke NUMBER takes one back, revoke all every one."
NO_LIMIT = (
    "This session has no spending limit. %agent budget 2usd or %agent budget 500k tokens sets one."
)
NOTHING_WITHHELD = "The log of this session claims nothing that was not allowed here. %agent config shows what waits in this project's files."
WITHHELD = "The log of this session says that this was allowed. Nobody allowed it here, so it does not hold:"
ALLOW = "%agent trust session allows it in this session."
AGAIN = "Look it through, and write %agent trust session again to allow all of it in this session."
FIXED = "An administrator's settings leave this as it is:"
AMOUNTS = "Write %agent budget 2usd, %agent budget 500k tokens, both, or off."
UNKNOWN = "A model whose price is not known asks before it answers."


def run_permission_command(
    name: str, argument: str, control: SessionControls, table: Table
) -> MarkdownAndText:
    """Run one of these subcommands and return its output, with a sentence where the disk does not keep what was chosen."""
    match name:
        case "mode":
            said = _mode(argument, control, table)
        case "permissions":
            said = _permissions(argument, control, table)
        case "trust":
            said = _trust(argument, control)
        case _:
            said = _budget(argument, control)
    unwritten = control.unwritten if argument else ""
    return _joined(said, _sentence(unwritten)) if unwritten else said


def _mode(argument: str, control: SessionControls, table: Table) -> MarkdownAndText:
    if argument:
        mode = control.use_mode(argument)
        return _sentence(
            f"The mode of this session is {mode} from the next call on: {MEANINGS[mode]}."
        )
    now = control.mode
    rows = [(f"{'* ' if mode == now else ''}{mode}", MEANINGS[mode]) for mode in MODES]
    words = "%agent mode NAME chooses another, default the configured one. No mode lifts a deny."
    return _joined(table(("mode", "what it means"), rows), _sentence(words))


def _permissions(argument: str, control: SessionControls, table: Table) -> MarkdownAndText:
    verb, *numbers = argument.split() or [""]
    if verb.lower() == "revoke":
        if not numbers:
            raise UserError(f"Which one? {REVOKE}")
        chosen = () if numbers == ["all"] else tuple(int(one) for one in numbers)
        gone = control.revoke(*chosen)
        names = ", ".join(one.words for one in gone)
        return _sentence(f"Revoked: {names}. It asks again." if gone else NOTHING_ALLOWED)
    found = control.allowances
    said = [_sentence(f"The mode of this session is {control.mode}: {MEANINGS[control.mode]}.")]
    if found:
        rows = [
            (str(one.number), one.rule.permission, one.rule.pattern, origin(one)) for one in found
        ]
        said += [
            table(("", "permission", "always allowed", "where and when"), rows),
            _sentence(REVOKE),
        ]
    else:
        said.append(_sentence(NOTHING_ALLOWED))
    rows = [
        (rule.permission, rule.pattern, rule.action, where) for rule, where in control.all_rules()
    ]
    said.append(table(("rule", "for", "says", "from"), rows))
    said.append(
        _sentence("Of the rules that match a call the last one holds; a deny is never lifted.")
    )
    if control.problem:
        said.append(_sentence(control.problem))
    return _joined(*said)


def _trust(argument: str, control: SessionControls) -> MarkdownAndText:
    """Show the rights that the session's log claims but that were not granted; grant them once shown."""
    claims = control.withheld
    if not claims:
        return _sentence(NOTHING_WITHHELD)
    if argument and control.shown:
        gone = control.trust()
        left = control.withheld
        said = [_list("Allowed in this session from now on:", gone)] if gone else []
        return _joined(*said, *([_list(FIXED, left)] if left else []))
    control.shown = True
    return _joined(_list(WITHHELD, claims), _sentence(AGAIN if argument else ALLOW))


def _list(title: str, lines: Sequence[str]) -> MarkdownAndText:
    return (
        f"{inline(title)}\n\n" + "\n".join(f"- {code_span(line)}" for line in lines),
        "\n".join([title, *(f"- {line}" for line in lines)]),
    )


def _budget(argument: str, control: SessionControls) -> MarkdownAndText:
    if argument:
        wanted = amounts(argument)
        if not wanted and argument.lower() not in ("off", "none"):
            raise UserError(f"{one_line(argument, 60)!r} is no amount. {AMOUNTS}")
        tokens = wanted.get("tokens")
        control.set_budget(usd=wanted.get("usd"), tokens=int(tokens) if tokens else None)
    budget, spent = control.budget, control.spent
    parts = [one for one in (_of(budget, spent, "usd"), _of(budget, spent, "tokens")) if one]
    if not parts:
        so_far = f" So far: {spent_text(spent, 'usd')}, {spent_text(spent, 'tokens')}."
        return _sentence(NO_LIMIT + so_far)
    whose = "of this session" if budget.own else "from the settings"
    words = (
        f"The spending limit {whose}: {'; '.join(parts)}. At the limit it asks whether to go on."
    )
    return _sentence(f"{words} {UNKNOWN}" if budget.usd is not None else words)


def _of(budget: Budget, spent: Spent, measure: Measure) -> str:
    limit = budget.usd if measure == "usd" else budget.tokens
    if limit is None:
        return ""
    return f"{spent_text(spent, measure).removesuffix(' tokens')} of {reached_limit_text(budget, measure)}"


def config_text(config: Any, table: Table) -> MarkdownAndText:
    """Return every setting and where it comes from, what is wrong, and what waits for trust."""
    rows = [tuple(str(cell) for cell in row) for row in config.rows()]
    said = [table(("setting", "value", "from"), rows)]
    for title, sentences in config.remarks():
        lines = [f"- {one}" for one in sentences]
        said.append(
            (
                f"**{inline(title)}**\n\n" + "\n".join(f"- {inline(one)}" for one in sentences),
                "\n".join([title, *lines]),
            )
        )
    return _joined(*said)


MOST_NAMED = 6


def waiting_text(held: Sequence[Any]) -> str:
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


def trust_text(held: Sequence[Any], unwritten: str = "") -> MarkdownAndText:
    """Return the settings that are trusted now, as text; ``unwritten`` says why that ends with this kernel."""
    if not held:
        return _sentence("This project's files say nothing that needs your trust.")
    lines = [f"- {code_span(one.words)} ({inline(one.origin)})" for one in held]
    plain = [f"- {one.words} ({one.origin})" for one in held]
    head = "You trust what this project's files say now; a changed file asks again."
    tail = "Rules, mode and limit hold from the next call on, the rest from the next start of the kernel. %agent config distrust takes it back."
    if unwritten:
        tail = f"Rules, mode and limit hold from the next call on. {unwritten}"
    return "\n".join([head, "", *lines, "", inline(tail)]), "\n".join([head, *plain, tail])


def origin(one: Allowance) -> str:
    """Return where something was allowed, and when."""
    where = "this session" if one.scope == "session" else "this project"
    if not one.at:
        return where
    return f"{where}, {time.strftime('%Y-%m-%d', time.localtime(one.at / 1000))}"


def approvals_of(control: SessionControls) -> tuple[ApprovalRow, ...]:
    """Return what is always allowed, as rows for a page."""
    return tuple(
        ApprovalRow(
            number=one.number,
            permission=one.rule.permission,
            pattern=one.rule.pattern,
            scope=one.scope,
            where=origin(one),
        )
        for one in control.allowances
    )


def rules_of(control: SessionControls) -> tuple[RuleRow, ...]:
    """Return the rules that hold for every agent, as rows for a page."""
    return tuple(
        RuleRow(permission=rule.permission, pattern=rule.pattern, action=rule.action, origin=where)
        for rule, where in control.all_rules()
    )


def _sentence(words: str) -> MarkdownAndText:
    return inline(words), words


def _joined(*said: MarkdownAndText) -> MarkdownAndText:
    return "\n\n".join(one[0] for one in said), "\n\n".join(one[1] for one in said)
