"""Title a session: first with the beginning of its prompt, then with a title that a model writes.

Border: never blocks or fails a turn. A title that the user chose is kept, also if it was chosen while the model's
request ran. The default titles are those of OpenCode, so that an imported session with one counts as untitled.
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

MAX_PROVISIONAL_CHARS = 60
"""Maximum characters of a title made from the first prompt; more does not fit beside a date in the list."""
MAX_TITLE_CHARS = 100
"""Maximum characters of a title that a model wrote; a longer one is truncated and ends in dots."""
NEW_SESSION_PREFIX = "New session - "
CHILD_SESSION_PREFIX = "Child session - "

DEFAULT_TITLE = re.compile(
    rf"(?:{NEW_SESSION_PREFIX}|{CHILD_SESSION_PREFIX})\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z"
)
FORK_TITLE = re.compile(r"(?P<title>.+) \(fork #(?P<number>\d+)\)", re.DOTALL)
THINKING_BLOCK = re.compile(r"<think>.*?</think>\s*", re.DOTALL)


def small_model(
    configured: str | None,
    agents: Mapping[str, Agent],
    info_of: Callable[[str], ModelInfo],
    info: ModelInfo,
) -> ModelInfo:
    """Return the model that writes titles and turn summaries.

    In this order: the title agent's model, the model configured for such requests, a small model of the same
    provider, the model that answers. For a custom server, whose models are unknown, no small model is chosen.
    """
    agent = agents.get("title")
    model = (agent.model if agent is not None else None) or configured
    if model is None and info.api_base is None:
        model = providers.small_model(info.ref)
    return info_of(model) if model is not None else info


LOGGER = logging.getLogger(__name__)


class TitleWriter:
    """Replaces a session's default title by the beginning of the prompt, then at most once by a requested one."""

    def __init__(self, services: Services, log: SessionLog) -> None:
        self._services = services
        self._log = log
        self._provisional_title: str | None = None
        """The provisional title, until the model's title is requested."""
        self._task: asyncio.Task[None] | None = None

    def set_provisional_title(self, text: str) -> None:
        """Set the provisional title from a prompt that is about to be sent."""
        session = self._log.state.session
        title = first_words(text)
        if session is None or not title or not is_default(session.title):
            return
        self._log.change_session(title=title)
        if self._services.models.titles and session.parent_id is None:
            self._provisional_title = title

    def cancel_request(self) -> None:
        """Cancel the request for a title."""
        if self._task is not None:
            self._task.cancel()

    def begin_request(self, request_services: RequestServices, setup: StepSetup) -> None:
        """Request the title beside the first step."""
        provisional_title, self._provisional_title = self._provisional_title, None
        if provisional_title is None or len(real_prompts(self._log.state.messages())) != 1:
            return
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(
            self._request_title(request_services, setup, provisional_title)
        )

    async def _request_title(
        self, request_services: RequestServices, setup: StepSetup, provisional_title: str
    ) -> None:
        try:
            if (
                await self._log.wait_until_written(request_services.abort.is_set)
                or request_services.abort.is_set()
            ):
                return
            info = self._services.models.small_model(setup.info)
            model = setup.model if info is setup.info else self._services.models.model(info)
            agent = self._services.agents.known_agents.get("title")
            hold = request_services.request_hold()
            if hold is not None:
                await hold.wait_for_next_release()
            title_answer = await run_title(
                request_services,
                dataclasses.replace(setup, model=model, info=info),
                agent.prompt if agent is not None else None,
            )
        except (PalimpsestError, TimeoutError) as problem:
            LOGGER.debug("No title for session %s: %s", self._log.session_id, problem)
        except Exception:
            LOGGER.exception("No title for session %s", self._log.session_id)
        else:
            self._set_title(title_answer, provisional_title)

    def _set_title(self, title_answer: SideAnswer, provisional_title: str) -> None:
        """Set the title, unless the user has changed it, and add the usage of its request."""
        session = self._log.state.session
        if session is None:
            return
        changed_fields = with_usage(session, usage_cost(title_answer.usage, title_answer.cost))
        title = title_from(title_answer.text)
        if title and session.title == provisional_title:
            changed_fields["title"] = title
        self._log.change_session(**changed_fields)


def default_title(now_ms: int, *, child: bool = False) -> str:
    """Return the title of a session without a title yet; the time is in milliseconds since 1970."""
    moment = datetime.datetime.fromtimestamp(now_ms / 1000, tz=datetime.UTC)
    time_text = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f"{CHILD_SESSION_PREFIX if child else NEW_SESSION_PREFIX}{time_text}"


def is_default(title: str) -> bool:
    """Return whether a title is a default one."""
    return DEFAULT_TITLE.fullmatch(title) is not None


def fork_title(title: str) -> str:
    """Return the title of a fork: the parent's with a number, one higher when the parent is a fork."""
    match = FORK_TITLE.fullmatch(title)
    if match is None:
        return f"{title} (fork #1)"
    return f"{match['title']} (fork #{int(match['number']) + 1})"


def first_words(text: str) -> str:
    """Return the first line of a prompt, truncated: the title until there is a better one."""
    line = _first_line(text)
    return (
        line
        if len(line) <= MAX_PROVISIONAL_CHARS
        else line[: MAX_PROVISIONAL_CHARS - 1].rstrip() + "…"
    )


def title_from(answer: str) -> str:
    """Return the title in a model's answer; empty when there is none."""
    line = _first_line(THINKING_BLOCK.sub("", answer))
    return line if len(line) <= MAX_TITLE_CHARS else line[: MAX_TITLE_CHARS - 3] + "..."


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
