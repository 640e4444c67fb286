"""Decide which permissions recorded in a session apply: all that tighten, others only where granted.

A session's record lies in the project, so anybody may have written it. Its rules, mode and limit are
claims: one that loosens applies only where the user granted it here.

Border: pure, values to values.
"""

from collections.abc import Iterable
from typing import Any

from palimpsest.render.safety.escaping import one_line
from palimpsest.tools.permission_rules.modes import MODES, Mode
from palimpsest.tools.permission_rules.permissions import Rules
from palimpsest.transcript.session_record.sessions import Budget, Claims, SessionInfo, Spent
from palimpsest.transcript.values import Rule

FREEDOM_BY_MODE: dict[Mode, int] = {"plan": 0, "ask": 1, "accept-edits": 2, "bypass": 3}
MAX_MODELS = 5
"""Maximum number of models of unknown price that are named with a limit."""
MIN_LIMIT, MAX_LIMIT = 1e-6, 1e15
"""In dollars or tokens; a limit outside of these is damaged data."""

OWN_RULES_KEY = "ruled"
"""Key in the metadata of a session that was created with its own permission rules."""


def asking_rules_of(session: SessionInfo | None) -> Rules:
    """Return the ``ask`` rules of a session that was created with its own permission rules."""
    if session is None or not (session.metadata or {}).get(OWN_RULES_KEY):
        return ()
    return tuple(rule for rule in session.permission if rule.action == "ask")


def applicable_rules(session: SessionInfo, granted_rules: Rules) -> Rules:
    """Return the rules of a record that apply: those that were granted, and all that allow nothing."""
    return tuple(
        rule for rule in session.permission if rule.action != "allow" or rule in granted_rules
    )


def applicable_mode(session: SessionInfo, configured_mode: Mode, granted_mode: Any) -> Mode | None:
    """Return a session's own mode, at most as free as the configured or the granted one; None where the configured mode applies."""
    claimed_mode = _known_mode(session.mode) if session.mode_own else None
    if claimed_mode is None or FREEDOM_BY_MODE[claimed_mode] <= FREEDOM_BY_MODE[configured_mode]:
        return claimed_mode
    allowed_mode = _known_mode(granted_mode)
    if allowed_mode is None:
        return None
    return (
        claimed_mode
        if FREEDOM_BY_MODE[claimed_mode] <= FREEDOM_BY_MODE[allowed_mode]
        else allowed_mode
    )


def applicable_budget(
    session: SessionInfo, configured_budget: Budget, granted_value: Any
) -> Budget:
    """Return the spending limit that applies to a session."""
    claimed_budget = session.budget
    if claimed_budget is None:
        return configured_budget
    granted_limit = granted_budget(granted_value)
    if claimed_budget.own:
        allowed_budget = _allowed_own_budget(claimed_budget, configured_budget, granted_limit)
    elif _limit_amounts(claimed_budget) == _limit_amounts(configured_budget):
        allowed_budget = configured_budget
    else:
        return configured_budget
    if granted_limit is None or _limit_terms(granted_limit) != _limit_terms(allowed_budget):
        return allowed_budget
    tokens = _smaller_limit(claimed_budget.tokens_until, granted_limit.tokens_until)
    update = {
        "usd_until": _smaller_limit(claimed_budget.usd_until, granted_limit.usd_until),
        "tokens_until": _as_int(tokens),
        "unpriced": tuple(
            model for model in claimed_budget.unpriced if model in granted_limit.unpriced
        ),
    }
    return allowed_budget.model_copy(update=update)


def granted_budget(value: Any) -> Budget | None:
    """Return a granted value as a spending limit; None where it is not a valid one."""
    try:
        return Budget.model_validate(value) if isinstance(value, dict) else None
    except ValueError:
        return None


def granted_rules(values: Iterable[Any]) -> Rules:
    """Return granted values as ``allow`` rules, without those that are invalid."""
    rules = []
    for entry in values:
        if isinstance(entry, dict) and isinstance(entry.get("permission"), str):
            pattern = entry.get("pattern")
            if isinstance(pattern, str):
                rules.append(Rule(permission=entry["permission"], pattern=pattern, action="allow"))
    return tuple(rules)


def rule_as_dict(rule: Rule) -> dict[str, str]:
    """Return a rule as the value of a grant."""
    return {"permission": rule.permission, "pattern": rule.pattern}


