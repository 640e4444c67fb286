"""Measure the cost of permission decisions about tool calls.

A thousand calls of every kind are decided by many rules: the defaults, fifty configured rules, an agent's,
a mode's, and forty approvals. No two commands are equal, so that no cache of patterns answers.
"""

import itertools
import time
import timeit

from tests.bench.figure import Figure

from palimpsest.tools.permission_rules.modes import MODE_APPROVALS
from palimpsest.tools.permission_rules.permissions import (
    Rules,
    decide_call,
    from_config,
    merge_rules,
)
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.transcript.values import Rule

CALLS = 1_000
MAX_MS = 10.0
KINDS = ("bash", "python", "read", "edit", "grep", "webfetch")


def rules() -> Rules:
    """Return the rules of a user who has written many."""
    config = {
        "bash": {"*": "ask", **{f"tool{n} *": "allow" for n in range(30)}, "rm *": "deny"},
        "edit": {"*": "ask", **{f"src/{n}/*.py": "allow" for n in range(15)}},
        "external_directory": {"~/data/*": "allow"},
        "webfetch": "ask",
    }
    return merge_rules(DEFAULT_RULES, from_config(config, home="/home/ada"))


def approved() -> Rules:
    """Return a mode's rules and the approvals "always allow"."""
    kept = (Rule(permission="bash", pattern=f"make {n} *", action="allow") for n in range(40))
    return (*MODE_APPROVALS["accept-edits"], *kept)


def measure() -> list[Figure]:
    """Return the figures of permission decisions."""
    all_rules, answers = rules(), approved()
    fresh = itertools.count()

    def run() -> None:
        for number in range(CALLS):
            decide_call(
                KINDS[number % 6], (f"word {next(fresh)} of/a/path.py",), all_rules, answers
            )

    run()
    best = min(timeit.repeat(run, timer=time.process_time, number=1, repeat=5))
    note = f"{len(all_rules)} rules, {len(answers)} answers"
    return [Figure(f"CPU of {CALLS:,} permission evaluations", best * 1_000, "ms", MAX_MS, note)]
