"""The namespace ``palimpsest.policies``: all policies, and the decisions that a user's own policy can make."""

from palimpsest.context_policies import registry
from palimpsest.context_policies.interface.policy import Change, ContextPolicy, Probe
from palimpsest.context_policies.own_policies import decisions
from palimpsest.render.reports.table import ReportTable, ShownAsTable


class PolicyNames(ShownAsTable):
    """The known context policies, as a table and by name, and the decisions of a user's own policy.

    A cell shows it as the table of ``list()``.
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
"""The value of ``palimpsest.policies``."""
