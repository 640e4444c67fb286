"""A test session that uses a real HTTP model server on loopback, in one of the wire formats."""

from pathlib import Path
from typing import Any

from tests.harness.session import SessionHarness, ask
from tests.model.expected_body import expected_bodies

from palimpsest.model.adapter.litellm_model import LitellmModel
from palimpsest.model.direct.direct_model import DirectModel
from palimpsest.model.script import says
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.session.interfaces.prompt_answer import Answer as SessionAnswer
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import FaultServer
from palimpsest.testing.dialects import WireFormat
from palimpsest.transcript.values import ModelInfo, ModelRef

PROVIDERS = ["openai", "anthropic"]
WIRES: dict[str, WireFormat] = {
    "openai": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "mistral": "mistral",
}
NAMES = {
    "openai": "gpt-test",
    "anthropic": "claude-test",
    "gemini": "gemini-3-test",
    "mistral": "pixtral-test",
}


class AnyProviderHarness(SessionHarness):
    """A session whose turns may each use another provider, all served by one fault server."""

    def __init__(self, root: Path, server: FaultServer, **changes: Any) -> None:
        self.server = server
        self.changes = changes
        super().__init__(root, DirectModel(LitellmModel(), read_timeout_seconds=30.0))

    def info(self, model_id: str, variant: str | None = None) -> ModelInfo:
        info = super().info(model_id, variant)
        base = self.server.base(WIRES[info.ref.provider])
        return info.model_copy(update={**self.changes, "api_base": base})


class HttpSessionHarness:
    """A session whose model is the fault server."""

    def __init__(
        self,
        provider: str,
        root: Path,
        server: FaultServer,
        *,
        window: int = 100_000,
        policy: str = "palimpsest",
    ) -> None:
        base, name = server.base(WIRES[provider]), NAMES[provider]
        self.server = server
        self.root = root
        # What is sent directly is compared with what litellm sends, in ``check_requests``.
        self.model = DirectModel(LitellmModel(), read_timeout_seconds=30.0)
        self.harness = SessionHarness(
            root,
            self.model,
            info=ModelInfo(
                ref=ModelRef(provider=provider, name=name),
                window=window,
                output_limit=2_000,
                api_base=base,
            ),
            policy=policy,
        )
        self.id = f"{provider}/{name}"
        self.opened: LiveSession | None = None

    async def session(self) -> LiveSession:
        """Open the session, once."""
        if self.opened is None:
            self.opened = await self.harness.session()
        return self.opened

    async def ask(self, text: str, **options: Any) -> SessionAnswer:
        """Send a prompt to the server's model."""
        return await ask(await self.session(), text, model=self.id, **options)

    async def add_long_turns(self, turns: int = 4) -> None:
        """Add turns with a prompt of 500 words and an answer of 60 sentences each."""
        for number in range(turns):
            mean = f"The mean of column {number} is 43.92. "
            self.server.script(says(mean * 60).in_pieces(4_000))
            await self.ask(f"Question {number} " + "word " * 500)

    async def check_requests(self) -> None:
        """Assert that every received body equals the rebuilt request of its step, retries included."""
        session = await self.session()
        records = await self.harness.records(session)
        rebuilt = list(rebuild_all(self.harness.store, session.id, records))
        assert all(found.matches for found in rebuilt)
        expected = expected_bodies([found.request for found in rebuilt])
        arrived = list(self.server.bodies)
        for body in expected:
            assert arrived, "a recorded request never arrived"
            assert arrived[0] == body
            while arrived and arrived[0] == body:
                arrived.pop(0)
        assert arrived == [], "a request arrived that the log does not know"
