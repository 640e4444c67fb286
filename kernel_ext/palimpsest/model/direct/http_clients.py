"""Send requests over HTTP, on connections that are reused by later requests.

Each running request has its own client, so that stopping it closes its connection at once and no other, under HTTP/1.1
and HTTP/2 alike; after a complete answer the client is kept for the next request of the same event loop. Proxies and
certificates come from the environment: HTTP_PROXY, HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE, REQUESTS_CA_BUNDLE,
SSL_CERT_DIR and SSL_VERIFY.
No request is sent twice: the agent loop decides about retries. A redirect to another server does not receive the key.
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

MAX_IDLE_CLIENTS = 4
"""Maximum idle clients of one event loop."""
MAX_IDLE_SECONDS = 30.0
"""Seconds after which an idle connection is closed; servers close theirs after a minute or more."""
MAX_ERROR_BYTES = 1_000_000
"""Maximum bytes that are read of an error's body."""
MAX_REDIRECTS = 10
MAX_REST_SECONDS = 0.05
"""Maximum seconds between an answer's end marker and the end of its bytes; after more its connection is not reused."""
KEY_HEADERS = ("authorization", "x-api-key", "cookie")
"""Headers for the requested server only, which a redirect removes."""
CONNECTION_VARIABLES = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_VERIFY"),
)
"""Variables of the environment that decide how a client connects."""
FALSE_WORDS = frozenset({"false", "0", "no", "off"})

IdleClients = dict[tuple[str | None, ...], list[httpx.AsyncClient]]
_idle_clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, IdleClients] = (
    weakref.WeakKeyDictionary()
)


