"""How freely the agent works: mode, spending limit, what is always allowed, trust in a log and in a project."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.cell_turn.typed_values import amounts
from palimpsest.frontends.operation_text.command_output import CommandOutput, Lines, PolicySection
from palimpsest.frontends.operation_text.control_text import (
    NOTHING_ALLOWED,
    NOTHING_WITHHELD,
    REVOKE,
    budget_text,
    listed,
    origin,
    trust_text,
)
from palimpsest.frontends.operations.grammar import OptionError
from palimpsest.frontends.operations.operation import Desk, Done, Form, InKernel, Operation
from palimpsest.frontends.protocol.permissions import ApprovalRow, RuleRow
from palimpsest.render.safety.escaping import one_line
from palimpsest.session.config.layer_merge import UntrustedSetting
from palimpsest.session.controls.session_controls import SessionControls
from palimpsest.tools.permission_rules.modes import MEANINGS, MODES

WITHHELD = "The log of this session says that this was allowed. Nobody allowed it here, so it does not hold:"
ALLOW = "%agent trust session allows it in this session."
AGAIN = "Look it through, and write %agent trust session again to allow all of it in this session."
FIXED = "An administrator's settings leave this as it is:"
AMOUNTS = "Write %agent budget 2usd, %agent budget 500k tokens, both, or off."
_MODE = re.compile(r"(ask|plan|accept[-_ ]edits|bypass|default)", re.IGNORECASE)
_REVOKE = re.compile(r"revoke((?:\s+\d+)+|\s+all)?", re.IGNORECASE)
_UNIT = r"(usd|dollars?|tokens?)"
_SIGN = re.compile(rf"[-+$]|{_UNIT}", re.IGNORECASE)
_NUMBER_WORD = re.compile(rf"[-+$]*[\d.,_]+[km]?{_UNIT}?|{_UNIT}", re.IGNORECASE)
_OFF = re.compile(r"off|none", re.IGNORECASE)


class ControlAnswer(Done):
    """What holds in the session from now on."""

    lines: InKernel[Lines] = ()
    """What a cell shows of it."""


class ControlOperation(Operation):
    """An operation on a session's controls, whose rights are a file of the project."""

    session: str | None = None

    async def run(self, at: Desk) -> ControlAnswer:
        control = (await at.find(self.session)).control
        return await asyncio.to_thread(self.decided, control)

    def decided(self, control: SessionControls) -> ControlAnswer:
        """Do it; in a worker thread, because the rights are in a file."""
        raise NotImplementedError

    def output(self, answer: ControlAnswer) -> Lines:
        return answer.lines


def _unwritten(control: SessionControls) -> list[str]:
    """Return a sentence where the disk does not keep what was chosen."""
    return [control.unwritten] if control.unwritten else []


class SetMode(ControlOperation):
    """Choose how freely the agent works in this session, from the next call on."""

    type: Literal["mode"] = "mode"
    mode: str | None = Field(default=None, max_length=40)
    """ask, plan, accept-edits or bypass; ``default`` takes the configured one; None only tells it."""
    forms = (
        Form(
            "mode",
            "how freely the agent works: %agent mode ask, plan, accept-edits or bypass",
            read=lambda rest: (
                {"mode": " ".join(rest.split()) or None}
                if len(rest.split()) < 2 or _MODE.fullmatch(" ".join(rest.split()))
                else None
            ),
        ),
    )

    def decided(self, control: SessionControls) -> ControlAnswer:
        if self.mode is not None:
            mode = control.use_mode(self.mode)
            said = f"The mode of this session is {mode} from the next call on: {MEANINGS[mode]}."
            return ControlAnswer(lines=[said, *_unwritten(control)])
        now = control.mode
        rows = [(f"{'* ' if mode == now else ''}{mode}", MEANINGS[mode]) for mode in MODES]
        words = (
            "%agent mode NAME chooses another, default the configured one. No mode lifts a deny."
        )
        return ControlAnswer(lines=[PolicySection("", ("mode", "what it means"), rows), words])


class ListedApprovals(ControlAnswer):
    """What is always allowed here, and the rules that hold for every agent, lowest precedence first."""

    approvals: tuple[ApprovalRow, ...]
    rules: tuple[RuleRow, ...]


def _revoked(rest: str) -> dict[str, Any] | None:
    said = " ".join(rest.split())
    match = _REVOKE.fullmatch(said)
    if match is None:
        return None if said else {}
    if match[1] is None:
        raise OptionError(f"Which one? {REVOKE}")
    return {"revoke": tuple(int(one) for one in match[1].split() if one.isdecimal())}


