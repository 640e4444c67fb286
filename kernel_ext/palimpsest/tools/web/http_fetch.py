"""Fetch one URL over HTTP, with limits on time and size, from the machine that permission was asked for.

Border: the only module that imports httpx, on first use. A name is resolved once, and the connection
goes to a resolved address, so that a name cannot point to another machine after the user was asked.
Redirects are returned, not followed.
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

from palimpsest.tools.web.public_addresses import Number, is_local_name, is_public, number_of

if TYPE_CHECKING:
    import httpx

LARGEST_BYTES = 5_000_000
LONGEST_URL_CHARS = 8_000
REDIRECTS = frozenset({301, 302, 303, 307, 308})
SHOWN_ERROR_CHARS = 500

ACCEPTED = {
    "markdown": "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.1",
    "text": "text/plain, text/markdown;q=0.9, text/html;q=0.8, */*;q=0.1",
    "html": "text/html, application/xhtml+xml;q=0.9, */*;q=0.1",
}
AGENT = "Mozilla/5.0 (compatible; jupyter-palimpsest)"

TEXTUAL = re.compile(
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
    private: bool
    """The address can only be reached from this machine or its network."""
    proxy: str | None = None


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """The response to a request."""

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
        """Whether it is an HTML page."""
        return self.mime in ("text/html", "application/xhtml+xml")

    def text(self) -> str | None:
        """Return the body as text; None when it is not text."""
        if not TEXTUAL.fullmatch(self.mime) and b"\0" in self.body[:4096]:
            return None
        if not TEXTUAL.fullmatch(self.mime) and self.mime not in ("", "application/octet-stream"):
            return None
        return decoded(self.body, self.charset)


def decoded(body: bytes, declared: str | None) -> str:
    """Decode a body by its declared charset; if that is wrong or missing, by the likely one."""
    meta = META_CHARSET.search(body[:4096])
    named = [declared, meta[1].decode("ascii") if meta else None]
    for name in [*(one for one in named if one), "utf-8-sig"]:
        try:
            return body.decode(name)
        except (LookupError, ValueError):
            # ValueError: also codecs that do not decode to text.
            continue
    return body.decode("utf-8" if _mostly_utf8(body) else "cp1252", errors="replace")


def _mostly_utf8(body: bytes) -> bool:
    """Return whether the bytes are UTF-8 except for a few, as in a truncated or mixed page."""
    wrong = body.decode("utf-8", errors="replace").count("\N{REPLACEMENT CHARACTER}")
    high = sum(byte > 127 for byte in body)
    return wrong * 4 < high


async def system_lookup(host: str, port: int) -> Sequence[str]:
    """Resolve a name to IP addresses by the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
    )
    return [str(one[4][0]) for one in found]


async def target(url: str, lookup: Lookup = system_lookup) -> FetchTarget:
    """Check and resolve a URL; raises FetchRefused with a sentence."""
    parts = _parts(url)
    host = parts.hostname or ""
    scheme = parts.scheme.lower()
    port = parts.port or (443 if scheme == "https" else 80)
    netloc = parts.netloc.rpartition("@")[2].lower()
    clean = urlunsplit((scheme, netloc, parts.path or "/", parts.query, ""))
    proxy = _proxy(scheme, host)
    literal = number_of(host)
    if proxy is not None and literal is None:
        # The proxy resolves the name, so it is not known here where it connects to.
        return FetchTarget(
            clean, scheme, netloc, host, None, private=is_local_name(host), proxy=proxy
        )
    numbers = [literal] if literal is not None else await _looked_up(host, port, lookup)
    return FetchTarget(
        url=clean,
        scheme=scheme,
        netloc=netloc,
        host=host,
        address=str(numbers[0]),
        private=any(not is_public(number) for number in numbers),
        proxy=proxy,
    )


def _parts(url: str) -> SplitResult:
    if len(url) > LONGEST_URL_CHARS or any(ord(char) < 33 for char in url):
        raise FetchRefused(
            "This is not an address: it is too long, or has spaces or line ends in it."
        )
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise FetchRefused(f"{url!r} is not an address: {error}.") from error
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        raise FetchRefused(f"{url!r} cannot be fetched: give an address with http:// or https://.")
    if "\\" in parts.netloc:
        # Some parsers treat it as a slash, and would take the name before it for the host.
        raise FetchRefused(
            f"{url!r} is not an address: there is a backslash in the machine's name."
        )
    if parts.username or parts.password:
        raise FetchRefused(
            "The address has a name or password in it. Those are not sent; leave them out."
        )
    return parts


async def _looked_up(host: str, port: int, lookup: Lookup) -> list[Number]:
    try:
        found = await lookup(host, port)
    except (OSError, UnicodeError) as error:
        raise FetchRefused(
            f"There is no machine called {host!r}, or it cannot be looked up here."
        ) from error
    known = [number for number in map(number_of, found) if number is not None]
    if not known:
        raise FetchRefused(f"There is no machine called {host!r}.")
    # IPv4 first: IPv6 addresses are also returned to a machine that has no IPv6.
    return sorted(known, key=lambda number: number.version)


