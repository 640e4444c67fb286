"""A terminal prints each item once, in the same words as every other view."""

import re
import time
from types import SimpleNamespace
from typing import Any

import pytest
from tests.render import reader_samples as told
from tests.render.sample_parts import assistant, failed, ran, user

from palimpsest.frontends.turn_output.terminal_output import TerminalOutput
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.errors import ApiError
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import (
    ReasoningPart,
    RetryPart,
    Span,
    StepFinishPart,
    TextPart,
    ToolRunning,
)
from palimpsest.transcript.session_record.sessions import Busy, Idle
from palimpsest.transcript.values import Ask, Density, Reply, Usage


class Feed:
    """A fake feed of a turn's messages."""

    def __init__(self, *messages: Message) -> None:
        self.change_count = 0
        self.problem_count = 0
        self.notes = OutlineNotes()
        self.told = True
        self.status: Idle | Busy = Idle()
        self._messages = messages

    def snapshot(self) -> Any:
        return SimpleNamespace(status=self.status, problem="")

    def has_received(self, _snapshot: Any) -> bool:
        return self.told

    def messages(self, _snapshot: Any) -> tuple[Message, ...]:
        self.change_count += 1
        return self._messages


def cleared(part_id: str, number: int = 1) -> Decision:
    return Decision(
        id=f"dec_{number}",
        action="clear",
        rule="prune/batch",
        part_id=part_id,
        message_id="msg_2",
        numbers={"reason": "read-again"},
        tokens_before=4_000,
        tokens_after=15,
    )


def printed(
    feed: Feed, capsys: pytest.CaptureFixture[str], story: TerminalOutput | None = None
) -> str:
    feed.change_count += 1
    (story or terminal(feed)).refresh()
    return capsys.readouterr().out


def terminal(feed: Feed, density: Density = "all steps") -> TerminalOutput:
    return TerminalOutput(feed, scrub=str, density=density)  # type: ignore[arg-type]


def test_a_call_stands_with_what_the_model_no_longer_sees_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    feed = Feed(assistant(ran("read", "line", path="a.txt")))
    feed.notes = OutlineNotes(decisions=(cleared("prt_c"),))

    assert (
        "    --- Cleared for the model: 4,000 → 15 tokens, by rule prune/batch; the whole text is kept. "
        "The same file was read again later. ---\n"
    ) in printed(feed, capsys)


def test_what_is_cleared_later_is_said_once_for_all_that_are_alike(
    capsys: pytest.CaptureFixture[str],
) -> None:
    feed = Feed(assistant(ran("read", "one", "prt_a"), ran("read", "two", "prt_b")))
    story = terminal(feed)
    assert "---" not in printed(feed, capsys, story)

    feed.notes = OutlineNotes(decisions=(cleared("prt_a", 1), cleared("prt_b", 2)))

    assert printed(feed, capsys, story) == (
        "--- 2 earlier outputs · Cleared for the model: 8,000 → 30 tokens, by rule prune/batch; the "
        "whole text is kept. The same file was read again later. ---\n"
    )
    assert printed(feed, capsys, story) == ""


@pytest.mark.parametrize("part", told.PARTS, ids=lambda part: f"{part.type} {part.id}")
def test_every_part_is_told_but_what_is_streamed_or_still_waits(
    part: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    html = told.render_message(assistant(part))
    still = part.type == "tool" and part.state.status in ("pending", "running")
    still = still or (part.type == "text" and "\n" not in part.text)  # a line still being written

    made = printed(Feed(assistant(part)), capsys)

    assert bool(made.strip()) == (bool(html) and not still)


def retry(name: str, why: str, seconds: int) -> RetryPart:
    error = ApiError(message=why, retryable=True)
    time = Span(start=0, end=1_000 * seconds)
    return RetryPart(id=name, session_id="s", message_id="m", attempt=1, error=error, time=time)


def test_attempts_in_a_row_are_one_line_that_grows_and_says_how_they_ended(
    capsys: pytest.CaptureFixture[str],
) -> None:
    feed = Feed(assistant(retry("r1", "Overloaded", 2)))
    story = terminal(feed)
    assert printed(feed, capsys, story) == "↻ Overloaded. Sent again after 2.0 s"

    feed._messages = (
        assistant(
            retry("r1", "Overloaded", 2),
            retry("r2", "Overloaded", 4),
            retry("r3", "Too many requests.", 8),
            TextPart(id="t", session_id="s", message_id="m", text="Here I am.\n"),
        ),
    )
    assert printed(feed, capsys, story) == (
        ", then 4.0 s; Too many requests. Sent again after 8.0 s: answered.\nHere I am.\n"
    )
    assert printed(feed, capsys, story) == ""


def test_another_way_that_was_taken_at_once_is_a_line_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    story = Feed(assistant(retry("r1", "Model a cannot be used, so b writes it.", 0)))

    assert printed(story, capsys) == "↻ Model a cannot be used, so b writes it.\n"


def test_what_a_person_typed_is_not_said_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(Feed(user("How many?")), capsys) == ""


ASK = Ask(
    id="per_1", permission="python", patterns=("*",), title="", input={}, call_id="call_prt_f"
)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (None, "failed"),
        (Reply(answer="once"), "failed · allowed once"),
        (Reply(answer="once", by="a hook"), "failed · allowed once by a hook"),
        (Reply(answer="reject"), "refused by you"),
        (Reply(answer="reject", feedback="not now"), "refused by you: not now"),
        (Reply(answer="reject", by="the rule x"), "refused by the rule x"),
        (Reply(answer="reject", by="headless"), "refused, nobody was there to ask"),
    ],
)
def test_a_call_that_did_not_run_says_whether_it_failed_or_who_refused_it(
    capsys: pytest.CaptureFixture[str], reply: Reply | None, words: str
) -> None:
    feed = Feed(assistant(failed("python", "No.")))
    feed.notes = OutlineNotes((ASK,), (("per_1", reply),) if reply is not None else ())

    assert printed(feed, capsys).splitlines()[0].endswith(f" · {words}")


