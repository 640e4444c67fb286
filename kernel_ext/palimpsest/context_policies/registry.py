"""The context policies by name: a table of them, and each with its own numbers.

Every subclass of ``Preset`` that sets its own ``preset`` name, in a module of ``PRESET_PACKAGES``, is listed.
"""

import pkgutil
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, cast

from palimpsest.context_policies.interface.pipeline import Pipeline
from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.interface.preset_text import (
    UnknownPolicy,
    build_preset,
    preset_named,
    split_policies,
)
from palimpsest.context_policies.interface.settings import PRESETS, Preset, number_text, version_of
from palimpsest.context_policies.own_policies.custom import (
    OWN_POLICIES,
    CustomPolicy,
    policy_of_function,
)
from palimpsest.context_policies.own_policies.policy_function import PolicyFunction
from palimpsest.render.reports.table import Cell, ReportTable, TableColumn

PRESET_PACKAGES = (
    "palimpsest.context_policies.presets",
    "palimpsest.context_policies.engine_presets",
)
"""The packages whose modules define presets; all versions of a preset are in one module."""
LIST_COLUMNS = (
    TableColumn("policy", "policy"),
    TableColumn("what", "what it does"),
    TableColumn("when", "when"),
    TableColumn(
        "holds", "holds", about="Whether a decision holds, or is made anew for each request."
    ),
    TableColumn("source", "source"),
    TableColumn("version", "version"),
    TableColumn(
        "counts",
        "counts the request",
        about="What is compared with a threshold of tokens: reported or estimated, and where the original does so.",
    ),
    TableColumn(
        "third_party", "third-party", about="Whether the rule is known only from others' analyses."
    ),
    TableColumn("numbers", "numbers"),
)


@cache
def presets() -> tuple[type[Preset], ...]:
    """Return every preset, sorted by name."""
    for package in PRESET_PACKAGES:
        _import_presets(package)
    return _imported_presets()


@cache
def _import_presets(package: str) -> None:
    for module in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
        import_module(module.name)


def _imported_presets() -> tuple[type[Preset], ...]:
    return tuple(sorted(PRESETS, key=lambda preset: (preset.preset, version_of(preset))))


def _presets_with(name: str) -> tuple[type[Preset], ...]:
    """Return presets, among them all versions of the named one; imports a further package only while that is missing."""
    imported = _imported_presets()
    if not any(preset.preset == name for preset in imported):
        _import_presets(PRESET_PACKAGES[0])  # the engine's presets import much more
        imported = _imported_presets()
    return imported if any(preset.preset == name for preset in imported) else presets()


def list() -> ReportTable:  # noqa: A001  # reads as ``policies.list()``
    """Return a table of all policies: what each does, when, from which source, with which numbers.

    >>> import palimpsest
    >>> "opencode.prune" in palimpsest.policies.list().text
    True
    """
    rows = tuple(_row(preset) for preset in presets())
    return ReportTable(f"{len(rows)} context policies", LIST_COLUMNS, rows, tuple(_notes()))


def get(policy: "str | ContextPolicy | PolicyFunction", /, **numbers: Any) -> ContextPolicy:
    """Return a policy by its name, with the given numbers instead of its defaults.

    The name may have numbers behind it (``opencode.prune protect=20000``), a version (``opencode.prune@31e22f65``) and,
    after ``|``, a policy that sees the result of this one; a policy of one's own has the name of its function. A policy is
    returned as it is, or with other numbers, and a function as the policy that ``palimpsest.policy`` makes of it. Raises
    UnknownPolicy.

    >>> import palimpsest
    >>> palimpsest.policies.get("opencode.prune", protect=20_000).name
    'opencode.prune protect=20000'
    """
    if not isinstance(policy, str):
        return _with_numbers(_policy_of(policy), numbers)
    # A name given to ``palimpsest.policy`` may have blanks.
    stages = [(policy, dict[str, str]())] if policy in OWN_POLICIES else split_policies(policy)
    if len(stages) > 1 and numbers:
        raise UnknownPolicy(
            "Write the numbers of a pipeline behind the names of its policies, such as "
            "'opencode.prune protect=20000 | pi.compact'."
        )
    policies = [
        _with_numbers(_policy_named(name), written_numbers | numbers)
        for name, written_numbers in stages
    ]
    return policies[0] if len(policies) == 1 else Pipeline.of(*policies)


