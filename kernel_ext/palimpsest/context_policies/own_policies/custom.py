"""A user's own policy: a function from the view to decisions, which are checked during the replay.

It is recorded by its name, source text and digest, and never run from a record.
"""

import hashlib
import inspect
import json
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import Parameter
from itertools import islice
from types import CodeType
from typing import Any, overload

from palimpsest.context_policies.interface.laws import (
    EXISTING_ITEM,
    SAME_TWICE,
    Breach,
    PolicyBreach,
    breaches,
)
from palimpsest.context_policies.interface.pipeline import Pipeline
from palimpsest.context_policies.interface.policy import (
    Change,
    ContextPolicy,
    Layer,
    PolicyResult,
    PolicyView,
    Probe,
    SessionFacts,
    When,
    with_changes,
)
from palimpsest.context_policies.interface.preset_text import (
    field_value,
    refused_number,
    unknown_number,
)
from palimpsest.context_policies.interface.settings import number_text
from palimpsest.context_policies.interface.stage_view import StageView
from palimpsest.context_policies.own_policies.decisions import CLEARED_TEXT
from palimpsest.context_policies.own_policies.own_code_errors import failure_of
from palimpsest.context_policies.own_policies.past_view import PastView
from palimpsest.context_policies.own_policies.policy_function import PolicyFunction
from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.safety.escaping import in_html
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.code_lines import code_line_count
from palimpsest.transcript.timeline import CHARS4, GONE_STATES
from palimpsest.transcript.visible_text import visible_line

DECISION_WORDS = {
    "clear": "clears items",
    "truncate": "shortens items",
    "mask": "puts a text in the place of items",
    "drop": "leaves items out",
}
"""What a function may do that uses one of ``palimpsest.policies``' decisions, by the decision's name."""
MAX_DECISIONS_PER_ITEM = 4
"""Maximum decisions per item; a function that yields more is assumed never to end."""
MAX_SHOWN_DIGEST_CHARS = 12
"""Characters of a digest in a policy's source."""
ALREADY_WHOLE = "whole already"


