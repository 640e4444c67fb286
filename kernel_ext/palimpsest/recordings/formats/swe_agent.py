"""Read SWE-agent's ``.traj`` files, whose steps contain the messages exactly as sent.

A step has ``query``, the request before its answer, or, in older files, ``messages``, which were prepared after the
answer: the request of the next step. ``history`` has the outputs before anything was shortened.
"""

from collections.abc import Iterator
from pathlib import Path

from palimpsest.recordings.message_formats.chat_messages import full_model_name, text_of
from palimpsest.recordings.message_formats.chat_stream import ChatStream
from palimpsest.recordings.message_formats.request_comparison import RequestComparison
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.recordings.reading.recorded import GapRead, Recorded, SessionBegin, TotalsRead
from palimpsest.recordings.reading.sources import (
    discard_report,
    json_field,
    json_items,
    json_objects,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.relative_paths import recorded_name
from palimpsest.transcript.timeline import NO_TOTALS, RecordedTotals

_TYPED_BY_USER_SENTENCE = "No model was asked: a person typed the actions."
NO_MODEL_SENTENCES = {
    "replay": "No model was asked: SWE-agent repeated recorded actions, and does not say who wrote them.",
    "human": _TYPED_BY_USER_SENTENCE,
    "human_thought": _TYPED_BY_USER_SENTENCE,
    "instant_empty_submit": "No model was asked: SWE-agent submitted nothing at once, to be tested.",
}
"""Model names that SWE-agent records where no model answers (``sweagent/agent/models.py``), with their meaning."""
MAX_HEAD_BYTES, MAX_FIRST_FIELD_BYTES = 4_096, 200
"""Maximum bytes at a file's beginning in which a step's fields are searched, and the document's first field."""
NO_USAGE_SENTENCE = "SWE-agent records no tokens, no cost and no time of single requests."
NO_TOOLS_SENTENCE = (
    "The tools that were offered are not in the recording, only the names of their bundles."
)
NO_REQUESTS_SENTENCE = "The requests were not recorded, so what was left out of them is not known."
PROCESSORS_KEEPING_TEXT = frozenset(
    {"default", "cache_control", "tag_tool_call_observations", "image_parsing"}
)
"""History processors that do not change the text of outputs."""


class SweAgentImporter:
    """Reads a ``.traj`` file: one attempt of an agent at one task."""

    name = "swe-agent"
    title = "SWE-agent"
    tried_on = "real sessions"

    def recognises(self, head: Head) -> bool:
        """Return whether a file begins with a ``.traj`` file's first fields."""
        start = head.start.lstrip()[:MAX_HEAD_BYTES]
        if not start.startswith(b"{") or b'"trajectory_format"' in start:
            return False
        has_steps = (
            b'"trajectory"' in start[:MAX_FIRST_FIELD_BYTES]
            or b'"history"' in start[:MAX_FIRST_FIELD_BYTES]
        )
        has_ending = head.path.suffix == ".traj"
        return has_steps and (has_ending or (b'"action"' in start and b'"observation"' in start))

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session of a ``.traj`` file; the file is read twice, one step at a time."""
        history: list[JsonValue] = []
        for message in map(JsonValue, json_items(path, "history.item", report, share_limit=True)):
            if isinstance(message.get("role"), str):
                history.append(message)
            else:
                report("history", "A message in it has no role and was left out.")
        agent = json_field(path, "replay_config").decoded().at("agent")
        model_name = agent.text("model", "name")
        _, first_step = next(
            json_objects(path, "trajectory.item", discard_report, "step"), ("", NO_VALUE)
        )
        system = _system_prompt(history) or _system_prompt(_recorded_messages(first_step))
        if not history and not first_step:
            raise UserError(f"{str(path)!r} holds no step of SWE-agent.")
        yield SessionBegin(
            id=agent.text("name") or path.name.split(".")[0],
            format=self.name,
            title=agent.text("name")
            or json_field(path, "environment").text()
            or recorded_name(path.stem),
            model="" if model_name in NO_MODEL_SENTENCES else full_model_name(model_name),
            system=system,
        )
        yield from (GapRead(NO_USAGE_SENTENCE), GapRead(NO_TOOLS_SENTENCE))
        yield from totals_of(json_field(path, "info.model_stats"))
        if model_name in NO_MODEL_SENTENCES:
            yield GapRead(NO_MODEL_SENTENCES[model_name])
        stream = ChatStream(text_commands=True)
        requests = RequestComparison(stream, _without_system(history), _shortening_processor(agent))
        yield from _request_values(path, report, requests, has_history=bool(history))


def totals_of(stats: JsonValue) -> Iterator[TotalsRead]:
    """Yield the totals in ``model_stats``; a cost of 0 is unknown."""
    totals = RecordedTotals(
        cost=stats.cost("instance_cost"),
        # Where the provider sent no usage, the counters stay at 0.
        input=stats.token_field("tokens_sent") or None,
        output=stats.token_field("tokens_received") or None,
        requests=stats.token_field("api_calls") or None,
    )
    if totals != NO_TOTALS:
        yield TotalsRead(totals)


def _request_values(
    path: Path, report: Report, requests: RequestComparison, *, has_history: bool
) -> Iterator[Recorded]:
    """Yield the additions and changes of each recorded request, then the messages after the last one."""
    recorded_count, unrecorded_count, last_step = 0, 0, NO_VALUE
    for _, step in json_objects(path, "trajectory.item", report, "step"):
        last_step = step
        if messages := _recorded_messages(step):
            answer_count = 0 if "query" in step and not recorded_count else 1
            yield from requests.read_request(_without_system(messages), answer_count)
            recorded_count, unrecorded_count = recorded_count + 1, 0
        else:
            unrecorded_count += 1
    if not recorded_count:
        yield GapRead(NO_REQUESTS_SENTENCE)
    if has_history:
        yield from requests.read_rest_of_history(unrecorded_count if recorded_count else 0)
    elif recorded_count and "query" in last_step:
        yield from requests.read_end(_added_messages(last_step))


def _added_messages(step: JsonValue) -> list[JsonValue]:
    """Return the messages that the last step added, for a file without a history."""
    answer = JsonValue({"role": "assistant", "content": step.text("response")})
    output = JsonValue({"role": "user", "content": step.text("observation")})
    return [answer, output] if step.get("action") else [answer]


def _recorded_messages(step: JsonValue) -> list[JsonValue]:
    """Return the messages recorded with a step."""
    messages = step.either("query", "messages").objects()
    return [message for message in messages if isinstance(message.get("role"), str)]


def _system_prompt(messages: list[JsonValue]) -> str | None:
    texts = [text_of(m.get("content")) for m in messages if m.get("role") == "system"]
    return "\n\n".join(texts) if texts else None


def _without_system(messages: list[JsonValue]) -> list[JsonValue]:
    return [message for message in messages if message.get("role") != "system"]


def _shortening_processor(agent: JsonValue) -> str:
    """Return the history processor that shortened outputs; empty where none or several change texts."""
    processors = [processor.text("type") for processor in agent.objects("history_processors")]
    shortening_names = [name for name in processors if name and name not in PROCESSORS_KEEPING_TEXT]
    return shortening_names[0] if len(shortening_names) == 1 else ""
