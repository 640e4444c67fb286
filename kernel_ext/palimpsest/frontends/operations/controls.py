"""Operations on the agent's freedom: mode, spending limit, approvals, trust in a log and in a project."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.operation_base.grammar import OptionError
from palimpsest.frontends.operation_base.operation import (
    Done,
    InKernel,
    Operation,
    OperationContext,
    single_form,
)
from palimpsest.frontends.operation_text.command_output import (
    CommandOutput,
    OutputLines,
    TitledTable,
)
from palimpsest.frontends.operation_text.control_text import (
    NOTHING_ALLOWED,
    NOTHING_WITHHELD,
    REVOKE_HINT,
    approval_scope_text,
    budget_text,
    titled_list,
    trust_text,
)
from palimpsest.frontends.protocol.answers import ApprovalRow, RuleRow
from palimpsest.frontends.typed_input.typed_values import parse_amounts
from palimpsest.render.safety.escaping import one_line
from palimpsest.session.config.layer_merge import UntrustedSetting
from palimpsest.session.controls.session_controls import SessionControls
from palimpsest.tools.permission_rules.modes import MODE_MEANINGS, MODES

WITHHELD_TITLE = "The log of this session says that this was allowed. Nobody allowed it here, so it does not hold:"
ALLOW_HINT = "%agent trust session allows it in this session."
ALLOW_ALL_HINT = (
    "Look it through, and write %agent trust session again to allow all of it in this session."
)
GRANTED_TITLE = "Allowed in this session from now on:"
FIXED_TITLE = "An administrator's settings leave this as it is:"
AMOUNTS_HINT = "Write %agent budget 2usd, %agent budget 500k tokens, both, or off."
_MODE_PATTERN = re.compile(r"(ask|plan|accept[-_ ]edits|bypass|default)", re.IGNORECASE)
_REVOKE_PATTERN = re.compile(r"revoke((?:\s+\d+)+|\s+all)?", re.IGNORECASE)
_UNIT = r"(usd|dollars?|tokens?)"
_AMOUNT_SIGN = re.compile(rf"[-+$]|{_UNIT}", re.IGNORECASE)
_NUMBER_WORD = re.compile(rf"[-+$]*[\d.,_]+[km]?{_UNIT}?|{_UNIT}", re.IGNORECASE)
_NO_LIMIT = re.compile(r"off|none", re.IGNORECASE)
MAX_QUOTED_CHARS = 60


class ControlAnswer(Done):
    """The outcome of a change to a session's controls."""

    lines: InKernel[OutputLines] = ()
    """The output of a cell."""


class ControlOperation(Operation):
    """An operation on a session's controls, which are stored in a file of the project."""

    session: str | None = None

    async def run(self, context: OperationContext) -> ControlAnswer:
        control = (await context.find(self.session)).control
        return await asyncio.to_thread(self.apply, control)

    def apply(self, control: SessionControls) -> ControlAnswer:
        """Apply the change; in a worker thread, because it writes a file."""
        raise NotImplementedError

    def output(self, answer: ControlAnswer) -> OutputLines:
        return answer.lines


def _unsaved_warning(control: SessionControls) -> list[str]:
    """Return a sentence if the choice could not be saved on the disk."""
    return [control.unwritten] if control.unwritten else []


