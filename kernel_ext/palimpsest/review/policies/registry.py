"""The context policies that are known by name: a table of them, and each with its own numbers.

Every subclass of ``Preset`` in a module of this folder that states its own name is one of them.
"""

import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from palimpsest.render.reports.table import Cell, ReportTable, TableColumn
from palimpsest.review.policies.pipeline import Pipeline
from palimpsest.review.policies.policy import ContextPolicy
from palimpsest.review.policies.preset_text import UnknownPolicy, built, chosen, split
from palimpsest.review.policies.settings import NAMED, Preset, number_text, version_of

COLUMNS = (
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
    TableColumn("third_party", "third-party", about="Whether only others' analyses tell the rule."),
    TableColumn("numbers", "numbers"),
)


@cache
def presets() -> tuple[type[Preset], ...]:
    """Return every preset, sorted by name."""
    package = import_module(__package__)
    for module in pkgutil.iter_modules(package.__path__, f"{__package__}."):
        import_module(module.name)
    return tuple(sorted(NAMED, key=lambda one: (one.preset, version_of(one))))


def list() -> ReportTable:  # noqa: A001  # reads as ``policies.list()``
    """Return a table of all policies: what each does, when, from which source, with which numbers.

    >>> import palimpsest
    >>> "opencode.prune" in palimpsest.policies.list().text
    True
    """
    rows = tuple(_row(one) for one in presets())
    return ReportTable(f"{len(rows)} context policies", COLUMNS, rows, tuple(_notes()))


def get(policy: str | ContextPolicy, /, **numbers: Any) -> ContextPolicy:
    """Return a policy by its name, with other numbers than its own where some are given.

    The name may have numbers behind it (``opencode.prune protect=20000``), a version
    (``opencode.prune@31e22f65``) and, after ``|``, a policy that sees what this one leaves. A policy is
    returned as it is, or with other numbers. Raises UnknownPolicy.

    >>> import palimpsest
    >>> palimpsest.policies.get("opencode.prune", protect=20_000).name
    'opencode.prune protect=20000'
    """
    if not isinstance(policy, str):
        if not numbers:
            return policy
        if not isinstance(policy, Preset):
            raise UnknownPolicy(f"The policy {policy.name!r} has no numbers of its own.")
        return built(policy, numbers)
    stages = split(policy)
    if len(stages) > 1 and numbers:
        raise UnknownPolicy(
            "Write the numbers of a pipeline behind the names of its policies, such as "
            "'opencode.prune protect=20000 | pi.compact'."
        )
    found = [built(chosen(name, presets())(), written | numbers) for name, written in stages]
    return found[0] if len(found) == 1 else Pipeline.of(*found)


def number_of(text: str) -> tuple[str, str]:
    """Return the policy and the number that a dotted text names: ``opencode.prune`` and ``protect``.

    The longest name of a policy that the text begins with counts; both are empty where there is none.
    """
    names = [one.preset for one in presets() if text.startswith(f"{one.preset}.")]
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
        _counts(preset),
        "third-party" if preset.third_party else "",
        _numbers(preset),
    )


def _numbers(preset: type[Preset]) -> str:
    """Return the numbers of a preset; of an engine's policy, which has many, those that matter most."""
    more = preset.more_numbers()
    shown = {key: one for key, one in preset.own_numbers().items() if key != "estimator"}
    shown |= {key: more[key] for key in preset.sliders if key in more}
    words = ", ".join(f"{key}={number_text(one)}" for key, one in shown.items())
    left = len(more.keys() - shown.keys())
    return f"{words}, and {left} more" if left else words


def _counts(preset: type[Preset]) -> str:
    """Return how a preset counts the request that it compares with its threshold; empty where it has none of tokens."""
    if not preset.counted:
        return ""
    measure = preset.own_numbers().get("measure")
    return preset.counted if measure is None else f"{measure} ({preset.counted})"


def summary(preset: type[Preset]) -> str:
    """Return what a preset does: the first sentence of its docstring."""
    text = " ".join((preset.__doc__ or "").split("\n\n")[0].split())
    return text.replace("``", "")


def _notes() -> Iterator[str]:
    yield (
        "sticky: a decision holds until it is replaced; recomputed: it is made anew for each request."
    )
    if any(one.third_party for one in presets()):
        yield "third-party: the vendor does not publish the rule; it is told as others read it in the vendor's program."
