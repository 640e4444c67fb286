"""The fold looks at markers and summaries alone, and shows what a search of all messages finds."""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import Builder
from tests.sample_size import sample_size

from palimpsest.context.visible_messages import fold, good_summaries, is_good_summary, marker
from palimpsest.transcript.context_values.policies import CompactPolicy
from palimpsest.transcript.errors import ApiError, ContextOverflowError
from palimpsest.transcript.messages import AssistantMessage, Message, Messages
from palimpsest.transcript.parts import CompactionPart

NAMES = [f"msg_{number}" for number in range(8)]
ERRORS = (None, ApiError(message="no"), ContextOverflowError(message="too long"))


def user(name: str, build: Builder) -> Message:
    message = build.user("Hello")
    return message.model_copy(update={"info": message.info.model_copy(update={"id": name})})


def marked(name: str, tail: str | None, build: Builder) -> Message:
    part = CompactionPart(
        id=f"prt_{name}", session_id="s", message_id=name, auto=True, tail_start_id=tail
    )
    return user(name, build).model_copy(update={"parts": (part,)})


def answer(name: str, given: tuple[str, bool, str | None, int], build: Builder) -> Message:
    parent, summary, finish, error = given
    update = {
        "id": name,
        "parent_id": parent,
        "summary": summary,
        "finish": finish,
        "error": ERRORS[error],
    }
    message = build.assistant("Done.")
    return message.model_copy(update={"info": message.info.model_copy(update=update)})


names = st.sampled_from(NAMES)
kinds = st.one_of(
    st.just(user),
    st.none().map(lambda tail: lambda name, build: marked(name, tail, build)),
    names.map(lambda tail: lambda name, build: marked(name, tail, build)),
    st.tuples(names, st.booleans(), st.sampled_from([None, "stop"]), st.integers(0, 2)).map(
        lambda given: lambda name, build: answer(name, given, build)
    ),
)


@settings(deadline=None, max_examples=sample_size(80, 5_000))
@given(
    st.lists(kinds, max_size=len(NAMES)), st.sampled_from(["good", "finished", "unfinished-tail"])
)
def test_the_fold_shows_what_a_search_of_all_messages_finds(
    made: list[Callable[[str, Builder], Message]], cut: str
) -> None:
    build = Builder()
    messages = tuple(case(name, build) for case, name in zip(made, NAMES, strict=False))
    policy = CompactPolicy().model_copy(update={"cut": cut})

    assert fold(messages, policy) == searched(messages, cut)


def searched(messages: Messages, cut: str) -> Messages:
    """Return what walks through all messages find, one for each question."""
    if cut == "finished":
        return messages[_start(messages, lambda info: bool(info.finish), tails=False) :]
    kept = messages[_start(messages, lambda info: is_good_summary(info), tails=True) :]
    if cut != "unfinished-tail":
        return _summary_first(kept, good_summaries(kept), frozenset())
    summaries: dict[str, int] = {}
    refused = set()
    for position, message in enumerate(kept):
        info = message.info
        if isinstance(info, AssistantMessage) and info.summary:
            summaries.setdefault(info.parent_id, position)
            if isinstance(info.error, ContextOverflowError):
                refused.add(info.parent_id)
    return _summary_first(kept, summaries, frozenset(refused))


def _start(messages: Messages, stands: Callable[[AssistantMessage], bool], *, tails: bool) -> int:
    summarised: set[str] = set()
    tail_start: str | None = None
    for position in range(len(messages) - 1, -1, -1):
        info = messages[position].info
        if tail_start is not None:
            if info.id == tail_start:
                return position
        elif isinstance(info, AssistantMessage):
            if info.summary and stands(info):
                summarised.add(info.parent_id)
        elif info.id in summarised:
            compaction = marker(messages[position])
            if compaction is not None and (compaction.tail_start_id is None or not tails):
                return position
            tail_start = compaction.tail_start_id if compaction is not None else None
    return 0


def _summary_first(
    messages: Messages, summaries: dict[str, int], tailless: frozenset[str]
) -> Messages:
    positions = {message.id: position for position, message in enumerate(messages)}
    for at in range(len(messages) - 1, -1, -1):
        compaction = marker(messages[at])
        if compaction is None or compaction.tail_start_id is None or messages[at].id in tailless:
            continue
        summary = summaries.get(messages[at].id)
        tail = positions.get(compaction.tail_start_id)
        if summary is None or tail is None or not tail < at < summary:
            return messages
        return messages[at : summary + 1] + messages[tail:at] + messages[summary + 1 :]
    return messages