class SetMode(ControlOperation):
    """Choose how freely the agent works in this session, from the next call on."""

    type: Literal["mode"] = "mode"
    mode: str | None = Field(default=None, max_length=40)
    """ask, plan, accept-edits or bypass; ``default`` takes the configured one; None only shows the mode."""
    forms = single_form(
        "mode",
        "how freely the agent works: %agent mode ask, plan, accept-edits or bypass",
        parse_rest=lambda rest: (
            {"mode": " ".join(rest.split()) or None}
            if len(rest.split()) < 2 or _MODE_PATTERN.fullmatch(" ".join(rest.split()))
            else None
        ),
    )

    def apply(self, control: SessionControls) -> ControlAnswer:
        if self.mode is not None:
            mode = control.use_mode(self.mode)
            sentence = (
                f"The mode of this session is {mode} from the next call on: {MODE_MEANINGS[mode]}."
            )
            return ControlAnswer(lines=[sentence, *_unsaved_warning(control)])
        current_mode = control.mode
        rows = [
            (f"{'* ' if mode == current_mode else ''}{mode}", MODE_MEANINGS[mode]) for mode in MODES
        ]
        hint = "%agent mode NAME chooses another, default the configured one. No mode lifts a deny."
        return ControlAnswer(lines=[TitledTable("", ("mode", "what it means"), rows), hint])


class ListedApprovals(ControlAnswer):
    """The standing approvals, and the rules that hold for every agent, lowest precedence first."""

    approvals: tuple[ApprovalRow, ...]
    rules: tuple[RuleRow, ...]


def _parse_revoke(argument_text: str) -> dict[str, Any] | None:
    words = " ".join(argument_text.split())
    match = _REVOKE_PATTERN.fullmatch(words)
    if match is None:
        return None if words else {}
    if match[1] is None:
        raise OptionError(f"Which one? {REVOKE_HINT}")
    return {"revoke": tuple(int(number) for number in match[1].split() if number.isdecimal())}


class ListApprovals(ControlOperation):
    """List the standing approvals, after revoking the given entries."""

    type: Literal["approvals"] = "approvals"
    revoke: tuple[int, ...] | None = None
    """Numbers in the list as it was shown last; an empty list revokes all of it."""
    forms = single_form(
        "permissions",
        "what is always allowed, and every rule; %agent permissions revoke N or all",
        parse_rest=_parse_revoke,
        keywords=("revoke",),
        is_never_prompt=True,
    )

    async def run(self, context: OperationContext) -> ListedApprovals:
        return await asyncio.to_thread(self.apply, (await context.find(self.session)).control)

    def apply(self, control: SessionControls) -> ListedApprovals:
        revoked_grants = control.revoke(*self.revoke) if self.revoke is not None else ()
        approvals = tuple(
            ApprovalRow(
                number=allowance.number,
                permission=allowance.rule.permission,
                pattern=allowance.rule.pattern,
                scope=allowance.scope,
                where=approval_scope_text(allowance),
            )
            for allowance in control.allowances
        )
        rules = tuple(
            RuleRow(
                permission=rule.permission, pattern=rule.pattern, action=rule.action, origin=origin
            )
            for rule, origin in control.all_rules()
        )
        lines = self._approval_lines(control, approvals, rules)
        if self.revoke is not None:
            names = ", ".join(allowance.rule_text for allowance in revoked_grants)
            outcome = f"Revoked: {names}. It asks again." if revoked_grants else NOTHING_ALLOWED
            lines = [outcome, *_unsaved_warning(control)]
        return ListedApprovals(approvals=approvals, rules=rules, lines=lines)

    def _approval_lines(
        self, control: SessionControls, approvals: Sequence[ApprovalRow], rules: Sequence[RuleRow]
    ) -> OutputLines:
        mode_sentence = (
            f"The mode of this session is {control.mode}: {MODE_MEANINGS[control.mode]}."
        )
        lines: list[str | TitledTable] = [mode_sentence]
        if approvals:
            header = ("", "permission", "always allowed", "where and when")
            rows = [
                (str(approval.number), approval.permission, approval.pattern, approval.where)
                for approval in approvals
            ]
            lines += [TitledTable("", header, rows), REVOKE_HINT]
        else:
            lines.append(NOTHING_ALLOWED)
        rule_rows = [(rule.permission, rule.pattern, rule.action, rule.origin) for rule in rules]
        lines.append(TitledTable("", ("rule", "for", "says", "from"), rule_rows))
        lines.append("Of the rules that match a call the last one holds; a deny is never lifted.")
        return [*lines, *([control.problem] if control.problem else [])]


