"""Every guard ends a turn that nobody watches, and reports which guard it was."""

import asyncio
import json
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.harness.kernel import Kernel
from tests.harness.unattended_script import (
    MANY,
    always,
    ends,
    script,
    summary_fails,
    writes_anew,
)
from tests.sample_size import thinned

from palimpsest.model.script import calls, fails, says

pytestmark = pytest.mark.slow

SCENARIO = "rehearsal/unattended"
A, B, C = calls("list"), calls("glob", pattern="*"), calls("glob", pattern="a*")
LOOSE: dict[str, dict[str, Any]] = {
    "asking": {},
    "bypass": {"mode": "bypass"},
    "allow": {"permission": "allow"},
    "allowed by name": {"permission": {"*": "allow", "doom_loop": "allow"}},
}


class TestScript:
    """``Session.prompt`` in plain Python, with no terminal."""

    @pytest.mark.parametrize("loose", thinned(LOOSE, 2))
    @pytest.mark.parametrize("yes", [True, pytest.param(False, marks=pytest.mark.soak)])
    @pytest.mark.parametrize(
        "period",
        [[A], pytest.param([A, B], marks=pytest.mark.soak), [A, B, C]],
        ids=["1", "2", "3"],
    )
    def test_a_circle_ends_the_turn(
        self, tmp_path: Path, period: list[Any], loose: str, *, yes: bool
    ) -> None:
        with script(tmp_path, *always(*period), **LOOSE[loose]) as (session, server):
            answer = session.prompt("go", yes=yes)

            seen = 3 * len(period)
            assert seen < len(server.requests) <= seen + 5
            assert answer.stopped_by == "circle"
            assert answer.error is not None
            assert "circle" in answer.error.message
            assert [end for end in ends(session) if end] == ["circle"]

    def test_the_model_is_told_once_before_the_turn_ends(self, tmp_path: Path) -> None:
        with script(tmp_path, A, A, A, says("I stop.")) as (session, server):
            answer = session.prompt("go", yes=True)

            assert (answer.text, answer.stopped_by, answer.error) == ("I stop.", "finished", None)
            assert "you repeat the same call" in str(server.requests[-1].body)

    def test_a_rule_that_denies_the_question_is_no_way_on(self, tmp_path: Path) -> None:
        with script(tmp_path, *always(A), permission={"doom_loop": "deny"}) as (session, server):
            answer = session.prompt("go")

            assert (answer.stopped_by, len(server.requests)) == ("circle", 4)

    def test_calls_that_nobody_can_allow_end_the_turn(self, tmp_path: Path) -> None:
        with script(tmp_path, *map(writes_anew, range(MANY))) as (session, server):
            answer = session.prompt("go")

            assert (answer.stopped_by, len(server.requests)) == ("rejected", 3)
            assert not list(tmp_path.glob("*.txt"))
            assert "nobody is here to give it" in str(answer.messages[-1].parts[-1])

    def test_a_refusal_among_calls_that_run_ends_nothing(self, tmp_path: Path) -> None:
        both = [writes_anew(n).calls("glob", pattern=f"{n}") for n in range(8)]
        with script(tmp_path, *both, says("Done.")) as (session, server):
            answer = session.prompt("go")

            assert (answer.stopped_by, len(server.requests)) == ("finished", 9)

    def test_the_step_limit_names_itself(self, tmp_path: Path) -> None:
        with script(tmp_path, *map(writes_anew, range(MANY)), max_steps=4) as (session, server):
            answer = session.prompt("go", yes=True)

            assert (answer.stopped_by, len(server.requests)) == ("steps", 4)
            assert answer.error is None
            assert "step limit" in str(answer.messages[-1].parts[-1])

    def test_exports_say_what_ended_the_turn(self, tmp_path: Path) -> None:
        with script(tmp_path, A, B, max_steps=2) as (session, _):
            assert session.prompt("go").stopped_by == "steps"

            assert '"stopped_by": "steps"' in session.export("json", "a.json").read_text()
            for form, name in (("markdown", "a.md"), ("html", "a.html")):
                assert "ended at its step limit" in session.export(form, name).read_text()

    @pytest.mark.parametrize("loose", thinned(LOOSE, 3))
    def test_the_budget_ends_the_turn(self, tmp_path: Path, loose: str) -> None:
        given = {**LOOSE[loose], "budget": {"tokens": 2_500}}
        with script(tmp_path, *map(writes_anew, range(MANY)), **given) as (session, server):
            answer = session.prompt("go", yes=True)

            assert (answer.stopped_by, len(server.requests)) == ("budget", 3)
            assert answer.error is not None
            assert "spending limit" in answer.error.message

    def test_an_unknown_price_ends_a_turn_whose_dollars_are_limited(self, tmp_path: Path) -> None:
        with script(tmp_path, *always(A), budget={"usd": 1}) as (session, server):
            answer = session.prompt("go", yes=True)

            assert (answer.stopped_by, len(server.requests)) == ("budget", 0)

    def test_a_window_that_is_too_small_names_itself(self, tmp_path: Path) -> None:
        with script(tmp_path, *always(A), limits={"window": 3_000}) as (session, server):
            answer = session.prompt("go", yes=True)

            assert (answer.stopped_by, len(server.requests)) == ("window", 0)
            assert answer.error is not None

    def test_a_summary_that_fails_names_itself(self, tmp_path: Path) -> None:
        answers, limits = summary_fails()
        with script(tmp_path, *answers, limits=limits) as (session, server):
            first = session.prompt("Write much.", yes=True)
            answer = session.prompt("And on? " + "word " * 8_000, yes=True)

            assert first.stopped_by == "finished"
            assert answer.stopped_by == "compaction"
            assert answer.error is not None
            assert len(server.requests) <= 6

    def test_a_failure_names_itself(self, tmp_path: Path) -> None:
        with script(tmp_path, fails(401)) as (session, server):
            answer = session.prompt("go")

            assert (answer.stopped_by, len(server.requests)) == ("error", 1)
            assert answer.error is not None

    def test_a_provider_that_asks_for_a_day_is_not_waited_for(self, tmp_path: Path) -> None:
        with script(tmp_path, fails(429, retry_after=86_400)) as (session, server):
            answer = session.prompt("go")

            assert (answer.stopped_by, len(server.requests)) == ("error", 1)
            assert answer.error is not None
            assert "asks to wait 24 h" in answer.error.message

    def test_a_cut_and_a_withheld_answer_name_themselves(self, tmp_path: Path) -> None:
        cut, withheld = says("Half").finishes("length"), says("X").finishes("content_filter")
        with script(tmp_path, cut, withheld) as (session, _):
            assert session.prompt("go").stopped_by == "length"
            assert session.prompt("go").stopped_by == "content_filter"

    def test_a_script_with_a_loop_of_its_own_waits_for_nobody_either(self, tmp_path: Path) -> None:
        with script(tmp_path, *always(A)) as (session, server):
            answer = asyncio.run(session.aio.prompt("go", yes=True))

            assert (answer.stopped_by, len(server.requests)) == ("circle", 4)

    def test_the_circle_of_a_child_ends_the_child(self, tmp_path: Path) -> None:
        begins = calls("task", description="look", prompt="Look.", agent="general")
        with script(tmp_path, begins, *always(A)[:4], says("It failed.")) as (session, server):
            answer = session.prompt("go", yes=True)

            assert (answer.text, answer.stopped_by) == ("It failed.", "finished")
            assert len(server.requests) == 6
            assert "went in a circle" in str(server.requests[-1].body)


