"""The namespace ``palimpsest.policies``: what policies there are, and the decisions of one's own."""

from typing import Any

from palimpsest.review.policies import decisions, registry
from palimpsest.review.policies.policy import Change, ContextPolicy, Probe


class PolicyNames:
    """The context policies that are known, as a table, by name, and the decisions of one's own.

    Shown in a cell, it is the table of ``list()``.
    """

    list = staticmethod(registry.list)
    get = staticmethod(registry.get)
    clear = staticmethod(decisions.clear)
    drop = staticmethod(decisions.drop)
    truncate = staticmethod(decisions.truncate)
    mask = staticmethod(decisions.mask)
    probe = staticmethod(decisions.probe)
    Change = Change
    Probe = Probe
    ContextPolicy = ContextPolicy

    def _repr_html_(self) -> str:
        return registry.list().html

    def _repr_markdown_(self) -> str:
        return registry.list().markdown

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002, FBT001  IPython's signature
        printer.text(registry.list().text)

    def __str__(self) -> str:
        return registry.list().text


policies = PolicyNames()
"""What ``palimpsest.policies`` is."""
