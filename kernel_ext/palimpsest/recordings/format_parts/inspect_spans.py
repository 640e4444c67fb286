"""Sort the events of an Inspect sample by agent, from the spans around them.

The spans of scorers contain requests that the agent did not make. An agent's span inside a tool's span is a subagent.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from palimpsest.recordings.reading.json_fields import JsonValue


@dataclass(slots=True)
class SampleEvents:
    """The requests and compactions of a sample, by their agent, and the runs of tools."""

    events_by_agent: defaultdict[str, list[JsonValue]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """Requests and compactions by the id of the subagent's span, which is empty for the sample's own agent."""
    run_by_call: dict[str, JsonValue] = field(default_factory=dict)
    """The event of each tool's run, by the id of its call."""
    scorer_request_count: int = 0
    """Number of requests that scorers made."""
    _type_by_span: dict[str, str] = field(default_factory=dict)
    """The type of each span, by its id."""
    _parent_by_span: dict[str, str] = field(default_factory=dict)
    """The id of the span around each span."""
    _tool_span_by_agent: dict[str, str] = field(default_factory=dict)
    """The id of the tool's span in which each subagent ran."""
    _call_by_tool_span: dict[str, str] = field(default_factory=dict)
    """The id of the call that each tool's span runs."""
    _newest_tool_span: str = ""
    _scorer_depth: int = 0

    def add(self, event: JsonValue) -> None:
        """Add the next event."""
        event_type, span_id = event.text("event"), event.id("span_id")
        if event_type == "span_begin":
            begun_id = event.id("id")
            self._type_by_span.setdefault(begun_id, event.text("type"))
            self._parent_by_span.setdefault(begun_id, event.id("parent_id"))
            if event.get("type") == "tool":
                self._newest_tool_span = begun_id
        elif (
            event_type == "step" and event.get("type") == "scorer"
        ):  # logs from before there were spans
            self._scorer_depth += 1 if event.get("action") == "begin" else -1
        elif event_type == "tool":
            call_id = event.id("id")
            self.run_by_call[call_id] = event
            # The tool's event follows the beginning of the tool's span, but is recorded in the span around it.
            self._call_by_tool_span.setdefault(self._newest_tool_span, call_id)
        elif event_type == "model" and (self._scorer_depth > 0 or self._is_of_scorer(span_id)):
            self.scorer_request_count += 1
        elif event_type in {"model", "compaction"}:
            agent_id, tool_span = self._subagent_and_tool_span(span_id)
            self.events_by_agent[agent_id].append(event)
            self._tool_span_by_agent[agent_id] = tool_span

    def started_by(self, agent_id: str) -> tuple[str, str]:
        """Return the ids of the agent that started a subagent, and of the call that did; empty where not known."""
        tool_span = self._tool_span_by_agent[agent_id]
        parent_id, _ = self._subagent_and_tool_span(self._parent_by_span.get(tool_span, ""))
        return parent_id, self._call_by_tool_span.get(tool_span, "")

    def _enclosing_ids(self, span_id: str) -> Iterator[str]:
        """Yield the ids of a span and of the spans around it; stop where a parent repeats."""
        seen_ids = set[str]()
        while span_id in self._type_by_span and span_id not in seen_ids:
            seen_ids.add(span_id)
            yield span_id
            span_id = self._parent_by_span[span_id]

    def _is_of_scorer(self, span_id: str) -> bool:
        return any(
            self._type_by_span[outer_id] in {"scorers", "scorer"}
            for outer_id in self._enclosing_ids(span_id)
        )

    def _subagent_and_tool_span(self, span_id: str) -> tuple[str, str]:
        """Return the ids of the innermost agent in a tool's span, and of that span; both empty where there is none."""
        agent_id = ""
        for outer_id in self._enclosing_ids(span_id):
            if self._type_by_span[outer_id] == "agent":
                agent_id = agent_id or outer_id
            elif self._type_by_span[outer_id] == "tool" and agent_id:
                return agent_id, outer_id
        return "", ""
