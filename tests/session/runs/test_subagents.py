"""A task call runs a subagent in a child session; result, questions and end are reported to the parent."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness, ask, until
from tests.harness.subagent_session import children, make_subagent_harness, open_children, write
from tests.waiting import LAST_RESORT_SECONDS, settled

from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import ModelAnswer, calls, fails, says, thinks
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import AssistantMessage, Message, Origin
from palimpsest.transcript.parts import (
    AgentPart,
    SubtaskPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolRunning,
)
from palimpsest.transcript.values import ModelRef, Reply, Rule

Played = Callable[[ModelRequest], ModelAnswer]


class Cast:
    """A model with one script for the user's session, and others for subagents, chosen by their prompt."""

    def __init__(self, *answers: ModelAnswer, **helping: tuple[ModelAnswer, ...]) -> None:
        self.main = ScriptedModel(*answers)
        self.helping = {words: ScriptedModel(*script) for words, script in helping.items()}

    def stream(self, request: ModelRequest) -> Any:
        first = next(str(m["content"]) for m in request.messages if m["role"] == "user")
        open_children = not first.startswith(("@", "/"))
        found = (m for words, m in self.helping.items() if open_children and words in first)
        model = next(found, self.main)
        return model.stream(request)


def tool_parts(messages: Any) -> list[ToolPart]:
    return [part for m in messages for part in m.parts if isinstance(part, ToolPart)]


def task(prompt: str, agent: str = "general", **more: str) -> Any:
    return {"description": f"Do {prompt}", "prompt": prompt, "agent": agent, **more}


async def whole(harness: SessionHarness, session: LiveSession) -> None:
    """Assert that every recorded request can be rebuilt."""
    records = await harness.records(session)
    assert all(found.matches for found in rebuild_all(harness.store, session.id, records))


