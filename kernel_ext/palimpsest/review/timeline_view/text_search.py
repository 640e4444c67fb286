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
    found_items: list[SearchedItem] = []
    match_count = 0
    for item in range(len(timeline.items)):
        whole_text = timeline.read(item)
        first_match = pattern.search(whole_text)
        if first_match is None:
            continue
        match_count += 1
        if len(found_items) < MAX_SEARCHED:
            begin = max(first_match.start() - BEFORE_CHARS, 0)
            excerpt = whole_text[begin : begin + EXCERPT_CHARS]
            count = sum(1 for _ in pattern.finditer(whole_text))
            found_items.append(SearchedItem(item=item, count=count, excerpt=excerpt))
    return SearchedTexts(items=tuple(found_items), total=match_count)
