"""Permission rules: parse, match and merge them, and decide calls by them.

Border: pure. Higher layers ask the user and apply the reply; this module computes the result of
rules. Four choices differ from OpenCode: a deny is never overridden by an earlier "always"; "always"
applies to one session or, if the user chooses so, to the project; a rule for ``edit`` covers ``write``
too, while a rule for ``write`` also works on its own; and a protected file asks unless a rule names it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from palimpsest.tools.file_access.paths import is_protected
from palimpsest.tools.permission_rules import shell_rules
from palimpsest.tools.permission_rules.bound_approvals import (
    DIGEST_PREFIX,
    can_approve_bound,
    is_bound_pattern,
)
from palimpsest.tools.permission_rules.wildcard import (
    compile_wildcard,
    literal_beginning,
    matches_pattern,
)
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.strings.relative_paths import comparable_path
from palimpsest.transcript.values import Action, Rule

Rules = tuple[Rule, ...]

SHELL_PERMISSION = "bash"
CODE_PERMISSION = "python"

PARENT_PERMISSION = {"write": "edit"}
"""The wider permission that a permission is part of: where edit is denied, write is denied, too."""


def rules_of(permission: str, action: Action, patterns: Iterable[str] = ("*",)) -> Rules:
    """Return one rule for each pattern."""
    return tuple(Rule(permission=permission, pattern=p, action=action) for p in patterns)


def from_config(config: Mapping[str, Any] | str, *, home: str) -> Rules:
    """Parse the rules of a configuration, in order; raises ConfigError.

    ``"ask"``, ``{"bash": "ask"}`` and ``{"bash": {"git *": "allow"}}`` are the three forms;
    ``~`` and ``$HOME`` at the start of a pattern become ``home``.
    """
    if isinstance(config, str):
        return rules_of("*", _checked_action(config, "*"))
    if not isinstance(config, Mapping):
        raise ConfigError(f"permission must be a word or a table, not {config!r}.")
    rules: list[Rule] = []
    for permission, value in config.items():
        patterns = value if isinstance(value, Mapping) else {"*": value}
        rules += [
            Rule(
                permission=permission,
                pattern=_expanded_home(str(pattern), home),
                action=_checked_action(action, permission),
            )
            for pattern, action in patterns.items()
        ]
    return tuple(rules)


def _checked_action(value: object, permission: str) -> Action:
    match value:
        case "allow" | "ask" | "deny":
            return value
        case _:
            raise ConfigError(
                f"permission {permission!r} is {value!r}; it must be allow, ask or deny."
            )


def _expanded_home(pattern: str, home: str) -> str:
    if pattern == "~" or pattern.startswith("~/"):
        return home + pattern[1:]
    if pattern.startswith("$HOME"):
        return home + pattern.removeprefix("$HOME")
    return pattern


ALLOW_ALL = Rule(permission="*", action="allow")
"""Added before limits and locks, so that they do not affect permissions that they do not name."""

Force = Literal["limit", "lock"]


def as_limits(rules: Iterable[Rule], force: Force = "limit") -> Rules:
    """Return the rules as limits or locks, which can only restrict other rules; locks stay locks."""
    return tuple(rule.model_copy(update={"force": rule.force or force}) for rule in rules)


def _split_layers(rules: Iterable[Rule]) -> tuple[Rules, Rules, Rules]:
    return _split_cached(_RulesByIdentity(tuple(rules)))


@lru_cache(maxsize=64)
def _split_cached(rules_key: "_RulesByIdentity") -> tuple[Rules, Rules, Rules]:
    rules = rules_key.rules
    if all(rule.force is None for rule in rules):
        return rules, (), ()  # the same object, since caches are keyed by its identity
    plain_rules, limits, locked_rules = (
        tuple(rule for rule in rules if rule.force == force) for force in (None, "limit", "lock")
    )
    return plain_rules, limits and (ALLOW_ALL, *limits), locked_rules and (ALLOW_ALL, *locked_rules)


STRICTNESS: Mapping[Action, int] = {"allow": 0, "ask": 1, "deny": 2}
"""Rank of each action; the stricter one wins between layers of rules."""


def merge_rules(*rulesets: Iterable[Rule]) -> Rules:
    """Concatenate rule sets; later rules win."""
    return tuple(rule for rules in rulesets for rule in rules)


def last_matching_rule(permission: str, pattern: str, *rulesets: Iterable[Rule]) -> Rule:
    """Return the last rule that matches permission and pattern, or an ask rule if none does.

    Limits and locks are matched separately, and the strictest result is returned.
    """
    plain_rules, *others = _split_layers(merge_rules(*rulesets))
    layers = (plain_rules, *(rules for rules in others if rules))
    matches = [_last_match((permission,), pattern, rules) for rules in layers]
    return max(matches, key=lambda rule: STRICTNESS[rule.action])


def _always_applies(_rule: Rule) -> bool:
    return True


def _applies_to_code(rule: Rule) -> bool:
    """Return whether a rule applies to Python code: of allow rules with wildcards, only ``*`` does.

    The effect of code cannot be derived from its beginning.
    """
    is_literal = not shell_rules.has_wildcard(rule.pattern)
    return rule.action != "allow" or is_literal or shell_rules.is_everything(rule.pattern)


def _last_match(
    permissions: tuple[str, ...],
    pattern: str,
    rules: Rules,
    applies: Callable[[Rule], bool] = _always_applies,
) -> Rule:
    if is_protected(permissions[0], pattern):
        return _last_match_of_protected(permissions, pattern, rules)
    rule = _newest_match(permissions, pattern, rules, applies)
    return rule or Rule(permission=permissions[0], pattern="*", action="ask")


def _last_match_of_protected(permissions: tuple[str, ...], path: str, rules: Rules) -> Rule:
    """Return the last rule that names a protected file; rules that deny or ask match any spelling of the path.

    An allow rule for a folder or for all files does not apply to it, and cancels the rules before it,
    so that the file asks.
    """
    ask = Rule(permission=permissions[0], pattern=path, action="ask")
    comparable, has_wide_allow = comparable_path(path), False
    for rule in reversed(rules):
        if not _is_permission_named(rule.permission, permissions):
            continue
        is_match = matches_pattern(path, rule.pattern)
        if rule.action != "allow":
            if is_match or matches_pattern(comparable, comparable_path(rule.pattern)):
                return ask if has_wide_allow else rule
        elif is_match:
            if is_total(rule) or _is_explicit_about_protected(permissions[0], rule.pattern):
                return rule
            has_wide_allow = True
    return ask


def _is_explicit_about_protected(permission: str, pattern: str) -> bool:
    """Return whether a pattern names protected files explicitly, such as ``*.pem`` or ``.env*``."""
    folder, slash, name = pattern.replace("\\", "/").rpartition("/")
    without_stars = f"{folder}{slash}{name.replace('*', '')}" if name.strip("*") else pattern
    return is_protected(permission, pattern) or is_protected(permission, without_stars)


def is_total(rule: Rule) -> bool:
    """Return whether a rule applies to all permissions and patterns, as in mode bypass or ``permission = "allow"``."""
    return rule.permission == "*" and rule.pattern == "*"


def _newest_match(
    permissions: tuple[str, ...], pattern: str, rules: Rules, applies: Callable[[Rule], bool]
) -> Rule | None:
    text = pattern.replace("\\", "/")
    candidates = _matchers_for(permissions, _RulesByIdentity(rules))
    for head, compiled_pattern, rule in candidates.get(text[:1], candidates[""]):
        if text.startswith(head) and compiled_pattern.fullmatch(text) and applies(rule):
            return rule
    return None


class _RulesByIdentity:
    """A cache key for a set of rules, compared by identity, which is faster than by equality."""

    __slots__ = ("rules",)

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def __hash__(self) -> int:
        return id(self.rules)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _RulesByIdentity) and other.rules is self.rules


Matcher = tuple[str, "re.Pattern[str]", Rule]
"""The literal beginning of a rule's pattern, the compiled pattern, and the rule."""