def _policy_named(name: str) -> ContextPolicy:
    """Return a preset, or the policy of one's own whose function has this name; raises UnknownPolicy."""
    own_policy = OWN_POLICIES.get(name)
    known_presets = _presets_with(name.partition("@")[0])
    if own_policy is not None and not any(preset.preset == name for preset in known_presets):
        return own_policy
    return preset_named(name, known_presets, OWN_POLICIES)()


def _policy_of(policy: "ContextPolicy | PolicyFunction") -> ContextPolicy:
    """Return an object that is a policy, or the policy of a function; raises UnknownPolicy for anything else."""
    if not all(hasattr(policy, name) for name in ("start", "step")):
        return policy_of_function(cast("PolicyFunction", policy))
    needed_names = ("name", "source", "estimator", "when")
    missing_names = [name for name in needed_names if not hasattr(policy, name)]
    if isinstance(policy, type):
        raise UnknownPolicy(f"The policy {policy!r:.80} is a class: give an object of it.")
    if missing_names:
        raise UnknownPolicy(f"The policy {policy!r:.80} has no {missing_names[0]}.")
    return cast("ContextPolicy", policy)


def _with_numbers(policy: ContextPolicy, numbers: Mapping[str, Any]) -> ContextPolicy:
    """Return a policy with other numbers, which are values or their text; raises UnknownPolicy."""
    if not numbers:
        return policy
    if isinstance(policy, CustomPolicy):
        return policy.with_numbers(numbers)
    if isinstance(policy, Preset):
        return build_preset(policy, numbers)
    raise UnknownPolicy(f"The policy {policy.name!r} has no numbers of its own.")


def split_policy_number(text: str) -> tuple[str, str]:
    """Split a dotted text into the longest policy name that it begins with and a number; both empty where none fits."""
    names = [preset.preset for preset in presets() if text.startswith(f"{preset.preset}.")]
    name = max(names, key=len, default="")
    return name, text.removeprefix(f"{name}.") if name else ""


def _row(preset: type[Preset]) -> tuple[Cell, ...]:
    project = re.split(r"[,:]", preset.source)[0].replace(version_of(preset), "").strip(" ()")
    return (
        preset.preset,
        summary(preset),
        preset.when,
        "sticky" if preset.sticky else "recomputed",
        project,
        version_of(preset) or None,
        _counting_text(preset),
        "third-party" if preset.third_party else "",
        _numbers_text(preset),
    )


def _numbers_text(preset: type[Preset]) -> str:
    """Return the numbers of a preset; for an engine's policy, which has many, the most important numbers."""
    engine_numbers = preset.other_numbers()
    shown_numbers = dict(preset.own_numbers())
    del shown_numbers["estimator"]
    shown_numbers |= {key: engine_numbers[key] for key in preset.sliders if key in engine_numbers}
    numbers_text = ", ".join(f"{key}={number_text(value)}" for key, value in shown_numbers.items())
    hidden_count = len(engine_numbers.keys() - shown_numbers.keys())
    return f"{numbers_text}, and {hidden_count} more" if hidden_count else numbers_text


def _counting_text(preset: type[Preset]) -> str:
    """Return how a preset counts the request that it compares with its threshold; empty without a threshold."""
    if not preset.token_source:
        return ""
    measure = preset.own_numbers().get("measure")
    return preset.token_source if measure is None else f"{measure} ({preset.token_source})"


def summary(preset: type[Preset]) -> str:
    """Return what a preset does: the first sentence of its docstring."""
    text = " ".join((preset.__doc__ or "").split("\n\n")[0].split())
    return text.replace("``", "")


def _notes() -> Iterator[str]:
    yield (
        "sticky: a decision holds until it is replaced; recomputed: it is made anew for each request."
    )
    if any(preset.third_party for preset in presets()):
        yield "third-party: the vendor does not publish the rule; it is what others found in the vendor's program."
