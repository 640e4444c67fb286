"""Compare the answers, costs and contexts of a session's branches after the first record that not all of them share.

Border: reads logs; nothing is replayed. The branches are a tree: the first session, its forks, and the forks of these.
A fork shares its parent's log, so all have the same records up to the first fork; the records after it are compared.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from palimpsest.context_policies.prompt_cache.ruler import UNIT_PRICES, amount_with_unit
from palimpsest.render.content.phrases import count, money
from palimpsest.render.reports.table import ESTIMATED, Cell, ReportTable, ShownAsTable, TableColumn
from palimpsest.render.safety.escaping import one_line
from palimpsest.review.recorded_sessions.branch import Branch, BranchFigure, BranchTable
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
MAX_BRANCHES = 6
"""Maximum branches that are shown: the first, those between it and the given branch, and the newest."""
MAX_ANSWER_CHARS = 600
"""Maximum characters of an answer that is shown on one line."""
MAX_TEXT_CHARS = 8_000
"""Maximum characters of an answer that is shown with its line breaks."""
MAX_COLUMN_TITLE_CHARS = 32
"""Maximum characters of a branch's title as the title of a column."""
JSON_FIELDS = (
    *("session", "title", "parent", "forked_after", "models", "policy", "requests", "usage"),
    *("cost", "units", "largest", "last", "decisions", "answer", "sizes", "estimates", "window"),
)
"""The fields of a branch in JSON."""
NO_BRANCH_SENTENCE = (
    "This session has no branch. session.fork(request=3), or %agent fork at request 3, begins one."
)


