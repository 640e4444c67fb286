"""What could not be read of a recording or a log, in sentences for an inspector, a saved output and a report.

Border: pure. The command line names every place; a view names the first few and says how many more there are.
"""

from collections.abc import Sequence

from palimpsest.render.content.phrases import some
from palimpsest.store.interface import Problem

MOST_NAMED = 10
"""How many unreadable places a view names."""


def problem_sentences(problems: Sequence[Problem]) -> tuple[str, ...]:
    """Return a sentence for each of the first places, and one that counts the others."""
    named = tuple(one.sentence for one in problems[:MOST_NAMED])
    more = len(problems) - len(named)
    if more == 0:
        return named
    return (*named, f"{some(more, 'more place')} could not be read.")