def _proxy(scheme: str, host: str) -> str | None:
    found: Mapping[str, str] = urllib.request.getproxies()
    proxy = found.get(scheme) or found.get("all")
    if not proxy or urllib.request.proxy_bypass(host):
        return None
    return proxy


class Fetcher:
    """Sends one request and reads the response.

    Contract: raises FetchRefused with a sentence; ends within the given seconds; never holds more than
    the maximum size in memory, plus one decompressed chunk.
    """

    def __init__(self, largest_bytes: int = LARGEST_BYTES) -> None:
        self._largest = largest_bytes
        self._trust: ssl.SSLContext | None = None

    async def fetch(self, target: FetchTarget, seconds: float, *, format_: str) -> FetchedPage:
        """Fetch a target within a number of seconds; ``format_`` selects the Accept header."""
        import httpx  # noqa: PLC0415 - its home; a tenth of a second that most sessions never need

        began = time.monotonic()
        got = 0

        def count(size: int) -> None:
            nonlocal got
            got = size

        try:
            async with asyncio.timeout(seconds):
                return await self._fetch(httpx, target, format_, began, count)
        except TimeoutError as error:
            came = f"{got:,} bytes had come" if got else "nothing had come"
            raise FetchRefused(f"No whole answer within {seconds:g} s; {came}.") from error
        except httpx.HTTPError as error:
            raise FetchRefused(f"The page could not be fetched: {_reason(error)}.") from error

    async def _fetch(
        self, httpx: Any, target: FetchTarget, format_: str, began: float, count: Any
    ) -> FetchedPage:
        url, headers, extensions = _addressed(target)
        headers["Accept"] = ACCEPTED[format_]
        async with (
            self._client(httpx, target) as client,
            client.stream("GET", url, headers=headers, extensions=extensions) as response,
        ):
            mime, charset = _content_type(response.headers.get("content-type", ""))
            location, body = response.headers.get("location"), b""
            if location and response.status_code in REDIRECTS:
                location = urljoin(target.url, location)
            else:
                location, body = None, await self._read(response, count)
                if response.status_code >= 400:
                    raise FetchRefused(
                        _failed(response.status_code, response.reason_phrase, body, mime, charset)
                    )
            seconds = time.monotonic() - began
            return FetchedPage(
                target.url, response.status_code, mime, charset, body, seconds, location
            )

    def _client(self, httpx: Any, target: FetchTarget) -> Any:
        needed = target.scheme == "https" or (target.proxy or "").startswith("https")
        if needed and self._trust is None:
            self._trust = httpx.create_ssl_context()
        return httpx.AsyncClient(
            verify=self._trust or False,
            proxy=target.proxy,
            trust_env=False,
            follow_redirects=False,
            timeout=None,
            headers={"User-Agent": AGENT, "Accept-Encoding": "gzip, deflate"},
        )

    async def _read(self, response: "httpx.Response", count: Any) -> bytes:
        told = response.headers.get("content-length", "")
        if told.isdecimal() and int(told) > self._largest:
            raise FetchRefused(self._too_large(f"has {int(told):,} bytes"))
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            count(len(body))
            if len(body) > self._largest:
                raise FetchRefused(self._too_large(f"has more than {self._largest:,} bytes"))
        return bytes(body)

    def _too_large(self, words: str) -> str:
        return f"The file {words}; at most {self._largest:,} are fetched. Download it with the python tool or bash."


def _addressed(target: FetchTarget) -> tuple[str, dict[str, str], dict[str, Any]]:
    """Return URL, headers and extensions of a request to the resolved address with the original host."""
    if target.address is None or target.proxy is not None:
        return target.url, {}, {}
    parts = urlsplit(target.url)
    number = f"[{target.address}]" if ":" in target.address else target.address
    port = f":{parts.port}" if parts.port is not None else ""
    url = urlunsplit((parts.scheme, f"{number}{port}", parts.path, parts.query, ""))
    return url, {"Host": target.netloc}, {"sni_hostname": target.host}


def _content_type(header: str) -> tuple[str, str | None]:
    mime, _, rest = header.partition(";")
    charset = re.search(r"charset\s*=\s*[\"']?([^\s;\"']+)", rest, re.IGNORECASE)
    return mime.strip().lower(), charset[1] if charset else None


def _failed(status: int, reason: str, body: bytes, mime: str, charset: str | None) -> str:
    words = f"The server answered {status} {reason}".rstrip() + "."
    if mime in ("text/plain", "application/json") and body.strip():
        said = " ".join(decoded(body, charset).split())[:SHOWN_ERROR_CHARS]
        words += f" It says: {said}"
    return words


def _reason(error: Exception) -> str:
    return str(error).strip().rstrip(".") or type(error).__name__