@lru_cache(maxsize=256)
def _matchers_for(
    permissions: tuple[str, ...], rules_key: _RulesByIdentity
) -> Mapping[str, tuple[Matcher, ...]]:
    """Return the rules for a permission, last first, by the first character of their patterns.

    The empty key has the rules whose pattern begins with a wildcard.
    """
    matchers = [
        (literal_beginning(rule.pattern), compile_wildcard(rule.pattern), rule)
        for rule in reversed(rules_key.rules)
        if _is_permission_named(rule.permission, permissions)
    ]
    first_characters = {"", *(head[:1] for head, _, _ in matchers)}
    return {
        first_character: tuple(
            matcher for matcher in matchers if matcher[0][:1] in ("", first_character)
        )
        for first_character in first_characters
    }


@lru_cache(maxsize=4_096)
def _is_permission_named(permission: str, permissions: tuple[str, ...]) -> bool:
    """Return whether a rule's permission, which may hold wildcards, matches one of the names."""
    pattern = compile_wildcard(permission)
    return any(pattern.fullmatch(name) is not None for name in permissions)


def _with_parent(permission: str) -> tuple[str, ...]:
    parent = PARENT_PERMISSION.get(permission)
    return (permission,) if parent is None else (permission, parent)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The call may run."""


@dataclass(frozen=True, slots=True)
class Denied:
    """A rule denies the call."""

    permission: str
    pattern: str
    rule: Rule

    @property
    def description(self) -> str:
        """The rule, in a few words for the call's row."""
        return f"{self.rule.permission} {self.rule.pattern!r}: deny"

    @property
    def message(self) -> str:
        """The error message for the model."""
        return (
            f"A permission rule denies this call: {self.permission} for {self.pattern!r} "
            f"({self.rule.permission} {self.rule.pattern!r}: deny). Find another way, or say what you would need."
        )


@dataclass(frozen=True, slots=True)
class MustAsk:
    """The user must be asked; ``patterns`` are those that no rule allows yet."""

    patterns: tuple[str, ...]
    locked: bool = False
    """Whether an administrator's lock requires the question, so that no mode and no "always" answers it."""