def test_a_failed_call_is_printed_when_it_is_known_whether_it_was_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    feed = Feed(assistant(ran("read", "line", path="a.txt"), failed("python", "No.")))
    story = terminal(feed)
    feed.told = False
    assert printed(feed, capsys, story) == ""

    feed.notes, feed.told = OutlineNotes((ASK,), (("per_1", Reply(answer="reject")),)), True
    shown = printed(feed, capsys, story)

    assert shown.index("read") < shown.index("refused by you")


def looked(name: str, path: str) -> Any:
    return ran("read", f"the lines of {path}", name, path=path)


def thought(name: str, seconds: float) -> ReasoningPart:
    time = Span(start=0, end=int(1_000 * seconds))
    return ReasoningPart(id=name, session_id="s", message_id="m", text="Hm.", time=time)


def said(name: str, words: str) -> TextPart:
    return TextPart(id=name, session_id="s", message_id="m", text=words)


def step(name: str, cost: float | None = 0.001) -> StepFinishPart:
    tokens = Usage(input=100, cache_read=1_400, output=5)
    return StepFinishPart(
        id=name,
        session_id="s",
        message_id="m",
        reason="stop",
        tokens=tokens,
        cost=cost,
        seconds=0.5,
    )


def test_work_is_one_row_that_is_printed_when_something_else_follows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    feed = Feed(assistant(looked("a", "data/a.txt"), step("s1")))
    story = terminal(feed, "quiet")
    assert printed(feed, capsys, story) == ""

    feed._messages = (
        *feed._messages,
        assistant(thought("h", 2), looked("b", "b.txt"), step("s2")),
        assistant(ran("python", "7", "p", code="3 + 4"), looked("c", "c.txt"), step("s3")),
    )
    assert printed(feed, capsys, story) == (
        "▸ looked at 2 files · thought 2 s\n✓ python 3 + 4 0.2 s\n    7\n"
    )

    feed._messages = (*feed._messages, assistant(thought("i", 1), said("t", "Seven."), step("s4")))
    story.finish(Answer("ses", "msg", messages=feed._messages))
    assert capsys.readouterr().out == (
        "▸ looked at c.txt · thought 1 s\nSeven.\n4 steps · 6k in (5.6k cached) · $0.0040 · 2.0 s\n"
    )


def test_what_stands_alone_has_its_own_row_and_a_failure_is_told_at_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    alone = Feed(assistant(thought("h", 4.2), step("s1"), said("t", "So.\n")))
    assert printed(alone, capsys, terminal(alone, "quiet")) == "· Thought for 4.2 s\nSo.\n"

    feed = Feed(assistant(looked("a", "a.txt"), looked("b", "b.txt"), failed("python", "No.")))
    lines = printed(feed, capsys, terminal(feed, "quiet")).splitlines()
    assert (lines[0], "python" in lines[1]) == ("▸ looked at 2 files", True)


def test_what_runs_and_a_question_end_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing that was done before may be told behind what a person is asked, or waits for."""
    state = ToolRunning(input={"code": "1"}, time=Span(start=0))
    runs = ran("python", "", "p", code="1").model_copy(update={"state": state})
    feed = Feed(assistant(looked("a", "a.txt"), looked("b", "b.txt"), runs))
    assert printed(feed, capsys, terminal(feed, "quiet")) == "▸ looked at 2 files\n"

    story = terminal(asked := Feed(assistant(looked("a", "a.txt"), looked("b", "b.txt"))), "quiet")
    assert printed(asked, capsys, story) == ""
    story.prepare_question("call_p")
    assert capsys.readouterr().out == "▸ looked at 2 files\n"


def test_all_steps_have_a_row_each(capsys: pytest.CaptureFixture[str]) -> None:
    feed = Feed(assistant(thought("h", 1), looked("a", "a.txt"), step("s1")), assistant(step("s2")))
    story = terminal(feed)

    made = printed(feed, capsys, story).splitlines()
    story.finish(Answer("ses", "msg", messages=feed._messages))

    assert made == [
        "· Thought for 1.0 s",
        "✓ read a.txt 0.2 s",
        "    the lines of a.txt",
        "step 1 · 1,500 in (1,400 cached) · 5 out · $0.001 · 0.5 s",
        "step 2 · 1,500 in (1,400 cached) · 5 out · $0.001 · 0.5 s",
    ]
    assert capsys.readouterr().out == ""


def test_the_import_of_what_the_model_needs_is_one_line_with_how_long_it_took(
    capsys: pytest.CaptureFixture[str],
) -> None:
    feed = Feed(assistant(TextPart(id="t", session_id="s", message_id="m", text="Hi.\n")))
    story = TerminalOutput(feed, scrub=str)  # type: ignore[arg-type]
    feed.status, shown = Busy(loading=int(time.time() * 1_000) - 3_000), feed.messages
    feed.messages = lambda _snapshot: ()  # type: ignore[method-assign]
    begun = printed(feed, capsys, story) + printed(feed, capsys, story)
    feed.status, feed.messages = Busy(), shown  # type: ignore[method-assign]
    ended = printed(feed, capsys, story)

    assert begun == "· loading what the model needs…"
    assert re.fullmatch(r" \d(\.\d)? s\nHi\.\n", ended.replace("\N{NO-BREAK SPACE}", " "))
