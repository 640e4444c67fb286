"""Send requests over HTTP, on connections that are kept for the next request.

Each request has a client for itself while it runs, so that a request that is stopped closes its connection at once,
whether the server speaks HTTP/1.1 or HTTP/2, and no other is touched; a client whose answer came to its end is kept for
the next one of the same event loop. Proxies and certificates are those of the environment: HTTP_PROXY, HTTPS_PROXY,
NO_PROXY, SSL_CERT_FILE, REQUESTS_CA_BUNDLE, SSL_CERT_DIR and SSL_VERIFY.

Nothing is sent twice: whether a request is tried again is decided by the agent loop. A redirect to another server
does not take the key along.
"""

import asyncio
import os
import ssl
import weakref
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

import httpx

MOST_KEPT = 4
"""Clients that wait for the next request of one event loop."""
KEPT_SECONDS = 30.0
"""A connection that nobody used for so long is closed: servers close theirs after a minute or more."""
LONGEST_ERROR = 1_000_000
"""Bytes of an error's body that are read at most."""
MOST_REDIRECTS = 10
GRACE_SECONDS = 0.05
"""After its end marker an answer's bytes end within this time, or its connection is not used again."""
KEYS = ("authorization", "x-api-key", "cookie")
"""Headers that are for the server that was asked, and no other."""
VARIABLES = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_VERIFY"),
)
"""Variables of the environment that decide how a client connects."""
NO = frozenset({"false", "0", "no", "off"})

Kept = dict[tuple[str | None, ...], list[httpx.AsyncClient]]
_kept: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Kept] = weakref.WeakKeyDictionary()


class StreamedResponse:
    """The answer to one request while its bytes arrive."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.pieces = response.aiter_bytes()
        self.is_whole = False
        """All bytes were read, so the connection can be used again."""

    async def read_rest(self) -> None:
        """Read what follows the end marker, which is nothing but the end."""
        with suppress(Exception):
            async with asyncio.timeout(GRACE_SECONDS):
                async for _ in self.pieces:
                    pass
                self.is_whole = True


class BorrowedClient:
    """The client that one request has for itself."""

    def __init__(self, client: httpx.AsyncClient, *, secure: bool) -> None:
        self.client = client
        self.secure = secure

    async def renew(self) -> None:
        """Take a client that checks certificates, where an address without them leads to one with them."""
        await self.client.aclose()
        self.client, self.secure = await _client(secure=True), True

    async def end(self, *, is_whole: bool) -> None:
        """Keep the client for the next request, or close it with its connection."""
        kept = _kept.setdefault(asyncio.get_running_loop(), {})
        waiting = kept.setdefault(_place(secure=self.secure), [])
        if not is_whole or len(waiting) >= MOST_KEPT:
            await self.client.aclose()
            return
        self.client.cookies.clear()
        waiting.append(self.client)


@asynccontextmanager
async def posted(
    url: str, headers: Mapping[str, str], content: bytes, seconds: float
) -> AsyncGenerator[StreamedResponse, None]:
    """Send a request, and give its answer as it arrives; the connection is closed unless the answer ended.

    Raises httpx's exceptions where no answer came, and HTTPStatusError for one that is an error, with its body.
    """
    secure = url.lower().startswith("https:")
    lease = BorrowedClient(await _client(secure=secure), secure=secure)
    answer: StreamedResponse | None = None
    try:
        request = lease.client.build_request(
            "POST", _address(url), headers=dict(headers), content=content, timeout=seconds
        )
        answer = StreamedResponse(await _sent(lease, request))
        if answer.response.is_error:
            raise await _refusal(answer)
        yield answer
    finally:
        if answer is not None:
            await answer.response.aclose()
        await lease.end(is_whole=answer is not None and answer.is_whole)


@lru_cache(maxsize=16)
def _address(url: str) -> httpx.URL:
    return httpx.URL(url)


async def _sent(lease: BorrowedClient, request: httpx.Request) -> httpx.Response:
    history: list[httpx.Response] = []
    while True:
        response = await lease.client.send(request, stream=True)
        response.history = list(history)
        following = response.next_request
        if following is None:
            return response
        await response.aclose()
        if len(history) >= MOST_REDIRECTS:
            raise httpx.TooManyRedirects("Too many redirects.", request=request)
        history.append(response)
        if _origin(following.url) != _origin(request.url):
            for name in KEYS:
                following.headers.pop(name, None)
        if following.url.scheme == "https" and not lease.secure:
            await lease.renew()
        request = following


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


async def _refusal(answer: StreamedResponse) -> httpx.HTTPStatusError:
    """Return the exception of an error, with as much of its body as a person can be told."""
    body = b""
    async for piece in answer.pieces:
        body += piece
        if len(body) > LONGEST_ERROR:
            break
    else:
        answer.is_whole = True
    got = answer.response
    headers = [
        (name, value)
        for name, value in got.headers.multi_items()
        if name.lower() not in ("content-encoding", "content-length", "transfer-encoding")
    ]
    told = httpx.Response(got.status_code, headers=headers, content=body, request=got.request)
    told.history = got.history
    return httpx.HTTPStatusError(f"Status {got.status_code}", request=got.request, response=told)


async def _client(*, secure: bool) -> httpx.AsyncClient:
    waiting = _kept.setdefault(asyncio.get_running_loop(), {}).get(_place(secure=secure))
    if waiting:
        return waiting.pop()
    if not secure:
        return _made(verify=False)
    # Reading all certificates takes 20 ms.
    loop = asyncio.get_running_loop()
    verify = await loop.run_in_executor(None, _certificates, *_place(secure=True)[-4:])
    return _made(verify=verify, http2=find_spec("h2") is not None)


def _made(*, verify: ssl.SSLContext | bool, http2: bool = False) -> httpx.AsyncClient:
    limits = httpx.Limits(
        max_connections=2, max_keepalive_connections=1, keepalive_expiry=KEPT_SECONDS
    )
    return httpx.AsyncClient(verify=verify, http2=http2, limits=limits)


def _place(*, secure: bool) -> tuple[str | None, ...]:
    """Return what tells the clients of one event loop apart; the certificates' variables stand last."""
    return (str(secure), *(os.environ.get(name) for name in VARIABLES))


class UnreadableCertificates(Exception):
    """The environment names certificates that cannot be read."""


@cache
def _certificates(
    file: str | None, bundle: str | None, folder: str | None, verify: str | None
) -> ssl.SSLContext | bool:
    """Return how a server's certificate is checked; raises UnreadableCertificates."""
    if verify is not None and verify.strip().lower() in NO:
        return False
    named = next((one for one in (verify, file, bundle) if one and Path(one).is_file()), None)
    kept = folder if folder and Path(folder).is_dir() else None
    try:
        if named is not None:
            return ssl.create_default_context(cafile=named)
        return ssl.create_default_context(capath=kept) if kept else httpx.create_ssl_context()
    except OSError as error:
        told = str(error)
    # Outside of the handler: what failed is a file, and no connection.
    message = (
        f"The certificates in {named or kept} cannot be read ({told}). Set SSL_CERT_FILE to a file of certificates "
        "in PEM format before the kernel starts."
    )
    raise UnreadableCertificates(message)
