"""Helpers to test your own tools and lessons: a scripted model, a fault server, an isolated session.

The names in ``__all__`` are public (docs/testing.md). Nothing in the product imports this
package, and importing it loads neither litellm nor the application.
"""

from palimpsest.model.script import (
    ModelAnswer,
    calls,
    fails,
    out_of_quota,
    overflows,
    says,
    stalls,
    thinks,
    unauthorized,
    writes,
)
from palimpsest.testing.fault_http import ReceivedRequest
from palimpsest.testing.fault_server import FaultServer
from palimpsest.testing.isolated_session import isolated_session
from palimpsest.testing.scripted_model import ScriptedAnswer, ScriptedModel

__all__ = [
    "FaultServer", "ModelAnswer", "ReceivedRequest", "ScriptedAnswer", "ScriptedModel", "calls",
    "fails", "isolated_session", "out_of_quota", "overflows", "says", "stalls", "thinks",
    "unauthorized", "writes",
]  # fmt: skip
