"""The namespace ``palimpsest.policies``: what policies there are, and the decisions of one's own."""

from palimpsest.render.reports.table import ReportTable, ShownAsTable
from palimpsest.review.policies import decisions, registry
from palimpsest.review.policies.policy import Change, ContextPolicy, Probe


class PolicyNames(ShownAsTable):
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

    @property
    def table(self) -> ReportTable:
        """The table of all policies."""
        return registry.list()


policies = PolicyNames()
"""What ``palimpsest.policies`` is."""
