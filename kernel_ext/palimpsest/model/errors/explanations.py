"""Write error messages: a sentence about which address answered what, and a sentence of advice.

Pure; ``classification`` decides what kind of failure it is.
"""

import re
from urllib.parse import urlsplit, urlunsplit

from palimpsest.model.errors.retry import MIN_SERVER_ERROR_STATUS, NO_CREDIT
from palimpsest.model.providers import wanted_credentials

FORBIDDEN_STATUS, BUSY_STATUS = 403, 429
UNKNOWN_MODEL_CODES = frozenset(
    {"model_not_found", "not_found_error", "DeploymentNotFound", "unknown_model", "NotFoundError"}
)
WAIT = "Wait a while, or choose another model with --model."
UNKNOWN_MODEL_WORDS = re.compile(
    r"invalid model name|(?:unknown|no such) model\b|\bmodel\b.{0,80}\b(?:was not found|not found|does not exist)",
    re.IGNORECASE,
)
SENTENCE_ENDS = (".", "!", "?", "…", ")")


def address_without_key(url: str | None) -> str | None:
    """Return an address without the parts that may contain a key: user name, password and query.

    >>> address("http://me:secret@host:1/v1/chat?key=x")
    'http://host:1/v1/chat'
    """
    if not url:
        return None
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def server_name(provider: str, url: str | None) -> str:
    """Return the server's name for use in a sentence."""
    return address_without_key(url) or f"The provider {provider!r}"


def with_full_stop(text: str) -> str:
    """Return a text with a full stop at its end, unless it already ends like a sentence."""
    text = text.strip().rstrip(" :")
    return text if not text or text.endswith(SENTENCE_ENDS) else f"{text}."


def refusal_text(
    server: str,
    status: int | None,
    server_message: str,
    code: str | None,
    *,
    is_page: bool,
    is_temporary: bool = False,
) -> str:
    """Return the sentences about a refused request; ``is_temporary`` where waiting may help."""
    heading = f"{server} answered" if status is None else f"{server} answered {status}"
    is_unknown = code in UNKNOWN_MODEL_CODES or bool(UNKNOWN_MODEL_WORDS.search(server_message))
    advice = refusal_advice(status, is_page=is_page, is_unknown=is_unknown)
    if is_temporary and status is None:
        advice = WAIT
    return (
        f"{with_full_stop(f'{heading}: {server_message}' if server_message else heading)} {advice}"
    )


def refusal_advice(status: int | None, *, is_page: bool = False, is_unknown: bool = False) -> str:
    """Return the advice about a refusal; ``is_unknown`` where the server lacks the model."""
    is_busy = status is not None and (status == BUSY_STATUS or status >= MIN_SERVER_ERROR_STATUS)
    if is_page and not is_busy and status != FORBIDDEN_STATUS:
        return "Check the address in api_base, which ends in /v1 for most servers: no model server answers there."
    if is_unknown and not is_busy:
        return UNKNOWN_MODEL
    match status:
        case 404:
            return f"{UNKNOWN_MODEL[:-1]}, and the address in api_base, which ends in /v1 for most servers."
        case 405 | 301 | 302 | 303 | 307 | 308:
            return "Check the address in api_base: requests for a chat belong to another one."
        case 403:
            return "Ask who runs the server to let your key use this model, or choose another model with --model."
        case _ if is_busy:
            return WAIT
        case _:
            return "Change what it names in your settings, or choose another model with --model."


UNKNOWN_MODEL = "Check the model's name: %agent models lists what can be used."


def auth_sentence(provider: str, detail: str = "", server: str | None = None) -> str:
    """Return the sentence about missing or wrong credentials, with the environment variables to set."""
    server_said = f" ({server or provider} said: {detail})" if detail else ""
    return f"The provider {provider!r} wants {wanted_credentials(provider)} before the kernel starts, and restart the kernel.{server_said}"


def money_sentence(provider: str, server: str, server_message: str, code: str | None) -> str:
    """Return the sentence about an account without credit or quota."""
    problem = "credit left. Add some" if code == NO_CREDIT else "quota left. Raise it"
    return (
        f"The account at {provider!r} has no {problem} there, or choose another model with --model. "
        f"({server} said: {server_message})"
    )


def silent_sentence(provider: str, server: str) -> str:
    """Return the sentence about a request without any data within the timeout."""
    server_text = server if "://" in server else f"The provider {provider!r}"
    return f"{server_text} said nothing for too long, so the request was given up. {WAIT}"


def broken_answer_sentence(server: str, server_message: str, *, connection: bool) -> str:
    """Return the sentence about an incomplete answer: the connection broke, or the server stopped."""
    problem = f"{server} broke the answer off"
    if connection:
        problem = f"The connection to {server} broke in the middle of the answer"
    return f"{with_full_stop(f'{problem}: {server_message}')} {WAIT}"


def unreadable_sentence(provider: str, server: str) -> str:
    """Return the sentence about a stream in another format."""
    return (
        f"{server} sent a stream that cannot be read as one of {provider!r}. Check that the server at this address speaks "
        "that format, or choose another model with --model."
    )
