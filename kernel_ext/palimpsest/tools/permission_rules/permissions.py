"""Permission rules: parse, match and merge them, and decide calls by them.

Border: pure. Asking the user and applying the reply is done in higher layers; this computes what follows from
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
from palimpsest.tools.permission_rules.bound_approvals import PREFIX, answers_bound, is_bound
from palimpsest.tools.permission_rules.wildcard import beginning, compiled, matches
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.strings.relative_paths import comparable_path
from palimpsest.transcript.values import Action, Rule

Rules = tuple[Rule, ...]

SHELL = "bash"
CODE = "python"

KIND_OF = {"write": "edit"}
"""Permissions that are a kind of another: where edit is denied, write is too."""


def rules_of(permission: str, action: Action, patterns: Iterable[str] = ("*",)) -> Rules:
    """Return one rule for each pattern."""
    return tuple(Rule(permission=permission, pattern=p, action=action) for p in patterns)


def from_config(config: Mapping[str, Any] | str, *, home: str) -> Rules:
    """Parse the rules of a configuration, in order; raises ConfigError.

    ``"ask"``, ``{"bash": "ask"}`` and ``{"bash": {"git *": "allow"}}`` are the three forms;
    ``~`` and ``$HOME`` at the start of a pattern become ``home``.
    """
    if isinstance(config, str):
        return rules_of("*", _action(config, "*"))
    if not isinstance(config, Mapping):
        raise ConfigError(f"permission must be a word or a table, not {config!r}.")
    rules: list[Rule] = []
    for permission, value in config.items():
        patterns = value if isinstance(value, Mapping) else {"*": value}
        rules += [
            Rule(
                permission=permission,
                pattern=_expanded(str(pattern), home),
                action=_action(action, permission),
            )
            for pattern, action in patterns.items()
        ]
    return tuple(rules)


def _action(value: object, permission: str) -> Action:
    match value:
        case "allow" | "ask" | "deny":
            return value
        case _:
            raise ConfigError(
                f"permission {permission!r} is {value!r}; it must be allow, ask or deny."
            )


def _expanded(pattern: str, home: str) -> str:
    if pattern == "~" or pattern.startswith("~/"):
        return home + pattern[1:]
    if pattern.startswith("$HOME"):
        return home + pattern.removeprefix("$HOME")
    return pattern


ANYTHING = Rule(permission="*", action="allow")
"""Put before limits and locks, so that they do not affect permissions that they do not name."""

Force = Literal["limit", "lock"]


def as_limits(rules: Iterable[Rule], force: Force = "limit") -> Rules:
    """Return the rules as limits or locks, which can only restrict other rules; locks stay locks."""
    return tuple(rule.model_copy(update={"force": rule.force or force}) for rule in rules)


def _apart(rules: Iterable[Rule]) -> tuple[Rules, Rules, Rules]:
    """Split rules into plain ones, limits and locks."""
    return _parted(_Same(tuple(rules)))


@lru_cache(maxsize=64)
def _parted(same: "_Same") -> tuple[Rules, Rules, Rules]:
    rules = same.rules
    if all(rule.force is None for rule in rules):
        return rules, (), ()  # the same object, since caches are keyed by its identity
    plain, limits, locked_rules = (
        tuple(rule for rule in rules if rule.force == force) for force in (None, "limit", "lock")
    )
    return plain, limits and (ANYTHING, *limits), locked_rules and (ANYTHING, *locked_rules)


STRICTNESS: Mapping[Action, int] = {"allow": 0, "ask": 1, "deny": 2}


def merge(*rulesets: Iterable[Rule]) -> Rules:
    """Concatenate rule sets; later rules win."""
    return tuple(rule for rules in rulesets for rule in rules)


def evaluate(permission: str, pattern: str, *rulesets: Iterable[Rule]) -> Rule:
    """Return the last rule that matches permission and pattern, or an ask rule if none does.

    Limits and locks are matched separately, and the strictest result is returned.
    """
    plain, *others = _apart(merge(*rulesets))
    sets = (plain, *(rules for rules in others if rules))
    found = [_last_match((permission,), pattern, rules) for rules in sets]
    return max(found, key=lambda rule: STRICTNESS[rule.action])


def _always(_rule: Rule) -> bool:
    return True


def _code_counts(rule: Rule) -> bool:
    """Return whether a rule counts for Python code: of allow rules with wildcards, only ``*`` does.

    What code does cannot be judged by its beginning.
    """
    wide = any(char in rule.pattern for char in shell_rules.WILD)
    return rule.action != "allow" or not wide or shell_rules.is_everything(rule.pattern)


def _last_match(
    names: tuple[str, ...], pattern: str, rules: Rules, counts: Callable[[Rule], bool] = _always
) -> Rule:
    if is_protected(names[0], pattern):
        return _for_protected(names, pattern, rules)
    found = _found(names, pattern, rules, counts)
    return found or Rule(permission=names[0], pattern="*", action="ask")


def _for_protected(names: tuple[str, ...], path: str, rules: Rules) -> Rule:
    """Return the rule for a protected file: the last one that names it; denials match any spelling.

    An allow rule for a folder or for all files does not apply to it, and cancels the rules before it,
    so that the file asks.
    """
    ask = Rule(permission=names[0], pattern=path, action="ask")
    plain, passed = comparable_path(path), False
    for rule in reversed(rules):
        if not _names(rule.permission, names):
            continue
        if not matches(path, rule.pattern):
            if rule.action != "allow" and matches(plain, comparable_path(rule.pattern)):
                return ask if passed else rule
        elif rule.action != "allow":
            return ask if passed else rule
        elif is_total(rule) or _names_protected(names[0], rule.pattern):
            return rule
        else:
            passed = True
    return ask


def _names_protected(permission: str, pattern: str) -> bool:
    """Return whether a pattern names protected files explicitly, such as ``*.pem`` or ``.env*``."""
    folder, slash, name = pattern.replace("\\", "/").rpartition("/")
    bare = f"{folder}{slash}{name.replace('*', '')}" if name.strip("*") else pattern
    return is_protected(permission, pattern) or is_protected(permission, bare)


def is_total(rule: Rule) -> bool:
    """Return whether a rule applies to everything, as those of mode bypass or ``permission = "allow"``."""
    return rule.permission == "*" and rule.pattern == "*"


def _found(
    names: tuple[str, ...], pattern: str, rules: Rules, counts: Callable[[Rule], bool] = _always
) -> Rule | None:
    text = pattern.replace("\\", "/")
    about = _about(names, _Same(rules))
    for head, whole, rule in about.get(text[:1], about[""]):
        if text.startswith(head) and whole.fullmatch(text) and counts(rule):
            return rule
    return None


class _Same:
    """A cache key for a set of rules, compared by identity, which is faster than by equality."""

    __slots__ = ("rules",)

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def __hash__(self) -> int:
        return id(self.rules)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.rules is self.rules


Matcher = tuple[str, "re.Pattern[str]", Rule]
"""The literal beginning of a rule's pattern, the compiled pattern, and the rule."""


