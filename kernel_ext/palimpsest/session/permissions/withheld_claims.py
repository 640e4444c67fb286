"""Reduce a session's record to the permissions that apply here when it is opened, and name those withheld.

So every view shows the permissions that apply, not those that the journal claims. A withheld permission stays in
the record as a claim, which ``%agent trust session`` can grant. Border: works on values and grants; the workspace
journals the result.
"""

from collections.abc import Iterable
from typing import Any

from palimpsest.render.content.phrases import first_names
from palimpsest.render.safety.escaping import one_line
from palimpsest.session.permissions.effective_rules import EffectiveRules
from palimpsest.session.permissions.recorded_claims import (
    budget_text,
    granted_rules,
    larger_spending,
    rule_as_dict,
    with_all_claims,
)
from palimpsest.tools.permission_rules.permissions import Rules
from palimpsest.transcript.messages import MessageInfo
from palimpsest.transcript.session_record.sessions import (
    Budget,
    Claims,
    SessionInfo,
    Spent,
    recorded_spending,
    sane_spending,
)

MAX_NAMED_CLAIMS = 5
MAX_MODE_CHARS = 40
MAX_CLAIM_CHARS = 120
MAX_AGENT_CHARS = 60
WITHHELD_SENTENCE = (
    "The log of this session says that this was allowed, and nobody allowed it here, so it does not hold: "
    "{names}. %agent trust session allows it in this session."
)


def with_granted_rights(
    session: SessionInfo,
    effective_rules: EffectiveRules,
    message_infos: Iterable[MessageInfo],
    counted_spending: Spent | None = None,
) -> SessionInfo:
    """Return the record of a session that is opened, with the rights that apply and the claims withheld.

    ``message_infos`` are the records of its answers; ``counted_spending`` is the reported spending of answers that are not among them.
    """
    record = with_all_claims(session)
    rules = effective_rules.applicable_rules(record)
    mode = effective_rules.own_mode(record)
    budget = effective_rules.own_budget(record)
    is_usable = record.model is None or effective_rules.may_use(record.model, record.id)
    may_answer = record.agent is None or effective_rules.may_answer(record.agent, record.id)
    claims_before = session.claimed or Claims()
    claims = Claims(
        permission=tuple(rule for rule in record.permission if rule not in rules),
        mode=record.mode if record.mode_own and mode != record.mode else None,
        budget=record.budget
        if _claims_more(record.budget, budget, effective_rules.budget)
        else (claims_before.budget if claims_before.budget != record.budget else None),
        model=None if is_usable else record.model,
        agent=None if may_answer else record.agent,
    )
    changed_fields: dict[str, Any] = {
        "permission": rules,
        "model": record.model if is_usable else None,
        "agent": record.agent if may_answer else None,
        "claimed": claims if claims != Claims() else None,
    }
    if claims.mode is not None:
        # The mode of a task's session is its parent's; it is recorded when its turn begins.
        changed_fields |= {"mode": mode or effective_rules.mode, "mode_own": True if mode else None}
    elif record.mode_own is not True and record.mode not in (None, effective_rules.mode):
        changed_fields["mode"] = effective_rules.mode
    if record.budget is not None and record.budget != budget:
        changed_fields["budget"] = budget
    spending_fields = _spending_fields(record, message_infos, counted_spending)
    return record.model_copy(update=changed_fields | spending_fields)


def withheld_text(session: SessionInfo) -> str:
    """Return one sentence that names the withheld claims; empty where there are none, or the session is read-only."""
    names = [] if session.read_only else claimed_names(session.claimed)
    if not names:
        return ""
    return WITHHELD_SENTENCE.format(names=first_names(names, MAX_NAMED_CLAIMS))


def is_named_whole(session: SessionInfo | None) -> bool:
    """Return whether ``withheld_text`` names everything that was withheld."""
    return len(claimed_names(session.claimed if session is not None else None)) <= MAX_NAMED_CLAIMS


def claimed_names(claims: Claims | None) -> list[str]:
    """Return the withheld claims, each as a short text."""
    if claims is None:
        return []
    names = [f"mode {one_line(claims.mode, MAX_MODE_CHARS)}"] if claims.mode is not None else []
    names += [
        one_line(f"{rule.permission}: {rule.pattern}", MAX_CLAIM_CHARS)
        for rule in claims.permission
    ]
    if claims.budget is not None:
        names.append(f"spending limit {budget_text(claims.budget)}")
    if claims.model is not None:
        names.append(f"model {one_line(claims.model.id, MAX_CLAIM_CHARS)}")
    if claims.agent is not None:
        names.append(f"agent {one_line(claims.agent, MAX_AGENT_CHARS)}")
    return names


def grant_claims(session: SessionInfo, effective_rules: EffectiveRules) -> SessionInfo:
    """Grant in this session what was withheld; returns the record that applies from now on."""
    claims = session.claimed
    if claims is None:
        return session
    grants = effective_rules.grants
    allowed: Rules = granted_rules(rule_as_dict(rule) for rule in claims.permission)
    effective_rules.approvals.add_to_session(allowed, session.id)
    if claims.mode is not None and not effective_rules.mode_fixed:
        grants.put("mode", claims.mode, session.id)
    if claims.budget is not None and not effective_rules.budget_fixed:
        grants.put("budget", claims.budget.model_dump(exclude_none=True), session.id)
    if claims.model is not None:
        grants.put("model", claims.model.id, session.id)
    if claims.agent is not None:
        grants.put("agent", claims.agent, session.id)
    other_claims = claims.model_copy(update={"mode": None, "budget": None})
    changed_fields: dict[str, Any] = {"claimed": other_claims}
    if claims.mode is not None:
        changed_fields |= {"mode": claims.mode, "mode_own": True}
    if claims.budget is not None:
        changed_fields["budget"] = claims.budget
    return with_granted_rights(session.model_copy(update=changed_fields), effective_rules, ())


def _claims_more(
    claimed_budget: Budget | None, applied_budget: Budget, configured_budget: Budget
) -> bool:
    """Return whether a limit claims more than what applies; a limit from an older configuration does not count."""
    if claimed_budget is None or claimed_budget == applied_budget:
        return False
    is_current = (claimed_budget.usd, claimed_budget.tokens) == (
        configured_budget.usd,
        configured_budget.tokens,
    )
    return claimed_budget.own or is_current


def _spending_fields(
    session: SessionInfo, message_infos: Iterable[MessageInfo], counted_spending: Spent | None
) -> dict[str, Any]:
    """Return the changed fields of a record's spending: never less than the journal's answers report."""
    own_spending = sane_spending(
        Spent(cost=session.cost, tokens=session.tokens, unpriced=session.unpriced or 0)
    )
    if session.forked_from is None:  # a fork shows its parent's answers, which it did not pay for
        own_spending = larger_spending(
            own_spending, recorded_spending(message_infos, counted_spending)
        )
    return {
        "cost": own_spending.cost,
        "tokens": own_spending.tokens,
        "unpriced": own_spending.unpriced or None,
        "below": sane_spending(session.below) if session.below is not None else None,
    }
