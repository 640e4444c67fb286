"""Decide which names in the texts that a summary replaces are lost.

Border: pure; it compares words, not meanings: a name that occurs in the summary, or in a text that is shown with
it, is not lost. Review (``review/request_contents/compaction_losses.py``) and the grade of a new summary
(``summary_grade.py``) share these functions.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from palimpsest.context.compaction.constraints import (
    CONSTRAINTS,
    constraints_in,
    holds_constraint,
    words_of,
)
from palimpsest.context.compaction.names import NAME_KINDS, names_of

LOST_KINDS = (CONSTRAINTS, *NAME_KINDS)
"""Kinds of what a summary can lose: constraints and names."""

NamesOf = Callable[[str], Iterable[tuple[str, str]]]
"""Returns kind and name of each name in a text."""
_WORD = re.compile(r"[\w.,/-]+")


@dataclass(frozen=True, slots=True)
class LostNames:
    """The names in texts, and which of them are lost."""

    counts_by_kind: Mapping[str, int]
    """Number of names by kind, without kinds that have none."""
    kind_by_name: Mapping[str, str] = field(repr=False)
    """The kind of each lost name, in the order of the texts."""

    def names_of_kind(self, kind: str) -> tuple[str, ...]:
        """Return the lost names of a kind."""
        return tuple(name for name, lost_kind in self.kind_by_name.items() if lost_kind == kind)


def lost_names(
    replaced_texts: Iterable[str],
    summary: str,
    shown_texts: Iterable[str],
    find_names: NamesOf = names_of,
    user_texts: Iterable[str] = (),
) -> LostNames:
    """Return the names and constraints that are lost with the replaced texts; ``shown_texts`` are sent with the summary.

    ``user_texts`` are those of the replaced texts that the user wrote; only they are searched for constraints.
    """
    summary_texts = (summary, *shown_texts)
    kept_names = _names_and_words(summary_texts, find_names)
    kind_by_name: dict[str, str] = {}
    for text in dict.fromkeys(replaced_texts):
        for kind, name in find_names(text):
            kind_by_name.setdefault(name, kind)
    kind_by_lost_name = {
        name: kind
        for name, kind in kind_by_name.items()
        if name not in kept_names and name not in summary
    }
    constraints = dict.fromkeys(
        sentence for text in user_texts for sentence in constraints_in(text)
    )
    shown_words = (
        frozenset[str]().union(*map(words_of, summary_texts)) if constraints else frozenset()
    )
    lost_constraints = (
        constraint for constraint in constraints if not holds_constraint(shown_words, constraint)
    )
    counts = Counter(kind_by_name.values()) + Counter({CONSTRAINTS: len(constraints)})
    return LostNames(
        counts_by_kind={kind: counts[kind] for kind in LOST_KINDS if counts[kind]},
        kind_by_name=dict.fromkeys(lost_constraints, CONSTRAINTS) | kind_by_lost_name,
    )


def _names_and_words(texts: Iterable[str], find_names: NamesOf) -> frozenset[str]:
    collected: set[str] = set()
    for text in frozenset(texts):
        collected.update(name for _, name in find_names(text))
        collected.update(_WORD.findall(text))
    return frozenset(collected)
