"""Branches of one session side by side from the point where they part: answers, cost, context.

Border: reads logs; nothing is replayed. A fork shares its parent's log, so what comes after the fork's first record
of its own is compared with what the parent did after the same place.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from palimpsest.render.content.phrases import count, money
from palimpsest.render.reports.table import Cell, ReportTable, ShownAsTable, TableColumn
from palimpsest.render.safety.escaping import one_line
from palimpsest.store.interface import SessionSummary
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import StepRequest
from palimpsest.transcript.context_values.policies import PolicyChoice
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import AssistantMessage, Messages
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.session_record.events import DecisionMade, Record, StepRequested
from palimpsest.transcript.values import Usage

SCHEMA_VERSION = 1
MOST_BRANCHES = 6
"""Branches that are shown side by side, the newest; more columns fit no page."""
ANSWER_CHARS = 600
HEAD_CHARS = 32
NONE = (
    "This session has no branch. session.fork(request=3), or %agent fork at request 3, begins one."
)


@dataclass(frozen=True)
class Branch:
    """What one branch did after the point where the branches part."""

    session: str
    title: str
    models: tuple[str, ...]
    policy: str
    """The policy that was chosen for the session; empty for the configured one."""
    requests: int
    usage: Usage
    cost: float | None
    """US dollars; None where a request has no known price."""
    largest: int
    """Tokens of the largest request: reported where the provider did, else estimated."""
    last: int
    """The same of the newest request."""
    decisions: int
    answer: str
    """The text of the newest answer; empty where there is none."""
    largest_is_estimate: bool = False


@dataclass(frozen=True)
class BranchComparison(ShownAsTable):
    """Branches side by side."""

    parted_at: int
    """Requests that all branches share."""
    branches: tuple[Branch, ...]
    left_out: int = 0
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def table(self) -> ReportTable:
        """One row a figure, one column a branch."""
        shown: list[tuple[str, Callable[[Branch], Cell]]] = [
            ("model", lambda one: ", ".join(one.models) or None),
            ("policy", lambda one: one.policy or "configured"),
            ("requests since", lambda one: count(one.requests)),
            ("input tokens", lambda one: count(one.usage.prompt)),
            ("of these from the cache", lambda one: count(one.usage.cache_read)),
            ("output tokens", lambda one: count(one.usage.output + one.usage.reasoning)),
            ("cost", lambda one: money(one.cost) if one.cost is not None else None),
            ("largest request", lambda one: count(one.largest)),
            ("newest request", lambda one: count(one.last)),
            ("context decisions", lambda one: count(one.decisions)),
            ("newest answer", lambda one: one.answer or None),
        ]
        rows = [(name, *(value(one) for one in self.branches)) for name, value in shown]
        heads = [one_line(one.title or one.session, HEAD_CHARS) for one in self.branches]
        columns = (
            TableColumn("figure", "figure"),
            *(TableColumn(f"branch_{number}", head) for number, head in enumerate(heads, start=1)),
        )
        title = f"Branches that part after request {self.parted_at}"
        return ReportTable(title, columns, tuple(rows), self._notes())

    def _notes(self) -> tuple[str, ...]:
        found = [
            f"Tokens of requests of {one_line(one.title or one.session, HEAD_CHARS)} are estimates."
            for one in self.branches
            if one.largest_is_estimate
        ]
        if self.left_out:
            found.append(f"{self.left_out} older branches are not shown.")
        return (*found, *self.notes)

    def json(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {
            "schema": SCHEMA_VERSION,
            "parted_at": self.parted_at,
            "branches": [
                {
                    "session": one.session,
                    "title": one.title,
                    "models": list(one.models),
                    "policy": one.policy,
                    "requests": one.requests,
                    "usage": one.usage.model_dump(),
                    "cost": one.cost,
                    "largest": one.largest,
                    "last": one.last,
                    "decisions": one.decisions,
                    "answer": one.answer,
                }
                for one in self.branches
            ],
        }


def compare_branches(
    sessions: Iterable[SessionSummary],
    read: Callable[[str], Iterable[Record]],
    session_id: str,
) -> BranchComparison:
    """Return a session, what it was forked from, and their forks, side by side from where they part.

    ``sessions`` are those of the project, and ``read`` returns the records of one. Raises UserError for a session
    that has no branch.
    """
    kept = {one.id: one for one in sessions if not one.deleted}
    own = kept.get(session_id)
    origin = own.forked_from if own is not None else None
    root = origin.session_id if origin is not None and origin.session_id in kept else session_id
    forks = [
        (one.id, one.forked_from.seq)
        for one in kept.values()
        if one.forked_from is not None and one.forked_from.session_id in (root, session_id)
    ]
    if not forks:
        raise UserError(NONE)
    seq = min(at for _, at in forks)
    names = list(dict.fromkeys([root, session_id, *(name for name, _ in forks)]))
    shown = [*names[:1], *names[1:][-(MOST_BRANCHES - 1) :]]
    branches = [_branch(read(name), name, seq) for name in shown]
    return BranchComparison(
        branches[0][1], tuple(one for one, _ in branches), len(names) - len(shown)
    )


def _branch(records: Iterable[Record], name: str, seq: int) -> tuple[Branch, int]:
    """Return what a session did after a record, and how many requests came before it."""
    state = State()
    before: frozenset[str] = frozenset()
    shared = decisions = 0
    sent: list[StepRequest] = []
    is_past = False
    for record in records:
        if record.seq > seq and not is_past:
            is_past = True
            before = frozenset(message.id for message in state.messages())
        state.apply(record)
        request = _request(record)
        if request is not None and not is_past:
            shared += 1
        elif request is not None:
            sent.append(request)
        decisions += is_past and isinstance(record.event, DecisionMade)
    own = tuple(message for message in state.messages() if message.id not in before)
    return _figures(name, state, own if is_past else (), sent, decisions), shared


def _request(record: Record) -> StepRequest | None:
    """Return the request that a record is about, if it fills a message."""
    event = record.event
    if isinstance(event, StepRequested) and event.request.message_id is not None:
        return event.request
    return None


def _figures(
    name: str, state: State, own: Messages, sent: Sequence[StepRequest], decisions: int
) -> Branch:
    session = state.session
    answers = [one for one in own if isinstance(one.info, AssistantMessage)]
    infos = [one.info for one in answers if isinstance(one.info, AssistantMessage)]
    usage, cost = Usage(), 0.0
    for info in infos:
        usage = usage.plus(info.tokens)
        cost += info.cost or 0.0
    is_priced = all(info.cost is not None for info in infos if info.tokens.prompt)
    reported = {info.id: info.tokens.prompt for info in infos if info.tokens.prompt}
    sizes = [reported.get(one.message_id or "", one.tokens) for one in sent]
    choice = session.policy_choice if session is not None else None
    return Branch(
        session=name,
        title=session.title if session is not None else "",
        models=tuple(dict.fromkeys(one.model.ref.id for one in sent)),
        policy=_chosen(choice) if choice is not None else "",
        requests=len(sent),
        usage=usage,
        cost=cost if is_priced else None,
        largest=max(sizes, default=0),
        last=sizes[-1] if sizes else 0,
        decisions=decisions,
        answer=_text(answers),
        largest_is_estimate=any((one.message_id or "") not in reported for one in sent),
    )


def _chosen(choice: PolicyChoice) -> str:
    """Return a chosen policy in words: its preset, and the numbers that were changed."""
    changes = "".join(f", {name}={value}" for name, value in choice.changes.items())
    return one_line(f"{choice.base}{changes}", ANSWER_CHARS)


def _text(answers: Messages | list[Any]) -> str:
    """Return the beginning of the newest answer that says something, on one line."""
    for message in reversed(answers):
        said = " ".join(
            part.text for part in message.parts if isinstance(part, TextPart) and not part.ignored
        )
        if said.strip() and not message.info.summary:
            return one_line(said, ANSWER_CHARS)
    return ""
