"""Search the whole texts of a session's items, whichever request shows them."""

import re

from palimpsest.review.timeline_view.view_queries import (
    EXCERPT_CHARS,
    MAX_SEARCHED,
    SearchedItem,
    SearchedTexts,
)
from palimpsest.transcript.timeline import Timeline

BEFORE_CHARS = EXCERPT_CHARS // 4
"""Characters of an excerpt that stand before the text that was found."""


def searched_texts(timeline: Timeline, text: str) -> SearchedTexts:
    """Return the items of a timeline whose texts hold this one, whatever the case of its letters."""
    pattern = re.compile(re.escape(text), re.IGNORECASE)
    found: list[SearchedItem] = []
    total = 0
    for item in range(len(timeline.items)):
        whole = timeline.read(item)
        first = pattern.search(whole)
        if first is None:
            continue
        total += 1
        if len(found) < MAX_SEARCHED:
            begin = max(first.start() - BEFORE_CHARS, 0)
            excerpt = whole[begin : begin + EXCERPT_CHARS]
            count = sum(1 for _ in pattern.finditer(whole))
            found.append(SearchedItem(item=item, count=count, excerpt=excerpt))
    return SearchedTexts(items=tuple(found), total=total)