@lru_cache(maxsize=256)
def _about(names: tuple[str, ...], same: _Same) -> Mapping[str, tuple[Matcher, ...]]:
    """Return the rules about a permission, the last first, by the first character of their patterns.

    The empty key has the rules whose pattern begins with a wildcard.
    """
    matchers = [
        (beginning(rule.pattern), compiled(rule.pattern), rule)
        for rule in reversed(same.rules)
        if _names(rule.permission, names)
    ]
    letters = {"", *(head[:1] for head, _, _ in matchers)}
    return {
        letter: tuple(one for one in matchers if one[0][:1] in ("", letter)) for letter in letters
    }


@lru_cache(maxsize=4_096)
def _names(permission: str, names: tuple[str, ...]) -> bool:
    """Tell whether a rule's permission, which may hold wildcards, names one of these."""
    pattern = compiled(permission)
    return any(pattern.fullmatch(name) is not None for name in names)


def _kinds(permission: str) -> tuple[str, ...]:
    kind = KIND_OF.get(permission)
    return (permission,) if kind is None else (permission, kind)


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
    def why(self) -> str:
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
    """An administrator's lock requires the question: no mode and no "always" answers it."""


Verdict = Allowed | Denied | MustAsk


def decide(
    permission: str,
    patterns: Sequence[str],
    rules: Iterable[Rule],
    approved: Iterable[Rule] = (),
) -> Verdict:
    """Decide a call: a denied pattern denies it, it is allowed if all patterns are, otherwise it asks.

    ``approved`` are the rules of a mode and of earlier "always" answers; they answer questions but do
    not override a deny. Limits and locks are decided separately, and the strictest verdict applies.
    """
    plain, limits, locked_rules = _apart(rules)
    approved = tuple(approved)
    verdicts = [_decide(permission, patterns, plain, approved)]
    if not limits and not locked_rules:
        return verdicts[0]
    if limits:
        verdicts.append(_decide(permission, patterns, limits, approved))
    locked: Verdict = _decide(permission, patterns, locked_rules, ()) if locked_rules else Allowed()
    denied = next((one for one in (*verdicts, locked) if isinstance(one, Denied)), None)
    if denied is not None:
        return denied
    asking = [one for one in (*verdicts, locked) if isinstance(one, MustAsk)]
    if not asking:
        return Allowed()
    waiting = dict.fromkeys(pattern for one in asking for pattern in one.patterns)
    return MustAsk(tuple(waiting), locked=isinstance(locked, MustAsk))