@dataclass(frozen=True)
class CustomPolicy:
    """A policy that the user wrote as a function; see ``palimpsest.policy``."""

    function: Callable[..., Iterable[Change | Probe]]
    """A ``PolicyFunction``, which may have numbers after the view."""
    function_name: str
    """The policy's name without numbers."""
    sticky: bool = False
    """Whether its decisions stay in effect until replaced; else each request starts from whole items."""
    when: When = "request"
    estimator: str = CHARS4
    text: str = field(default="", repr=False)
    """The function's source; empty where it is not known."""
    keeps_pins: bool = False
    """Whether decisions about pinned items are ignored, where they would otherwise break a law."""
    given_numbers: tuple[tuple[str, int | float], ...] = ()
    """The numbers that the function is called with instead of its defaults."""

    @property
    def name(self) -> str:
        """Its name, with the numbers that differ from the function's defaults, in the form that ``policies.get`` reads."""
        numbers = [f"{name}={number_text(number)}" for name, number in self.given_numbers]
        return " ".join([self.function_name, *numbers])

    @cached_property
    def defaults(self) -> Mapping[str, int | float]:
        """The defaults of the function's numbers: of the parameters after the view whose default is a number."""
        return {
            parameter.name: parameter.default
            for parameter in [*inspect.signature(self.function).parameters.values()][1:]
            if parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
            and isinstance(parameter.default, int | float)
            and not isinstance(parameter.default, bool)
        }

    @property
    def numbers(self) -> Mapping[str, int | float]:
        """The numbers that the function is called with: those given, else its defaults."""
        return {**self.defaults, **dict(self.given_numbers)}

    def with_numbers(self, numbers: Mapping[str, Any]) -> "CustomPolicy":
        """Return the policy with other values of its function's numbers; raises UnknownPolicy for one that it lacks.

        A parameter whose default is a whole number takes whole numbers. Values may be given as written: ``"20_000"``.
        """
        values = dict(self.given_numbers)
        for name, given_value in numbers.items():
            default = self.defaults.get(name)
            if default is None:
                raise unknown_number(self.function_name, name, self.defaults)
            value = field_value(given_value, type(default))
            if value is None:
                expected_words = "a whole number" if isinstance(default, int) else "a number"
                raise refused_number(self.function_name, name, expected_words, given_value)
            values[name] = value
        given_pairs = ((name, values[name]) for name in self.defaults if name in values)
        return replace(
            self,
            given_numbers=tuple(pair for pair in given_pairs if pair[1] != self.defaults[pair[0]]),
        )

    @property
    def source(self) -> str:
        """The phrase "your function" with its name, and the digest of its text."""
        return f"your function {self.name}, sha256 {self.digest[:MAX_SHOWN_DIGEST_CHARS]}"

    @property
    def digest(self) -> str:
        """SHA-256 of its source, of the plain global values that it uses, and of its numbers."""
        code = self.text or self.function.__code__.co_code.hex()
        values = json.dumps({**self.global_values, **self.numbers}, sort_keys=True)
        return hashlib.sha256(f"{code}\n{values}".encode()).hexdigest()

    @property
    def global_values(self) -> dict[str, Any]:
        """The global numbers and texts that the function uses, by name."""
        variables = inspect.getclosurevars(self.function)
        return {
            name: value
            for name, value in sorted({**variables.globals, **variables.nonlocals}.items())
            if isinstance(value, bool | int | float | str)
        }

    @property
    def decision_words(self) -> tuple[str, ...]:
        """What the policy may do with items, as far as its function names a decision: ``("clears items",)``."""
        names = _names_in(self.function.__code__)
        return tuple(words for name, words in DECISION_WORDS.items() if name in names)

    @property
    def sentence(self) -> str:
        """A sentence on the policy: its length, what it may do with items, for how long, and its numbers."""
        line_count = code_line_count(self.text)
        length = f", {counted_noun(line_count, 'line')}" if line_count else ""
        decision_text = " or ".join(self.decision_words) or "decides"
        duration_text = "it decides anew before each request"
        if self.sticky:
            duration_text = "what it decides holds at all later requests"
        numbers = ", ".join(
            f"{name}={number_text(number)}" for name, number in self.numbers.items()
        )
        return f"a policy of your own{length}: it {decision_text}; {duration_text}.{f' Its numbers: {numbers}.' if numbers else ''}"

    def __repr__(self) -> str:
        return visible_line(f"{self.name}, {self.sentence}")

    def _repr_html_(self) -> str:
        return f"<p><strong>{in_html(self.name)}</strong>, {in_html(self.sentence)}</p>"

    def record(self) -> dict[str, Any]:
        """Return the record of the policy, whose text is never run."""
        return {
            "name": self.name,
            "text": self.text,
            "sha256": self.digest,
            "values": self.global_values,
            "numbers": {**self.numbers},
            "sticky": self.sticky,
            "when": self.when,
            "estimator": self.estimator,
        }

    def __call__(self, view: PastView) -> Iterable[Change | Probe]:
        """Return the function's decisions for a view."""
        return self.function(view, **dict(self.given_numbers))

    def __or__(self, other: ContextPolicy) -> Pipeline:
        """Return a pipeline in which another policy sees this one's result."""
        return Pipeline.of(self, other)

    def start(self, facts: SessionFacts) -> Layer:  # noqa: ARG002
        """Return the initial state: no item changed."""
        return {}

    def step(self, state: Layer, view: PolicyView) -> PolicyResult:
        """Call the function, check its decisions, and return the changes since the request before."""
        view_without_own = view if self.sticky else self._without_own_changes(state, view)
        past_view = PastView(view_without_own)
        decisions, probe = self._call_function(past_view)
        if (decisions, probe) != self._call_function(past_view):
            raise Breach(SAME_TWICE, view.request.index).error(self.name)
        reasons = [
            (change, self._reason_without_effect(change, view_without_own)) for change in decisions
        ]
        ineffective_counts = Counter(reason for _, reason in reasons if reason)
        decisions = [
            change._replace(numbers={})
            for change, reason in reasons
            if reason in ("", ALREADY_WHOLE)
        ]
        # Unchanged states were checked before; only a call or result whose partner is gone may break a law now.
        unchecked_changes = [
            change
            for change in decisions
            if change.state in GONE_STATES or state.get(change.item) != change
        ]
        for breach in breaches(unchecked_changes, view_without_own, sticky=self.sticky):
            raise breach.error(self.name)
        layer = with_changes(state if self.sticky else {}, decisions)
        changes = [change for item, change in layer.items() if state.get(item) != change]
        changes += [Change(item, "whole") for item in state if item not in layer]
        return PolicyResult(
            layer if changes else state,
            changes,
            probe,
            fired=bool(changes),
            ineffective_counts=ineffective_counts,
        )

    def _reason_without_effect(self, change: Change, view: PolicyView) -> str:
        """Return the reason why a decision changes nothing; empty where it changes something."""
        item, state = view.item(change.item), view.state(change.item)
        if self.keeps_pins and item.pinned:
            return "pinned"
        if state in GONE_STATES:
            return "not shown any more"
        if not _shortens(change, view):
            return "as short as what would stand for it"
        return ALREADY_WHOLE if change.state == state == "whole" else ""

    def _without_own_changes(self, state: Layer, view: PolicyView) -> PolicyView:
        shown_whole = {
            item: Change(item, "whole")
            for item, change in state.items()
            if view.state(item) == change.state
        }
        return StageView(view, shown_whole, self.estimator, self.estimator) if shown_whole else view

    def _call_function(self, past_view: PastView) -> tuple[list[Change], Probe | None]:
        max_decisions = MAX_DECISIONS_PER_ITEM * (past_view.count + 1)
        when_text = f"at request {past_view.request.index + 1}"
        try:
            answers: list[Any] = list(islice(self(past_view) or (), max_decisions + 1))
        except Exception as error:
            files = {self.function.__code__.co_filename}
            raise failure_of(self.name, files, when_text, error) from error
        if len(answers) > max_decisions:
            raise PolicyBreach(
                f"The policy {self.name!r} made over {max_decisions:,} decisions {when_text}."
            )
        invalid_answer = next(
            (answer for answer in answers if not isinstance(answer, Change | Probe)), None
        )
        if invalid_answer is not None:
            raise PolicyBreach(
                f"The policy {self.name!r} gave {invalid_answer!r:.80} {when_text}; it gives decisions such as policies.clear(i)."
            )
        changes: list[Any] = [answer for answer in answers if isinstance(answer, Change)]
        for change in changes:
            if type(change.item) is not int or not 0 <= change.item < past_view.count:
                number = change.item if isinstance(change.item, int) else None
                raise Breach(EXISTING_ITEM, past_view.request.index, number).error(self.name)
        probes = [answer for answer in answers if isinstance(answer, Probe)]
        newest_changes = list({change.item: change for change in changes}.values())
        return newest_changes, probes[-1] if probes else None