class StreamedResponse:
    """The answer to one request while its bytes arrive."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.byte_pieces = response.aiter_bytes()
        self.is_whole = False
        """Whether all bytes were read, so that the connection can be reused."""

    async def read_rest(self) -> None:
        """Read the end of the bytes after the end marker."""
        with suppress(Exception):
            async with asyncio.timeout(MAX_REST_SECONDS):
                async for _ in self.byte_pieces:
                    pass
                self.is_whole = True


class BorrowedClient:
    """The HTTP client of one running request."""

    def __init__(self, client: httpx.AsyncClient, *, is_secure: bool) -> None:
        self.client = client
        self.is_secure = is_secure

    async def renew_client(self) -> None:
        """Replace the client by one that checks certificates, after a redirect from http to https."""
        await self.client.aclose()
        self.client, self.is_secure = await _idle_or_new_client(is_secure=True), True

    async def end_request(self, *, is_whole: bool) -> None:
        """Keep the client for the next request, or close it with its connection."""
        clients = _idle_clients.setdefault(asyncio.get_running_loop(), {})
        idle_clients = clients.setdefault(_client_key(is_secure=self.is_secure), [])
        if not is_whole or len(idle_clients) >= MAX_IDLE_CLIENTS:
            await self.client.aclose()
            return
        self.client.cookies.clear()
        idle_clients.append(self.client)


@asynccontextmanager
async def post(
    url: str, headers: Mapping[str, str], body: bytes, timeout_seconds: float
) -> AsyncGenerator[StreamedResponse, None]:
    """Send a request and yield its streamed answer; the connection is closed unless the answer ended.

    Raises httpx's exceptions where no answer came, and HTTPStatusError with the body for an error response.
    """
    is_secure = url.lower().startswith("https:")
    borrowed = BorrowedClient(await _idle_or_new_client(is_secure=is_secure), is_secure=is_secure)
    answer: StreamedResponse | None = None
    try:
        request = borrowed.client.build_request(
            "POST", _parsed_url(url), headers=dict(headers), content=body, timeout=timeout_seconds
        )
        answer = StreamedResponse(await _send(borrowed, request))
        if answer.response.is_error:
            raise await _status_error(answer)
        yield answer
    finally:
        if answer is not None:
            await answer.response.aclose()
        await borrowed.end_request(is_whole=answer is not None and answer.is_whole)


_parsed_url = lru_cache(maxsize=16)(httpx.URL)


async def _send(borrowed: BorrowedClient, request: httpx.Request) -> httpx.Response:
    history: list[httpx.Response] = []
    while True:
        response = await borrowed.client.send(request, stream=True)
        response.history = list(history)
        next_request = response.next_request
        if next_request is None:
            return response
        await response.aclose()
        if len(history) >= MAX_REDIRECTS:
            raise httpx.TooManyRedirects("Too many redirects.", request=request)
        history.append(response)
        if _origin(next_request.url) != _origin(request.url):
            for name in KEY_HEADERS:
                next_request.headers.pop(name, None)
        if next_request.url.scheme == "https" and not borrowed.is_secure:
            await borrowed.renew_client()
        request = next_request


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


async def _status_error(answer: StreamedResponse) -> httpx.HTTPStatusError:
    """Return the exception for an error response, with as much of its body as an error message can show."""
    body = b""
    async for piece in answer.byte_pieces:
        body += piece
        if len(body) > MAX_ERROR_BYTES:
            break
    else:
        answer.is_whole = True
    refused_response = answer.response
    status, request, headers = (
        refused_response.status_code,
        refused_response.request,
        refused_response.headers.copy(),
    )
    for name in ("content-encoding", "content-length", "transfer-encoding"):
        headers.pop(name, None)
    response = httpx.Response(status, headers=headers, content=body, request=request)
    response.history = refused_response.history
    return httpx.HTTPStatusError(f"Status {status}", request=request, response=response)


async def _idle_or_new_client(*, is_secure: bool) -> httpx.AsyncClient:
    clients = _idle_clients.setdefault(asyncio.get_running_loop(), {})
    if idle_clients := clients.get(_client_key(is_secure=is_secure)):
        return idle_clients.pop()
    if not is_secure:
        return _new_client(verify=False)
    # Reading all certificates takes 20 ms.
    loop = asyncio.get_running_loop()
    verify = await loop.run_in_executor(None, _certificates, *_client_key(is_secure=True)[-4:])
    return _new_client(verify=verify, http2=find_spec("h2") is not None)


def _new_client(*, verify: ssl.SSLContext | bool, http2: bool = False) -> httpx.AsyncClient:
    limits = httpx.Limits(
        max_connections=2, max_keepalive_connections=1, keepalive_expiry=MAX_IDLE_SECONDS
    )
    return httpx.AsyncClient(verify=verify, http2=http2, limits=limits)


def _client_key(*, is_secure: bool) -> tuple[str | None, ...]:
    """Return the key of a client within one event loop, with the certificates' variables last."""
    return (str(is_secure), *(os.environ.get(name) for name in CONNECTION_VARIABLES))


class UnreadableCertificates(Exception):
    """The environment names certificates that cannot be read."""


@cache
def _certificates(
    file: str | None, bundle: str | None, folder: str | None, verify: str | None
) -> ssl.SSLContext | bool:
    """Return the ``verify`` setting for server certificates; raises UnreadableCertificates."""
    if verify is not None and verify.strip().lower() in FALSE_WORDS:
        return False
    files = (path for path in (verify, file, bundle) if path and Path(path).is_file())
    cafile = next(files, None)
    capath = folder if folder and Path(folder).is_dir() else None
    try:
        if cafile:
            return ssl.create_default_context(cafile=cafile)
        return ssl.create_default_context(capath=capath) if capath else httpx.create_ssl_context()
    except OSError as error:
        problem = str(error)
    # Raised outside of the handler, whose OSError would count as a failed connection.
    message = (
        f"The certificates in {cafile or capath} cannot be read ({problem}). Set SSL_CERT_FILE to a file of certificates "
        "in PEM format before the kernel starts."
    )
    raise UnreadableCertificates(message)
