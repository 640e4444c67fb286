"""Links to a session, a request and an item, which views open."""

from urllib.parse import quote

LINK_SCHEME = "palimpsest:"


def link_to(session_id: str, request: int | None = None, item: int | None = None) -> str:
    """Return the link ``palimpsest:session/request/item``; requests and items count from 1 there.

    >>> link_to("ses_1", 3, 7)
    'palimpsest:ses_1/4/8'
    """
    path_parts = [quote(session_id, safe="")]
    if request is not None:
        path_parts.append(str(request + 1))
        if item is not None:
            path_parts.append(str(item + 1))
    return LINK_SCHEME + "/".join(path_parts)
