"""Decide which names of the texts that a summary replaces are lost: what is shown instead holds them no more.

Border: pure, and does not judge meaning. It compares words: a name that stands in the summary, or in what is
shown word for word beside it, is not lost. Review (``review/request_contents/compaction_losses.py``) and the grade
of a new summary (``summary_grade.py``) decide by these functions, so that both say the same.
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
"""What a summary can lose: what a person forbade or demanded, and names."""

NamesOf = Callable[[str], Iterable[tuple[str, str]]]
"""Returns kind and name of each name in a text."""
_WORD = re.compile(r"[\w.,/-]+")


@dataclass(frozen=True, slots=True)
class LostNames:
    """The names that texts hold, and those of them that are lost."""

    found: Mapping[str, int]
    """How many names there are, by kind; kinds without any are not named."""
    kinds: Mapping[str, str] = field(repr=False)
    """The kind of each lost name, in the order in which the texts hold them."""

    def of(self, kind: str) -> tuple[str, ...]:
        """Return the lost names of a kind."""
        return tuple(name for name, one in self.kinds.items() if one == kind)


def lost_names(
    replaced: Iterable[str],
    summary: str,
    beside: Iterable[str],
    names: NamesOf = names_of,
    said: Iterable[str] = (),
) -> LostNames:
    """Return what is lost of the texts that a summary replaces; ``beside`` are those that are shown with it.

    ``said`` are the words of a person among the replaced texts, which may hold constraints.
    """
    shown = (summary, *beside)
    kept = _names_and_words(shown, names)
    kinds: dict[str, str] = {}
    for text in dict.fromkeys(replaced):
        for kind, name in names(text):
            kinds.setdefault(name, kind)
    gone = {name: kind for name, kind in kinds.items() if name not in kept and name not in summary}
    constraints = dict.fromkeys(sentence for text in said for sentence in constraints_in(text))
    words = frozenset[str]().union(*map(words_of, shown)) if constraints else frozenset()
    lacking = (one for one in constraints if not holds_constraint(words, one))
    found = Counter(kinds.values()) + Counter({CONSTRAINTS: len(constraints)})
    return LostNames(
        found={kind: found[kind] for kind in LOST_KINDS if found[kind]},
        kinds=dict.fromkeys(lacking, CONSTRAINTS) | gone,
    )


def _names_and_words(texts: Iterable[str], names: NamesOf) -> frozenset[str]:
    found: set[str] = set()
    for text in frozenset(texts):
        found.update(name for _, name in names(text))
        found.update(_WORD.findall(text))
    return frozenset(found)
