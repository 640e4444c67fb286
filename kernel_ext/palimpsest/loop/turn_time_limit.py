"""Stop a turn that takes too long, and let a compaction that runs then come to its end, once.

Who has waited minutes for a summary should not lose it to the turn's limit (spec/context-stability.md
1.8). Most policies have no limit; the presets of systems that have one keep it.
"""

import asyncio

from palimpsest.loop.run_inputs.compaction_state import CompactionState, at_time_limit
from palimpsest.tools.tool import Abort
from palimpsest.transcript.context_values.policies import RecoveryPolicy

TIME_IS_UP = "The turn took longer than {seconds:g} seconds, its time limit. Ask again to go on."


async def run_turn_time_limit(abort: Abort, state: CompactionState, policy: RecoveryPolicy) -> None:
    """Stop the turn when its time is up; cancelled when it ends before."""
    if policy.turn_seconds is None:
        return
    await asyncio.sleep(policy.turn_seconds)
    extended = False
    while _next(state, extended=extended) == "extend":
        extended = True
        await asyncio.sleep(policy.compaction_seconds)
    state.late = True
    abort.set(TIME_IS_UP.format(seconds=policy.turn_seconds), "interrupted")


def _next(state: CompactionState, *, extended: bool) -> str:
    return at_time_limit(in_flight=state.in_flight, retries=state.retries > 0, extended=extended)
