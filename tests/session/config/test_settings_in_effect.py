"""Each setting has the effect documented in docs/config.md on the request, the answer or the folder."""

from pathlib import Path
from typing import Any

import pytest
from tests.waiting import eventually

from palimpsest.app.applied_settings import server_specs
from palimpsest.session.config.settings import McpSettings
from palimpsest.testing import ModelAnswer, ScriptedModel, calls, isolated_session, says

pytestmark = pytest.mark.slow

NAME = "scripted/model"
WINDOW = {"window": 200_000, "output": 8_000}


class Played:
    """The results of prompts under some settings."""

    def __init__(
        self,
        *answers: ModelAnswer,
        prompts: tuple[str, ...] = ("Hello.",),
        folder: Path | None = None,
        **settings: Any,
    ) -> None:
        self.model = ScriptedModel(*answers)
        with isolated_session(self.model, folder=folder, settings=settings) as session:
            self.answers = [session.prompt(prompt) for prompt in prompts]
            self.messages = session.messages
            self.info = session.snapshot.session
            self.requests = session.requests()
            self.agents = dict(session._app.definitions.agents)

    def sent(self, at: int = -1) -> str:
        """Return the messages of a request as text."""
        return str(self.model.requests[at].messages)

    def offered(self, at: int = -1) -> set[str]:
        """Return the names of the tools in a request."""
        return {tool.name for tool in self.model.requests[at].tools}


def test_model_and_variant_name_who_answers_and_how() -> None:
    other = {"scripted/other": {**WINDOW, "reasoning": True}}
    played = Played(says("Hi."), model="scripted/other", models=other, variant="high")

    request = played.model.requests[0]
    assert request.model.ref.id == "scripted/other"
    assert request.parameters["reasoning_effort"] == "high"


def test_what_is_known_of_a_model_is_its_settings() -> None:
    known = {
        "window": 64_000,
        "input": 50_000,
        "output": 3_000,
        "price": {"input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write": 3.75},
        "vision": True,
        "caching": True,
        "api_base": "http://127.0.0.1:9/v1",
    }
    answer = says("Hi.").reports(input=100, output=20, cache_read=40, cache_write=10)
    played = Played(answer, models={NAME: known})

    info = played.model.requests[0].model
    assert (info.window, info.input_limit, info.output_limit) == (64_000, 50_000, 3_000)
    assert (info.vision, info.caching, info.api_base) == (True, True, "http://127.0.0.1:9/v1")
    paid = (100 * 3.0 + 20 * 15.0 + 40 * 0.3 + 10 * 3.75) / 1_000_000
    assert played.answers[0].cost == pytest.approx(paid)


def test_a_model_that_calls_no_tools_is_offered_none() -> None:
    played = Played(says("Hi."), models={NAME: {**WINDOW, "tools": False}})

    assert played.offered() == set()


def test_the_window_is_capped_for_every_model() -> None:
    played = Played(says("Hi."), context_tokens=40_000)

    assert played.requests[0].facts.window == 40_000


def test_words_and_files_are_added_to_the_system_prompt(tmp_path: Path) -> None:
    (tmp_path / "style.md").write_text("Write short sentences.\n")
    played = Played(
        says("Hi."),
        folder=tmp_path,
        system="Say where a number comes from.",
        instructions=[str(tmp_path / "style.md")],
    )

    assert "Say where a number comes from." in played.sent()
    assert "Write short sentences." in played.sent()


def test_the_default_agent_answers_as_its_table_says() -> None:
    teacher = {
        "description": "Explains.",
        "prompt": "You teach.",
        "model": "scripted/other",
        "variant": "low",
        "color": "#336699",
        "temperature": 0.2,
        "top_p": 0.9,
        "permission": {"bash": "deny"},
    }
    played = Played(
        says("Hi."),
        agent={"teacher": teacher},
        default_agent="teacher",
        models={NAME: WINDOW, "scripted/other": {**WINDOW, "reasoning": True}},
    )

    request = played.model.requests[0]
    assert played.messages[0].info.agent == "teacher"
    assert request.model.ref.id == "scripted/other"
    assert (request.parameters["temperature"], request.parameters["top_p"]) == (0.2, 0.9)
    assert request.parameters["reasoning_effort"] == "low"
    assert (played.agents["teacher"].description, played.agents["teacher"].color) == (
        "Explains.",
        "#336699",
    )
    assert "You teach." in played.sent()
    assert "bash" not in played.offered()


@pytest.mark.parametrize(
    "settings", [{"max_steps": 1}, {"agent": {"build": {"steps": 1}}}], ids=["turn", "agent"]
)
def test_the_steps_of_a_turn_are_limited(settings: dict[str, Any]) -> None:
    played = Played(calls("read", path="."), says("That far."), **settings)

    assert played.answers[0].stopped_by == "steps"
    assert len(played.model.requests) == 1


def test_an_agent_that_is_disabled_is_not_there() -> None:
    helpers = {"mode": "subagent", "description": "Counts birds.", "prompt": "Count."}
    agents = {"explore": {"disable": True}, "counter": helpers}
    secret = {**helpers, "description": "Is not shown.", "hidden": True}
    played = Played(says("Hi."), agent={**agents, "secret": secret})

    (task,) = [tool for tool in played.model.requests[0].tools if tool.name == "task"]
    assert ("counter: Counts birds." in task.description, "explore" in task.description) == (
        True,
        False,
    )
    assert "secret" not in task.description


