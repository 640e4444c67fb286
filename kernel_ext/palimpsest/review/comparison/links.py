"""Links to a session, a request and an item, which views open."""

from urllib.parse import quote, unquote

SCHEME = "palimpsest:"


def link_to(session: str, request: int | None = None, item: int | None = None) -> str:
    """Return the link ``palimpsest:session/request/item``; requests and items count from 1 there.

    >>> link_to("ses_1", 3, 7)
    'palimpsest:ses_1/4/8'
    """
    pieces = [quote(session, safe="")]
    if request is not None:
        pieces.append(str(request + 1))
        if item is not None:
            pieces.append(str(item + 1))
    return SCHEME + "/".join(pieces)


def parse_link(link: str) -> tuple[str, int | None, int | None]:
    """Return session, request and item of a link, counted from 0; raises ValueError for another text.

    >>> parse_link("palimpsest:ses_1/4/8")
    ('ses_1', 3, 7)
    """
    if not link.startswith(SCHEME):
        raise ValueError(f"{link!r} is no link to a session.")
    session, *numbers = link.removeprefix(SCHEME).split("/")
    if not session or len(numbers) > 2 or not all(one.isdecimal() and int(one) for one in numbers):
        raise ValueError(f"{link!r} is no link to a session.")
    request, item = ([int(one) - 1 for one in numbers] + [None, None])[:2]
    return unquote(session), request, item