def _parse_limit(argument_text: str) -> dict[str, Any] | None:
    limit_text = " ".join(argument_text.split())
    if not limit_text:
        return {"tell": True}
    amounts = parse_amounts(limit_text)
    if amounts or _NO_LIMIT.fullmatch(limit_text):
        tokens = amounts.get("tokens")
        return {"usd": amounts.get("usd"), "tokens": int(tokens) if tokens else None}
    # A prompt that begins with "budget" goes on with words, and a typing error must not cost a request.
    has_only_numbers = all(_NUMBER_WORD.fullmatch(word) for word in limit_text.split())
    if has_only_numbers and _AMOUNT_SIGN.search(limit_text):
        raise OptionError(
            f"{one_line(limit_text, MAX_QUOTED_CHARS)!r} is no amount. {AMOUNTS_HINT}"
        )
    return None


class SetBudget(ControlOperation):
    """Limit what this session may spend in all; without ``usd`` and ``tokens`` the limit is removed."""

    type: Literal["budget"] = "budget"
    usd: float | None = None
    tokens: int | None = None
    tell: bool = False
    """Only show the limit."""
    forms = single_form(
        "budget",
        "what the session may spend: %agent budget 2usd, 500k tokens, or off",
        parse_rest=_parse_limit,
        keywords=("off",),
    )

    def apply(self, control: SessionControls) -> ControlAnswer:
        if not self.tell:
            control.set_budget(usd=self.usd, tokens=self.tokens)
        text = budget_text(control.budget, control.spent)
        return ControlAnswer(lines=[text, *(_unsaved_warning(control) if not self.tell else [])])


class TrustSession(ControlOperation):
    """Show the rights that the session's log claims but that were not granted; grant them once shown."""

    type: Literal["trust-session"] = "trust-session"
    what: Literal["", "session"] = ""
    in_page: ClassVar[bool] = False
    forms = single_form(
        "trust",
        "what the session's log claims and does not hold; %agent trust session allows it",
        ("what",),
        is_never_prompt=True,
    )

    def apply(self, control: SessionControls) -> ControlAnswer:
        lines = self._trust_lines(control)
        return ControlAnswer(lines=[*lines, *(_unsaved_warning(control) if self.what else [])])

    def _trust_lines(self, control: SessionControls) -> OutputLines:
        withheld_before = control.withheld
        if not withheld_before:
            return [NOTHING_WITHHELD]
        if self.what and control.named_whole:
            titled_rights = (GRANTED_TITLE, control.trust()), (FIXED_TITLE, control.withheld)
            return [titled_list(title, rights) for title, rights in titled_rights if rights]
        control.named_whole = True
        hint = ALLOW_ALL_HINT if self.what else ALLOW_HINT
        return [titled_list(WITHHELD_TITLE, withheld_before), hint]


class TrustProject(Operation):
    """Trust the settings of this project's files, or withdraw that trust."""

    type: Literal["trust"] = "trust"
    trusted: bool = True

    async def run(self, context: OperationContext) -> "TrustedProject":
        return await asyncio.to_thread(self._apply, context.services)

    def _apply(self, services: FrontendServices) -> "TrustedProject":
        if not self.trusted:
            return TrustedProject(late=not services.distrust())
        settings, unwritten = tuple(services.trust()), services.trust_unwritten
        return TrustedProject(late=not settings, settings=settings, unwritten=unwritten)

    def output(self, answer: "TrustedProject") -> CommandOutput | str:
        if self.trusted:
            return trust_text(answer.settings, answer.unwritten)
        return "It was not trusted." if answer.late else "It waits for your trust again."


class TrustedProject(Done):
    """The settings that are trusted now; ``late`` where none waited."""

    settings: InKernel[tuple[UntrustedSetting, ...]] = ()
    unwritten: str = Field(default="", exclude=True)
    """The reason why the trust ends with this kernel; empty where it was saved."""
