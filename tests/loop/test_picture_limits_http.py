"""A session with more or larger pictures than its provider takes goes on, over HTTP, as the providers refuse."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.harness.http_session import WIRES, HttpSessionHarness
from tests.provider_rules.picture_limits import anthropic, at_most, pictures_of, sides
from tests.sample_size import thinned

from palimpsest.context.reduction.picture_sizes import size_of_url
from palimpsest.model.script import ModelAnswer, calls, says
from palimpsest.recordings.reconstruction.redecision import redecide
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.context_report.report_builder import build_context_report
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.testing import FaultServer
from palimpsest.testing.fault_server import Check
from palimpsest.transcript.context_values.decisions import PICTURES_RULE
from palimpsest.transcript.parts import RetryPart, ToolCompleted, ToolPart
from palimpsest.transcript.session_record.events import DecisionMade

pytestmark = pytest.mark.slow

FIGURE = (2_800, 1_600)
"""A figure of 14 by 8 inches with 200 dots an inch."""
PLAIN = (1_600, 900)
"""A figure of 16 by 9 inches with 100 dots an inch, where limits of pixels and bytes can be lower, too."""
STRIP = (2_800, 100)
"""As long as a figure, where only sides and numbers of pictures are limited: a sixteenth to write, send and make smaller."""


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of the providers, which the server on loopback does not look at."""
    for name in ("OPENAI", "ANTHROPIC", "GEMINI", "MISTRAL"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-test-key")


class Figures:
    """A session that looks at figures, and what its server received."""

    def __init__(self, provider: str, root: Path, server: FaultServer) -> None:
        self.server = server
        self.harness = HttpSessionHarness(provider, root, server, window=1_000_000)
        self.model(provider)
        self._root = root
        self._made = 0

    def model(self, provider: str) -> None:
        """Have the next prompts answered by a model of this provider."""
        other = HttpSessionHarness(provider, self.harness.root, self.server)
        base = other.harness.info(other.id).api_base
        info = self.harness.harness.info(self.harness.id)
        self.harness.harness.narrow(info.model_copy(update={"vision": True, "api_base": base}))
        self.harness.id = other.id

    async def look(self, count: int, size: tuple[int, int] = FIGURE) -> Answer:
        """Have the model read so many new figures with one answer, and say something with the next."""
        self.server.script(self.reads(count, size), says("Seen."))
        return await self.harness.ask("Look.")

    async def words(self) -> set[str]:
        """Return in what states the report of the context shows outputs."""
        session = await self.harness.session()
        report = build_context_report(session.basis(), lambda only: session.records_after(0, only))
        assert "truncated" not in report.text
        return {item.state for item in report.items if item.kind == "output"}

    async def decided_again(self) -> int:
        """Return how many decisions about pictures a replay makes again as they were, all of them."""
        session = await self.harness.session()
        redecision = redecide(self.harness.harness.store, session.id)
        assert redecision.is_same, redecision.text
        return sum(
            len(occasion.recorded_decisions)
            for occasion in redecision.occasions
            if occasion.decider == "limit"
        )

    async def media_states(self) -> set[str]:
        """Return in what states the newest request shows pictures, by the session's timeline; no output is cut."""
        session = await self.harness.session()
        timeline = timeline_of(self.harness.harness.store, session.id)
        states = dict.fromkeys(range(len(timeline.items)), "whole")
        states |= {transition.item: transition.state for transition in timeline.transitions}
        kinds = {item.index: item.kind for item in timeline.items}
        assert {states[at] for at, kind in kinds.items() if kind == "output"} == {"whole"}
        return {states[at] for at, kind in kinds.items() if kind == "media"}

    def reads(self, count: int, size: tuple[int, int] = FIGURE) -> ModelAnswer:
        """Return an answer that reads so many new figures."""
        names = [f"{self._made + number}.png" for number in range(count)]
        self._made += count
        answer: ModelAnswer | None = None
        for name in names:
            Image.new("RGB", size, (self._made % 256, 80, 90)).save(self._root / name, "PNG")
            answer = calls("read", path=name) if answer is None else answer.calls("read", path=name)
        assert answer is not None
        return answer

    @property
    def sides(self) -> list[list[int]]:
        """The longer sides of the pictures of each request that arrived, refused ones too."""
        return [sides(body) for body in self.server.bodies]

    async def decisions(self) -> list[DecisionMade]:
        """The decisions about pictures, from the log."""
        session = await self.harness.session()
        records = await self.harness.harness.records(session)
        events = [record.event for record in records if isinstance(record.event, DecisionMade)]
        return [event for event in events if event.decision.rule == PICTURES_RULE]


def told(answer: Answer) -> list[str]:
    """Return what the answer tells of requests that were sent again."""
    parts = [part for message in answer.messages for part in message.parts]
    return [part.error.message for part in parts if isinstance(part, RetryPart)]


@pytest.mark.soak  # with each commit a refusal that names a limit is mended, beside it; this adds a limit that is known before
async def test_more_than_twenty_large_figures_are_sent_smaller_before_anybody_refuses(
    tmp_path: Path,
) -> None:
    with FaultServer(check=anthropic) as server:
        figures = Figures("anthropic", tmp_path, server)

        await figures.look(20, STRIP)
        answer = await figures.look(5, STRIP)

        assert (answer.text, told(answer)) == ("Seen.", [])
        assert figures.sides == [[], [2_800] * 20, [2_800] * 20, [1_900] * 25]
        await figures.harness.check_requests()
        assert await figures.words() == {"pictures smaller"}
        assert await figures.decided_again() == 25
        assert await figures.media_states() == {"whole"}
        session = await figures.harness.session()
        kept = [
            file
            for message in session.log.state.messages()
            for part in message.parts
            if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted)
            for file in part.state.attachments
        ]
        urls = [
            session.picture(picture.url) if picture.url.startswith("blob:") else picture.url
            for picture in kept
        ]
        assert [size_of_url(url) for url in urls] == [STRIP] * 25


