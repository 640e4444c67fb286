"""webfetch fetches a page from a real server, asks for each address, and has limits of time and size."""

import asyncio
import base64
import gzip
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
import pytest_asyncio
from tests.harness.tools import ToolHarness

from palimpsest.tools.web.html_conversion import to_markdown, to_text
from palimpsest.tools.web.http_fetch import FetchRefused, FetchTarget, decode_body, resolve_target
from palimpsest.tools.web.webfetch import WebFetchTool
from palimpsest.transcript.errors import Aborted, PermissionDenied, UserError
from palimpsest.transcript.values import Reply

PAGE = """<!doctype html><html><head><title>Penguins &amp; more</title>
<style>p { color: red }</style></head><body><script>alert(1)</script>
<h1>Penguins</h1><p>Three <b>species</b>, see <a href="/adelie">Adelie</a>.</p>
<table><tr><th>name</th><th>mass</th></tr><tr><td>Adelie</td><td>3.7</td></tr></table>
<ul><li>one</li><li>two</li></ul></body></html>"""
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@dataclass
class Site:
    """A server on loopback; a path is answered with the given bytes."""

    url: str = ""
    answers: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    pieces: int = 1
    pause_seconds: float = 0.0
    began: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def says(
        self,
        path: str,
        body: bytes | str,
        mime: str = "text/html; charset=utf-8",
        status: str = "200 OK",
        **headers: str,
    ) -> str:
        data = body if isinstance(body, bytes) else body.encode()
        lines = [f"HTTP/1.1 {status}", "Connection: close"]
        lines += [f"Content-Type: {mime}"] if mime else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.answers[path] = "\r\n".join(lines).encode() + b"\r\n\r\n" + data
        return self.url + path

    def leads(self, path: str, to: str, status: str = "302 Found") -> str:
        return self.says(path, "", status=status, Location=to)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A foreign client may connect to this port, such as a kernel's, and send no request.
        with suppress(asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._answer(reader, writer)
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        path = first.split()[1]
        self.asked.append((path, dict(line.lower().split(": ", 1) for line in lines)))
        self.began.set()
        data = self.answers.get(
            path, b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\r\ngone"
        )
        size = max(1, -(-len(data) // self.pieces))
        try:
            for start in range(0, len(data), size):
                writer.write(data[start : start + size])
                await writer.drain()
                if self.pause_seconds and await self._over(self.pause_seconds):
                    break
        except ConnectionError:
            pass
        finally:
            self.closed.set()

    async def _over(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self.over.wait(), seconds)
        except TimeoutError:
            return False
        return True


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield site
    site.over.set()
    if site.began.is_set():
        await site.closed.wait()
    server.close()


ALLOWED = {"webfetch": "allow", "private_network": "allow"}


async def test_brings_a_page_as_markdown(harness: ToolHarness, site: Site) -> None:
    harness.user.rules = ALLOWED

    outcome = await harness.call("webfetch", url=site.says("/birds", PAGE))

    assert outcome.output == (
        "# Penguins & more\n\n# Penguins\n\n"
        f"Three **species**, see [Adelie]({site.url}/adelie).\n\n"
        "| name | mass |\n| --- | --- |\n| Adelie | 3.7 |\n\n- one\n- two"
    )
    assert outcome.metadata == {"url": f"{site.url}/birds", "status": 200, "mime": "text/html"}
    assert site.asked[0][1]["host"] == site.url.removeprefix("http://")


async def test_brings_the_words_alone_or_the_page_itself(harness: ToolHarness, site: Site) -> None:
    harness.user.rules = ALLOWED
    url = site.says("/birds", PAGE)

    words = await harness.call("webfetch", url=url, format="text")
    page = await harness.call("webfetch", url=url, format="html")

    assert "Three species, see Adelie." in words.output
    assert "alert" not in words.output
    assert page.output == PAGE


async def test_asks_for_the_address_and_for_the_network_it_is_in(
    harness: ToolHarness, site: Site
) -> None:
    url = site.says("/birds", PAGE)

    await harness.call("webfetch", url=url)

    host = site.url.removeprefix("http://")
    assert [
        (question.permission, question.patterns, question.always) for question in harness.user.asked
    ] == [
        ("webfetch", (url,), (f"{site.url}/*",)),
        ("private_network", (host,), (host,)),
    ]
    assert harness.user.asked[0].title == f"Fetch {url}"


async def test_a_refusal_sends_nothing(harness: ToolHarness, site: Site) -> None:
    harness.user.reply = Reply(answer="reject")

    with pytest.raises(PermissionDenied):
        await harness.call("webfetch", url=site.says("/birds", PAGE))

    assert site.asked == []


async def test_allowing_the_web_does_not_allow_this_machine(
    harness: ToolHarness, site: Site
) -> None:
    harness.user.rules = {"webfetch": "allow"}

    await harness.call("webfetch", url=site.says("/birds", PAGE))

    assert [question.permission for question in harness.user.asked] == ["private_network"]


async def test_asks_again_where_a_page_leads_elsewhere(harness: ToolHarness, site: Site) -> None:
    harness.user.rules = {"private_network": "allow"}
    site.says("/new", "moved", "text/plain")
    url = site.leads("/old", "/new")

    outcome = await harness.call("webfetch", url=url)

    assert outcome.output == "moved"
    assert [question.title for question in harness.user.asked] == [
        f"Fetch {url}",
        f"Follow {url} to {site.url}/new",
    ]


async def test_a_rule_holds_for_where_a_page_leads(harness: ToolHarness, site: Site) -> None:
    harness.user.rules = {
        "private_network": "allow",
        "webfetch": {"*": "allow", f"{site.url}/secret*": "deny"},
    }
    site.says("/secret", "keys", "text/plain")

    with pytest.raises(PermissionDenied):
        await harness.call("webfetch", url=site.leads("/open", "/secret"))

    assert [path for path, _ in site.asked] == ["/open"]


async def test_where_a_page_leads_is_asked_about_by_its_own_address(
    harness: ToolHarness, site: Site
) -> None:
    """A page that is allowed redirects to another server of this machine, which is not."""
    other = Site()
    server = await asyncio.start_server(other.serve, "127.0.0.1", 0)
    other.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    host = site.url.removeprefix("http://")
    harness.user.rules = {"webfetch": "allow", "private_network": {"*": "deny", host: "allow"}}
    other.says("/secret", "keys", "text/plain")

    for way in (other.url, other.url.replace("127.0.0.1", "2130706433"), other.url.replace("127.0.0.1", "[::ffff:7f00:1]")):  # fmt: skip
        with pytest.raises(PermissionDenied):
            await harness.call("webfetch", url=site.leads("/open", f"{way}/secret"))
    server.close()

    assert [path for path, _ in site.asked] == ["/open"] * 3
    assert other.asked == []


async def test_a_name_is_looked_up_once_and_connected_to_where_it_was_found(
    harness: ToolHarness, site: Site
) -> None:
    port = site.url.rpartition(":")[2]
    site.says("/birds", "penguins", "text/plain")
    answers = iter([["127.0.0.1"], ["93.184.215.14"], ["10.0.0.1", "93.184.215.14"]])

    async def lookup(_host: str, _port: int) -> list[str]:
        return next(answers)

    harness.user.rules = ALLOWED
    harness.registry.register(WebFetchTool(lookup=lookup))
    outcome = await harness.call("webfetch", url=f"http://rebinds.example:{port}/birds")

    assert outcome.output == "penguins"
    assert site.asked[0][1]["host"] == f"rebinds.example:{port}"
    assert not (await resolve_target("http://rebinds.example/", lookup)).is_private
    assert (await resolve_target("http://rebinds.example/", lookup)).is_private


@pytest.mark.parametrize("url", ["http://a.b\\.evil.example/", "http://a.b\\/x"])
async def test_a_backslash_is_no_part_of_a_name(url: str) -> None:
    with pytest.raises(FetchRefused, match="backslash"):
        await resolve_target(url)


async def test_a_slash_more_is_the_same_page(harness: ToolHarness, site: Site) -> None:
    harness.user.rules = {"private_network": "allow"}
    site.says("/docs/", "here", "text/plain")

    await harness.call("webfetch", url=site.leads("/docs", f"{site.url}/docs/", "301 Moved"))

    assert len(harness.user.asked) == 1


async def test_a_page_may_not_lead_to_a_file(harness: ToolHarness, site: Site) -> None:
    harness.user.rules = ALLOWED

    with pytest.raises(UserError, match="with http:// or https://"):
        await harness.call("webfetch", url=site.leads("/out", "file:///etc/passwd"))


async def test_ends_when_pages_lead_in_a_circle(harness: ToolHarness, site: Site) -> None:
    harness.user.rules = ALLOWED
    site.leads("/a", "/b")

    with pytest.raises(UserError, match="from page to page without an end"):
        await harness.call("webfetch", url=site.leads("/b", "/a"))

    assert len(site.asked) == 11


async def test_ends_in_time_however_slowly_it_drips(harness: ToolHarness, site: Site) -> None:
    harness.user.rules = ALLOWED
    site.pieces, site.pause_seconds = 40, 0.05
    with pytest.raises(UserError, match=r"No whole answer within 0\.6 s; [0-9]+ bytes had come"):
        await harness.call("webfetch", url=site.says("/drip", "x" * 1000), timeout_seconds=0.6)


@pytest.mark.parametrize("told", [True, False])
async def test_brings_no_more_than_five_megabytes(
    harness: ToolHarness,
    site: Site,
    told: bool,  # noqa: FBT001
) -> None:
    harness.user.rules = ALLOWED
    more = {"Content_Length": "6000000"} if told else {}
    url = site.says("/huge", b"x" * 6_000_000, "text/plain", **more)

    with pytest.raises(UserError, match="at most 5,000,000 are fetched") as caught:
        await harness.call("webfetch", url=url)

    assert ("6,000,000" in str(caught.value)) is told


async def test_what_is_unpacked_counts_too(harness: ToolHarness, site: Site) -> None:
    harness.user.rules = ALLOWED
    bomb = gzip.compress(b"0" * 20_000_000)

    with pytest.raises(UserError, match="at most 5,000,000"):
        await harness.call(
            "webfetch", url=site.says("/bomb", bomb, "text/plain", Content_Encoding="gzip")
        )


@pytest.mark.parametrize(
    ("body", "mime", "words"),
    [
        ("Käse".encode("latin-1"), "text/plain; charset=utf-8", "Käse"),
        ("Käse".encode(), "text/plain; charset=latin-99", "Käse"),
        ("Käse".encode(), "text/plain; charset=base64", "Käse"),
        ("Käse".encode("utf-16"), "text/plain; charset=utf-16", "Käse"),
        ("<meta charset='iso-8859-2'><p>Łódź</p>".encode("iso-8859-2"), "text/html", "Łódź"),
        (b"\xef\xbb\xbfplain", "text/plain", "plain"),
        (b'{"a": 1}', "application/problem+json", '{"a": 1}'),
        (b"words", "", "words"),
    ],
)
async def test_reads_what_a_server_mislabels(
    harness: ToolHarness, site: Site, body: bytes, mime: str, words: str
) -> None:
    harness.user.rules = ALLOWED

    assert (await harness.call("webfetch", url=site.says("/x", body, mime))).output == words


async def test_says_what_a_server_said(harness: ToolHarness, site: Site) -> None:
    harness.user.rules = ALLOWED

    with pytest.raises(UserError, match=r"answered 404 Not Found\. It says: gone"):
        await harness.call("webfetch", url=f"{site.url}/nowhere")


async def test_brings_no_binary_file(harness: ToolHarness, site: Site) -> None:
    harness.user.rules = ALLOWED
    url = site.says("/model.bin", b"\x00\x01\x02", "application/octet-stream")

    with pytest.raises(UserError, match="cannot be shown as text"):
        await harness.call("webfetch", url=url)


async def test_an_image_is_attached(harness: ToolHarness, site: Site) -> None:
    harness.user.rules = ALLOWED

    outcome = await harness.call("webfetch", url=site.says("/dot.png", PIXEL, "image/png"))

    [file] = outcome.attachments
    assert (file.mime, file.filename) == ("image/png", "dot.png")
    assert base64.b64decode(file.url.partition(",")[2]) == PIXEL


async def test_a_stop_ends_it_at_once(harness: ToolHarness, site: Site) -> None:
    harness.user.rules = ALLOWED
    site.pieces, site.pause_seconds = 10_000, 0.1  # all of it would take a quarter of an hour
    call = asyncio.create_task(harness.call("webfetch", url=site.says("/slow", "x" * 10_000)))
    await site.began.wait()

    harness.abort.set("Stopped.")
    with pytest.raises(Aborted):
        await call

    await site.closed.wait()


async def test_says_when_nobody_is_there(harness: ToolHarness) -> None:
    harness.user.rules = ALLOWED

    with pytest.raises(UserError, match=r"could not be fetched: .+ \(http://127\.0\.0\.1:9/\)"):
        await harness.call("webfetch", url="http://127.0.0.1:9/")
    with pytest.raises(UserError, match=r"no machine called 'nothing\.invalid'"):
        await harness.call("webfetch", url="http://nothing.invalid/")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.b/c",
        "/etc/passwd",
        "javascript:alert(1)",
        "http://",
        "http://a b/",
        "http://[x/",
        "https:a",
    ],
)
async def test_fetches_nothing_but_web_addresses(harness: ToolHarness, url: str) -> None:
    with pytest.raises(UserError, match="address"):
        await harness.call("webfetch", url=url)


async def test_sends_no_password(harness: ToolHarness) -> None:
    with pytest.raises(UserError, match="name or password"):
        await harness.call("webfetch", url="http://ada:secret@127.0.0.1/")


@pytest.mark.parametrize(
    ("host", "private"),
    [
        ("127.0.0.1", True),
        ("[::1]", True),
        ("10.1.2.3", True),
        ("192.168.0.1", True),
        ("169.254.169.254", True),
        ("0.0.0.0", True),
        ("[::ffff:127.0.0.1]", True),
        ("[64:ff9b::7f00:1]", True),
        ("[fd00::1]", True),
        ("localhost", True),
        ("2130706433", True),
        ("0x7f.1", True),
        ("93.184.215.14", False),
        ("[2606:4700::1111]", False),
    ],
)
async def test_knows_what_only_this_network_reaches(
    host: str,
    private: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)

    assert (await resolve_target(f"http://{host}/")).is_private is private


async def test_a_proxy_looks_names_up_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:3128")
    monkeypatch.setenv("no_proxy", "localhost")

    target = await resolve_target("http://nothing.invalid/a?b#c")

    assert target == FetchTarget(
        url="http://nothing.invalid/a?b",
        scheme="http",
        netloc="nothing.invalid",
        host="nothing.invalid",
        address=None,
        is_private=False,
        proxy="http://127.0.0.1:3128",
    )
    for local in (
        "intranet",
        "wiki.corp",
        "db.local.",
        "localhost.",
        "127.1",
        "0x7f000001",
        "\uff11\uff12\uff17.0.0.1",
    ):
        monkeypatch.setenv("no_proxy", "")
        assert (await resolve_target(f"http://{local}/")).is_private
    monkeypatch.setenv("no_proxy", "localhost")
    assert (await resolve_target("http://localhost/")).proxy is None


async def test_an_endless_address_is_refused() -> None:
    with pytest.raises(FetchRefused, match="too long"):
        await resolve_target("http://a.b/" + "x" * 9_000)


def test_a_cut_in_the_middle_of_a_letter_costs_one_letter() -> None:
    assert (
        decode_body("Käse, Käse, Kä".encode()[:-1], None)
        == "Käse, Käse, K\N{REPLACEMENT CHARACTER}"
    )


def test_very_deep_pages_become_plain_text() -> None:
    deep = "<div>" * 5_000 + "<p>words</p>" + "</div>" * 5_000

    assert to_markdown(deep, "http://a.b/") == to_text(deep, "http://a.b/") == "words"
