"""Read SWE-agent's ``.traj`` files, whose steps hold the very messages that were sent.

A step has either ``query``, the request before its answer, or, in older files, ``messages``, the messages
as they were prepared after it: the request of the next step. ``history`` has the outputs as they were
before anything was shortened.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from palimpsest.review.importers.chat_messages import full_model_name, text_of
from palimpsest.review.importers.chat_stream import ChatStream
from palimpsest.review.importers.request_comparison import RequestComparison
from palimpsest.review.importing.importer import Head, Report
from palimpsest.review.importing.json_fields import (
    cost_field,
    decoded,
    inner,
    mapping,
    mappings,
    text,
    token_field,
)
from palimpsest.review.importing.recorded import (
    GapRead,
    Json,
    Recorded,
    SessionBegin,
    TotalsRead,
)
from palimpsest.review.importing.sources import json_field, json_items, json_objects, unreported
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.relative_paths import recorded_name
from palimpsest.transcript.timeline import NO_TOTALS, RecordedTotals

_TYPED = "No model was asked: a person typed the actions."
NO_MODELS = {
    "replay": "No model was asked: SWE-agent repeated recorded actions, and does not say who wrote them.",
    "human": _TYPED,
    "human_thought": _TYPED,
    "instant_empty_submit": "No model was asked: SWE-agent submitted nothing at once, to be tested.",
}
"""What SWE-agent names as its model where none answers (``sweagent/agent/models.py``), and what that means."""
NO_USAGE = "SWE-agent records no tokens, no cost and no time of single requests."
NO_TOOLS = "The tools that were offered are not in the recording, only the names of their bundles."
NO_REQUESTS = "The requests were not recorded, so what was left out of them is not known."
SAME_TEXT = frozenset({"default", "cache_control", "tag_tool_call_observations", "image_parsing"})
"""History processors that change no output's text."""


class SweAgentImporter:
    """Reads a ``.traj`` file: one attempt of an agent at one task."""

    name = "swe-agent"
    title = "SWE-agent"
    tried_on = "real sessions"

    def recognises(self, head: Head) -> bool:
        """Return whether a file begins with a ``.traj`` file's first fields."""
        start = head.start.lstrip()[:4_096]
        if not start.startswith(b"{") or b'"trajectory_format"' in start:
            return False
        steps = b'"trajectory"' in start[:200] or b'"history"' in start[:200]
        named = head.path.suffix == ".traj"
        return steps and (named or (b'"action"' in start and b'"observation"' in start))

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session of a ``.traj`` file; the file is read twice, one step at a time."""
        history = [
            one
            for one in json_items(path, "history.item", report, all_held=True)
            if _is_message(one, report)
        ]
        agent = _agent(json_field(path, "replay_config"))
        name = text(mapping(agent.get("model")).get("name"))
        _, first = next(json_objects(path, "trajectory.item", unreported, "step"), ("", {}))
        system = _system(history) or _system(_request(first) or [])
        if not history and not first:
            raise UserError(f"{str(path)!r} holds no step of SWE-agent.")
        yield SessionBegin(
            id=text(agent.get("name")) or path.name.split(".")[0],
            format=self.name,
            title=text(agent.get("name"))
            or text(json_field(path, "environment"))
            or recorded_name(path.stem),
            model="" if name in NO_MODELS else full_model_name(name),
            system=system,
        )
        yield from (GapRead(NO_USAGE), GapRead(NO_TOOLS))
        yield from totals_of(mapping(json_field(path, "info.model_stats")))
        if name in NO_MODELS:
            yield GapRead(NO_MODELS[name])
        stream = ChatStream(text_commands=True)
        requests = RequestComparison(stream, _without_system(history), _rule(agent))
        yield from _requests(path, report, requests, has_history=bool(history))


def totals_of(stats: Json) -> Iterator[TotalsRead]:
    """Yield what ``model_stats`` say of all requests together; a cost of 0 is one that is not known."""
    sent, received = token_field(stats, "tokens_sent"), token_field(stats, "tokens_received")
    told = RecordedTotals(
        cost=cost_field(stats, "instance_cost"),
        # Where the provider's usage did not come, the counters stay at 0.
        input=sent or None,
        output=received or None,
        requests=token_field(stats, "api_calls") or None,
    )
    if told != NO_TOTALS:
        yield TotalsRead(told)


def _requests(
    path: Path, report: Report, requests: RequestComparison, *, has_history: bool
) -> Iterator[Recorded]:
    """Yield what each recorded request adds and changes, then what follows the last one."""
    recorded, unasked, last = 0, 0, dict[str, Any]()
    for _, step in json_objects(path, "trajectory.item", report, "step"):
        last = step
        messages = _request(step)
        if messages is None:
            unasked += 1
            continue
        is_before = "query" in step
        answers = 0 if is_before and not recorded else 1
        yield from requests.request(_without_system(messages), answers)
        recorded, unasked = recorded + 1, 0
    if not recorded:
        yield GapRead(NO_REQUESTS)
    if has_history:
        yield from requests.rest_of_history(unasked if recorded else 0)
    elif recorded and "query" in last:
        yield from requests.end(_end_of(last))


def _end_of(step: Json) -> list[Json]:
    """Return the messages that the last step added, for a file without a history."""
    answer = {"role": "assistant", "content": text(step.get("response"))}
    output = {"role": "user", "content": text(step.get("observation"))}
    return [answer, output] if step.get("action") else [answer]


def _request(step: Json) -> list[Json] | None:
    """Return the messages recorded with a step; None where there are none."""
    recorded = step.get("query", step.get("messages"))
    found = [one for one in mappings(recorded) if isinstance(one.get("role"), str)]
    return found or None


def _is_message(value: Any, report: Report) -> bool:
    if isinstance(value, dict) and isinstance(value.get("role"), str):
        return True
    report("history", "A message in it has no role and was left out.")
    return False


def _system(messages: list[Json]) -> str | None:
    found = [text_of(one.get("content")) for one in messages if one.get("role") == "system"]
    return "\n\n".join(found) if found else None


def _without_system(messages: list[Json]) -> list[Json]:
    return [one for one in messages if one.get("role") != "system"]


def _agent(config: Any) -> Json:
    """Return the agent's part of the recorded configuration, which may be JSON in a string."""
    return mapping(inner(decoded(config), "agent"))


def _rule(agent: Json) -> str:
    """Return the history processor that shortened outputs; empty where several or none could have."""
    named = [text(one.get("type")) for one in mappings(agent.get("history_processors"))]
    shortening = [one for one in named if one and one not in SAME_TEXT]
    return shortening[0] if len(shortening) == 1 else ""