async def test_the_result_of_another_agent_comes_back(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    model = Cast(
        calls("task", **task("alpha")),
        says("It has two lines."),
        alpha=(calls("read", path="a.txt"), says("Two lines.")),
    )
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()

    answer = await ask(session, "Count the lines.")

    assert answer.text == "It has two lines."
    (part,) = tool_parts(answer.messages)
    assert isinstance(part.state, ToolCompleted)
    (child,) = await children(harness, session)
    assert part.state.output == (
        f"Task {child.id} by the agent general is done. Its task_id goes on where it ended.\n\n"
        "<result>\nTwo lines.\n</result>"
    )
    record = child.snapshot().session
    assert record is not None
    assert record.title == "Do alpha (@general subagent)"
    assert (record.parent_id, record.notebook) == (session.id, "a.ipynb")
    metadata = part.state.metadata
    assert (metadata["task"], metadata["agent"], metadata["count"]) == (child.id, "general", 1)
    assert metadata["calls"] == [{"tool": "read", "title": "a.txt", "state": "completed"}]
    await whole(harness, session)
    await whole(harness, child)


async def test_what_another_agent_spends_is_spent_by_its_parent(tmp_path: Path) -> None:
    model = Cast(calls("task", **task("alpha")), says("Done."), alpha=(says("Yes."),))
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()

    await ask(session, "Go.")

    (child,) = await children(harness, session)
    own = child.snapshot().session
    assert own is not None
    assert own.tokens.input > 0
    below = session.snapshot().session.below  # type: ignore[union-attr]
    assert below is not None
    assert below.tokens == own.tokens


async def test_several_agents_work_side_by_side(tmp_path: Path) -> None:
    started: list[str] = []
    both = asyncio.Event()

    class Waiting(Cast):
        async def stream(self, request: ModelRequest) -> Any:
            first = next(str(m["content"]) for m in request.messages if m["role"] == "user")
            if first in ("alpha", "beta"):
                started.append(first)
                if len(started) == 2:
                    both.set()
                await asyncio.wait_for(both.wait(), LAST_RESORT_SECONDS)
            async for event in super().stream(request):
                yield event

    model = Waiting(
        calls("task", **task("alpha")).calls("task", **task("beta")),
        says("Both."),
        alpha=(says("A."),),
        beta=(says("B."),),
    )
    session = await make_subagent_harness(tmp_path, model).session()

    answer = await ask(session, "Go.")

    assert [part.state.status for part in tool_parts(answer.messages)] == ["completed"] * 2
    assert answer.text == "Both."


async def test_its_questions_are_asked_in_the_card_of_its_call(tmp_path: Path) -> None:
    model = Cast(
        calls("task", **task("alpha")),
        says("Done."),
        alpha=(calls("bash", command="echo hello"), says("It said hello.")),
    )
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()

    asking = asyncio.ensure_future(ask(session, "Go."))
    await until(lambda: session.snapshot().asks)
    (question,) = session.snapshot().asks
    (part,) = tool_parts(session.snapshot().messages)

    assert (question.permission, question.call_id) == ("bash", part.call_id)
    assert question.input == {"command": "echo hello"}
    assert session.reply(question.id, Reply(answer="once"))
    answer = await asking
    assert answer.text == "Done."
    (child,) = await children(harness, session)
    (ran,) = tool_parts(child.snapshot().messages)
    assert isinstance(ran.state, ToolCompleted)
    assert "hello" in ran.state.output
    assert session.snapshot().asks == child.snapshot().asks == ()


async def test_an_answer_given_in_its_own_session_closes_the_question_above(tmp_path: Path) -> None:
    model = Cast(
        calls("task", **task("alpha")),
        says("Done."),
        alpha=(calls("bash", command="echo hello"), says("ok")),
    )
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()

    asking = asyncio.ensure_future(ask(session, "Go."))
    await until(lambda: session.snapshot().asks)
    (child,) = await children(harness, session)
    (question,) = child.snapshot().asks
    child.reply(question.id, Reply(answer="once"))

    assert (await asking).text == "Done."
    assert session.snapshot().asks == ()


async def test_what_is_always_allowed_below_is_allowed_above(tmp_path: Path) -> None:
    model = Cast(
        calls("task", **task("alpha")),
        calls("bash", command="echo two"),
        says("Done."),
        alpha=(calls("bash", command="echo one"), says("ok")),
    )
    session = await make_subagent_harness(tmp_path, model).session()

    asking = asyncio.ensure_future(ask(session, "Go."))
    await until(lambda: session.snapshot().asks)
    session.reply(session.snapshot().asks[0].id, Reply(answer="always"))

    assert (await asking).text == "Done."


async def test_a_question_of_its_model_is_asked_above(tmp_path: Path) -> None:
    model = Cast(
        calls("task", **task("alpha")),
        says("Done."),
        alpha=(calls("question", questions=[{"question": "Red?"}]), says("It is red.")),
    )
    session = await make_subagent_harness(tmp_path, model).session()

    asking = asyncio.ensure_future(ask(session, "Go."))
    await until(lambda: session.snapshot().questions)
    session.answer(session.snapshot().questions[0].question_id, [["yes"]])

    assert (await asking).text == "Done."


async def test_stopping_the_parent_stops_what_works_for_it(tmp_path: Path) -> None:
    model = Cast(
        calls("task", **task("alpha")),
        alpha=(thinks("hm").says("I begin. ").stalls(),),
    )
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()

    asking = asyncio.ensure_future(ask(session, "Go."))

    await until(
        lambda: "I begin" in str([child.snapshot() for child in open_children(harness, session)])
    )
    session.cancel("Stopped.")
    answer = await asking

    assert answer.error is not None
    assert answer.error.type == "aborted"
    (child,) = await children(harness, session)
    assert child.runner.active_run is None
    (part,) = tool_parts(answer.messages)
    assert isinstance(part.state, ToolFailed)
    assert part.state.metadata["interrupted"] is True
    assert part.state.metadata["task"] == child.id


async def test_a_task_that_fails_says_so_and_can_be_gone_on_with(tmp_path: Path) -> None:
    def resume(request: ModelRequest) -> ModelAnswer:
        result = str(request.messages[-1]["content"])
        task_id = result.partition("Task ")[2].split()[0]
        return calls("task", **task("alpha again", task_id=task_id))

    model = Cast(
        calls("task", **task("alpha")),
        says("Mended."),
        alpha=(fails(400, "broken"), says("Now it works.")),
    )
    model.main._answers.insert(1, resume)
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()

    answer = await ask(session, "Go.")

    first, second = tool_parts(answer.messages)
    assert isinstance(first.state, ToolFailed)
    assert "failed: " in first.state.error
    assert isinstance(second.state, ToolCompleted)
    assert "Now it works." in second.state.output
    (child,) = await children(harness, session)
    prompts = [m for m in child.snapshot().messages if m.info.role == "user"]
    assert len(prompts) == 2


async def test_it_is_resumed_after_a_restart_too(tmp_path: Path) -> None:
    store = MemoryStore()
    model = Cast(calls("task", **task("alpha")), says("Done."), alpha=(says("One."), says("Two.")))
    harness = make_subagent_harness(tmp_path, model, store=store)
    session = await harness.session()
    await ask(session, "Go.")
    (child,) = await children(harness, session)
    task_id = child.id
    await harness.workspace.close()

    model.main.script(calls("task", **task("alpha", task_id=task_id)), says("Again."))
    harness = make_subagent_harness(tmp_path, model, store=store)
    answer = await ask(await harness.session(), "Once more.")

    (part,) = tool_parts(answer.messages)
    assert isinstance(part.state, ToolCompleted), part.state
    assert "Two." in part.state.output


@pytest.mark.parametrize("task_id", ["ses_nowhere", "own"])
async def test_only_a_task_of_this_session_can_be_gone_on_with(
    tmp_path: Path, task_id: str
) -> None:
    model = Cast(says("Hm."))
    session = await make_subagent_harness(tmp_path, model).session()
    named = session.id if task_id == "own" else task_id
    model.main._answers.insert(0, calls("task", **task("alpha", task_id=named)))

    answer = await ask(session, "Go.")

    (part,) = tool_parts(answer.messages)
    assert isinstance(part.state, ToolFailed)
    assert f"There is no task {named!r} of this session" in part.state.error


async def test_it_may_do_nothing_that_its_parent_may_not(tmp_path: Path) -> None:
    head = "---\nmode: primary\npermission:\n  bash: deny\n  read:\n    '*.csv': deny\n---\n"
    write(tmp_path / ".palimpsest/agents/careful.md", f"{head}Careful.")
    (tmp_path / "a.csv").write_text("x")
    model = Cast(
        calls("task", **task("alpha")),
        says("Done."),
        alpha=(calls("bash", command="ls"), calls("read", path="a.csv"), says("No.")),
    )
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()

    await ask(session, "Go.", agent="careful")

    (child,) = await children(harness, session)
    shell, reading = tool_parts(child.snapshot().messages)
    assert isinstance(shell.state, ToolFailed)
    assert "There is no tool 'bash' here" in shell.state.error
    assert isinstance(reading.state, ToolFailed)
    assert "A permission rule denies this call" in reading.state.error


async def test_an_agent_at_work_hands_nothing_on_and_keeps_no_list(tmp_path: Path) -> None:
    model = Cast(calls("task", **task("alpha")), says("Done."), alpha=(says("ok"),))
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()

    await ask(session, "Go.")

    request = model.helping["alpha"].requests[0]
    offered = {tool.name for tool in request.tools}
    assert "read" in offered
    assert not {"task", "todowrite"} & offered
    assert "nothing but your last message" in str(request.messages[0])


async def test_an_agent_that_declares_it_hands_on_as_deep_as_is_allowed(tmp_path: Path) -> None:
    head = "---\nmode: subagent\ndescription: leads\npermission:\n  task: allow\n---\n"
    write(tmp_path / ".palimpsest/agents/lead.md", f"{head}Lead.")
    script = {
        "alpha": (calls("task", **task("beta", "lead")), says("A.")),
        "beta": (calls("task", **task("gamma", "lead")), says("B.")),
        "gamma": (says("C."),),
    }
    model = Cast(calls("task", **task("alpha", "lead")), says("Done."), **script)
    harness = make_subagent_harness(tmp_path, model)
    harness.services.sessions.child_sessions.depth = 2
    session = await harness.session()

    await ask(session, "Go.")

    (first,) = await children(harness, session)
    (second,) = await children(harness, first)
    (part,) = tool_parts(second.snapshot().messages)
    assert isinstance(part.state, ToolFailed)
    assert "There is no tool 'task' here" in part.state.error
    assert model.helping["gamma"].requests == []


async def test_an_agent_can_be_denied_by_name(tmp_path: Path) -> None:
    rules = (
        Rule(permission="*", action="allow"),
        Rule(permission="task", pattern="gen*", action="deny"),
    )
    model = Cast(calls("task", **task("alpha")), says("Done."))
    session = await make_subagent_harness(tmp_path, model, rules=rules).session()

    answer = await ask(session, "Go.")

    (part,) = tool_parts(answer.messages)
    assert isinstance(part.state, ToolFailed)
    assert "denies this call: task for 'general'" in part.state.error


async def test_its_model_temperature_and_prompt_are_its_own(tmp_path: Path) -> None:
    head = "---\nmode: subagent\nmodel: other/small\ntemperature: 0.1\ndescription: x\n---\n"
    write(tmp_path / ".palimpsest/agents/poet.md", f"{head}You rhyme.")
    model = Cast(calls("task", **task("alpha", "poet")), says("Done."), alpha=(says("ok"),))
    session = await make_subagent_harness(tmp_path, model).session()

    await ask(session, "Go.")

    request = model.helping["alpha"].requests[0]
    assert request.model.ref.id == "other/small"
    assert request.parameters["temperature"] == 0.1
    assert str(request.messages[0]["content"]).startswith("You rhyme.")


async def test_the_card_shows_what_it_does_while_it_works(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    model = Cast(
        calls("task", **task("alpha")),
        says("Done."),
        alpha=(calls("read", path="a.txt").pauses(0.5), calls("list").pauses(0.5), says("ok")),
    )
    session = await make_subagent_harness(tmp_path, model).session()
    seen: list[dict[str, Any]] = []

    def watch(_records: Any) -> None:
        states = [part.state for part in tool_parts(session.snapshot().messages)]
        seen.extend(dict(state.metadata) for state in states if isinstance(state, ToolRunning))

    session.subscribe(watch)
    await ask(session, "Go.")

    assert any(metadata.get("agent") == "general" for metadata in seen)
    assert any("✓ read a.txt" in metadata.get("output", "") for metadata in seen)


async def test_a_person_does_not_ask_in_the_session_of_a_task(tmp_path: Path) -> None:
    model = Cast(
        calls("task", **task("alpha")), says("Done."), says("Still here."), alpha=(says("ok"),)
    )
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()
    await ask(session, "Go.")
    (child,) = await children(harness, session)

    opened = await harness.workspace.open(child.id, "a.ipynb")

    assert opened is child
    assert opened.read_only
    with pytest.raises(UserError, match="This is the session of a task"):
        await opened.prompt("Hi", PromptOptions(origin=Origin(kind="panel")))
    assert await harness.session() is session
    listed = await harness.workspace.children(session.id)
    assert [summary.id for summary in listed] == [child.id]
    fork = await harness.workspace.fork(child.id)
    assert not fork.read_only


async def test_all_subtasks_of_a_prompt_are_run(tmp_path: Path) -> None:
    model = Cast(says("A and B."), alpha=(says("A."),), beta=(says("B."),))
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()

    answer = await ask(session, "@explore alpha\n@general beta")

    assert answer.text == "A and B."
    first, second = tool_parts(answer.messages)
    assert [part.state.input["agent"] for part in (first, second)] == ["explore", "general"]
    assert [part.state.status for part in (first, second)] == ["completed"] * 2
    assert [m.info.agent for m in answer.messages] == ["explore", "general", "build"]
    roles = [m["role"] for m in model.main.requests[0].messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool"]
    await whole(harness, session)


async def test_an_agent_named_in_the_middle_is_left_to_the_model(tmp_path: Path) -> None:
    model = Cast(says("ok"))
    session = await make_subagent_harness(tmp_path, model).session()

    await ask(session, "Please let @explore look, not @nobody.")

    (prompt, _) = session.snapshot().messages
    (named,) = [part for part in prompt.parts if isinstance(part, AgentPart)]
    assert (named.name, named.source) == ("explore", {"value": "@explore", "start": 11, "end": 19})
    assert "The user names the agent explore" in str(model.main.requests[0].messages[-1])


async def test_a_subtask_that_is_stopped_ends_the_turn(tmp_path: Path) -> None:
    model = Cast(alpha=(says("I begin. ").stalls(),))
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()

    asking = asyncio.ensure_future(ask(session, "@general alpha"))
    await until(lambda: model.helping["alpha"].requests)
    session.cancel()
    answer = await asking

    assert answer.error is not None
    assert model.main.requests == []
    (part,) = tool_parts(answer.messages)
    assert isinstance(part.state, ToolFailed)
    model.main.script(says("New."))
    assert (await ask(session, "And now?")).text == "New."


async def test_a_subtask_that_fails_is_told_to_the_model(tmp_path: Path) -> None:
    model = Cast(says("It failed."), alpha=(fails(400, "broken"),))
    session = await make_subagent_harness(tmp_path, model).session()

    answer = await ask(session, "@general alpha")

    assert answer.text == "It failed."
    assert "failed" in str(model.main.requests[0].messages[-1])


def marked(message: Message) -> list[TextPart]:
    return [part for part in message.parts if isinstance(part, TextPart)]


async def test_a_command_is_sent_as_its_words_and_shown_as_it_was_typed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    text = "---\ndescription: Reviews\nagent: critic\n---\nReview $1 for $2.\n\n!`echo shell; echo two`\nSee @a.py and @gone.py."
    write(tmp_path / ".palimpsest/commands/review.md", text)
    write(tmp_path / ".palimpsest/agents/critic.md", "---\nmode: primary\n---\nCriticise.")
    model = Cast(says("Fine."))
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()

    asking = asyncio.ensure_future(ask(session, "/review this for real"))
    await until(lambda: session.snapshot().asks)
    (question,) = session.snapshot().asks
    assert question.input == {"command": "echo shell; echo two"}
    assert question.permission == "bash"
    session.reply(question.id, Reply(answer="once"))
    answer = await asking

    assert answer.messages[0].info.agent == "critic"
    prompt = session.snapshot().messages[0]
    typed, meant, *files = marked(prompt)
    assert (typed.text, typed.ignored) == ("/review this for real", True)
    assert meant.synthetic
    assert meant.text.startswith("Review this for for real.\n\nshell\ntwo\nSee @a.py and @gone.py.")
    assert "1: x = 1" in files[0].text
    assert "cannot be read: There is no gone.py" in files[1].text
    sent = str(model.main.requests[0].messages[1:])
    assert "/review" not in sent
    assert "shell" in sent
    await whole(harness, session)


async def test_a_refused_shell_command_ends_the_turn_with_a_sentence(tmp_path: Path) -> None:
    write(tmp_path / ".claude/commands/st.md", "State: !`git status`")
    model = Cast(says("No."))
    session = await make_subagent_harness(tmp_path, model).session()

    asking = asyncio.ensure_future(ask(session, "/st"))
    await until(lambda: session.snapshot().asks)
    session.reply(session.snapshot().asks[0].id, Reply(answer="reject"))
    answer = await asking

    assert answer.error is not None
    assert answer.error.message.startswith("/st was not sent.")
    assert model.main.requests == []


async def test_stopping_while_a_command_asks_is_a_stop(tmp_path: Path) -> None:
    write(tmp_path / ".claude/commands/st.md", "State: !`git status`")
    session = await make_subagent_harness(tmp_path, Cast(says("No."))).session()

    asking = asyncio.ensure_future(ask(session, "/st"))
    await until(lambda: session.snapshot().asks)
    session.cancel()
    answer = await asking

    assert answer.error is not None
    assert answer.error.type == "aborted"


async def test_a_command_can_be_a_subtask(tmp_path: Path) -> None:
    write(tmp_path / ".palimpsest/command/dig.md", "---\nsubtask: true\n---\nDig alpha $ARGUMENTS")
    write(tmp_path / ".palimpsest/command/look.md", "---\nagent: explore\n---\nLook alpha")
    model = Cast(says("Summed."), says("Looked."), alpha=(says("Dug."), says("Seen.")))
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()

    answer = await ask(session, "/dig deep")
    second = await ask(session, "/look")

    assert answer.text == "Summed."
    (prompt, *_) = session.snapshot().messages
    (subtask,) = [part for part in prompt.parts if isinstance(part, SubtaskPart)]
    assert (subtask.prompt, subtask.agent, subtask.command) == ("Dig alpha deep", "general", "dig")
    (part,) = tool_parts(answer.messages)
    assert isinstance(part.state, ToolCompleted)
    assert "Say what came out of the task" in str(model.main.requests[0].messages[-1])
    (part,) = tool_parts(second.messages)
    assert part.state.input["agent"] == "explore"
    assert isinstance(second.messages[-1].info, AssistantMessage)
    assert second.messages[-1].info.agent == "build"


async def test_a_command_says_which_model_does_its_task(tmp_path: Path) -> None:
    head = "---\nsubtask: true\nmodel: test/small\nvariant: high\n---\n"
    write(tmp_path / ".palimpsest/command/dig.md", f"{head}Dig alpha")
    write(tmp_path / ".palimpsest/command/think.md", "---\nvariant: low\n---\nThink.")
    model = Cast(says("Summed."), says("Thought."), alpha=(says("Dug."),))
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()

    answer = await ask(session, "/dig")
    await ask(session, "/think")

    (child,) = await children(harness, session)
    small = ModelRef(provider="test", name="small", variant="high")
    used = [m.info.model for m in child.snapshot().messages if m.info.role == "assistant"]
    assert used == [small]
    assert [m.info.model.name for m in answer.messages] == ["small", "model"]  # type: ignore[union-attr]
    newest = session.snapshot().messages[-1].info
    assert (newest.model.name, newest.model.variant) == ("model", "low")


async def test_a_path_or_an_unknown_word_behind_a_slash_is_a_prompt(tmp_path: Path) -> None:
    model = Cast(says("ok"), says("ok"))
    session = await make_subagent_harness(tmp_path, model).session()

    await ask(session, "/home/me is full")
    await ask(session, "/nothing here")

    assert model.main.requests[0].messages[-1]["content"] == "/home/me is full"
    assert model.main.requests[1].messages[-1]["content"] == "/nothing here"


async def test_skills_are_listed_and_loaded(tmp_path: Path) -> None:
    folder = tmp_path / ".agents/skills/pdf"
    write(folder / "SKILL.md", "---\nname: pdf\ndescription: Reads PDFs\n---\nUse read.py.")
    write(folder / "read.py", "x")
    model = Cast(calls("skill", name="PDF"), calls("skill", name="no"), says("ok"))
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()

    answer = await ask(session, "Read it.")

    system = str(model.main.requests[0].messages[0]["content"])
    assert "\n\nSkills, each a text" in system
    assert "- pdf: Reads PDFs" in system
    good, bad = tool_parts(answer.messages)
    assert isinstance(good.state, ToolCompleted)
    assert good.state.output == (
        f"Skill pdf, from {folder}. Paths in it are relative to that folder.\n"
        "Files beside it: read.py\n\nUse read.py."
    )
    assert isinstance(bad.state, ToolFailed)
    assert bad.state.error == "There is no skill 'no'. Skills: pdf."
    await whole(harness, session)


async def test_the_system_prompt_stays_when_a_skill_is_added(tmp_path: Path) -> None:
    write(tmp_path / ".agents/skills/a/SKILL.md", "---\ndescription: One\n---\nx")
    model = Cast(says("1"), calls("skill", name="b"), says("2"))
    session = await make_subagent_harness(tmp_path, model).session()

    await ask(session, "One.")
    write(tmp_path / ".agents/skills/b/SKILL.md", "---\ndescription: Two\n---\nText of b.")
    answer = await ask(session, "Two.")

    first, second, *_ = (request.messages[0] for request in model.main.requests)
    assert first == second
    (part,) = tool_parts(answer.messages)
    assert isinstance(part.state, ToolCompleted)
    assert "Text of b." in part.state.output


async def test_an_agent_without_skills_is_told_of_none(tmp_path: Path) -> None:
    write(tmp_path / ".agents/skills/a/SKILL.md", "---\ndescription: One\n---\nx")
    model = Cast(calls("task", **task("alpha", "explore")), says("ok"), alpha=(says("A."),))
    session = await make_subagent_harness(tmp_path, model).session()

    await ask(session, "Go.")

    request = model.helping["alpha"].requests[0]
    assert "Skills, each a text" not in str(request.messages[0])
    assert not [tool for tool in request.tools if tool.name == "skill"]


def writers() -> int:
    """Count the writer threads of journals in this process."""
    return sum(thread.name.startswith("palimpsest-journal-") for thread in threading.enumerate())


@pytest.mark.soak  # with each commit a task that was closed is gone on with, below; this adds that twenty leave nothing open
async def test_the_session_of_a_task_is_closed_when_its_work_is_done(tmp_path: Path) -> None:
    script = [calls("task", **task(f"alpha {n}")) for n in range(20)]
    model = Cast(*script, says("Done."), alpha=tuple(says("ok") for _ in range(20)))
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()
    before = writers()

    await session.prompt("Go.", PromptOptions(yes=True))
    await until(lambda: not open_children(harness, session))

    assert len(await harness.workspace.children(session.id)) == 20
    assert writers() == before
    await until(lambda: list(harness.services.sessions.spending_limits) == [session.id])
    await until(lambda: list(harness.services.rules.effective_rules.open_sessions) == [session.id])


async def test_a_page_that_looks_at_a_task_sees_how_it_goes_on(tmp_path: Path) -> None:
    model = Cast(calls("task", **task("alpha")), says("Done."), alpha=(says("One."), says("Two.")))
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()
    await ask(session, "Go.")
    await until(lambda: not open_children(harness, session))
    (child,) = await harness.workspace.children(session.id)
    opened = await harness.workspace.open(child.id, "a.ipynb")
    seen: list[str] = []
    opened.subscribe(lambda records: seen.extend(str(record.event) for record in records))

    model.main.script(calls("task", **task("alpha", task_id=child.id)), says("Again."))
    await ask(session, "Once more.")
    await until(lambda: "Two." in str(seen))

    assert open_children(harness, session) == [opened]
    assert "Two." in str(opened.snapshot().messages)


async def test_a_task_that_was_closed_is_gone_on_with(tmp_path: Path) -> None:
    model = Cast(calls("task", **task("alpha")), says("Done."), alpha=(says("One."), says("Two.")))
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()
    await ask(session, "Go.")
    await until(lambda: not open_children(harness, session))
    (child,) = await harness.workspace.children(session.id)

    model.main.script(calls("task", **task("alpha", task_id=child.id)), says("Again."))
    answer = await ask(session, "Once more.")
    await until(lambda: not open_children(harness, session))

    (part,) = tool_parts(answer.messages)
    assert isinstance(part.state, ToolCompleted)
    assert "Two." in part.state.output


async def test_closing_while_a_task_works_ends_both(tmp_path: Path) -> None:
    model = Cast(calls("task", **task("alpha")), alpha=(says("I begin").pauses(None),))
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()
    asking = asyncio.create_task(ask(session, "Go."))
    await until(
        lambda: "I begin" in str([child.snapshot() for child in open_children(harness, session)])
    )

    await asyncio.wait_for(harness.workspace.close(), LAST_RESORT_SECONDS)

    assert (await asking).error is not None
    assert not harness.workspace._open_sessions


@pytest.mark.parametrize("whole", [True, False])
async def test_another_session_is_not_closed_because_a_task_was_sought_in_it(
    tmp_path: Path,
    whole: bool,  # noqa: FBT001
) -> None:
    model = Cast(says("Hi."), says("Hm."), says("Still here."))
    harness = make_subagent_harness(tmp_path, model)
    other = await harness.workspace.current("other.ipynb")
    await ask(other, "Hello?")  # type: ignore[arg-type]
    session = await harness.session()
    named = other.id if whole else other.id[:-2]
    model.main._answers.insert(1, calls("task", **task("alpha", task_id=named)))

    await ask(session, "Go.")
    await settled()

    assert (await ask(other, "And now?")).text == "Still here."  # type: ignore[arg-type]


async def test_what_was_taken_back_in_a_task_is_gone_when_it_goes_on(tmp_path: Path) -> None:
    model = Cast(calls("task", **task("alpha")), says("Done."), alpha=(says("One."), says("Two.")))
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()
    await ask(session, "Go.")
    (child,) = await children(harness, session)
    await child.reverts.revert()

    model.main.script(calls("task", **task("alpha again", task_id=child.id)), says("Again."))
    answer = await ask(session, "Once more.")

    (part,) = tool_parts(answer.messages)
    assert isinstance(part.state, ToolCompleted), part.state
    (child,) = await children(harness, session)
    said = [
        text_part.text
        for m in child.snapshot().messages
        for text_part in m.parts
        if isinstance(text_part, TextPart)
    ]
    assert said[-1] == "Two."
    assert not any("One." in text for text in said)