OWN_POLICIES: dict[str, CustomPolicy] = {}
"""The policies that ``policy`` made in this process, the newest of each name: ``%agent policy`` finds them."""


@overload
def policy(function: PolicyFunction, /) -> CustomPolicy: ...


@overload
def policy(
    *, sticky: bool = False, when: When = "request", estimator: str = CHARS4, name: str = ""
) -> Callable[[PolicyFunction], CustomPolicy]: ...


def policy(
    function: PolicyFunction | None = None,
    /,
    *,
    sticky: bool = False,
    when: When = "request",
    estimator: str = CHARS4,
    name: str = "",
) -> CustomPolicy | Callable[[PolicyFunction], CustomPolicy]:
    """Turn a function into a context policy: it yields decisions about the items in a view.

    It is called before each request, and its decisions apply to that request; an item without a decision is whole again,
    unless the policy is ``sticky``. It must be pure: the same view, the same decisions. Parameters after the view whose
    default is a number are the policy's numbers, as those of a preset: ``policies.get(mine, keep=3)``. Raises UserError
    for what is no function.

    >>> import palimpsest
    >>> from palimpsest import policies
    >>> @palimpsest.policy
    ... def newest_five(view):
    ...     for index in view.outputs[:-5]:
    ...         yield policies.clear(index)
    >>> newest_five.name
    'newest_five'
    """

    def decorate(function: PolicyFunction) -> CustomPolicy:
        own_policy = policy_of_function(
            function, sticky=sticky, when=when, estimator=estimator, name=name
        )
        OWN_POLICIES[own_policy.name] = own_policy
        return own_policy

    return decorate if function is None else decorate(function)


def policy_of_function(
    function: PolicyFunction,
    *,
    sticky: bool = False,
    when: When = "request",
    estimator: str = CHARS4,
    name: str = "",
) -> CustomPolicy:
    """Return a function as a policy that is not found by its name; raises UserError for what is no function."""
    if not inspect.isfunction(function) and not inspect.ismethod(function):
        raise UserError(
            f"{function!r:.80} is no policy: it is a function of a view that yields decisions, or an object with start and step."
        )
    return CustomPolicy(
        function=function,
        function_name=name or getattr(function, "__name__", "policy"),
        sticky=sticky,
        when=when,
        estimator=estimator,
        text=_text_of(function),
    )


def _names_in(code: CodeType) -> set[str]:
    """Return the names that a function's code uses, and the functions within it."""
    inner_codes = (const for const in code.co_consts if isinstance(const, CodeType))
    return {*code.co_names, *(name for const in inner_codes for name in _names_in(const))}


def _text_of(function: PolicyFunction) -> str:
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return ""


def _shortens(change: Change, view: PolicyView) -> bool:
    """Return whether a decision would make an item shorter."""
    chars = view.item(change.item).chars
    if change.state == "truncated":
        return change.length < chars
    return not (
        change.state == "cleared"
        and change.replacement == CLEARED_TEXT
        and chars <= len(CLEARED_TEXT)
    )
