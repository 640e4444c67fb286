"""Build the state of a session by applying the records of its journal (a fold).

The kernel, the review and, in TypeScript, the panel build the same state from the same records, and
share their fixtures (tests/fixtures/fold). Applying never fails: record types of a newer version are
skipped, deltas for an unknown part are ignored, and a record that was applied before changes nothing.
"""

from collections.abc import Callable, Iterable
from typing import Any, assert_never

from palimpsest.store.log_lines import (
    DELTA,
    HEAD,
    INFO,
    OTHER,
    PART,
    Head,
    UnreadableLine,
    record_of,
    seq_of,
)
from palimpsest.store.session_state.message_list import LatestValue, MessageList, event_of
from palimpsest.store.session_state.state_values import CheckpointState
from palimpsest.store.session_state.step_requests import NewestRequest
from palimpsest.transcript.context_values.decisions import ContextItem, Decision, StepRequest
from palimpsest.transcript.session_record.events import (
    Checkpoint,
    ContextEvent,
    DecisionMade,
    Event,
    PermissionAsked,
    PermissionReplied,
    PromptAdmitted,
    PromptDelivered,
    QuestionAsked,
    QuestionRejected,
    QuestionReplied,
    Record,
    SessionCompacted,
    SessionCreated,
    SessionDeleted,
    SessionDiff,
    SessionError,
    SessionEvent,
    SessionStatus,
    SessionUpdated,
    StepRequested,
    TodoUpdated,
    WaitingEvent,
)
from palimpsest.transcript.session_record.sessions import Idle, SessionInfo, Status
from palimpsest.transcript.values import Ask, Reply, Todo


def _pick_session(event: Event) -> SessionInfo | None:
    return event.session if isinstance(event, SessionUpdated) else None


def _pick_status(event: Event) -> Status | None:
    return event.status if isinstance(event, SessionStatus) else None