Verdict = Allowed | Denied | MustAsk


def decide_call(
    permission: str,
    patterns: Sequence[str],
    rules: Iterable[Rule],
    approved_rules: Iterable[Rule] = (),
) -> Verdict:
    """Decide a call: denied if one pattern is denied, allowed if all patterns are allowed, otherwise the user is asked.

    ``approved_rules`` are the rules of a mode and of earlier "always" answers; they answer questions but do
    not override a deny. Limits and locks are decided separately, and the strictest verdict applies.
    """
    plain_rules, limits, locked_rules = _split_layers(rules)
    approved_rules = tuple(approved_rules)
    verdicts = [_decide_layer(permission, patterns, plain_rules, approved_rules)]
    if not limits and not locked_rules:
        return verdicts[0]
    if limits:
        verdicts.append(_decide_layer(permission, patterns, limits, approved_rules))
    lock_verdict: Verdict = (
        _decide_layer(permission, patterns, locked_rules, ()) if locked_rules else Allowed()
    )
    verdicts.append(lock_verdict)
    denied = next((verdict for verdict in verdicts if isinstance(verdict, Denied)), None)
    if denied is not None:
        return denied
    questions = [verdict for verdict in verdicts if isinstance(verdict, MustAsk)]
    if not questions:
        return Allowed()
    unanswered = dict.fromkeys(pattern for verdict in questions for pattern in verdict.patterns)
    return MustAsk(tuple(unanswered), locked=isinstance(lock_verdict, MustAsk))


def _decide_layer(
    permission: str, patterns: Sequence[str], rules: Rules, approved_rules: Rules
) -> Verdict:
    decide = _decide_shell_text if permission == SHELL_PERMISSION else _decide_pattern
    unanswered_patterns: list[str] = []
    for pattern in patterns:
        verdict = decide(permission, pattern, rules, approved_rules)
        if isinstance(verdict, Denied):
            return verdict
        if isinstance(verdict, MustAsk):
            unanswered_patterns.append(pattern)
    return MustAsk(tuple(unanswered_patterns)) if unanswered_patterns else Allowed()


def _decide_pattern(permission: str, pattern: str, rules: Rules, approved_rules: Rules) -> Verdict:
    permissions = _with_parent(permission)
    applies = _applies_to_code if permission == CODE_PERMISSION else _always_applies
    rule = _last_match(permissions, pattern, rules, applies)
    if rule.action == "deny":
        return Denied(permission=permission, pattern=pattern, rule=rule)
    approving_rule = _approving_rule(permissions, pattern, approved_rules, applies) or rule
    return Allowed() if approving_rule.action == "allow" else MustAsk((pattern,))


def _decide_shell_text(permission: str, text: str, rules: Rules, approved_rules: Rules) -> Verdict:
    """Decide a shell text: each of its commands separately, unless the exact text is allowed."""
    permissions = (permission,)
    is_allowed = True
    for command in shell_rules.ruled_texts(text):
        rule = _last_match(
            permissions, command, rules, shell_rules.configured_rule_applies(command, text)
        )
        if rule.action == "deny":
            return Denied(permission=permission, pattern=command, rule=rule)
        approving_rule = _newest_match(
            permissions, command, approved_rules, shell_rules.approved_rule_applies(command, text)
        )
        is_allowed = is_allowed and (approving_rule or rule).action == "allow"
    if is_allowed:
        return Allowed()
    exact_text = shell_rules.stored_text(text)
    applies_exactly = shell_rules.exact_rule_applies(exact_text)
    exact_rule = _newest_match(
        permissions, exact_text, approved_rules, applies_exactly
    ) or _newest_match(permissions, exact_text, rules, applies_exactly)
    is_allowed = exact_rule is not None and exact_rule.action == "allow"
    return Allowed() if is_allowed else MustAsk((text,))


def _approving_rule(
    permissions: tuple[str, ...],
    pattern: str,
    approved_rules: Rules,
    applies: Callable[[Rule], bool],
) -> Rule | None:
    """Return the rule of a mode or "always" that answers; for a protected file, only mode bypass does."""
    if is_protected(permissions[0], pattern):
        return next((rule for rule in approved_rules if is_total(rule)), None)
    if pattern.startswith(DIGEST_PREFIX) and is_bound_pattern(pattern):
        applies = can_approve_bound
    return _newest_match(permissions, pattern, approved_rules, applies)


def hidden_tools(permissions: Mapping[str, str], rules: Iterable[Rule]) -> frozenset[str]:
    """Return the names of the tools, given with their permissions, whose every call would be denied.

    A tool is hidden when the last rule that names its permission denies it for ``*``.
    """
    layers = _split_layers(rules)
    return frozenset(
        tool
        for tool, permission in permissions.items()
        if any(_is_always_denied(permission, layer) for layer in layers)
    )


def _is_always_denied(permission: str, rules: Rules) -> bool:
    permissions = _with_parent(permission)
    last_rule = next(
        (rule for rule in reversed(rules) if _is_permission_named(rule.permission, permissions)),
        None,
    )
    return last_rule is not None and last_rule.pattern == "*" and last_rule.action == "deny"
