"""Over HTTP/2 an answer streams, the connection is used again, and a stop closes it at once."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.harness.tls_certificate import write_certificate
from tests.model.adapter_requests import info, request, run
from tests.model.openai_chunks import END, chunk
from tests.model.raw_server import OpenServer

from palimpsest.model.adapter.litellm_model import LitellmModel
from palimpsest.model.direct import http_clients
from palimpsest.model.direct.direct_model import DirectModel
from palimpsest.model.interface import TextDelta

h2_config = pytest.importorskip("h2.config")
h2_connection = pytest.importorskip("h2.connection")
h2_events = pytest.importorskip("h2.events")


class Http2Server(OpenServer):
    """Answers each request with a word; with ``stalls`` nothing follows it."""

    def __init__(self) -> None:
        super().__init__()
        self.protocols: list[str | None] = []
        """The protocol of each connection."""
        self.left = asyncio.Event()
        """A client closed its connection."""
        self.stalls = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.protocols.append(writer.get_extra_info("ssl_object").selected_alpn_protocol())
        talk = h2_connection.H2Connection(h2_config.H2Configuration(client_side=False))
        talk.initiate_connection()
        with suppress(ConnectionError, asyncio.CancelledError):
            writer.write(talk.data_to_send())
            while data := await reader.read(65_535):
                for event in talk.receive_data(data):
                    self._answer(talk, event)
                writer.write(talk.data_to_send())
                await writer.drain()
            self.left.set()
        writer.close()
        with suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()

    def _answer(self, talk: Any, event: Any) -> None:
        if isinstance(event, h2_events.DataReceived):
            talk.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        if isinstance(event, h2_events.StreamEnded):
            headers = [(":status", "200"), ("content-type", "text/event-stream")]
            talk.send_headers(event.stream_id, headers)
            talk.send_data(event.stream_id, chunk(content="Hi.").encode())
            if not self.stalls:
                end = (chunk("stop") + END).encode()
                talk.send_data(event.stream_id, end, end_stream=True)


@asynccontextmanager
async def serving_http2(folder: Path) -> AsyncIterator[Http2Server]:
    """Serve over TLS with a certificate of its own, which it leaves as ``ca.pem`` in the folder."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(write_certificate(folder))
    context.set_alpn_protocols(["h2"])
    async with Http2Server().listening(context) as server:
        yield server


async def test_a_connection_is_used_again_and_closed_by_a_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    # On a loaded machine the end of an answer may come later than a user would wait for it.
    monkeypatch.setattr(http_clients, "MAX_REST_SECONDS", 60.0)
    model = DirectModel(LitellmModel(), read_timeout_seconds=60.0)
    async with serving_http2(tmp_path) as server:
        asked = request(info("openai", api_base=server.base))
        errors = [(await run(asked, model))[1] for _ in range(3)]
        server.stalls = True
        heard = asyncio.Event()

        async def listen() -> None:
            async for event in model.stream(asked):
                if isinstance(event, TextDelta):
                    heard.set()

        listening = asyncio.create_task(listen())
        await heard.wait()
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listening
        await server.left.wait()

    assert errors == [None] * 3
    assert server.protocols == ["h2"], "one connection for all four"
