"""Fetch one URL over HTTP, with limits on time and size, from the address that was approved.

Border: the only module that imports httpx, on first use. A name is resolved once, and the connection goes to a resolved
address, so that a name cannot point to another machine after the user was asked. Redirects are returned, not followed.
"""

import asyncio
import re
import socket
import ssl
import time
import urllib.request
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from palimpsest.tools.web.public_addresses import IPAddress, is_local_name, is_public, parse_address

if TYPE_CHECKING:
    import httpx

MAX_BODY_BYTES = 5_000_000
MAX_URL_CHARS = 8_000
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
MAX_ERROR_CHARS = 500
MAX_SNIFFED_BYTES = 4_096
"""Maximum bytes of a body in which its charset and its kind are looked for."""

ACCEPT_HEADERS = {
    "markdown": "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.1",
    "text": "text/plain, text/markdown;q=0.9, text/html;q=0.8, */*;q=0.1",
    "html": "text/html, application/xhtml+xml;q=0.9, */*;q=0.1",
}
USER_AGENT = "Mozilla/5.0 (compatible; jupyter-palimpsest)"

TEXT_TYPE = re.compile(
    r"text/.*|application/(.*\+)?(json|xml|yaml|x-yaml|toml|javascript|ecmascript|x-ndjson|x-sh|sql|xhtml\+xml|graphql)"
)
META_CHARSET = re.compile(
    rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE
)

Lookup = Callable[[str, int], Awaitable[Sequence[str]]]
"""A function that resolves a host and port to IP addresses; raises OSError or UnicodeError."""


class FetchRefused(Exception):
    """A URL is not fetched, or its response cannot be used; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class FetchTarget:
    """A URL, and the IP address or proxy that it is fetched from."""

    url: str
    scheme: str
    netloc: str
    """Host and port as in the URL."""
    host: str
    address: str | None
    """The IP address; None if a proxy resolves the name."""
    is_private: bool
    """Whether the address can only be reached from this machine or its network."""
    proxy: str | None = None


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """The response to a request: a page, a file, or a redirect to ``location``."""

    url: str
    status: int
    mime: str
    charset: str | None
    body: bytes
    seconds: float
    location: str | None = None
    """The absolute URL of a redirect."""

    @property
    def is_html(self) -> bool:
        """Whether the body is an HTML page."""
        return self.mime in ("text/html", "application/xhtml+xml")

    def decoded_text(self) -> str | None:
        """Return the body as text; None where it is not text."""
        may_be_text = (
            self.mime in ("", "application/octet-stream")
            and b"\0" not in self.body[:MAX_SNIFFED_BYTES]
        )
        if not may_be_text and not TEXT_TYPE.fullmatch(self.mime):
            return None
        return decode_body(self.body, self.charset)


def decode_body(body: bytes, declared_charset: str | None) -> str:
    """Return a body decoded by its declared charset or, where that is wrong or missing, by the likely one."""
    meta_charset = META_CHARSET.search(body[:MAX_SNIFFED_BYTES])
    charsets = [declared_charset, meta_charset[1].decode("ascii") if meta_charset else None]
    for name in [*(charset for charset in charsets if charset), "utf-8-sig"]:
        try:
            return body.decode(name)
        except (LookupError, ValueError):
            # ValueError also covers codecs that do not decode to text.
            continue
    return body.decode("utf-8" if _is_mostly_utf8(body) else "cp1252", errors="replace")


def _is_mostly_utf8(body: bytes) -> bool:
    """Return whether the bytes are UTF-8 except for a few, as in a truncated or mixed page."""
    invalid_count = body.decode("utf-8", errors="replace").count("\N{REPLACEMENT CHARACTER}")
    non_ascii_count = sum(byte > 127 for byte in body)
    return invalid_count * 4 < non_ascii_count


async def system_lookup(host: str, port: int) -> Sequence[str]:
    """Resolve a name to IP addresses by the system's resolver."""
    addresses = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
    )
    return [str(address[4][0]) for address in addresses]


async def resolve_target(url: str, lookup: Lookup = system_lookup) -> FetchTarget:
    """Check and resolve a URL; raises FetchRefused with a sentence."""
    url_parts = _checked_parts(url)
    host = url_parts.hostname or ""
    scheme = url_parts.scheme.lower()
    port = url_parts.port or (443 if scheme == "https" else 80)
    netloc = url_parts.netloc.rpartition("@")[2].lower()
    clean_url = urlunsplit((scheme, netloc, url_parts.path or "/", url_parts.query, ""))
    proxy = _proxy_for(scheme, host)
    literal_address = parse_address(host)
    if proxy is not None and literal_address is None:
        # The proxy resolves the name, so the address is unknown here.
        address, is_private = None, is_local_name(host)
    else:
        literal_addresses = [literal_address] if literal_address is not None else []
        addresses = literal_addresses or await _resolved_addresses(host, port, lookup)
        address, is_private = str(addresses[0]), not all(map(is_public, addresses))
    return FetchTarget(clean_url, scheme, netloc, host, address, is_private, proxy)


def _checked_parts(url: str) -> SplitResult:
    if len(url) > MAX_URL_CHARS or any(ord(char) < 33 for char in url):
        raise FetchRefused(
            "This is not an address: it is too long, or has spaces or line ends in it."
        )
    try:
        url_parts = urlsplit(url)
        _ = url_parts.port
    except ValueError as error:
        raise FetchRefused(f"{url!r} is not an address: {error}.") from error
    if url_parts.scheme.lower() not in ("http", "https") or not url_parts.hostname:
        raise FetchRefused(f"{url!r} cannot be fetched: give an address with http:// or https://.")
    if "\\" in url_parts.netloc:
        # Some parsers treat a backslash as a slash, and would use the name before it as the host.
        raise FetchRefused(
            f"{url!r} is not an address: there is a backslash in the machine's name."
        )
    if url_parts.username or url_parts.password:
        raise FetchRefused(
            "The address has a name or password in it. Those are not sent; leave them out."
        )
    return url_parts


