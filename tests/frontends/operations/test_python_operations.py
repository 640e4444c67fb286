"""Each method of ``Session`` builds the operation that a page and a cell would ask for, and its handler does it."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from palimpsest import project
from palimpsest.app.wiring import App
from palimpsest.frontends.operation_base.operation import Operation, OperationContext
from palimpsest.frontends.operation_table import TABLE
from palimpsest.frontends.operations.context import ApplyContextEdit
from palimpsest.frontends.operations.controls import TrustProject
from palimpsest.frontends.operations.extensions import ListExtensions
from palimpsest.frontends.operations.reverts import Revert
from palimpsest.frontends.operations.sessions import (
    Archive,
    Delete,
    Fork,
    ListBranches,
    ListChildren,
    NewSession,
    Retitle,
)
from palimpsest.frontends.operations.sharing import Export, Import, Share, Unshare
from palimpsest.frontends.operations.turns import (
    AnswerAsk,
    AnswerQuestion,
    Cancel,
    Compact,
    Join,
    Retry,
    Withdraw,
)
from palimpsest.model.script import says
from palimpsest.public.session_calls import operation_of
from palimpsest.public.session_object import Session, open_session
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import Reply


class RecordingSession(Session):
    """A session that notes the operations that its methods build."""

    def __init__(self, session: Session) -> None:
        super().__init__(session._app, session._kernel_session)
        self.built: list[Operation] = []

    def _build_operation(self, name: str, **arguments: Any) -> Operation:
        self.built.append(super()._build_operation(name, **arguments))
        return self.built[-1]


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordingSession]:
    monkeypatch.chdir(tmp_path)  # a report is written beside whoever asks
    facts = {"model": "scripted/model", "models": {"scripted/model": {"window": 90_000}}}
    model = ScriptedModel(*(says("It is a walrus.") for _ in range(4)))
    app = App(start=tmp_path, environment={}, overrides=facts, model=lambda _info: model)
    yield RecordingSession(open_session(app))
    app.close()


@pytest.mark.parametrize(
    ("call", "operation"),
    [
        (lambda s: s.pin("last"), ApplyContextEdit(action="pin", target="last")),
        (lambda s: s.unpin("last"), ApplyContextEdit(action="unpin", target="last")),
        (lambda s: s.exclude("last"), ApplyContextEdit(action="exclude", target="last")),
        (lambda s: s.restore("last"), ApplyContextEdit(action="restore", target="last")),
        (lambda s: s.undo_compaction(), ApplyContextEdit(action="undo")),
        (lambda s: s.cancel(), Cancel()),
        (lambda s: s.withdraw("greeting"), Withdraw(prompt_id="greeting")),
        (lambda s: s.reply("ask_1", "once"), AnswerAsk(ask_id="ask_1", answer="once")),
        (
            lambda s: s.reply("ask_1", Reply(answer="always", scope="project")),
            AnswerAsk(ask_id="ask_1", answer="always", scope="project"),
        ),
        (
            lambda s: s.reply("ask_1", "reject", "Use the other."),
            AnswerAsk(ask_id="ask_1", answer="reject", feedback="Use the other."),
        ),
        (
            lambda s: s.answer("que_1", "yes", None, ["a", "b"]),
            AnswerQuestion(question_id="que_1", answers=(("yes",), (), ("a", "b"))),
        ),
        (lambda s: s.answer("que_1"), AnswerQuestion(question_id="que_1")),
        (lambda s: s.retry().result(), Retry()),
        (
            lambda s: s.retry("last", model="a/b", mode="plan", overwrite=["c"]).result(),
            Retry(target="last", model="a/b", mode="plan", overwrite=("c",)),
        ),
        (lambda s: s.loop().result(), Join()),
        (
            lambda s: s.compact("the numbers", model="a/b", auto=True).result(),
            Compact(focus="the numbers", model="a/b", auto=True),
        ),
        (lambda s: s.fork("msg_1"), Fork(message="msg_1")),
        (lambda s: s.fork(request=2, model="a/b"), Fork(request=2, model="a/b")),
        (lambda s: s.retitle("Penguins"), Retitle(title="Penguins")),
        (lambda s: s.archive(archived=False), Archive(archived=False)),
        (lambda s: s.delete(), Delete(session="")),
        (lambda s: s.children(), ListChildren()),
        (lambda s: s.branches(), ListBranches()),
        (lambda s: s.share(), Share()),
        (lambda s: s.unshare(), Unshare()),
        (lambda s: s.export("md", prompts="cells"), Export(form="md", prompts="cells")),
        (lambda s: s.preview("a"), Revert(action="preview", target="a")),
        (lambda s: s.revert("a", ["b"]), Revert(action="revert", target="a", overwrite=("b",))),
        (lambda s: s.unrevert(["b"]), Revert(action="unrevert", overwrite=("b",))),
        (lambda s: s.cleanup(), Revert(action="cleanup")),
        (lambda s: s.diff("last"), Revert(action="diff", target="last")),
        (lambda s: s.connect_servers(), ListExtensions(connect=True, kind="mcp")),
        (lambda s: s.hooks, ListExtensions(kind="hooks")),
        (lambda s: s.servers, ListExtensions(kind="mcp")),
    ],
)
def test_a_method_builds_its_operation(
    session: RecordingSession, call: Callable[[Session], object], operation: Operation
) -> None:
    with suppress(UserError):  # most name what is not there
        call(session)

    mine = {"session": session.id} if "session" in type(operation).model_fields else {}
    assert set(map(repr, session.built)) == {repr(operation.model_copy(update=mine))}


@pytest.mark.parametrize(
    ("call", "operation"),
    [
        (lambda: project.import_session("none"), Import(path="none")),
        (lambda: project.new_session("Title"), NewSession(title="Title")),
        (project.trust, TrustProject()),
        (project.distrust, TrustProject(trusted=False)),
    ],
)
def test_a_function_about_the_project_builds_its_operation(
    session: RecordingSession,
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[[], object],
    operation: Operation,
) -> None:
    built: list[Operation] = []

    def noted(name: str, arguments: dict[str, Any]) -> Operation:
        built.append(operation_of(name, arguments))
        return built[-1]

    monkeypatch.setattr(project, "current_app", lambda: session._app)
    monkeypatch.setattr(project, "operation_of", noted)
    with suppress(UserError):
        call()

    assert built == [operation]


def test_what_needs_no_loop_is_done_on_the_engines_own_thread(session: RecordingSession) -> None:
    session.prompt("What is it?")
    answer = session.messages[-1].id

    async def work() -> tuple[str, bool, bool]:
        return session.pin(answer).target, session.cancel(), session.withdraw("none")

    assert session._app.engine.submit(work()).result() == (answer, False, False)


def test_what_takes_the_loop_says_so_there(session: RecordingSession) -> None:
    async def work() -> str:
        with pytest.raises(UserError) as refused:
            session.retitle("Penguins")
        return str(refused.value)

    said = session._app.engine.submit(work()).result()

    assert "waits for the agent's thread" in said


def test_no_argument_of_an_operation_no_answer_and_no_desk_is_of_any_type() -> None:
    operations = [*TABLE.by_type.values()]
    answers = [get_type_hints(operation.run)["return"] for operation in operations]
    values = [model for model in (*operations, *answers) if hasattr(model, "model_fields")]

    untyped = {
        f"{model.__name__}.{name}"
        for model in values
        for name, field in model.model_fields.items()
        if field.annotation is Any
    }

    assert untyped == set()
    assert OperationContext.__annotations__["services"] == "FrontendServices"


def test_a_reply_says_who_gave_it_and_a_focus_may_be_long(
    session: RecordingSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Reply] = []
    monkeypatch.setattr(
        session._kernel_session,
        "reply",
        lambda _ask, reply: given.append(reply) is None,
        raising=True,
    )

    assert session.reply("ask_1", Reply(answer="once", by="a script"))
    assert session.reply("ask_2", "once")

    assert [request.by for request in given] == ["a script", "person"]
    assert (
        session._build_operation("compact", focus="word " * 1_000).model_dump()["focus"]
        == "word " * 1_000
    )


def test_a_recording_is_asked_about_its_own_sessions_whatever_session_asks(
    session: RecordingSession, tmp_path: Path
) -> None:
    session.prompt("What is it?")
    exported = session.export("json", tmp_path / "a.json")
    other = session.fork()

    found = RecordingSession(other).run("figures", path=str(exported))

    assert [row["session"] for row in found.values["sessions"]] == [session.id]


def test_a_report_holds_another_session_of_the_project_beside_it(
    session: RecordingSession, tmp_path: Path
) -> None:
    session.prompt("What is it?")
    other = session.fork()
    other.prompt("And what is that?")

    page = session.report("both.html", policies="raw", beside=other)

    assert page == tmp_path / "both.html"
    assert "They do the same in 1 step. Then the first has ended, the second answers" in (
        page.read_text("utf-8")
    )
    with pytest.raises(UserError, match="There is no"):
        session.report("page.html", beside="nothing.html")
