"""Write error messages: one sentence on which address answered what, and another on what to do about it.

Pure; ``classification`` decides what kind of failure it is.
"""

import re
from urllib.parse import urlsplit, urlunsplit

from palimpsest.model.errors.retry import NO_CREDIT, SERVER_ERROR
from palimpsest.model.providers import credentials

FORBIDDEN, BUSY = 403, 429
UNKNOWN_MODEL_CODES = frozenset(
    {"model_not_found", "not_found_error", "DeploymentNotFound", "unknown_model", "NotFoundError"}
)
WAIT = "Wait a while, or choose another model with --model."
UNKNOWN_MODEL_WORDS = re.compile(
    r"invalid model name|(?:unknown|no such) model\b|\bmodel\b.{0,80}\b(?:was not found|not found|does not exist)",
    re.IGNORECASE,
)
SENTENCE_ENDS = (".", "!", "?", "…", ")")


def address(url: str | None) -> str | None:
    """Return an address without what may hold a key: user name, password and query.

    >>> address("http://me:secret@host:1/v1/chat?key=x")
    'http://host:1/v1/chat'
    """
    if not url:
        return None
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def place(provider: str, url: str | None) -> str:
    """Return how a sentence names the server."""
    return address(url) or f"The provider {provider!r}"


def sentence(text: str) -> str:
    """Return a text with a full stop at its end, unless it ends as a sentence already."""
    text = text.strip().rstrip(" :")
    return text if not text or text.endswith(SENTENCE_ENDS) else f"{text}."


def refused(
    where: str,
    status: int | None,
    said: str,
    code: str | None,
    *,
    page: bool,
    passing: bool = False,
) -> str:
    """Return that a server refused a request, and what to do; ``passing`` where waiting may help."""
    heading = f"{where} answered {status}" if status is not None else f"{where} answered"
    unknown = code in UNKNOWN_MODEL_CODES or UNKNOWN_MODEL_WORDS.search(said) is not None
    do = WAIT if passing and status is None else advice(status, page=page, unknown=unknown)
    return f"{sentence(f'{heading}: {said}' if said else heading)} {do}"


def advice(status: int | None, *, page: bool = False, unknown: bool = False) -> str:
    """Return the one thing to do about a refusal; ``unknown`` where the model is not known there."""
    busy = status is not None and (status == BUSY or status >= SERVER_ERROR)
    if page and not busy and status != FORBIDDEN:
        return "Check the address in api_base, which ends in /v1 for most servers: no model server answers there."
    if unknown and not busy:
        return UNKNOWN_MODEL
    match status:
        case 404:
            return f"{UNKNOWN_MODEL[:-1]}, and the address in api_base, which ends in /v1 for most servers."
        case 405 | 301 | 302 | 303 | 307 | 308:
            return "Check the address in api_base: requests for a chat belong to another one."
        case 403:
            return "Ask who runs the server to let your key use this model, or choose another model with --model."
        case _ if busy:
            return WAIT
        case _:
            return "Change what it names in your settings, or choose another model with --model."


UNKNOWN_MODEL = "Check the model's name: %agent models lists what can be used."


def auth_sentence(provider: str, detail: str = "", where: str | None = None) -> str:
    """Return that a provider's credentials are missing or wrong, and which environment variables to set."""
    said = f" ({where or provider} said: {detail})" if detail else ""
    return f"The provider {provider!r} wants {credentials(provider)} before the kernel starts, and restart the kernel.{said}"


def money_sentence(provider: str, where: str, said: str, code: str | None) -> str:
    """Return that an account has no credit or quota left."""
    if code == NO_CREDIT:
        return (
            f"The account at {provider!r} has no credit left. Add some there, or choose another model"
            f" with --model. ({where} said: {said})"
        )
    return (
        f"The account at {provider!r} has no quota left. Raise it there, or choose another model with --model. "
        f"({where} said: {said})"
    )


def silent_sentence(provider: str, where: str) -> str:
    """Return that no data arrived within the timeout."""
    named = where if "://" in where else f"The provider {provider!r}"
    return f"{named} said nothing for too long, so the request was given up. {WAIT}"


def broken_off(where: str, said: str, *, connection: bool) -> str:
    """Return that an answer had begun and did not end: the connection broke, or the server gave up."""
    if connection:
        return f"{sentence(f'The connection to {where} broke in the middle of the answer: {said}')} {WAIT}"
    return f"{sentence(f'{where} broke the answer off: {said}')} {WAIT}"


def unreadable_sentence(provider: str, where: str) -> str:
    """Return that a stream came in another format."""
    return (
        f"{where} sent a stream that cannot be read as one of {provider!r}. Check that the server at this address speaks "
        "that format, or choose another model with --model."
    )
