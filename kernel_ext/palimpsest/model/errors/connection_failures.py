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

NO_NETWORK = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN})
CLOSED_CLASSES = frozenset({
    "RemoteProtocolError", "ServerDisconnectedError", "ClientOSError", "ReadError", "WriteError",
    "CloseError",
})  # fmt: skip
TLS_RECORD = r"bytearray(b'\x15\x03"
"""The HTTP client's quotation of a server's TLS alert that happens to contain a line end."""
NO_TEXT = "illegal request line"
"""The HTTP client's message for an answer that does not begin with a letter, such as other TLS alerts."""


@dataclass(frozen=True, slots=True)
class ConnectionFailure:
    """The reason why no answer came."""

    code: str
    message: str
    is_temporary: bool
    """Whether the same request may succeed later."""
    may_be_midway: bool = False
    """Whether it may have happened in the middle of an answer."""


def causes_of(exception: BaseException) -> Iterator[BaseException]:
    """Yield an exception and all its causes, contexts and wrapped exceptions, the outermost first."""
    visited: set[int] = set()
    waiting: list[BaseException | None] = [exception]
    while waiting:
        current = waiting.pop(0)
        if current is None or id(current) in visited:
            continue
        visited.add(id(current))
        yield current
        inner = getattr(current, "original_exception", None)
        waiting.append(inner if isinstance(inner, BaseException) else None)
        waiting += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions


def connection_failure(
    causes: Sequence[BaseException], where: str, base: str | None, url: str | None
) -> ConnectionFailure | None:
    """Return the reason why no answer came; None for any other failure.

    ``where`` is the address for messages, ``base`` the configured address.
    """
    names = {base.__name__ for cause in causes for base in type(cause).__mro__}
    reason = _tls(causes, names, where, url) or _address(names, base or where)
    if reason is not None:
        return reason
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        host = urlsplit(url or "").hostname
        message = (
            f"The server {host or where!r} of {where} was not found. Check the network, and the address "
            "for a slip of the pen."
        )
        return ConnectionFailure("unknown_host", message, is_temporary=True)
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return _refused_connection(base or where, url)
    if any(isinstance(cause, OSError) and cause.errno in NO_NETWORK for cause in causes):
        message = (
            f"There is no way to {where} from here. Check the network, or a VPN that it needs."
        )
        return ConnectionFailure("no_network", message, is_temporary=True)
    if "ProxyError" in names:
        message = f"The proxy that the environment names does not let {where} through. Check HTTPS_PROXY and NO_PROXY."
        return ConnectionFailure("proxy", message, is_temporary=False)
    return _closed_failure(causes, names, where)


def _tls(
    causes: Sequence[BaseException], names: set[str], where: str, url: str | None
) -> ConnectionFailure | None:
    untrusted = next(
        (cause for cause in causes if isinstance(cause, ssl.SSLCertVerificationError)), None
    )
    if untrusted is not None:
        message = (
            f"The certificate of {where} is not trusted ({untrusted.verify_message}). Set SSL_CERT_FILE to the file "
            "of your organisation's certificates before the kernel starts."
        )
        return ConnectionFailure("certificate", message, is_temporary=False)
    waits = (ssl.SSLWantReadError, ssl.SSLWantWriteError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
    is_broken = any(
        isinstance(cause, ssl.SSLError) and not isinstance(cause, waits) for cause in causes
    )
    has_hung = "ConnectTimeout" in names and any(
        isinstance(cause, ssl.SSLWantReadError) for cause in causes
    )
    is_cut = (url or "").startswith("https:") and any(
        isinstance(cause, ssl.SSLEOFError) for cause in causes
    )
    if is_broken or has_hung or is_cut:
        message = f"{where} did not answer in TLS. Write its address with http:// if it speaks plain HTTP."
        return ConnectionFailure("tls", message, is_temporary=False)
    return None


def _address(names: set[str], where: str) -> ConnectionFailure | None:
    if names & {"UnsupportedProtocol", "InvalidURL", "InvalidUrlClientError"}:
        message = (
            f"{where} is no address of a server. Write it with http:// or https:// before it, such as "
            "http://localhost:8000/v1."
        )
        return ConnectionFailure("no_address", message, is_temporary=False)
    if "TooManyRedirects" in names:
        message = f"{where} leads from one address to another without end. Set the server's final address as api_base."
        return ConnectionFailure("redirects", message, is_temporary=False)
    return None


def _refused_connection(where: str, url: str | None) -> ConnectionFailure:
    if is_loopback(url):
        message = (
            f"The model server at {where} is not running. Start it ({HOW_TO_START}), or choose "
            "another model."
        )
        return ConnectionFailure("not_running", message, is_temporary=False)
    message = f"{where} refuses connections. Check its address and port, and that the server runs."
    return ConnectionFailure("refused", message, is_temporary=True)


def _closed_failure(
    causes: Sequence[BaseException], names: set[str], where: str
) -> ConnectionFailure | None:
    if "ConnectTimeout" in names:
        message = f"{where} did not take the connection in time. Check the network, and its address and port."
        return ConnectionFailure("connect_timeout", message, is_temporary=True)
    is_reset = any(isinstance(cause, ConnectionError) for cause in causes)
    if not is_reset and not names & CLOSED_CLASSES:
        return None
    if any(TLS_RECORD in str(cause) for cause in causes):
        message = f"{where} speaks TLS. Write its address with https://."
        return ConnectionFailure("tls", message, is_temporary=False)
    if any(str(cause) == NO_TEXT for cause in causes):
        message = f"{where} answered, but not in HTTP; a server that speaks TLS does so. Write its address with https://."
        return ConnectionFailure("tls", message, is_temporary=False)
    message = (
        f"{where} closed the connection without an answer. Look at the server's own log; if it speaks TLS, write its "
        "address with https://."
    )
    return ConnectionFailure("closed", message, is_temporary=True, may_be_midway=True)