def _decide(permission: str, patterns: Sequence[str], rules: Rules, approved: Rules) -> Verdict:
    one = _decide_text if permission == SHELL else _decide_pattern
    waiting: list[str] = []
    for pattern in patterns:
        verdict = one(permission, pattern, rules, approved)
        if isinstance(verdict, Denied):
            return verdict
        if isinstance(verdict, MustAsk):
            waiting.append(pattern)
    return MustAsk(tuple(waiting)) if waiting else Allowed()


def _decide_pattern(permission: str, pattern: str, rules: Rules, approved: Rules) -> Verdict:
    kinds = _kinds(permission)
    counts = _code_counts if permission == CODE else _always
    rule = _last_match(kinds, pattern, rules, counts)
    if rule.action == "deny":
        return Denied(permission=permission, pattern=pattern, rule=rule)
    allowed = (_answered(kinds, pattern, approved, counts) or rule).action == "allow"
    return Allowed() if allowed else MustAsk((pattern,))


def _decide_text(permission: str, text: str, rules: Rules, approved: Rules) -> Verdict:
    """Decide a shell text: each of its commands separately, unless the exact text is allowed."""
    names = (permission,)
    allowed = True
    for command in shell_rules.commands_to_judge(text):
        rule = _last_match(names, command, rules, shell_rules.counts_configured(command, text))
        if rule.action == "deny":
            return Denied(permission=permission, pattern=command, rule=rule)
        answer = _found(names, command, approved, shell_rules.counts_approved(command, text))
        allowed = allowed and (answer or rule).action == "allow"
    if allowed:
        return Allowed()
    whole = shell_rules.kept_text(text)
    exact = shell_rules.counts_exact(whole)
    said = _found(names, whole, approved, exact) or _found(names, whole, rules, exact)
    return Allowed() if said is not None and said.action == "allow" else MustAsk((text,))


def _answered(
    names: tuple[str, ...], pattern: str, approved: Rules, counts: Callable[[Rule], bool] = _always
) -> Rule | None:
    """Return the rule of a mode or "always" that answers; for a protected file, only mode bypass does."""
    if is_protected(names[0], pattern):
        return next((rule for rule in approved if is_total(rule)), None)
    if pattern.startswith(PREFIX) and is_bound(pattern):
        counts = answers_bound
    return _found(names, pattern, approved, counts)


def disabled(permissions: Mapping[str, str], rules: Iterable[Rule]) -> frozenset[str]:
    """Return the names of the tools, given with their permissions, whose every call would be denied.

    A tool is hidden when the last rule that names its permission denies it for ``*``.
    """
    sets = _apart(rules)
    return frozenset(
        tool
        for tool, permission in permissions.items()
        if any(_always_denied(permission, one) for one in sets)
    )


def _always_denied(permission: str, rules: Rules) -> bool:
    kinds = _kinds(permission)
    last = next((rule for rule in reversed(rules) if _names(rule.permission, kinds)), None)
    return last is not None and last.pattern == "*" and last.action == "deny"