@contextmanager
def kernel_with(folder: Path, *answers: Any, **given: Any) -> Iterator[Kernel]:
    """A real kernel with the whole application, in which the rehearsal model gives these answers.

    Not over HTTP as in the scripts above: a kernel that asks a server imports litellm for two seconds.
    """
    limits = {"window": 100_000, "output": 2_000} | given.pop("limits", {})
    chosen = {"model": SCENARIO, "titles": False, "models": {SCENARIO: limits}, **given}
    env = {"PALIMPSEST_CONFIG_CONTENT": json.dumps(chosen), "PALIMPSEST_REHEARSAL_DELAY": "0"}
    played = pickle.dumps(answers).hex()
    with Kernel(cwd=folder, env=env) as kernel:
        assert kernel.run("%load_ext palimpsest").status == "ok"
        registered = kernel.run(
            "import palimpsest, pickle\n"
            "from palimpsest.rehearsal.scenario import register_scenario\n"
            f"register_scenario('unattended', pickle.loads(bytes.fromhex({played!r})))"
        )
        assert registered.status == "ok", registered.reply["content"]
        yield kernel


def requests(kernel: Kernel) -> int:
    """Return the number of requests that the session has sent."""
    return int(kernel.value("len(palimpsest.current_session().requests())"))


class TestKernel:
    """A kernel whose execute requests do not allow stdin."""

    @pytest.mark.parametrize(
        ("guard", "most", "answers", "given"),
        thinned(
            [
                ("budget", 3, map(writes_anew, range(MANY)), {"budget": {"tokens": 2_500}}),
                ("steps", 4, map(writes_anew, range(MANY)), {"max_steps": 4}),
                ("rejected", 3, map(writes_anew, range(MANY)), {}),
                ("window", 0, [], {"limits": {"window": 3_000}}),
                ("error", 1, [fails(401)], {}),
            ],
            5,
        ),
    )
    def test_every_guard_ends_the_turn_and_the_cell(
        self, tmp_path: Path, guard: str, most: int, answers: Any, given: dict[str, Any]
    ) -> None:
        with kernel_with(tmp_path, *answers, **given) as kernel:
            run = kernel.run("%%agent\ngo" if guard == "rejected" else "%%agent -y\ngo")

            assert requests(kernel) == most
            assert (run.status, f"({guard})" in run.reply["content"]["evalue"]) == ("error", True)

    @pytest.mark.soak  # with each commit a circle ends a turn where nobody is there, above; this adds a person who lets it go on
    def test_who_can_type_is_asked_about_a_circle_and_keeps_a_green_cell(
        self, tmp_path: Path
    ) -> None:
        with kernel_with(tmp_path, *[A] * 5, fails(401), permission="allow") as kernel:
            run_id = kernel.send("%%agent -y\ngo", stdin=True)
            assert "repeats the same call" in kernel.question()
            kernel.answer("1")
            run = kernel.finish(run_id)

            assert run.status == "ok"
            assert requests(kernel) == 6
            assert kernel.run("answer = %agent -y go", stdin=True).status == "ok"


