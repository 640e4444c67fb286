"""The rehearsal model: embedded, offline, deterministic; rules instead of a language model.

``brain.reply`` is pure; ``Rehearsal`` streams its replies, or a scenario's, as a custom provider.
"""

from palimpsest.model.rehearsal.handler import Rehearsal
from palimpsest.model.rehearsal.scenario import register_scenario, scenario_names

__all__ = ["Rehearsal", "register_scenario", "scenario_names"]