def test_a_command_sends_its_template_to_its_agent() -> None:
    tidy = {"template": "Tidy the file $1.", "agent": "plan", "description": "Tidies."}
    played = Played(says("Tidied."), prompts=("/tidy a.py",), command={"tidy": tidy})

    assert "Tidy the file a.py." in played.sent()
    assert played.messages[0].info.agent == "plan"


def test_rules_and_mode_say_what_runs(tmp_path: Path) -> None:
    write = calls("write", path="a.txt", content="one\n")
    allowed = Played(write, says("Written."), folder=tmp_path, permission={"edit": "allow"})
    there = (tmp_path / "a.txt").exists()
    again = calls("write", path="b.txt", content="one\n")
    denied = Played(again, says("I may not."), folder=tmp_path, permission="allow", mode="plan")

    assert (there, (tmp_path / "b.txt").exists()) == (True, False)
    assert allowed.answers[0].stopped_by == "finished"
    assert "I may not." in denied.answers[0].text


def test_a_spending_limit_ends_a_turn_that_nobody_can_allow_more() -> None:
    step = calls("read", path=".").reports(input=900, output=200)
    played = Played(step, says("Not sent."), budget={"tokens": 1_000})

    assert played.answers[0].stopped_by == "budget"
    assert played.info is not None
    assert played.info.budget is not None
    assert played.info.budget.tokens == 1_000


def test_long_outputs_are_shortened_as_the_table_says(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("".join(f"line {n}\n" for n in range(100)))
    limits = {"max_lines": 10, "max_bytes": 4_000, "direction": "head"}
    played = Played(
        calls("bash", command="cat long.txt", description="Show"),
        says("Read."),
        folder=tmp_path,
        tool_output=limits,
        permission="allow",
    )

    assert ("line 3" in played.sent(), "line 99" in played.sent()) == (True, False)


def test_numbers_of_compaction_reach_the_policy_of_the_request() -> None:
    table = {
        "auto": False,
        "prune": False,
        "reserved": 5_000,
        "tail_turns": 3,
        "tail_tokens": 4_000,
    }
    model = ScriptedModel(says("Hi."))
    with isolated_session(model, settings={"compaction": table}) as session:
        session.prompt("Hello.")
        policy = session.policy
        request = session.requests()[0]

    assert (policy.overflow.auto, policy.prune.rule) == (False, "none")
    assert (policy.compact.tail_turns, policy.compact.tail_tokens) == (3, 4_000)
    assert request.facts.reserve >= 5_000


def test_a_policy_is_a_preset_with_changed_numbers() -> None:
    table = {"base": "opencode-1.18", "prune": {"protect_tokens": 9_000}}
    model = ScriptedModel(says("Hi."))
    with isolated_session(model, settings={"policy": table}) as session:
        session.prompt("Hello.")

        assert (session.policy.name, session.policy.prune.protect_tokens) == (
            "opencode-1.18",
            9_000,
        )


def test_no_file_is_kept_where_snapshots_are_off(tmp_path: Path) -> None:
    write = calls("write", path="a.txt", content="one\n")
    played = Played(
        write, says("Written."), folder=tmp_path, snapshot=False, permission={"edit": "allow"}
    )

    kinds = {part.type for message in played.messages for part in message.parts}
    assert "patch" not in kinds
    assert not any((tmp_path / ".palimpsest").glob("snapshots/**/*"))


@pytest.mark.parametrize(("depth", "children"), [(0, 0), (1, 1)])
def test_work_is_handed_on_as_deep_as_is_said(depth: int, children: int) -> None:
    task = calls("task", description="Look", prompt="Look.", agent="explore")
    model = ScriptedModel(task, says("Seen."), says("Done."))
    settings = {"subagent_depth": depth, "permission": "allow"}
    with isolated_session(model, settings=settings) as session:
        session.prompt("Go.")

        assert len(session.children()) == children
    told = "Work may be handed on 0 deep here" in str(model.requests[-1].messages)
    assert told is (depth == 0)


def test_a_small_model_is_asked_for_a_title() -> None:
    model = ScriptedModel(says("Birds of the island"), says("Birds of the island"))
    small = {"scripted/small": WINDOW, NAME: WINDOW}
    settings = {"titles": True, "small_model": "scripted/small", "models": small}
    with isolated_session(model, settings=settings) as session:
        session.prompt("Which birds live there?")
        eventually(lambda: session.title == "Birds of the island")

    assert {request.model.ref.id for request in model.requests} == {NAME, "scripted/small"}


def test_a_server_is_given_what_its_table_says() -> None:
    program = McpSettings(
        command="demo", args=["stdio"], env={"WORD": "${DEMO}"}, cwd="/srv", timeout=5
    )
    address = McpSettings(url="https://example.org/mcp", headers={"X-Key": "${DEMO}"})
    off = McpSettings(command="demo", enabled=False)

    first, second, third = server_specs({"one": program, "two": address, "off": off}, {})

    assert (first.command, first.args, first.env) == ("demo", ("stdio",), {"WORD": "${DEMO}"})
    assert (str(first.cwd), first.timeout) == ("/srv", 5)
    assert (second.url, second.headers) == ("https://example.org/mcp", {"X-Key": "${DEMO}"})
    assert (first.enabled, third.enabled) == (True, False)