class State(MessageList):
    """The state of a session after the records applied so far.

    Not thread-safe: the journal's lock protects the live one, and ``snapshot`` returns an immutable
    value for other threads.
    """

    def __init__(self) -> None:
        super().__init__()
        self.todos: tuple[Todo, ...] = ()
        self.asks_by_id: dict[str, Ask] = {}
        """Permission asks without an answer yet, by id."""
        self.replies: dict[str, Reply] = {}
        """Replies to permission asks, by the id of the tool call that asked."""
        self.questions: dict[str, QuestionAsked] = {}
        """Questions without an answer yet, by id."""
        self.inbox: dict[str, PromptAdmitted] = {}
        """Prompts that were admitted and not delivered yet, by id, in order."""
        self.diff: tuple[dict[str, Any], ...] = ()
        """The files that the session changed."""
        self.last_compacted_id: str | None = None
        """The message id of the newest completed compaction."""
        self.is_deleted = False
        self._session: LatestValue[SessionInfo | None] = LatestValue(None, _pick_session)
        self._status: LatestValue[Status] = LatestValue(Idle(), _pick_status)
        self._decisions: list[Decision | bytes] = []
        self._parsed_decisions: tuple[Decision, ...] | None = ()
        self._requests = NewestRequest(self._report)
        self._reader_by_type = self._line_readers()

    # Reading

    @property
    def session(self) -> SessionInfo | None:
        """The session's info; None before ``session.created``."""
        latest = self._session
        return latest.value if latest.lines is None else latest.newest_value(self._report)

    @property
    def status(self) -> Status:
        """Whether the session is idle, busy, or waits to retry."""
        latest = self._status
        return latest.value if latest.lines is None else latest.newest_value(self._report)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """All decisions, in the order in which they were made."""
        if self._parsed_decisions is None:
            decision_list: list[Decision] = []
            for entry in self._decisions:
                event = event_of(entry, self._report) if isinstance(entry, bytes) else entry
                if isinstance(event, DecisionMade):
                    decision_list.append(event.decision)
                elif isinstance(event, Decision):
                    decision_list.append(event)
            self._decisions, self._parsed_decisions = list(decision_list), tuple(decision_list)
        return self._parsed_decisions

    @property
    def request(self) -> StepRequest | None:
        """The newest model request, as it was journaled."""
        return self._requests.newest_request

    @property
    def request_items(self) -> tuple[ContextItem, ...]:
        """All items of the newest request, including those it shares with earlier ones."""
        return self._requests.newest_items

    def summary(self) -> dict[str, Any]:
        """Return everything but the messages as JSON values."""
        return CheckpointState(
            session=self.session,
            status=self.status,
            todos=self.todos,
            asks=tuple(self.asks_by_id.values()),
            replies=self.replies,
            questions=tuple(self.questions.values()),
            inbox=tuple(self.inbox.values()),
            decisions=self.decisions,
            request=self._requests.expanded_request(),
            diff=self.diff,
            compacted=self.last_compacted_id,
            deleted=self.is_deleted,
            seq=self.seq,
        ).model_dump(mode="json", exclude_none=True)

    def restore_summary(self, fields: CheckpointState) -> None:
        """Set all values from a summary, and the pinned messages that it has from before the window."""
        self._session.put(fields.session)
        self._status.put(fields.status)
        self.todos = fields.todos
        self.asks_by_id = {ask.id: ask for ask in fields.asks}
        self.replies = dict(fields.replies)
        self.questions = {question.question_id: question for question in fields.questions}
        self.inbox = {prompt.prompt_id: prompt for prompt in fields.inbox}
        self._decisions, self._parsed_decisions = list(fields.decisions), fields.decisions
        if fields.request is not None:
            self._requests.put(fields.request)
        self.diff = fields.diff
        self.last_compacted_id = fields.compacted
        self.is_deleted = fields.deleted
        self.seq = fields.seq
        if fields.window is not None:
            self.older_count = fields.window.older
            self.older_created = fields.window.older_created
            for message in fields.window.kept:
                self.keep_message(message)

    def become_fork(self, fork: SessionInfo, seq_shift: int) -> None:
        """Become the state of a fork, whose sequence numbers are higher by ``seq_shift``."""
        self._session.put(fork)
        self.seq += seq_shift
        self._last_jump = 0, 0

    def drop_messages(
        self, message_ids: set[str], older_count: int, newest_created_ms: int
    ) -> None:
        """Drop messages, and the decisions about them, from memory; the log keeps them.

        ``newest_created_ms`` is the newest creation time among them; ``older_count`` is the number of further messages before
        the live window, including pinned messages that stay in memory.
        """
        self.forget_messages(message_ids)
        decisions = tuple(d for d in self.decisions if d.message_id not in message_ids)
        self._decisions, self._parsed_decisions = list(decisions), decisions
        self.older_count += older_count
        self.older_created = max(newest_created_ms, self.older_created or 0)

    # Folding

    def apply_line(self, line: bytes) -> None:
        """Apply one line of the log, parsing only its head if that is enough."""
        head_match = HEAD.match(line)
        if head_match is None or line[-1:] != b"}":
            # Another format, such as that of a line that was edited by hand.
            if line and not line.isspace():
                self._parse_line(line, is_numbered=False)
        elif self.note_if_new(int(head_match[1])):
            self._read_line(line, head_match)

    def apply_lines(self, lines: Iterable[bytes]) -> None:
        """Apply many lines, faster than by ``apply_line``."""
        match_head, part_line, seq = HEAD.match, self.part_line, self.seq
        for line in lines:
            head_match = match_head(line)
            if head_match is None or head_match.lastindex != PART or line[-1:] != b"}":
                self.apply_line(line)
                seq = self.seq
            elif (line_seq := int(head_match[1])) == seq + 1:
                self.seq = seq = line_seq
                part_line(line, head_match)
            elif self.note_if_new(line_seq):
                seq = line_seq
                part_line(line, head_match)

    def apply_window_line(self, line: bytes, head_match: Head) -> None:
        """Apply a line from before the checkpoint of this state; only records of messages are applied."""
        if head_match.lastindex != OTHER or head_match[OTHER].startswith(b"message."):
            self._read_line(line, head_match)

    def _read_line(self, line: bytes, head_match: Head) -> None:
        if head_match.lastindex == PART:
            self.part_line(line, head_match)
        elif head_match.lastindex == DELTA:
            self.delta_line(line, head_match)
        elif head_match.lastindex == INFO:
            self.info_line(line, head_match)
        elif (reader := self._reader_by_type.get(head_match[OTHER])) is not None:
            reader(line)
        else:
            self._parse_line(line, is_numbered=True)

    def _parse_line(self, line: bytes, *, is_numbered: bool) -> None:
        """Parse a line and handle its event; with ``is_numbered`` its sequence number was checked already."""
        try:
            record = record_of(line)
        except UnreadableLine as problem:
            self._report(line, str(problem))
            return
        if record is None:
            # A newer version wrote it. Its number counts as used; a torn line's does not.
            self.note_if_new(seq_of(line) or 0)
        elif not is_numbered:
            self.apply(record)
        else:
            self._apply(record)

    # Types of records

    def _apply_other(self, event: ContextEvent | WaitingEvent | SessionEvent) -> None:
        if isinstance(event, ContextEvent):
            self._apply_context(event)
        elif isinstance(event, WaitingEvent):
            self._apply_waiting(event)
        elif isinstance(event, SessionEvent):
            self._apply_session(event)
        else:
            assert_never(event)

    def _apply_context(self, event: ContextEvent) -> None:
        match event:
            case DecisionMade():
                self._decisions.append(event.decision)
                self._parsed_decisions = None
            case StepRequested():
                self._requests.put(event.request)
            case TodoUpdated():
                self.todos = event.todos
            case Checkpoint():
                pass  # only for readers that begin there; this state has applied all records before it
            case _:
                assert_never(event)

    def _apply_waiting(self, event: WaitingEvent) -> None:
        match event:
            case PermissionAsked():
                self._on_asked(event)
            case PermissionReplied():
                self._on_replied(event)
            case QuestionAsked():
                self.questions[event.question_id] = event
            case QuestionReplied() | QuestionRejected():
                self.questions.pop(event.question_id, None)
            case PromptAdmitted():
                self.inbox[event.prompt_id] = event
            case PromptDelivered():
                self.inbox.pop(event.prompt_id, None)
            case _:
                assert_never(event)

    def _apply_session(self, event: SessionEvent) -> None:
        match event:
            case SessionCreated():
                self._on_created(event)
            case SessionUpdated():
                self._session.put(event.session)
            case SessionDeleted():
                self.is_deleted = True
            case SessionDiff():
                self.diff = event.diff
            case SessionCompacted():
                self.last_compacted_id = event.message_id
            case SessionStatus():
                self._status.put(event.status)
            case SessionError():
                pass  # reported when it happens, and without effect on the state
            case _:
                assert_never(event)

    def _on_created(self, event: SessionCreated) -> None:
        self._session.put(event.session)
        if event.session.forked_from is not None:
            # Open asks, questions and prompts of the parent are answered in the parent.
            self._status.put(Idle())
            self.asks_by_id.clear()
            self.questions.clear()
            self.inbox.clear()
            self.is_deleted = False

    def _on_asked(self, event: PermissionAsked) -> None:
        self.asks_by_id[event.ask.id] = event.ask
        if event.ask.call_id is not None:
            # Some providers reuse call ids: an older reply does not answer this ask.
            self.replies.pop(event.ask.call_id, None)

    def _on_replied(self, event: PermissionReplied) -> None:
        ask = self.asks_by_id.pop(event.ask_id, None)
        if ask is not None and ask.call_id is not None:
            self.replies[ask.call_id] = event.reply

    def _line_readers(self) -> dict[bytes, Callable[[bytes], None]]:
        """Return the readers for the record types that are parsed later; others are parsed at once."""
        return {
            b"session.updated": self._session.put_line,
            b"session.status": self._status.put_line,
            b"session.checkpoint": lambda _line: None,
            b"decision": self._decision_line,
            b"step.requested": self._requests.put_line,
        }

    def _decision_line(self, line: bytes) -> None:
        self._decisions.append(line)
        self._parsed_decisions = None


def apply_records(records: Iterable[Record], state: State | None = None) -> State:
    """Apply records in order to a state, a fresh one when none is given."""
    state = State() if state is None else state
    for record in records:
        state.apply(record)
    return state
