"""Convert parts to the items that all views show: text, reasoning, calls, steps, reductions, notices.

Border: pure; the views escape the texts. Secrets are removed and texts are cut here, in the one place from which
all views get them. Omitted text is counted, and its place is shown to the reader.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from palimpsest.render.content import decision_reasons
from palimpsest.render.content.excerpts import Excerpt, fit_excerpts, text_head
from palimpsest.render.content.phrases import (
    cells_text,
    error_texts,
    first_code_line,
    first_names,
    reply_text,
    size_text,
    step_text,
    subject,
)
from palimpsest.render.content.tool_calls import input_text, output_text
from palimpsest.render.safety.escaping import clean, one_line
from palimpsest.transcript.call_outcomes import CallOutcome, call_outcome, is_refusal_in_row
from palimpsest.transcript.context_values.decisions import Decision, EffectiveDecisions
from palimpsest.transcript.errors import ErrorValue
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import (
    WAITED,
    AgentPart,
    Attachment,
    CompactionPart,
    FilePart,
    NotebookPart,
    NotedPart,
    Part,
    PatchPart,
    ReasoningPart,
    RetryPart,
    SnapshotPart,
    Span,
    StepFinishPart,
    StepStartPart,
    SubtaskPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
    ToolState,
)
from palimpsest.transcript.provider_calls import AT_PROVIDER, is_provider_call
from palimpsest.transcript.retry_runs import RetryLines, message_retries, retry_lines, retry_words
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    PermissionAsked,
    PermissionReplied,
    Record,
)
from palimpsest.transcript.user_notices import user_notice_text
from palimpsest.transcript.values import Ask, Reply
from palimpsest.transcript.visible_text import without_colours

Scrub = Callable[[str], str]

MAX_PATH_CHARS = 4_096
"""Maximum characters of a path that is shortened to its last part."""
MAX_SUBJECT_CHARS = 90
"""Maximum characters of a call's subject in its row."""
MAX_NOTICE_CHARS = 400
MAX_FILE_NAMES = 6
"""Maximum changed files that a notice names."""
READ_ONLY_TOOLS = frozenset({"read", "list", "glob", "grep", "variables", "notebook"})
"""Tools that only read."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Maximum bytes and lines that are shown; the session's record has all of the text."""

    bytes_per_call: int = 2_000
    """Bytes of one tool call: input and output together."""
    max_lines: int = 40
    """Lines of one input or output: a saved page is read by scrolling."""
    read_only_lines: int = 5
    """Lines for tools that only read, whose outputs matter less to a reader."""
    bytes_per_turn: int = 256_000
    """Bytes of all tool calls of one turn together."""
    bytes_per_text: int = 256_000
    """Bytes of one text part."""

    def caps_after(self, parts: Sequence[Part]) -> "Caps":
        """Return the caps that remain after these parts of the turn were shown."""
        shown_bytes = sum(
            item.bytes for item in outline_parts(parts, caps=self) if isinstance(item, OutlineCall)
        )
        return replace(self, bytes_per_turn=max(0, self.bytes_per_turn - shown_bytes))


@dataclass(frozen=True)
class OutlineNotes:
    """Facts about parts from the journal that the parts themselves do not hold."""

    asks: tuple[Ask, ...] = ()
    """Every question of these parts' tool calls, answered or not."""
    replies: tuple[tuple[str, Reply], ...] = ()
    """Answers, by the question's id."""
    decisions: tuple[Decision, ...] = ()
    answers: Mapping[str, Reply] = field(default_factory=dict)
    """Answers by the id of the tool call, where the questions are not known."""

    @classmethod
    def of_records(cls, records: Iterable[Record]) -> "OutlineNotes":
        """Collect the notes from a session's records."""
        events = [record.event for record in records]
        return cls(
            tuple(event.ask for event in events if isinstance(event, PermissionAsked)),
            tuple(
                (event.ask_id, event.reply)
                for event in events
                if isinstance(event, PermissionReplied)
            ),
            tuple(event.decision for event in events if isinstance(event, DecisionMade)),
        )

    @functools.cached_property
    def effective_decisions(self) -> EffectiveDecisions:
        """The decisions in effect."""
        return EffectiveDecisions(self.decisions)

    def question_and_reply(self, part: ToolPart) -> tuple[Ask | None, Reply | None]:
        """Return the newest question of a tool call, and its answer."""
        asks = [ask for ask in self.asks if ask.call_id == part.call_id]
        asks = [ask for ask in asks if ask.message_id in (None, part.message_id)]
        if not asks:
            return None, self.answers.get(part.call_id)
        return asks[-1], dict(self.replies).get(asks[-1].id)