async def _resolved_addresses(host: str, port: int, lookup: Lookup) -> list[IPAddress]:
    try:
        addresses = await lookup(host, port)
    except (OSError, UnicodeError) as error:
        raise FetchRefused(
            f"There is no machine called {host!r}, or it cannot be looked up here."
        ) from error
    valid_addresses = [address for address in map(parse_address, addresses) if address is not None]
    if not valid_addresses:
        raise FetchRefused(f"There is no machine called {host!r}.")
    # IPv4 first: IPv6 addresses are also returned to a machine that has no IPv6.
    return sorted(valid_addresses, key=lambda address: address.version)


def _proxy_for(scheme: str, host: str) -> str | None:
    proxies: Mapping[str, str] = urllib.request.getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    if not proxy or urllib.request.proxy_bypass(host):
        return None
    return proxy


class Fetcher:
    """Sends one request and reads the response.

    Contract: raises FetchRefused with a sentence; ends within the given seconds; never holds more than
    the maximum size in memory, plus one decompressed chunk.
    """

    def __init__(self, max_bytes: int = MAX_BODY_BYTES) -> None:
        self._max_bytes = max_bytes
        self._ssl_context: ssl.SSLContext | None = None

    async def fetch(self, target: FetchTarget, seconds: float, *, format_: str) -> FetchedPage:
        """Fetch a target within a number of seconds; ``format_`` selects the Accept header."""
        import httpx  # noqa: PLC0415 - its home; a tenth of a second that most sessions never need

        started_at = time.monotonic()
        received_bytes = 0

        def store_count(size: int) -> None:
            nonlocal received_bytes
            received_bytes = size

        try:
            async with asyncio.timeout(seconds):
                return await self._fetch(httpx, target, format_, started_at, store_count)
        except TimeoutError as error:
            progress = f"{received_bytes:,} bytes" if received_bytes else "nothing"
            sentence = f"No whole answer within {seconds:g} s; {progress} had come."
            raise FetchRefused(sentence) from error
        except httpx.HTTPError as error:
            reason = str(error).strip().rstrip(".") or type(error).__name__
            raise FetchRefused(f"The page could not be fetched: {reason}.") from error

    async def _fetch(
        self, httpx: Any, target: FetchTarget, format_: str, started_at: float, store_count: Any
    ) -> FetchedPage:
        url, headers, extensions = _request_parts(target)
        headers["Accept"] = ACCEPT_HEADERS[format_]
        async with (
            self._client(httpx, target) as client,
            client.stream("GET", url, headers=headers, extensions=extensions) as response,
        ):
            mime, charset = _content_type(response.headers.get("content-type", ""))
            location, body = response.headers.get("location"), b""
            if location and response.status_code in REDIRECT_STATUSES:
                location = urljoin(target.url, location)
            else:
                location, body = None, await self._read_body(response, store_count)
                if response.status_code >= 400:
                    raise FetchRefused(_failure_text(response, body, mime, charset))
            seconds = time.monotonic() - started_at
            return FetchedPage(
                target.url, response.status_code, mime, charset, body, seconds, location
            )

    def _client(self, httpx: Any, target: FetchTarget) -> Any:
        needs_trust = target.scheme == "https" or (target.proxy or "").startswith("https")
        if needs_trust and self._ssl_context is None:
            self._ssl_context = httpx.create_ssl_context()
        return httpx.AsyncClient(
            verify=self._ssl_context or False,
            proxy=target.proxy,
            trust_env=False,
            follow_redirects=False,
            timeout=None,
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip, deflate"},
        )

    async def _read_body(self, response: "httpx.Response", store_count: Any) -> bytes:
        stated_length = response.headers.get("content-length", "")
        if stated_length.isdecimal() and int(stated_length) > self._max_bytes:
            raise FetchRefused(self._too_large_text(f"has {int(stated_length):,} bytes"))
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            store_count(len(body))
            if len(body) > self._max_bytes:
                raise FetchRefused(self._too_large_text(f"has more than {self._max_bytes:,} bytes"))
        return bytes(body)

    def _too_large_text(self, size_text: str) -> str:
        return f"The file {size_text}; at most {self._max_bytes:,} are fetched. Download it with the python tool or bash."


def _request_parts(target: FetchTarget) -> tuple[str, dict[str, str], dict[str, Any]]:
    """Return URL, headers and extensions of a request to the resolved address with the original host."""
    if target.address is None or target.proxy is not None:
        return target.url, {}, {}
    parts = urlsplit(target.url)
    address = f"[{target.address}]" if ":" in target.address else target.address
    port = f":{parts.port}" if parts.port is not None else ""
    url = urlunsplit((parts.scheme, f"{address}{port}", parts.path, parts.query, ""))
    return url, {"Host": target.netloc}, {"sni_hostname": target.host}


def _content_type(header: str) -> tuple[str, str | None]:
    mime, _, rest = header.partition(";")
    charset = re.search(r"charset\s*=\s*[\"']?([^\s;\"']+)", rest, re.IGNORECASE)
    return mime.strip().lower(), charset[1] if charset else None


def _failure_text(response: "httpx.Response", body: bytes, mime: str, charset: str | None) -> str:
    status, reason = response.status_code, response.reason_phrase
    sentence = f"The server answered {status} {reason}".rstrip() + "."
    if mime in ("text/plain", "application/json") and body.strip():
        body_text = " ".join(decode_body(body, charset).split())[:MAX_ERROR_CHARS]
        sentence += f" It says: {body_text}"
    return sentence
