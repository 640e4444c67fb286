"""Find the reason why a server gave no answer, by the classes of the exceptions, not by their messages.

Clients wrap an exception several times; the operating system's or the protocol's own exception is at the
bottom. Names of the HTTP client's classes are compared as text, since this module does not import it.
"""

import errno
import socket
import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from palimpsest.model.providers import HOW_TO_START, is_loopback

NO_NETWORK_ERRNOS = frozenset(
    {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN}
)
CLOSED_CONNECTION_CLASSES = frozenset({
    "RemoteProtocolError", "ServerDisconnectedError", "ClientOSError", "ReadError", "WriteError",
    "CloseError",
})  # fmt: skip
UNRELATED_TLS_ERRORS = (
    *(ssl.SSLWantReadError, ssl.SSLWantWriteError),
    *(ssl.SSLEOFError, ssl.SSLZeroReturnError),
)
"""Errors that also occur where the server speaks TLS."""
QUOTED_TLS_ALERT = r"bytearray(b'\x15\x03"
"""Part of the HTTP client's error message where the server answered with a TLS alert that contains a line end."""
NOT_HTTP_MESSAGE = "illegal request line"
"""The HTTP client's message for an answer that does not begin with a letter, such as other TLS alerts."""


@dataclass(frozen=True, slots=True)
class ConnectionFailure:
    """The reason why no answer came."""

    code: str
    message: str
    is_temporary: bool
    """Whether the same request may succeed later."""
    may_be_midway: bool = False
    """Whether the failure may have happened in the middle of an answer."""


def causes_of(exception: BaseException) -> Iterator[BaseException]:
    """Yield an exception and all its causes, contexts and wrapped exceptions, the outermost first."""
    visited_ids: set[int] = set()
    unvisited: list[BaseException | None] = [exception]
    while unvisited:
        current = unvisited.pop(0)
        if current is None or id(current) in visited_ids:
            continue
        visited_ids.add(id(current))
        yield current
        inner = getattr(current, "original_exception", None)
        unvisited.append(inner if isinstance(inner, BaseException) else None)
        unvisited += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            unvisited += current.exceptions


def connection_failure(
    causes: Sequence[BaseException],
    shown_address: str,
    configured_address: str | None,
    request_url: str | None,
) -> ConnectionFailure | None:
    """Return the reason why no answer came; None for any other failure.

    ``shown_address`` is how messages name the server, ``configured_address`` the address in the settings, and
    ``request_url`` the address that the request was sent to.
    """
    class_names = {cls.__name__ for cause in causes for cls in type(cause).__mro__}
    address_to_correct = configured_address or shown_address
    failure = _tls_failure(causes, class_names, shown_address, request_url)
    if failure := failure or _address_failure(class_names, address_to_correct):
        return failure
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        host = urlsplit(request_url or "").hostname
        message = (
            f"The server {host or shown_address!r} of {shown_address} was not found. Check the network, and the address "
            "for a slip of the pen."
        )
        return ConnectionFailure("unknown_host", message, is_temporary=True)
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return _refused_connection(address_to_correct, request_url)
    if any(isinstance(cause, OSError) and cause.errno in NO_NETWORK_ERRNOS for cause in causes):
        message = f"There is no way to {shown_address} from here. Check the network, or a VPN that it needs."
        return ConnectionFailure("no_network", message, is_temporary=True)
    if "ProxyError" in class_names:
        message = f"The proxy that the environment names does not let {shown_address} through. Check HTTPS_PROXY and NO_PROXY."
        return ConnectionFailure("proxy", message, is_temporary=False)
    return _closed_failure(causes, class_names, shown_address)


def _tls_failure(
    causes: Sequence[BaseException],
    class_names: set[str],
    shown_address: str,
    request_url: str | None,
) -> ConnectionFailure | None:
    errors = [cause for cause in causes if isinstance(cause, ssl.SSLError)]
    for error in errors:
        if isinstance(error, ssl.SSLCertVerificationError):
            message = (
                f"The certificate of {shown_address} is not trusted ({error.verify_message}). Set SSL_CERT_FILE to the "
                "file of your organisation's certificates before the kernel starts."
            )
            return ConnectionFailure("certificate", message, is_temporary=False)
    waits_for_bytes = any(isinstance(error, ssl.SSLWantReadError) for error in errors)
    was_ended = any(isinstance(error, ssl.SSLEOFError) for error in errors)
    if (
        any(not isinstance(error, UNRELATED_TLS_ERRORS) for error in errors)
        or ("ConnectTimeout" in class_names and waits_for_bytes)
        or ((request_url or "").startswith("https:") and was_ended)
    ):
        message = f"{shown_address} did not answer in TLS. Write its address with http:// if it speaks plain HTTP."
        return ConnectionFailure("tls", message, is_temporary=False)
    return None


def _address_failure(class_names: set[str], address_to_correct: str) -> ConnectionFailure | None:
    if class_names & {"UnsupportedProtocol", "InvalidURL", "InvalidUrlClientError"}:
        message = (
            f"{address_to_correct} is no address of a server. Write it with http:// or https:// before it, such as "
            "http://localhost:8000/v1."
        )
        return ConnectionFailure("no_address", message, is_temporary=False)
    if "TooManyRedirects" in class_names:
        message = f"{address_to_correct} leads from one address to another without end. Set the server's final address as api_base."
        return ConnectionFailure("redirects", message, is_temporary=False)
    return None


def _refused_connection(address_to_correct: str, request_url: str | None) -> ConnectionFailure:
    if is_loopback(request_url):
        message = (
            f"The model server at {address_to_correct} is not running. Start it ({HOW_TO_START}), or choose "
            "another model."
        )
        return ConnectionFailure("not_running", message, is_temporary=False)
    message = f"{address_to_correct} refuses connections. Check its address and port, and that the server runs."
    return ConnectionFailure("refused", message, is_temporary=True)


def _closed_failure(
    causes: Sequence[BaseException], class_names: set[str], shown_address: str
) -> ConnectionFailure | None:
    if "ConnectTimeout" in class_names:
        message = f"{shown_address} did not take the connection in time. Check the network, and its address and port."
        return ConnectionFailure("connect_timeout", message, is_temporary=True)
    is_reset = any(isinstance(cause, ConnectionError) for cause in causes)
    if not is_reset and not class_names & CLOSED_CONNECTION_CLASSES:
        return None
    if any(QUOTED_TLS_ALERT in str(cause) for cause in causes):
        message = f"{shown_address} speaks TLS. Write its address with https://."
        return ConnectionFailure("tls", message, is_temporary=False)
    if any(str(cause) == NOT_HTTP_MESSAGE for cause in causes):
        message = f"{shown_address} answered, but not in HTTP; a server that speaks TLS does so. Write its address with https://."
        return ConnectionFailure("tls", message, is_temporary=False)
    message = (
        f"{shown_address} closed the connection without an answer. Look at the server's own log; if it speaks TLS, write its "
        "address with https://."
    )
    return ConnectionFailure("closed", message, is_temporary=True, may_be_midway=True)