@pytest.mark.soak  # with each commit what a refusal names is kept from then on, beside it; this adds another provider's limit
async def test_a_log_that_no_request_could_hold_any_more_is_answered(tmp_path: Path) -> None:
    with FaultServer() as server:
        figures = Figures("openai", tmp_path, server)
        await figures.look(25, STRIP)
        server._check = anthropic
        figures.model("anthropic")

        answer = await figures.look(1, STRIP)

        assert (answer.text, told(answer)) == ("Seen.", [])
        assert figures.sides[1:] == [[2_800] * 25, [1_900] * 25, [1_900] * 26]
        await figures.harness.check_requests()


@pytest.mark.parametrize("provider", thinned(WIRES, 4))
async def test_what_a_refusal_names_is_kept_from_then_on(provider: str, tmp_path: Path) -> None:
    with FaultServer(check=at_most(5)) as server:
        figures = Figures(provider, tmp_path, server)

        first = await figures.look(6, (400, 300))
        second = await figures.look(2, (400, 300))
        third = await figures.look(1, (400, 300))

        assert [answer.text for answer in (first, second, third)] == ["Seen."] * 3
        assert [len(side) for side in figures.sides] == [0, 6, 3, 3, 5, 5, 3]
        (words,) = told(first)
        assert "takes at most 5 pictures in a request. 3 pictures were left out of it" in words
        assert (told(second), told(third)) == ([], [])
        assert "[picture left out: 0.png, 400 x 300 pixels." in json.dumps(server.bodies[2])
        assert await figures.words() == {"whole", "pictures left out"}
        assert await figures.media_states() == {"whole", "out"}
        made = await figures.decisions()
        assert await figures.decided_again() == len(made)
        assert [len(event.decision.numbers["pictures"]) for event in made] == [1] * 6
        if provider in ("openai", "anthropic"):
            await figures.harness.check_requests()