@dataclass(frozen=True, slots=True)
class TextItem:
    """Text of the model, the user or the engine, as Markdown."""

    text: str
    left_out: int = 0
    """Number of omitted bytes."""


@dataclass(frozen=True, slots=True)
class ReasoningItem:
    """The model's reasoning, or a summary shown in the same way."""

    text: str
    seconds: float | None
    title: str = ""
    """A title; if empty, "Thought" with the duration is shown."""


@dataclass(frozen=True, slots=True)
class OutlineCall:
    """One tool call."""

    status: str
    """A key of ``CALL_SIGNS`` in ``render/content/phrases.py``."""
    tool: str
    subject: str
    seconds: float | None
    input: Excerpt | None = None
    output: Excerpt | None = None
    remark: str = ""
    """A remark on the call: the user's answer, a hook's change, or that it was stopped."""
    reason: str = ""
    """The reason for the call's failure, in one line."""
    refused_by: str = ""
    """The source of a refusal: ``person``, ``headless``, ``rule``, ``engine`` or a name."""
    question: str = ""
    """The open permission question."""
    reductions: tuple[str, ...] = ()
    """Sentences about reductions for the model."""
    record_hint: str = ""
    """A sentence on where the complete text is stored, if some of it is omitted."""
    pictures: tuple[Attachment, ...] = ()
    read_subject: str = ""
    """The complete subject of a reading call; for variables the name, or empty for all of them."""

    @property
    def bytes(self) -> int:
        """Number of shown bytes of input and output."""
        return sum(len(p.text.encode()) for p in (self.input, self.output) if p is not None)


@dataclass(frozen=True, slots=True)
class OutlineStep:
    """The numbers of one model request, as text and as values."""

    summary: str
    used_tokens: int | None = None
    window: int | None = None


@dataclass(frozen=True, slots=True)
class ReductionItem:
    """A sentence about a reduction for the model."""

    sentence: str


@dataclass(frozen=True, slots=True)
class NoticeItem:
    """One sentence from the engine."""

    sign: str
    sentence: str
    advice: str = ""
    tone: str = "muted"
    """``muted`` or ``error``."""
    sent_again: int = 0
    """Number of times that a request was sent again before it was answered; 0 for other notices."""


Item = TextItem | ReasoningItem | OutlineCall | OutlineStep | ReductionItem | NoticeItem


def outline_parts(
    parts: Sequence[Part],
    *,
    caps: Caps | None = None,
    scrub: Scrub = str,
    notes: OutlineNotes | None = None,
    first_step: int = 1,
) -> tuple[Item, ...]:
    """Return the items that a reader sees of these parts, in order."""
    retries = retry_lines(parts, None, is_over=False)
    all_notes = notes or OutlineNotes()
    builder = _OutlineBuilder(caps or Caps(), scrub, all_notes, first_step, retries=retries)
    return tuple(item for part in parts for item in builder.items_of_part(part))


SUMMARY_TITLE = "Summary of what came before"
DRAFT_TITLE = "Summary so far, of a part of it"
REJECTED_TITLE = "Summary that lacked something and was written again"
FAILED_TITLE = "Summary that was not used; nothing was cut"
CUT_ANSWER = NoticeItem("✂", "The answer was cut at its length limit.", "Ask it to go on.", "error")


def outline_message(
    message: Message,
    *,
    caps: Caps | None = None,
    scrub: Scrub = str,
    notes: OutlineNotes | None = None,
    first_step: int = 1,
) -> tuple[Item, ...]:
    """Return the items that a reader sees of a message; a summary is shown like reasoning."""
    builder = _OutlineBuilder(
        caps or Caps(),
        scrub,
        notes or OutlineNotes(),
        first_step,
        stop_error=_stop_message(message),
        retries=message_retries(message),
    )
    if message.info.role == "user" or not message.info.summary:
        return tuple(item for part in message.parts for item in builder.items_of_part(part))
    has_failed = message.info.error is not None
    items = tuple(
        ReasoningItem(item.text, None, FAILED_TITLE if has_failed else _summary_title(part))
        if isinstance(item, TextItem)
        else item
        for part in message.parts
        for item in builder.items_of_part(part)
    )
    return (*items, *builder.summary_items(message))


