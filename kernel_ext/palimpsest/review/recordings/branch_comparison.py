"""Branches of one session side by side from the point where the first two part: answers, cost, context.

Border: reads logs; nothing is replayed. The branches are a tree: the session that all were forked from, its forks, and
theirs. A fork shares its parent's log, so that all have the same records up to the first place where one was forked,
and what each did after it is compared.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from palimpsest.render.content.phrases import count, money
from palimpsest.render.reports.table import ESTIMATED, Cell, ReportTable, ShownAsTable, TableColumn
from palimpsest.render.safety.escaping import one_line
from palimpsest.review.recordings.branch import Branch, BranchFigure, BranchTable
from palimpsest.review.replay.ruler import UNITS, money_words
from palimpsest.store.interface import SessionSummary
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import StepRequest
from palimpsest.transcript.context_values.policies import PolicyChoice
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.messages import AssistantMessage, Messages
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    MessageUpdated,
    Record,
    SessionCreated,
    StepRequested,
)
from palimpsest.transcript.session_record.sessions import ForkedFrom
from palimpsest.transcript.timeline import STANDARD
from palimpsest.transcript.values import Usage

SCHEMA_VERSION = 1
MOST_BRANCHES = 6
"""Branches that are shown side by side: the first, those on the way to the one that is asked about, and the newest;
more columns fit no page."""
ANSWER_CHARS = 600
TEXT_CHARS = 8_000
"""Of an answer that is shown with its lines."""
HEAD_CHARS = 32
PLAIN = (
    *(
        "session",
        "title",
        "parent",
        "forked_after",
        "models",
        "policy",
        "requests",
        "usage",
        "cost",
    ),
    *("units", "largest", "last", "decisions", "answer", "sizes", "estimates", "window"),
)
"""What JSON has of a branch."""
NONE = (
    "This session has no branch. session.fork(request=3), or %agent fork at request 3, begins one."
)


@dataclass(frozen=True)
class BranchComparison(BranchTable, ShownAsTable):
    """Branches side by side, shown as a table."""

    notes: tuple[str, ...] = ()

    @cached_property
    def table(self) -> ReportTable:
        """One row a figure, one column a branch."""
        rows: list[tuple[Cell, ...]] = [
            (one.name, *(value or None for value in one.values)) for one in self.figures
        ]
        rows.append(("newest answer", *(one.answer or None for one in self.branches)))
        heads = [one_line(one.title or one.session, HEAD_CHARS) for one in self.branches]
        columns = (
            TableColumn("figure", "figure"),
            *(TableColumn(f"branch_{number}", head) for number, head in enumerate(heads, start=1)),
        )
        title = f"Branches that part after request {self.parted_at}"
        return ReportTable(title, columns, tuple(rows), self._notes())

    def _notes(self) -> tuple[str, ...]:
        found = [_estimates(one) for one in self.branches if one.estimates]
        if any(one.units is not None for one in self.branches):
            found.append(f"{UNITS.sentence} Such a cost is an estimate, marked {ESTIMATED}.")
        if self.left_out:
            found.append(f"{self.left_out} older branches are not shown.")
        return (*found, *self.notes)

    def json(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {
            "schema": SCHEMA_VERSION,
            "parted_at": self.parted_at,
            "branches": [
                {name: getattr(one, name) for name in PLAIN}
                | {
                    "parent": one.parent or None,
                    "models": list(one.models),
                    "usage": one.usage.model_dump(),
                    "sizes": list(one.sizes),
                }
                for one in self.branches
            ],
        }


def compare_branches(
    sessions: Iterable[SessionSummary],
    read: Callable[[str], Iterable[Record]],
    session_id: str,
) -> BranchComparison:
    """Return all branches of a session's tree side by side from where the first two part, each after its parent.

    ``sessions`` are those of the project, and ``read`` returns the records of one, also of one that was deleted while
    a fork needs it. Raises NotFound for an unknown session, and UserError for one that has no branch.
    """
    known = {one.id: one for one in sessions}
    tree = _BranchTree(known, _origins(known.values(), read), session_id)
    if len(tree.branches) == 1:
        raise UserError(NONE)
    seq = tree.first_parting()
    titles = {one.id: one.title for one in tree.branches}
    found: list[Branch] = []
    parted_at = 0
    for one in tree.shown():
        parent, at = tree.forked.get(one.id, ("", 0))
        made, parted_at = _branch(read(one.id), one.id, seq, at)
        found.append(replace(made, parent=parent, parent_title=titles.get(parent, "")))
    left_out = len(tree.branches) - len(found)
    return BranchComparison(parted_at, tuple(found), left_out, tuple(_in_words(found)))


_Origins = dict[str, ForkedFrom | None]
"""Where each session was forked from."""


def _origins(
    sessions: Iterable[SessionSummary], read: Callable[[str], Iterable[Record]]
) -> _Origins:
    """Return the origins of sessions, and of the deleted ones that stand between them."""
    found = {one.id: one.forked_from for one in sessions}
    above = [place for place in found.values() if place is not None]
    while above:
        name = above.pop().session_id
        if name not in found:
            found[name] = place = _origin(name, read)
            above += [place] if place is not None else []
    return found


def _origin(name: str, read: Callable[[str], Iterable[Record]]) -> ForkedFrom | None:
    """Return where a session that is not listed was forked from, by its log; None where nothing of it is left."""
    try:
        created = [one.event.session for one in read(name) if isinstance(one.event, SessionCreated)]
    except NotFound:
        return None
    return created[-1].forked_from if created else None


class _BranchTree:
    """A session, what it was forked from, up to the first, and all forks of these; without deleted ones."""

    def __init__(
        self, sessions: dict[str, SessionSummary], origins: _Origins, session_id: str
    ) -> None:
        if session_id not in sessions:
            raise NotFound(f"There is no session {session_id!r} in this project.")
        self._origins = origins
        self._session_id = session_id
        root = self._way_up(session_id)[-1]
        self.branches = [one for one in sessions.values() if root in self._way_up(one.id)]
        kept = {one.id for one in self.branches}
        self.forked = {
            one.id: found for one in self.branches if (found := self._place(one.id, kept))
        }
        """By branch: the nearest one above it that is not deleted, and the last record that both have."""

    def first_parting(self) -> int:
        """Return the last record that all branches have."""
        tops = [one.id for one in self.branches if one.id not in self.forked]
        # Where the first of all was deleted, several may remain of which none was forked from another.
        parted = [min(self._places(one)) for one in tops] if len(tops) > 1 else []
        return min((*parted, *(at for _, at in self.forked.values())))

    def shown(self) -> list[SessionSummary]:
        """Return the branches that are shown, each after the one that it was forked from, older ones first."""
        needed = {*self._way_up(self._session_id)}
        first = next((one.id for one in self.branches if one.id not in self.forked), "")
        others = sorted(
            self.branches, key=lambda one: (one.id != first, one.id not in needed, -one.created)
        )
        chosen = {one.id for one in others[:MOST_BRANCHES]}
        return [one for one in self._in_order("") if one.id in chosen]

    def _in_order(self, above: str) -> Iterator[SessionSummary]:
        """Yield the branches below one, the first ones for an empty id, each followed by its own."""
        below = [one for one in self.branches if self.forked.get(one.id, ("", 0))[0] == above]
        for one in sorted(below, key=lambda one: one.created):
            yield one
            yield from self._in_order(one.id)

    def _way_up(self, name: str) -> list[str]:
        """Return a session and all that it comes from, the first of all last."""
        way = [name]
        while (origin := self._origins.get(way[-1])) is not None:
            if origin.session_id in way:
                break
            way.append(origin.session_id)
        return way

    def _place(self, name: str, kept: set[str]) -> tuple[str, int] | None:
        """Return the nearest branch above that is shown, and the last record that both have."""
        way = self._way_up(name)
        above = next((at for at, one in enumerate(way) if at and one in kept), None)
        return None if above is None else (way[above], min(self._places(name)[:above]))

    def _places(self, name: str) -> list[int]:
        """Return the last record that a session has of each one that it comes from, the nearest first."""
        way = self._way_up(name)
        return [origin.seq for one in way[:-1] if (origin := self._origins.get(one))]


def _branch(records: Iterable[Record], name: str, seq: int, forked_at: int) -> tuple[Branch, int]:
    """Return what a session did after a record, and how many requests came before it.

    It was forked from its parent after the record ``forked_at``.
    """
    state = State()
    before: frozenset[str] = frozenset()
    infos: dict[str, AssistantMessage] = {}
    shared = decisions = forked_after = 0
    sent: list[StepRequest] = []
    is_past = False
    for record in records:
        if record.seq > seq and not is_past:
            is_past = True
            before = frozenset(message.id for message in state.messages())
        state.apply(record)
        match record.event:
            case StepRequested(request=request) if request.message_id is not None:
                forked_after += record.seq <= forked_at
                shared += not is_past
                sent += [request] if is_past else []
            case MessageUpdated(info=AssistantMessage() as info) if is_past:
                # One that was reverted since was paid, too.
                infos |= {info.id: info} if info.id not in before else {}
            case DecisionMade():
                decisions += is_past
            case _:
                pass
    own = tuple(message for message in state.messages() if message.id not in before)
    made = _figures(name, state, own if is_past else (), list(infos.values()), sent, decisions)
    return replace(made, forked_after=forked_after), shared


FIGURES: tuple[tuple[str, Callable[[Branch], str]], ...] = (
    ("forked from", lambda one: _forked_from(one)),
    ("model", lambda one: ", ".join(one.models)),
    ("policy", lambda one: one.policy or "configured"),
    ("requests since", lambda one: count(one.requests)),
    ("input tokens", lambda one: count(one.usage.prompt)),
    ("of these from the cache", lambda one: count(one.usage.cache_read)),
    ("output tokens", lambda one: count(one.usage.output + one.usage.reasoning)),
    ("cost", lambda one: _cost_text(one)),
    ("largest request", lambda one: count(one.largest)),
    ("newest request", lambda one: count(one.last)),
    ("context decisions", lambda one: count(one.decisions)),
)


def _in_words(branches: Sequence[Branch]) -> Iterator[BranchFigure]:
    for name, value in FIGURES:
        values = tuple(value(one) for one in branches)
        # Where a branch was forked from is no figure, and one that sent nothing yet has no other model.
        compared = values if name != "model" else filter(None, values)
        differ = name != "forked from" and len({*compared}) > 1
        yield BranchFigure(name, values, differ)


def _forked_from(one: Branch) -> str:
    if not one.parent:
        return ""
    return (
        f"{one_line(one.parent_title or one.parent, HEAD_CHARS)}, after request {one.forked_after}"
    )


def _cost_text(one: Branch) -> str:
    if one.cost is not None:
        return money(one.cost)
    return money_words(one.units, "units", "estimate") if one.units is not None else ""


def _estimates(one: Branch) -> str:
    """Return which of a branch's tokens are estimates, in a sentence."""
    name = one_line(one.title or one.session, HEAD_CHARS)
    if one.estimates == len(one.sizes):
        return f"Tokens of requests of {name} are estimates: no provider reported them."
    which = "One request" if one.estimates == 1 else f"{one.estimates} requests"
    verb = "has" if one.estimates == 1 else "have"
    return (
        f"{which} of {len(one.sizes)} of {name} {verb} estimated tokens; all others were reported."
    )


