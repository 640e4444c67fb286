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

    by_agent: defaultdict[str, list[JsonValue]] = field(default_factory=lambda: defaultdict(list))
    """Requests and compactions by the span of the subagent; those of the sample's own agent have an empty name."""
    runs: dict[str, JsonValue] = field(default_factory=dict)
    """The event of each tool's run, by its call."""
    scorer_requests: int = 0
    """Number of requests of scorers."""
    _types: dict[str, str] = field(default_factory=dict)
    """The type of each span."""
    _parents: dict[str, str] = field(default_factory=dict)
    """The span around each span."""
    _tool_spans: dict[str, str] = field(default_factory=dict)
    """The tool's span in which each subagent ran."""
    _calls: dict[str, str] = field(default_factory=dict)
    """The call that each tool's span runs."""
    _newest_tool_span: str = ""
    _scorer_depth: int = 0

    def add(self, event: JsonValue) -> None:
        """Add the next event."""
        kind, span = event.text("event"), event.id("span_id")
        if kind == "span_begin":
            name = event.id("id")
            self._types.setdefault(name, event.text("type"))
            self._parents.setdefault(name, event.id("parent_id"))
            if event.get("type") == "tool":
                self._newest_tool_span = name
        elif kind == "step" and event.get("type") == "scorer":  # logs from before there were spans
            self._scorer_depth += 1 if event.get("action") == "begin" else -1
        elif kind == "tool":
            call = event.id("id")
            self.runs[call] = event
            # The tool's event follows the beginning of the tool's span, but is recorded in the span around it.
            self._calls.setdefault(self._newest_tool_span, call)
        elif kind == "model" and (self._scorer_depth > 0 or self._is_scorer(span)):
            self.scorer_requests += 1
        elif kind in {"model", "compaction"}:
            agent, tool_span = self._subagent(span)
            self.by_agent[agent].append(event)
            self._tool_spans[agent] = tool_span

    def started_by(self, agent: str) -> tuple[str, str]:
        """Return the agent that started a subagent, and the call that did so; empty where not known."""
        tool_span = self._tool_spans[agent]
        parent, _ = self._subagent(self._parents.get(tool_span, ""))
        return parent, self._calls.get(tool_span, "")

    def _enclosing(self, span: str) -> Iterator[str]:
        """Yield a span and the spans around it; stop where a parent repeats."""
        seen = set[str]()
        while span in self._types and span not in seen:
            seen.add(span)
            yield span
            span = self._parents[span]

    def _is_scorer(self, span: str) -> bool:
        return any(self._types[outer] in {"scorers", "scorer"} for outer in self._enclosing(span))

    def _subagent(self, span: str) -> tuple[str, str]:
        """Return the innermost agent that runs inside a tool's span, and the tool's span; both empty where there is none."""
        agent = ""
        for outer in self._enclosing(span):
            if self._types[outer] == "agent":
                agent = agent or outer
            elif self._types[outer] == "tool" and agent:
                return agent, outer
        return "", ""