def _stop_message(message: Message) -> str:
    """Return the message of the error that stopped an answer, shown at its end; else empty."""
    error = message.info.error if message.info.role == "assistant" else None
    return error.message if error is not None and error.type == "aborted" else ""


def is_prompt(message: Message) -> bool:
    """Return whether a message is a user's prompt, and not the mark of a compaction."""
    return message.info.role == "user" and not any(
        isinstance(part, CompactionPart) for part in message.parts
    )


def _summary_title(part: Part) -> str:
    """Return the title of a summary's text, which may be a draft of a part of the conversation."""
    if not isinstance(part, TextPart) or not part.ignored:
        return SUMMARY_TITLE
    return REJECTED_TITLE if "rejected" in (part.metadata or {}) else DRAFT_TITLE


def outline_message_error(message: Message, scrub: Scrub = str) -> NoticeItem | None:
    """Return the error that ended a message, with the number of attempts; None where it has none."""
    error = message.info.error if message.info.role == "assistant" else None
    if error is None:
        return None
    return outline_error(error, scrub, message_retries(message).error_attempts)


def outline_error(error: ErrorValue, scrub: Scrub = str, attempts: int = 1) -> NoticeItem:
    """Return an error as a sentence with advice; ``attempts`` is the number of requests that failed with it."""
    problem, advice = error_texts(error)
    if attempts > 1:
        advice = f"Tried {attempts} times. {advice}".rstrip()
    problem = _without_traceback(problem)
    if error.type == "aborted":
        return NoticeItem("■", one_line(scrub(problem), MAX_NOTICE_CHARS), advice)
    return NoticeItem("✗", one_line(scrub(problem), MAX_NOTICE_CHARS), advice, tone="error")