FAILING = {
    "cell": "%%agent\nhi",
    "line": "%agent hi",
    "value": "answer = %agent hi",
    "loop": "for _ in range(3):\n    %agent hi",
    "function": "def ask():\n    %agent hi\nask()",
    "background": "handle = %agent --bg hi\nhandle.wait()",
    "sent, then waited for": "handle = %agent --bg hi\n%agent wait",
    "compact": "%agent hi\n%agent compact",
}


class TestFailedCell:
    """A cell whose turn failed raises an error, when nobody is present."""

    @pytest.fixture(scope="class")
    @staticmethod
    def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
        with Kernel(cwd=tmp_path_factory.mktemp("failing")) as kernel:
            kernel.load_scripted_model()
            yield kernel

    @pytest.mark.parametrize("form", FAILING)
    def test_in_every_form(self, kernel: Kernel, form: str) -> None:
        begins = "says('Hello.'), " if form == "compact" else ""
        kernel.script(f"{begins}fails(401)", "says('Not reached.')")
        run = kernel.run(FAILING[form])

        assert run.status == "error"
        assert run.reply["content"]["ename"] == "AgentTurnFailed"
        (line,) = run.reply["content"]["traceback"]
        guard = "compaction" if form == "compact" else "error"
        assert line.startswith(f"AgentTurnFailed: The agent's turn did not finish ({guard}): ")
        assert kernel.value("len(harness.model.requests)") == ("2" if form == "compact" else "1")

    @pytest.mark.parametrize("form", FAILING)
    def test_not_where_somebody_can_type(self, kernel: Kernel, form: str) -> None:
        kernel.script("says('Hello.'), fails(401)" if form == "compact" else "fails(401)")

        assert kernel.run(FAILING[form].replace("range(3)", "range(1)"), stdin=True).status == "ok"

    def test_under_time_it_is_an_error_like_any_other(self, kernel: Kernel) -> None:
        kernel.script("fails(401)")
        ours, other = kernel.run("%%time\n%agent hi"), kernel.run("%%time\n1/0")

        assert ours.status == other.status
        assert [error["ename"] for error in ours.of("error")] == ["AgentTurnFailed"]
        assert len(other.of("error")) == 1

    def test_it_can_be_caught_and_holds_the_answer(self, kernel: Kernel) -> None:
        kernel.script("fails(401)")
        caught = (
            "import palimpsest\ntry:\n    %agent hi\nexcept palimpsest.AgentTurnFailed as failed:\n"
            "    why = failed.answer.stopped_by"
        )

        assert kernel.run(caught).status == "ok"
        assert kernel.value("why") == "'error'"

    def test_an_answer_that_finished_fails_nothing(self, kernel: Kernel) -> None:
        kernel.script("says('Hello.')")

        assert kernel.run("answer = %agent hi").status == "ok"
        assert kernel.value("answer.stopped_by") == "'finished'"

    @pytest.mark.parametrize(
        ("setting", "stdin", "status"),
        thinned([("show", False, "ok"), ("raise", True, "error")], 2),
    )
    def test_the_setting_decides(
        self, tmp_path: Path, setting: str, status: str, *, stdin: bool
    ) -> None:
        with kernel_with(tmp_path, fails(401), on_failure=setting) as kernel:
            assert kernel.run("%%agent\nhi", stdin=stdin).status == status