@dataclass(frozen=True)
class BranchComparison(BranchTable, ShownAsTable):
    """Branches side by side, shown as a table."""

    notes: tuple[str, ...] = ()

    @cached_property
    def table(self) -> ReportTable:
        """The table with a row for each figure and a column for each branch."""
        rows: list[tuple[Cell, ...]] = [
            (figure.name, *(value or None for value in figure.values)) for figure in self.figures
        ]
        rows.append(("newest answer", *(branch.answer or None for branch in self.branches)))
        titles = [
            one_line(branch.title or branch.session, MAX_COLUMN_TITLE_CHARS)
            for branch in self.branches
        ]
        columns = (
            TableColumn("figure", "figure"),
            *(
                TableColumn(f"branch_{number}", title)
                for number, title in enumerate(titles, start=1)
            ),
        )
        title = f"Branches that part after request {self.parted_at}"
        return ReportTable(title, columns, tuple(rows), self._note_sentences())

    def _note_sentences(self) -> tuple[str, ...]:
        notes = [_estimates_text(branch) for branch in self.branches if branch.estimates]
        if any(branch.units is not None for branch in self.branches):
            notes.append(f"{UNIT_PRICES.sentence} Such a cost is an estimate, marked {ESTIMATED}.")
        if self.left_out:
            notes.append(f"{self.left_out} older branches are not shown.")
        return (*notes, *self.notes)

    def json(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {
            "schema": SCHEMA_VERSION,
            "parted_at": self.parted_at,
            "branches": [
                {name: getattr(branch, name) for name in JSON_FIELDS}
                | {
                    "parent": branch.parent or None,
                    "models": list(branch.models),
                    "usage": branch.usage.model_dump(),
                    "sizes": list(branch.sizes),
                }
                for branch in self.branches
            ],
        }


def compare_branches(
    sessions: Iterable[SessionSummary],
    read_records: Callable[[str], Iterable[Record]],
    session_id: str,
) -> BranchComparison:
    """Return the branches of a session's tree side by side, each after its parent, from the point where the first two part.

    ``sessions`` are those of the project, and ``read_records`` returns the records of a session, also of a deleted session that a
    fork needs. Raises NotFound for an unknown session, and UserError for a session without branches.
    """
    summary_by_id = {session.id: session for session in sessions}
    tree = _BranchTree(summary_by_id, _origins(summary_by_id.values(), read_records), session_id)
    if len(tree.branches) == 1:
        raise UserError(NO_BRANCH_SENTENCE)
    last_shared_seq = tree.last_shared_seq()
    title_by_id = {branch.id: branch.title for branch in tree.branches}
    branches: list[Branch] = []
    parted_at = 0
    for branch in tree.shown_branches():
        parent_id, forked_at_seq = tree.fork_points.get(branch.id, ("", 0))
        records = read_records(branch.id)
        branch_values, parted_at = _read_branch(records, branch.id, last_shared_seq, forked_at_seq)
        branches.append(
            replace(branch_values, parent=parent_id, parent_title=title_by_id.get(parent_id, ""))
        )
    left_out_count = len(tree.branches) - len(branches)
    return BranchComparison(
        parted_at, tuple(branches), left_out_count, tuple(_figure_rows(branches))
    )


_Origins = dict[str, ForkedFrom | None]
"""By session id the parent and the record after which the session was forked from it; None for no parent."""


def _origins(
    sessions: Iterable[SessionSummary], read_records: Callable[[str], Iterable[Record]]
) -> _Origins:
    """Return the origins of sessions, and of deleted sessions between them."""
    origins = {session.id: session.forked_from for session in sessions}
    pending = [origin for origin in origins.values() if origin is not None]
    while pending:
        session_id = pending.pop().session_id
        if session_id not in origins:
            origins[session_id] = origin = _origin_of_deleted(session_id, read_records)
            pending += [origin] if origin is not None else []
    return origins


def _origin_of_deleted(
    session_id: str, read_records: Callable[[str], Iterable[Record]]
) -> ForkedFrom | None:
    """Return the origin of a deleted session from its log; None where the log is gone."""
    try:
        created_sessions = [
            record.event.session
            for record in read_records(session_id)
            if isinstance(record.event, SessionCreated)
        ]
    except NotFound:
        return None
    return created_sessions[-1].forked_from if created_sessions else None


class _BranchTree:
    """A session, all its ancestors, and all their forks, without deleted sessions."""

    def __init__(
        self, sessions: dict[str, SessionSummary], origins: _Origins, session_id: str
    ) -> None:
        if session_id not in sessions:
            raise NotFound(f"There is no session {session_id!r} in this project.")
        self._origins = origins
        self._session_id = session_id
        root_id = self._session_and_ancestors(session_id)[-1]
        self.branches = [
            branch
            for branch in sessions.values()
            if root_id in self._session_and_ancestors(branch.id)
        ]
        branch_ids = {branch.id for branch in self.branches}
        self.fork_points = {
            branch.id: fork_point
            for branch in self.branches
            if (fork_point := self._nearest_branch(branch.id, branch_ids))
        }
        """For each branch that was forked, by its id: the id of the nearest ancestor that is not deleted, and the sequence
        number of the last record that both share."""

    def last_shared_seq(self) -> int:
        """Return the sequence number of the last record that all branches share."""
        root_ids = [branch.id for branch in self.branches if branch.id not in self.fork_points]
        # Where the first session was deleted, several branches may remain that were not forked from each other.
        shared_seqs = (
            [min(self._shared_seqs(root_id)) for root_id in root_ids] if len(root_ids) > 1 else []
        )
        return min((*shared_seqs, *(seq for _, seq in self.fork_points.values())))

    def shown_branches(self) -> list[SessionSummary]:
        """Return the branches that are shown, each after its parent, older ones first."""
        ancestor_ids = {*self._session_and_ancestors(self._session_id)}
        first_id = next(
            (branch.id for branch in self.branches if branch.id not in self.fork_points), ""
        )
        by_importance = sorted(
            self.branches,
            key=lambda branch: (
                branch.id != first_id,
                branch.id not in ancestor_ids,
                -branch.created,
            ),
        )
        chosen_ids = {branch.id for branch in by_importance[:MAX_BRANCHES]}
        return [branch for branch in self._in_order("") if branch.id in chosen_ids]

    def _in_order(self, parent_id: str) -> Iterator[SessionSummary]:
        """Yield the branches below a branch, each followed by those below it; for an empty id, all branches."""
        child_branches = [
            branch
            for branch in self.branches
            if self.fork_points.get(branch.id, ("", 0))[0] == parent_id
        ]
        for branch in sorted(child_branches, key=lambda branch: branch.created):
            yield branch
            yield from self._in_order(branch.id)

    def _session_and_ancestors(self, session_id: str) -> list[str]:
        """Return a session and its ancestors, the nearest first."""
        session_ids = [session_id]
        while (origin := self._origins.get(session_ids[-1])) is not None:
            if origin.session_id in session_ids:
                break
            session_ids.append(origin.session_id)
        return session_ids

    def _nearest_branch(self, session_id: str, branch_ids: set[str]) -> tuple[str, int] | None:
        """Return the nearest existing ancestor, and the sequence number of the last record that both share."""
        session_ids = self._session_and_ancestors(session_id)
        for index, ancestor_id in enumerate(session_ids[1:], start=1):
            if ancestor_id in branch_ids:
                return ancestor_id, min(self._shared_seqs(session_id)[:index])
        return None

    def _shared_seqs(self, session_id: str) -> list[int]:
        """Return the sequence number of the last record shared with each ancestor, the nearest first."""
        session_ids = self._session_and_ancestors(session_id)
        return [
            origin.seq
            for session_id_below in session_ids[:-1]
            if (origin := self._origins.get(session_id_below))
        ]


def _read_branch(
    records: Iterable[Record], session_id: str, last_shared_seq: int, forked_at_seq: int
) -> tuple[Branch, int]:
    """Return a branch's values after the record ``last_shared_seq``, and the number of its requests before that record."""
    state = State()
    earlier_ids: frozenset[str] = frozenset()
    infos_by_id: dict[str, AssistantMessage] = {}
    shared_count = decision_count = forked_after = 0
    sent_requests: list[StepRequest] = []
    is_after_parting = False
    for record in records:
        if record.seq > last_shared_seq and not is_after_parting:
            is_after_parting = True
            earlier_ids = frozenset(message.id for message in state.messages())
        state.apply(record)
        match record.event:
            case StepRequested(request=request) if request.message_id is not None:
                forked_after += record.seq <= forked_at_seq
                shared_count += not is_after_parting
                sent_requests += [request] if is_after_parting else []
            case MessageUpdated(info=AssistantMessage() as info) if is_after_parting:
                # A request that was reverted later was paid for, too.
                infos_by_id |= {info.id: info} if info.id not in earlier_ids else {}
            case DecisionMade():
                decision_count += is_after_parting
            case _:
                pass
    messages = state.messages() if is_after_parting else ()
    later_messages = tuple(message for message in messages if message.id not in earlier_ids)
    branch_values = _branch_with_figures(
        session_id, state, later_messages, list(infos_by_id.values()), sent_requests, decision_count
    )
    return replace(branch_values, forked_after=forked_after), shared_count


FIGURE_FUNCTIONS: tuple[tuple[str, Callable[[Branch], str]], ...] = (
    ("forked from", lambda branch: _forked_from_text(branch)),
    ("model", lambda branch: ", ".join(branch.models)),
    ("policy", lambda branch: branch.policy or "configured"),
    ("requests since", lambda branch: count(branch.requests)),
    ("input tokens", lambda branch: count(branch.usage.prompt)),
    ("of these from the cache", lambda branch: count(branch.usage.cache_read)),
    ("output tokens", lambda branch: count(branch.usage.output + branch.usage.reasoning)),
    ("cost", lambda branch: _cost_text(branch)),
    ("largest request", lambda branch: count(branch.largest)),
    ("newest request", lambda branch: count(branch.last)),
    ("context decisions", lambda branch: count(branch.decisions)),
)


def _figure_rows(branches: Sequence[Branch]) -> Iterator[BranchFigure]:
    for name, value_of in FIGURE_FUNCTIONS:
        values = tuple(value_of(branch) for branch in branches)
        # The fork's position is not compared, and a branch without requests has no model to compare.
        branch_values = values if name != "model" else filter(None, values)
        branches_differ = name != "forked from" and len({*branch_values}) > 1
        yield BranchFigure(name, values, branches_differ)


def _forked_from_text(branch: Branch) -> str:
    if not branch.parent:
        return ""
    return f"{one_line(branch.parent_title or branch.parent, MAX_COLUMN_TITLE_CHARS)}, after request {branch.forked_after}"


def _cost_text(branch: Branch) -> str:
    if branch.cost is not None:
        return money(branch.cost)
    return amount_with_unit(branch.units, "units", "estimate") if branch.units is not None else ""


def _estimates_text(branch: Branch) -> str:
    """Return a sentence on the estimates among a branch's tokens."""
    title = one_line(branch.title or branch.session, MAX_COLUMN_TITLE_CHARS)
    if branch.estimates == len(branch.sizes):
        return f"Tokens of requests of {title} are estimates: no provider reported them."
    count_text = "One request" if branch.estimates == 1 else f"{branch.estimates} requests"
    verb = "has" if branch.estimates == 1 else "have"
    return f"{count_text} of {len(branch.sizes)} of {title} {verb} estimated tokens; all others were reported."


def _branch_with_figures(
    session_id: str,
    state: State,
    later_messages: Messages,
    infos: Sequence[AssistantMessage],
    sent_requests: Sequence[StepRequest],
    decision_count: int,
) -> Branch:
    session = state.session
    answers = [message for message in later_messages if isinstance(message.info, AssistantMessage)]
    usage, cost = Usage(), 0.0
    for info in infos:
        usage = usage.plus(info.tokens)
        cost += info.cost or 0.0
    is_priced = all(info.cost is not None for info in infos if info.tokens.prompt)
    reported_infos = [info for info in infos if info.tokens.prompt and not info.tokens.estimated]
    reported_tokens = {info.id: info.tokens.prompt for info in reported_infos}
    sizes = [
        reported_tokens.get(request.message_id or "", request.tokens) for request in sent_requests
    ]
    answer_text = _newest_answer_text(answers)
    is_long = len(answer_text) > MAX_TEXT_CHARS
    output = usage.output + usage.reasoning
    units = UNIT_PRICES.cost(
        usage.input, usage.cache_read, usage.cache_write, output, terms=STANDARD
    )
    choice = session.policy_choice if session is not None else None
    return Branch(
        session=session_id,
        title=session.title if session is not None else "",
        models=tuple(dict.fromkeys(request.model.ref.id for request in sent_requests)),
        policy=_choice_text(choice) if choice is not None else "",
        requests=len(sent_requests),
        usage=usage,
        cost=cost if is_priced else None,
        units=None if is_priced else units,
        decisions=decision_count,
        answer=one_line(answer_text, MAX_ANSWER_CHARS),
        text=f"{answer_text[: MAX_TEXT_CHARS - 1]}…" if is_long else answer_text,
        sizes=tuple(sizes),
        window=sent_requests[-1].facts.window if sent_requests else 0,
        estimates=sum(
            (request.message_id or "") not in reported_tokens for request in sent_requests
        ),
    )


def _choice_text(choice: PolicyChoice) -> str:
    """Return a chosen policy as text: its preset, and the changed numbers."""
    changes_text = "".join(f", {name}={value}" for name, value in choice.changes.items())
    return one_line(f"{choice.base}{changes_text}", MAX_ANSWER_CHARS)


def _newest_answer_text(answers: Messages | list[Any]) -> str:
    """Return the text of the newest answer that has any; empty where none has."""
    for message in reversed(answers):
        text = "\n\n".join(
            part.text for part in message.parts if isinstance(part, TextPart) and not part.ignored
        ).strip()
        if text and not message.info.summary:
            return text
    return ""