@dataclass(slots=True)
class _OutlineBuilder:
    """Builds the items of one message, and counts the shown bytes against the caps."""

    caps: Caps
    scrub: Scrub
    notes: OutlineNotes
    step: int = 1
    used_bytes: int = field(default=0)
    stop_error: str = ""
    """The error message at the end of the answer, which its calls do not repeat."""
    retries: RetryLines = field(default_factory=RetryLines)

    def items_of_part(self, part: Part) -> list[Item]:
        match part:
            case TextPart():
                return self._text_items(part)
            case ReasoningPart():
                text = text_head(self.scrub(part.text), self.caps.bytes_per_text)[0]
                return [ReasoningItem(text, _seconds(part.time)), *self._reduction_items(part)]
            case ToolPart():
                return [self._call_item(part)]
            case FilePart():
                sentence = f"{self._line(part.filename or 'file')} ({one_line(part.mime)})"
                return [NoticeItem("▤", sentence), *self._reduction_items(part)]
            case _:
                return self._notice_items(part)

    def _notice_items(self, part: NotedPart) -> list[Item]:
        match part:
            case StepFinishPart():
                return self._step_items(part)
            case CompactionPart():
                reason = _compaction_reason(part)
                return [ReductionItem(f"A summary of earlier messages, {reason}; all are kept")]
            case RetryPart():
                return self._retry_items(part)
            case PatchPart():
                names = first_names([self._line(path) for path in part.files], MAX_FILE_NAMES)
                return [NoticeItem("±", f"changed {names}")] if part.files else []
            case AgentPart():
                return [NoticeItem("@", self._line(part.name))]
            case SubtaskPart():
                sentence = f"{self._line(part.agent)}: {self._line(part.description)}"
                return [NoticeItem("→", sentence)]
            case NotebookPart():
                return [NoticeItem("▤", cells_text(part)), *self._reduction_items(part)]
            case StepStartPart() | SnapshotPart():
                return []  # Only a revert uses them.
            case _:
                assert_never(part)

    def _text_items(self, part: TextPart) -> list[Item]:
        notice = user_notice_text(part)
        if notice is not None:
            return [NoticeItem("!", one_line(self.scrub(notice), MAX_NOTICE_CHARS))]
        if not part.text.strip() or part.synthetic:
            return []
        text, left_out = text_head(self.scrub(part.text), self.caps.bytes_per_text)
        return [TextItem(text, left_out), *self._reduction_items(part)]

    def _step_items(self, part: StepFinishPart) -> list[Item]:
        step_number, self.step = self.step, self.step + 1
        window = part.window if part.window is not None and part.window >= 0 else None
        step = OutlineStep(step_text(part, step_number), part.context_tokens, window)
        return [step, CUT_ANSWER] if part.reason == "length" else [step]

    def _retry_items(self, part: RetryPart) -> list[Item]:
        if part.id in self.retries.merged_ids:
            return []
        retry_run = self.retries.runs.get(part.id)
        if retry_run is None:  # The next attempt began at once, as with another model.
            sentence = self._reason(part.error.message)
            return [NoticeItem("↻", sentence if sentence.endswith((".", "…")) else f"{sentence}.")]
        reasons = tuple(dict.fromkeys(map(self._reason, retry_run.reasons)))
        retry_run = replace(retry_run, reasons=reasons)
        sent_again = retry_run.failed_count if retry_run.outcome == "answered" else 0
        return [NoticeItem("↻", retry_words(retry_run), sent_again=sent_again)]

    def _reason(self, message: str) -> str:
        return self._line(_without_traceback(message))

    def summary_items(self, message: Message) -> Iterable[Item]:
        """Yield the item on a summary's grade: the names and numbers that the model no longer sees."""
        for decision in reversed(self.notes.decisions):
            is_of_summary = decision.action == "summarise" and decision.message_id == message.id
            if is_of_summary and (sentence := decision_reasons.decision_sentence(decision)):
                yield ReductionItem(self.scrub(sentence))
                return

    def _line(self, text: str) -> str:
        return one_line(self.scrub(text))

    def _call_item(self, part: ToolPart) -> OutlineCall:
        state, caps = part.state, self.caps
        ask, reply = self.notes.question_and_reply(part)
        is_reading = part.tool in READ_ONLY_TOOLS
        max_lines = caps.read_only_lines if is_reading else caps.max_lines
        max_bytes = max(0, min(caps.bytes_per_call, caps.bytes_per_turn - self.used_bytes))
        outcome = call_outcome(part, reply)
        excerpts = self._call_excerpts(part, ask, outcome)
        input_excerpt, output_excerpt = fit_excerpts(
            *excerpts, max_bytes, max_lines, keep_tail=not is_reading
        )
        if outcome.reason == self.stop_error:
            outcome = replace(outcome, reason="")
        is_waiting = ask is not None and not reply and _is_open(part)
        call = OutlineCall(
            status="waiting" if is_waiting else outcome.status,
            tool=self._line(part.tool),
            subject=one_line(self.scrub(self._subject(part)), MAX_SUBJECT_CHARS),
            seconds=_seconds_without_wait(state),
            input=input_excerpt,
            output=output_excerpt,
            remark=self._line(_call_remark(part, reply, outcome)),
            reason=self._line(outcome.reason) if outcome.status == "error" else "",
            refused_by=outcome.refusal.by if outcome.refusal else "",
            question=self._line(ask.title) if ask and is_waiting else "",
            reductions=self._reduction_sentences(part),
            record_hint=_record_hint(part, input_excerpt, output_excerpt),
            pictures=state.attachments if isinstance(state, ToolCompleted) else (),
            read_subject=self._reading_subject(part),
        )
        self.used_bytes += call.bytes
        return call

    def _subject(self, part: ToolPart) -> str:
        title = getattr(part.state, "title", None)
        code = part.state.input.get("code")
        if isinstance(code, str) and code.strip():
            return first_code_line(code)
        return title or subject(part.state.input)

    def _reading_subject(self, part: ToolPart) -> str:
        if part.tool.lower() != "variables":
            return one_line(self.scrub(self._subject(part)), MAX_PATH_CHARS)
        name = part.state.input.get("name")
        return self._line(name.strip()) if isinstance(name, str) else ""

    def _call_excerpts(
        self, part: ToolPart, ask: Ask | None, outcome: CallOutcome
    ) -> tuple[Excerpt | None, Excerpt | None]:
        text, language = input_text(part)
        if ask and _is_open(part) and ask.tool not in (None, part.tool):
            # A subagent's question is shown in the card of the call that started it.
            asked_state = ToolPending(input=ask.input)
            update = {"tool": ask.tool, "state": asked_state}
            text, language = input_text(part.model_copy(update=update))
        if ask and ask.diff and language != "diff" and not isinstance(part.state, ToolCompleted):
            text, language = ask.diff, "diff"
        if ask and ask.changed and _is_open(part):
            text, language = f"{ask.changed}\n\n{text}", "diff"
        input_, output = self._clean_text(text), self._clean_text(self._outcome_text(part, outcome))
        if input_.strip() == self._subject(part).strip():
            input_ = ""
        return (
            Excerpt(input_, language) if input_.strip() else None,
            Excerpt(output, "text") if output.strip() else None,
        )

    def _clean_text(self, text: str) -> str:
        """Return text without secrets, also where a control code splits one.

        Colour codes are removed first, since a terminal's ``scrub`` makes all other codes visible.
        """
        return self.scrub(clean(self.scrub(without_colours(text))))

    def _outcome_text(self, part: ToolPart, outcome: CallOutcome) -> str:
        match part.state:
            case ToolFailed(error=error, metadata=metadata) if is_refusal_in_row(outcome) or (
                self.stop_error and error == self.stop_error
            ):
                return str(metadata.get("output", ""))
            case _:
                return output_text(part)

    def _reduction_sentences(self, part: Part) -> tuple[str, ...]:
        """Return sentences about how the model sees a part, if that differs from the part itself."""
        decisions = self.notes.effective_decisions
        is_pinned = decisions.is_pinned(part.id, part.message_id)
        reduction = decisions.reduction(part.id, part.message_id)
        sentences: tuple[str, ...] = ()
        if reduction is not None:
            sentences = (self.scrub(decision_reasons.decision_sentence(reduction)),)
        return (decision_reasons.PINNED_REASON, *sentences) if is_pinned else sentences

    def _reduction_items(self, part: Part) -> list[Item]:
        return [ReductionItem(sentence) for sentence in self._reduction_sentences(part)]