def budget_text(budget: Budget) -> str:
    """Return a short text of a limit in force, or ``none``."""
    usd = budget.usd_until if budget.usd_until is not None else budget.usd
    tokens = budget.tokens_until if budget.tokens_until is not None else budget.tokens
    texts = [f"${usd:g}"] if usd is not None else []
    texts += [f"{tokens} tokens"] if tokens is not None else []
    texts += [f"{one_line(name, 60)} of unknown price" for name in budget.unpriced[:MAX_MODELS]]
    return " and ".join(texts) or "none"


def with_all_claims(session: SessionInfo) -> SessionInfo:
    """Return a record with all of its claims restored, including those that were withheld."""
    claims = session.claimed
    if claims is None:
        return session
    claimed_rules = tuple(rule for rule in claims.permission if rule not in session.permission)
    changed_fields: dict[str, Any] = {
        "permission": (*session.permission, *claimed_rules),
        "claimed": None,
    }
    is_restricted = (
        session.mode_own
        and FREEDOM_BY_MODE[_known_mode(session.mode) or "ask"] <= FREEDOM_BY_MODE["ask"]
    )
    if claims.mode is not None and not is_restricted:
        changed_fields |= {"mode": claims.mode, "mode_own": True}
    if claims.budget is not None and not (session.budget is not None and session.budget.own):
        changed_fields["budget"] = claims.budget
    if claims.model is not None and session.model is None:
        changed_fields["model"] = claims.model
    if claims.agent is not None and session.agent is None:
        changed_fields["agent"] = claims.agent
    return session.model_copy(update=changed_fields)


def without_claims(session: SessionInfo, *field_names: str) -> SessionInfo:
    """Return a record without some of its withheld claims, after the user has set these values."""
    if session.claimed is None:
        return session
    no_claims = Claims()
    claims = session.claimed.model_copy(
        update={field_name: getattr(no_claims, field_name) for field_name in field_names}
    )
    return session.model_copy(update={"claimed": claims if claims != no_claims else None})


def larger_spending(first: Spent, other: Spent) -> Spent:
    """Return the larger of two spending records, value by value."""
    costs = [cost for cost in (first.cost, other.cost) if cost is not None]
    return Spent(
        cost=max(costs) if costs else None,
        tokens=first.tokens if first.all_tokens >= other.all_tokens else other.tokens,
        unpriced=max(first.unpriced, other.unpriced),
    )


def _known_mode(word: Any) -> Mode | None:
    return next((mode for mode in MODES if mode == word), None)


def _allowed_own_budget(
    claimed_budget: Budget, configured_budget: Budget, granted_budget: Budget | None
) -> Budget:
    usd, tokens = _sane_amount(claimed_budget.usd), _sane_amount(claimed_budget.tokens)
    if granted_budget is not None and _limit_terms(granted_budget) == (usd, tokens, True):
        return Budget(usd=usd, tokens=_as_int(tokens), own=True)
    smaller_amounts = (
        _smaller_amount(usd, configured_budget.usd),
        _smaller_amount(tokens, configured_budget.tokens),
    )
    if smaller_amounts == _limit_amounts(configured_budget):
        return configured_budget
    return Budget(usd=smaller_amounts[0], tokens=_as_int(smaller_amounts[1]), own=True)


def _limit_amounts(budget: Budget) -> tuple[float | None, float | None]:
    return budget.usd, budget.tokens


def _limit_terms(budget: Budget) -> tuple[float | None, float | None, bool]:
    """Return the amounts of a spending limit, and whether it is a session's own."""
    return budget.usd, budget.tokens, bool(budget.own)


def _sane_amount(amount: float | None) -> float | None:
    return amount if amount is not None and MIN_LIMIT <= amount <= MAX_LIMIT else None


def _smaller_amount(first: float | None, other: float | None) -> float | None:
    amounts = [amount for amount in (first, other) if amount is not None]
    return min(amounts) if amounts else None


def _smaller_limit(claimed_limit: float | None, limit: float | None) -> float | None:
    claimed_limit = _sane_amount(claimed_limit)
    return None if claimed_limit is None or limit is None else min(claimed_limit, limit)


def _as_int(amount: float | None) -> int | None:
    return None if amount is None else int(amount)
