"""Title a session: first with the beginning of its prompt, then with a title that a model writes.

Border: never blocks or fails a turn. A title that the user chose is kept, also if it was chosen
while the model's request ran. The default titles are those of OpenCode (spec/session-engine.md 1.5), so that a
session imported from there is known to have no title yet.
"""

import asyncio
import dataclasses
import datetime
import logging
import re
from collections.abc import Callable, Mapping

from palimpsest.context.request_kinds.title_request import real_prompts
from palimpsest.loop.model_requests.answer_stream import usage_cost, with_usage
from palimpsest.loop.model_requests.side_request import SideAnswer, run_title
from palimpsest.loop.run_inputs.run_context import RequestServices, StepSetup
from palimpsest.model import providers
from palimpsest.processor.session_log import SessionLog
from palimpsest.session.definitions.agents import Agent
from palimpsest.session.interfaces.services import Services
from palimpsest.transcript.errors import PalimpsestError
from palimpsest.transcript.values import ModelInfo

TITLE_LENGTH = 60
"""Maximum characters of a title made from the first prompt; more does not fit beside a date in the list."""
MOST_CHARS = 100
"""Maximum characters of a title that a model wrote; a longer one is truncated and ends in dots."""
NEW = "New session - "
CHILD = "Child session - "

DEFAULT = re.compile(rf"(?:{NEW}|{CHILD})\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z")
FORK = re.compile(r"(?P<title>.+) \(fork #(?P<number>\d+)\)", re.DOTALL)
THINKING = re.compile(r"<think>.*?</think>\s*", re.DOTALL)


def small_model(
    named: str | None,
    agents: Mapping[str, Agent],
    info_of: Callable[[str], ModelInfo],
    info: ModelInfo,
) -> ModelInfo:
    """Return the model that writes titles and turn summaries.

    It is the title agent's, or the one configured for such requests, else a small one of the same provider,
    else the one that answers. No model is guessed for a custom server, whose models are unknown.
    """
    agent = agents.get("title")
    wanted = (agent.model if agent is not None else None) or named
    if wanted is None and info.api_base is None:
        wanted = providers.small_model(info.ref)
    return info_of(wanted) if wanted is not None else info


LOGGER = logging.getLogger(__name__)


class TitleWriter:
    """Writes the title of one session.

    Responsibilities: replace a default title by the beginning of the prompt; request a better one
    beside the first step, at most once.
    """

    def __init__(self, services: Services, log: SessionLog) -> None:
        self._services = services
        self._log = log
        self._stand_in: str | None = None
        """The provisional title, until the model's title is requested."""
        self._task: asyncio.Task[None] | None = None

    def prompted(self, text: str) -> None:
        """Set the provisional title from a prompt that is about to be sent."""
        session = self._log.state.session
        words = first_words(text)
        if session is None or not words or not is_default(session.title):
            return
        self._log.change(title=words)
        if self._services.models.titles and session.parent_id is None:
            self._stand_in = words

    def end(self) -> None:
        """Cancel the request."""
        if self._task is not None:
            self._task.cancel()

    async def wait(self) -> None:
        """Wait until no title is being requested."""
        if self._task is not None:
            await asyncio.wait({self._task})

    def begin(self, requests: RequestServices, setup: StepSetup) -> None:
        """Request the title beside the first step."""
        stand_in, self._stand_in = self._stand_in, None
        if stand_in is None or len(real_prompts(self._log.state.messages())) != 1:
            return
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._name(requests, setup, stand_in))

    async def _name(self, requests: RequestServices, setup: StepSetup, stand_in: str) -> None:
        try:
            if await self._log.kept(requests.abort.is_set) or requests.abort.is_set():
                return
            info = self._services.models.small_model(setup.info)
            model = setup.model if info is setup.info else self._services.models.model(info)
            agent = self._services.agents.known.get("title")
            hold = requests.hold()
            if hold is not None:
                await hold.beside()
            titled = await run_title(
                requests,
                dataclasses.replace(setup, model=model, info=info),
                agent.prompt if agent is not None else None,
            )
        except (PalimpsestError, TimeoutError) as problem:
            LOGGER.debug("No title for session %s: %s", self._log.session_id, problem)
        except Exception:
            LOGGER.exception("No title for session %s", self._log.session_id)
        else:
            self._settle(titled, stand_in)

    def _settle(self, titled: SideAnswer, stand_in: str) -> None:
        """Set the title, unless the user has changed it, and add the usage of its request."""
        session = self._log.state.session
        if session is None:
            return
        changed = with_usage(session, usage_cost(titled.usage, titled.cost))
        title = title_from(titled.text)
        if title and session.title == stand_in:
            changed["title"] = title
        self._log.change(**changed)


def default_title(now_ms: int, *, child: bool = False) -> str:
    """Return the title of a session without a title yet; the time is in milliseconds since 1970."""
    moment = datetime.datetime.fromtimestamp(now_ms / 1000, tz=datetime.UTC)
    written = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f"{CHILD if child else NEW}{written}"


def is_default(title: str) -> bool:
    """Return whether a title is a default one."""
    return DEFAULT.fullmatch(title) is not None


def fork_title(title: str) -> str:
    """Return the title of a fork: the parent's with a number, one higher when the parent is a fork."""
    found = FORK.fullmatch(title)
    if found is None:
        return f"{title} (fork #1)"
    return f"{found['title']} (fork #{int(found['number']) + 1})"


def first_words(text: str) -> str:
    """Return the first line of a prompt, truncated: the title until there is a better one."""
    line = _first_line(text)
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"


def title_from(answer: str) -> str:
    """Return the title in a model's answer; empty when there is none."""
    line = _first_line(THINKING.sub("", answer))
    return line if len(line) <= MOST_CHARS else line[: MOST_CHARS - 3] + "..."


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
