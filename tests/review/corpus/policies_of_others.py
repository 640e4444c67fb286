"""A policy that ends the process in which it runs, once a recording is large: what a hostile file may do."""

import os
from dataclasses import dataclass

from palimpsest.context_policies.interface.policy import SessionFacts
from palimpsest.context_policies.presets.clearing import OldResults, OpenCodePrune


@dataclass(frozen=True, kw_only=True)
class EndsItsProcess(OpenCodePrune):
    """Ends the process where the session is of the agent ``origin``, in a process other than ``spared``."""

    preset = "test.ends_its_process"
    origin: str
    spared: int

    def start(self, facts: SessionFacts) -> OldResults:
        """End the process, or begin."""
        if facts.timeline.origin == self.origin and os.getpid() != self.spared:
            os._exit(9)
        return self.initial_state