REFUSALS: dict[str, Check] = {
    "count": at_most(4, "Too many images in request: {sent} images provided, but the model supports a maximum of {most}."),
    "count without a number": at_most(4, "Too many images."),
    "sides": lambda _path, body: (
        ["image dimensions must not exceed 1024 pixels"] if max(sides(body), default=0) > 1_024 else []
    ),
    "sides without a number": lambda _path, body: (
        ["Image resolution too large"] if max(sides(body), default=0) > 1_500 else []
    ),
    "pixels": lambda _path, body: (
        ["Image exceeds the maximum allowed total pixels. Current dimensions: 1600x900 = 1440000 pixels. Maximum allowed: 1000000 pixels."]
        if max(sides(body), default=0) > 1_400
        else []
    ),
    "bytes": lambda _path, body: (
        ["image exceeds 4 KB maximum"] if max(map(len, pictures_of(body)), default=0) > 4_000 * 3 // 4 else []
    ),
    "request": lambda _path, body: (
        ["request_too_large: Request exceeds the maximum size"] if sum(map(len, pictures_of(body))) > 15_000 else []
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", thinned(REFUSALS, 5))
async def test_a_refusal_that_names_a_limit_is_mended_once(kind: str, tmp_path: Path) -> None:
    with FaultServer(check=REFUSALS[kind]) as server:
        figures = Figures("openai", tmp_path, server)

        answer = await figures.look(6, STRIP if kind.startswith(("count", "sides")) else PLAIN)

        assert (answer.text, len(told(answer)), len(figures.sides)) == ("Seen.", 1, 3)
        assert "as they are" in told(answer)[0]
        await figures.harness.check_requests()


@pytest.mark.parametrize(
    "words",
    thinned(
        [
            "Could not process image",
            "Image input is not supported by this model",
            "Invalid image: the image data is corrupt",
            "The image was rejected by our content policy: not allowed",
            "messages: at least one message is required",
        ],
        2,
    ),
)
async def test_a_refusal_of_another_kind_is_not_sent_again(words: str, tmp_path: Path) -> None:
    with FaultServer(check=lambda _path, body: [words] if pictures_of(body) else []) as server:
        figures = Figures("openai", tmp_path, server)

        answer = await figures.look(2, (400, 300))

        assert answer.error is not None
        assert words in answer.error.message
        assert (len(figures.sides), told(answer), await figures.decisions()) == (2, [], [])


async def test_a_server_that_always_names_a_limit_is_asked_twice_and_no_more(
    tmp_path: Path,
) -> None:
    def refuse(_path: str, body: Any) -> list[str]:
        return ["Too many images. Max is 3."] if pictures_of(body) else []

    with FaultServer(check=refuse) as server:
        figures = Figures("openai", tmp_path, server)

        answer = await figures.look(6, (400, 300))

        assert answer.error is not None
        assert "Max is 3" in answer.error.message
        assert [len(side) for side in figures.sides] == [0, 6, 2]


@pytest.mark.soak  # with each commit a refusal that names a limit is mended, above; this adds an installation without Pillow
async def test_without_pillow_the_oldest_large_figures_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultServer(check=anthropic) as server:
        figures = Figures("anthropic", tmp_path, server)
        await figures.look(20, STRIP)
        scripted = [figures.reads(1, STRIP) for _ in range(3)]
        monkeypatch.setitem(sys.modules, "PIL", None)

        answers = []
        for answer in scripted:
            server.script(answer, says("Seen."))
            answers.append(await figures.harness.ask("Look."))

        assert [(given_answer.text, told(given_answer)) for given_answer in answers] == [
            ("Seen.", [])
        ] * 3
        assert [len(side) for side in figures.sides[-6:]] == [20, 15, 15, 16, 16, 17]
        await figures.harness.check_requests()


async def test_a_refusal_of_so_many_tools_is_sent_again_with_fewer(tmp_path: Path) -> None:
    def extra() -> str:
        """Do nothing."""
        return ""

    def refuse(_path: str, body: Any) -> list[str]:
        sent = len(body.get("tools", ()))
        words = f"Expected an array with maximum length 30, but got an array with length {sent}"
        return [f"Invalid 'tools': array too long. {words} instead."] if sent > 30 else []

    with FaultServer(check=refuse) as server:
        figures = Figures("openai", tmp_path, server)
        for number in range(40):
            figures.harness.harness.services.agents.registry.add(extra, name=f"extra_{number:02}")
        server.script(says("One."), says("Two."))

        first = await figures.harness.ask("Hello.")
        second = await figures.harness.ask("Hello again.")

        assert [answer.text for answer in (first, second)] == ["One.", "Two."]
        assert len(told(first)) == 1
        assert [len(body["tools"]) for body in server.bodies][1:] == [30, 30]
        assert told(second) == []
        await figures.harness.check_requests()