class ListApprovals(ControlOperation):
    """List what is always allowed here, after revoking the given entries."""

    type: Literal["approvals"] = "approvals"
    revoke: tuple[int, ...] | None = None
    """Numbers in the list as it was shown last; an empty list revokes all of it."""
    forms = (
        Form(
            "permissions",
            "what is always allowed, and every rule; %agent permissions revoke N or all",
            read=_revoked,
            keywords=("revoke",),
            begins_no_prompt=True,
        ),
    )

    async def run(self, at: Desk) -> ListedApprovals:
        return await asyncio.to_thread(self.decided, (await at.find(self.session)).control)

    def decided(self, control: SessionControls) -> ListedApprovals:
        gone = control.revoke(*self.revoke) if self.revoke is not None else ()
        approvals = tuple(
            ApprovalRow(
                number=one.number,
                permission=one.rule.permission,
                pattern=one.rule.pattern,
                scope=one.scope,
                where=origin(one),
            )
            for one in control.allowances
        )
        rules = tuple(
            RuleRow(
                permission=rule.permission, pattern=rule.pattern, action=rule.action, origin=where
            )
            for rule, where in control.all_rules()
        )
        lines = self._lines(control, approvals, rules)
        if self.revoke is not None:
            names = ", ".join(one.words for one in gone)
            told = f"Revoked: {names}. It asks again." if gone else NOTHING_ALLOWED
            lines = [told, *_unwritten(control)]
        return ListedApprovals(approvals=approvals, rules=rules, lines=lines)

    def _lines(
        self,
        control: SessionControls,
        approvals: Sequence[ApprovalRow],
        rules: Sequence[RuleRow],
    ) -> Lines:
        said: list[str | PolicySection] = [
            f"The mode of this session is {control.mode}: {MEANINGS[control.mode]}."
        ]
        if approvals:
            head = ("", "permission", "always allowed", "where and when")
            rows = [(str(one.number), one.permission, one.pattern, one.where) for one in approvals]
            said += [PolicySection("", head, rows), REVOKE]
        else:
            said.append(NOTHING_ALLOWED)
        ruled = [(one.permission, one.pattern, one.action, one.origin) for one in rules]
        said.append(PolicySection("", ("rule", "for", "says", "from"), ruled))
        said.append("Of the rules that match a call the last one holds; a deny is never lifted.")
        return [*said, *([control.problem] if control.problem else [])]


def _limit(rest: str) -> dict[str, Any] | None:
    said = " ".join(rest.split())
    if not said:
        return {"tell": True}
    wanted = amounts(said)
    if wanted or _OFF.fullmatch(said):
        tokens = wanted.get("tokens")
        return {"usd": wanted.get("usd"), "tokens": int(tokens) if tokens else None}
    # A prompt that begins with "budget" goes on with words, and a typing error must not cost a request.
    if all(_NUMBER_WORD.fullmatch(word) for word in said.split()) and _SIGN.search(said):
        raise OptionError(f"{one_line(said, 60)!r} is no amount. {AMOUNTS}")
    return None


class SetBudget(ControlOperation):
    """Limit what this session may spend in all; without ``usd`` and ``tokens`` the limit is removed."""

    type: Literal["budget"] = "budget"
    usd: float | None = None
    tokens: int | None = None
    tell: bool = False
    """Only tell the limit."""
    forms = (
        Form(
            "budget",
            "what the session may spend: %agent budget 2usd, 500k tokens, or off",
            read=_limit,
            keywords=("off",),
        ),
    )

    def decided(self, control: SessionControls) -> ControlAnswer:
        if not self.tell:
            control.set_budget(usd=self.usd, tokens=self.tokens)
        said = budget_text(control.budget, control.spent)
        return ControlAnswer(lines=[said, *(_unwritten(control) if not self.tell else [])])


class TrustSession(ControlOperation):
    """Show the rights that the session's log claims but that were not granted; grant them once shown."""

    type: Literal["trust-session"] = "trust-session"
    what: Literal["", "session"] = ""
    in_page: ClassVar[bool] = False
    forms = (
        Form(
            "trust",
            "what the session's log claims and does not hold; %agent trust session allows it",
            ("what",),
            begins_no_prompt=True,
        ),
    )

    def decided(self, control: SessionControls) -> ControlAnswer:
        lines = self._lines(control)
        return ControlAnswer(lines=[*lines, *(_unwritten(control) if self.what else [])])

    def _lines(self, control: SessionControls) -> Lines:
        claims = control.withheld
        if not claims:
            return [NOTHING_WITHHELD]
        if self.what and control.shown:
            gone = control.trust()
            left = control.withheld
            said = [listed("Allowed in this session from now on:", gone)] if gone else []
            return [*said, *([listed(FIXED, left)] if left else [])]
        control.shown = True
        return [listed(WITHHELD, claims), AGAIN if self.what else ALLOW]


class TrustProject(Operation):
    """Trust what this project's files say about permissions, or withdraw that trust."""

    type: Literal["trust"] = "trust"
    trusted: bool = True

    async def run(self, at: Desk) -> "TrustedProject":
        return await asyncio.to_thread(self._decided, at.services)

    def _decided(self, services: FrontendServices) -> "TrustedProject":
        if not self.trusted:
            return TrustedProject(late=not services.distrust())
        found = tuple(services.trust())
        return TrustedProject(late=not found, settings=found, unwritten=services.trust_unwritten)

    def output(self, answer: "TrustedProject") -> CommandOutput | str:
        if self.trusted:
            return trust_text(answer.settings, answer.unwritten)
        return "It was not trusted." if answer.late else "It waits for your trust again."


class TrustedProject(Done):
    """The settings that are trusted now; late where there were none."""

    settings: InKernel[tuple[UntrustedSetting, ...]] = ()
    unwritten: str = Field(default="", exclude=True)
    """Why the trust ends with this kernel."""