def _compaction_reason(part: CompactionPart) -> str:
    if part.overflow:
        return "the context no longer fitted"
    return "the context was nearly full" if part.auto else "as asked"


def _is_open(part: ToolPart) -> bool:
    return isinstance(part.state, ToolPending | ToolRunning)


def _call_remark(part: ToolPart, reply: Reply | None, outcome: CallOutcome) -> str:
    metadata = getattr(part.state, "metadata", {})
    is_stopped = outcome.status == "stopped"
    shown_reply = outcome.refusal or reply
    # A call that was stopped while it waited for an answer was not refused by the user.
    phrases = [AT_PROVIDER] if is_provider_call(part) else []
    if shown_reply and not (is_stopped and shown_reply.by == "cancel"):
        phrases.append(reply_text(shown_reply))
    if metadata.get("changed_by"):
        phrases.append(f"{metadata['changed_by']} changed what it was given")
    if metadata.get("output_changed_by"):
        phrases.append(f"{metadata['output_changed_by']} changed what it returned")
    if is_stopped:
        phrases.append(f"stopped: {outcome.reason}" if outcome.reason else "stopped")
    return " · ".join(phrases)


def _without_traceback(message: str) -> str:
    """Return a message without its traceback, which the record keeps."""
    return message.partition("Traceback (most recent call last)")[0].strip() or message


def _record_hint(part: ToolPart, *excerpts: Excerpt | None) -> str:
    omitted_bytes = sum(excerpt.left_out for excerpt in excerpts if excerpt is not None)
    blob = part.state.blob if isinstance(part.state, ToolCompleted) else None
    if not omitted_bytes:
        return ""
    if blob is not None:
        location = f".palimpsest/blobs/{blob.sha256[:2]}/{blob.sha256}"
    else:
        location = f".palimpsest/sessions/{one_line(part.session_id)}"
    return f"{size_text(omitted_bytes)} not shown here; the whole text is kept in {location}"


def _seconds_without_wait(state: ToolState) -> float | None:
    """Return the duration of a call without the wait for the user's answer."""
    seconds = _seconds(getattr(state, "time", None))
    waited_ms = getattr(state, "metadata", {}).get(WAITED)
    if seconds is None or not isinstance(waited_ms, int):
        return seconds
    return max(0.0, seconds - waited_ms / 1_000)


def _seconds(time: Span | None) -> float | None:
    return None if time is None or time.end is None else (time.end - time.start) / 1_000