def _figures(
    name: str,
    state: State,
    own: Messages,
    infos: Sequence[AssistantMessage],
    sent: Sequence[StepRequest],
    decisions: int,
) -> Branch:
    session = state.session
    answers = [one for one in own if isinstance(one.info, AssistantMessage)]
    usage, cost = Usage(), 0.0
    for info in infos:
        usage = usage.plus(info.tokens)
        cost += info.cost or 0.0
    is_priced = all(info.cost is not None for info in infos if info.tokens.prompt)
    known = [info for info in infos if info.tokens.prompt and not info.tokens.estimated]
    reported = {info.id: info.tokens.prompt for info in known}
    sizes = [reported.get(one.message_id or "", one.tokens) for one in sent]
    said = _said(answers)
    output = usage.output + usage.reasoning
    units = UNITS.cost(usage.input, usage.cache_read, usage.cache_write, output, terms=STANDARD)
    choice = session.policy_choice if session is not None else None
    return Branch(
        session=name,
        title=session.title if session is not None else "",
        models=tuple(dict.fromkeys(one.model.ref.id for one in sent)),
        policy=_chosen(choice) if choice is not None else "",
        requests=len(sent),
        usage=usage,
        cost=cost if is_priced else None,
        units=None if is_priced else units,
        decisions=decisions,
        answer=one_line(said, ANSWER_CHARS),
        text=said if len(said) <= TEXT_CHARS else f"{said[: TEXT_CHARS - 1]}…",
        sizes=tuple(sizes),
        window=sent[-1].facts.window if sent else 0,
        estimates=sum((one.message_id or "") not in reported for one in sent),
    )


def _chosen(choice: PolicyChoice) -> str:
    """Return a chosen policy in words: its preset, and the numbers that were changed."""
    changes = "".join(f", {name}={value}" for name, value in choice.changes.items())
    return one_line(f"{choice.base}{changes}", ANSWER_CHARS)


def _said(answers: Messages | list[Any]) -> str:
    """Return the newest answer that says something."""
    for message in reversed(answers):
        said = "\n\n".join(
            part.text for part in message.parts if isinstance(part, TextPart) and not part.ignored
        ).strip()
        if said and not message.info.summary:
            return said
    return ""
