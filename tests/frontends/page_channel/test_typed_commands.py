"""A command typed into the panel is run or refused with a sentence; the model is never paid for a typing error."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.kernel import Kernel
from tests.sample_size import thinned

from palimpsest.frontends.operation_base.operation import Operation
from palimpsest.frontends.operation_table import TABLE, Help
from palimpsest.frontends.operations.context import UsePolicy
from palimpsest.frontends.operations.controls import SetMode
from palimpsest.frontends.operations.panel import ChooseAgent, ChooseModel
from palimpsest.frontends.operations.reverts import Revert
from palimpsest.frontends.operations.sessions import Fork, NewSession
from palimpsest.frontends.operations.sharing import Export
from palimpsest.frontends.operations.status import ShowStatus
from palimpsest.frontends.operations.turns import Cancel, Compact, Retry
from palimpsest.frontends.page_channel.typed_commands import (
    TypedCommand,
    commands_of_other_agents,
    panel_text,
    typed_command,
)
from palimpsest.transcript.errors import UserError

NEED_A_NAME = ("delete", "import")
OWN = ("review", "git/commit", "v1.2")


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("/compact", Compact()),
        ("  /compact  ", Compact()),
        ("/Compact", Compact()),
        ("/compact focus on the columns", Compact(focus="the columns")),
        ("/compact the columns", Compact(focus="the columns")),
        ("/compact\nfocus on\nthe columns", Compact(focus="the columns")),
        ("/retry", Retry()),
        ("/retry last --model a/b", Retry(target="last", model="a/b")),
        ("/retry --mode=plan msg_1", Retry(target="msg_1", mode="plan")),
        ("/stop", Cancel()),
        ("/new", NewSession()),
        ("/new plot it", NewSession(title="plot it")),
        ("/model rehearsal/rehearsal", ChooseModel(model="rehearsal/rehearsal")),
        ("/agent plan", ChooseAgent(agent="plan")),
        ("/mode plan", SetMode(mode="plan")),
        ("/policy everything", UsePolicy(words=("everything",))),
        ("/fork", Fork()),
        ("/export md", Export(form="md")),
        ("/status", ShowStatus()),
        ("/help", Help()),
        ("/revert", Revert(action="revert")),
        ("/unrevert", Revert(action="unrevert")),
        ("/cleanup", Revert(action="cleanup")),
    ],
)
def test_runs_what_the_magic_runs(text: str, operation: Operation) -> None:
    typed = typed_command(text, OWN)

    assert isinstance(typed, TypedCommand)
    assert typed == TypedCommand(operation)


@pytest.mark.parametrize(
    ("text", "view"),
    [
        ("/context", "window"),
        ("/context at 3", None),
        ("/inspect", "inspector"),
        ("/sessions", "sessions"),
        ("/sessions penguins", None),
        ("/share", "share"),
        ("/unshare", None),
    ],
)
def test_opens_the_view_that_the_panel_has_of_it(text: str, view: str | None) -> None:
    typed = typed_command(text, OWN)

    assert isinstance(typed, TypedCommand)
    assert typed.view == view


@pytest.mark.parametrize(
    ("text", "prompt"),
    [("/fix", "Fix @error"), ("/explain 4", "Explain @error 4"), ("/FIX", "Fix @error")],
)
def test_a_question_about_an_error_is_the_prompt_of_its_button(text: str, prompt: str) -> None:
    assert typed_command(text, OWN) == prompt


def test_what_an_operation_says_of_others_is_said_of_the_panels() -> None:
    said = "%agent fork goes on from it; write %agent -- fork x, or %agent --new and %agenta."

    assert (
        panel_text(said) == "/fork goes on from it; write -- fork x, or %agent --new and %agenta."
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("/compcat", "There is no command /compcat. Did you mean /compact?"),
        ("/compcat please", "Did you mean /compact?"),
        ("/reviewx", "Did you mean /review?"),
        ("/git/commitx", "Did you mean /git/commit?"),
        ("/undo", "did you mean /revert?"),
        ("/clear", "did you mean /new?"),
        ("/share now please", "/share does not take 'now please'"),
        ("/fix the plot", "/fix does not take 'the plot': mend the newest error"),
        ("/open", "Which session? Write /open ID; /sessions lists them"),
        ("/retry now", "/retry does not take 'now'"),
        ("/resume", "did you mean /open ID?"),
        ("/xyzzy", "There is no command /xyzzy. /help lists those that there are."),
        ("/data what is here", "There is no command /data."),
        ("/日本", "There is no command /日本."),
        ("/", "Write a command's name behind /"),
    ],
)
def test_refuses_what_is_none_and_says_what_to_do(text: str, says: str) -> None:
    with pytest.raises(UserError) as found:
        typed_command(text, OWN)

    assert says in str(found.value)
    if text != "/":
        assert str(found.value).endswith(f"To send it as a prompt, write -- {text}")


@pytest.mark.parametrize(
    "text",
    [
        "what is 1/2?",
        "/review the plot",
        "/git/commit all",
        "/v1.2",
        "/home/me/x.csv explain",
        "/data/ has what?",
        "/tmp/x",
        "/x.csv explain",
        "/ what",
        "// a comment",
        "/*.py are what?",
        "Explain /compact",
        "-- select 1",
        "",
    ],
)
def test_sends_prompts_own_commands_and_paths_as_they_are(text: str) -> None:
    assert typed_command(text, OWN) == text


@given(st.from_regex(r"/[A-Za-z][A-Za-z-]*( [ -~]*)?", fullmatch=True))
def test_a_word_behind_a_slash_is_sent_only_where_it_is_an_own_command(text: str) -> None:
    try:
        is_sent = isinstance(typed_command(text, OWN), str)
    except UserError:
        is_sent = False

    assert is_sent == (text[1:].split()[0] in OWN)
    assert typed_command(f"-- {text}", OWN) == text


@pytest.mark.parametrize(
    "name", thinned(sorted({*TABLE.forms, *TABLE.panel_forms, *commands_of_other_agents()}), 8)
)
def test_every_command_alone_is_run_or_answered(name: str) -> None:
    is_whole = name in TABLE.panel_forms and not TABLE.panel_forms[name][0].missing_message
    if is_whole and name not in NEED_A_NAME:
        command = typed_command(f"/{name}", ())
        assert isinstance(command, TypedCommand) or command.endswith("@error")
    else:
        with pytest.raises(UserError):
            typed_command(f"/{name}", ())


@pytest.fixture
def page(kernel: Kernel) -> Iterator[Kernel]:
    kernel.request(type="watch", client="page")
    yield kernel
    kernel.request(type="unwatch", client="page")


def _error(page: Kernel, identifier: str) -> str | None:
    message = page.wait(
        lambda m: m["content"].get("kind") == "outcome" and m["content"]["id"] == identifier
    )
    error: str | None = message["content"].get("error")
    return error


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["prompt", "queue", "steer"])
def test_a_page_is_answered_and_nothing_is_sent(page: Kernel, kind: str) -> None:
    page.script("says('It was sent.')")
    mark = len(page.iopub)

    page.request(type=kind, text="/compcat", id=f"typed-{kind}")

    assert "Did you mean /compact?" in (_error(page, f"typed-{kind}") or "")
    page.request(type="prompt", text="/stop", id=f"typed-stop-{kind}")
    assert _error(page, f"typed-stop-{kind}") == "Nothing was running."
    assert "It was sent." not in str([m["content"] for m in page.iopub[mark:]])

    page.request(type="prompt", text="-- /tmp is what?", id=f"typed-sent-{kind}")
    assert _error(page, f"typed-sent-{kind}") is None
    assert "It was sent." in str([m["content"] for m in page.iopub[mark:]])


@pytest.mark.slow
def test_a_typed_compact_compacts(page: Kernel) -> None:
    page.script("says('First.')", "says('A summary of it.')")
    page.request(type="prompt", text="Say something", id="typed-first")
    assert _error(page, "typed-first") is None
    mark = len(page.iopub)

    page.request(type="prompt", text="/compact", id="typed-compact")

    assert _error(page, "typed-compact") is None
    shown = str([m["content"] for m in page.iopub[mark:]])
    assert "'type': 'compaction'" in shown
    assert "/compact" not in shown


def _typed(page: Kernel, identifier: str, text: str) -> dict[str, object]:
    """Type a command, and return what the panel is told to do."""
    page.request(type="prompt", text=text, id=identifier)
    message = page.wait(
        lambda m: m["content"].get("kind") == "outcome" and m["content"]["id"] == identifier
    )
    assert "typed" in message["content"], message["content"]
    typed: dict[str, object] = message["content"]["typed"]
    return typed


@pytest.mark.slow
def test_a_command_is_answered_in_the_panel(page: Kernel) -> None:
    page.script("says('It was sent.')")

    assert "The mode of this session is plan" in str(_typed(page, "mode", "/mode plan")["markdown"])
    assert "`/fork`" in str(_typed(page, "help", "/help")["markdown"])
    assert _typed(page, "inspect", "/inspect")["view"] == "inspector"
    assert _typed(page, "model", "/model rehearsal/rehearsal")["model"] == ("rehearsal/rehearsal")
    assert _typed(page, "new", "/new Of the panel")["markdown"] == ""
    assert "Of the panel" in str(_typed(page, "title", "/title")["markdown"])
    exported = _typed(page, "export", "/export md")["markdown"]
    assert "%agent" not in str(exported)
    assert ".md" in str(exported)
    page.request(type="prompt", text="/model nobody", id="no-model")
    assert "nobody" in (_error(page, "no-model") or "")
    page.request(type="prompt", text="/agent nobody", id="no-agent")
    assert "No agent 'nobody' can answer here." in (_error(page, "no-agent") or "")
    assert page.requests() == "[]"


@pytest.mark.slow
def test_what_may_follow_a_command_is_completed_as_in_a_cell(page: Kernel) -> None:
    def words(identifier: str, text: str) -> list[str]:
        page.request(type="arguments", text=text, id=identifier)
        message = page.wait(
            lambda m: m["content"].get("kind") == "outcome" and m["content"]["id"] == identifier
        )
        found: list[str] = message["content"]["answer"]["words"]
        return found

    assert {"plan", "bypass"} <= {*words("of-mode", "/mode ")}
    assert {"md", "ipynb"} <= {*words("of-export", "/export m")}
    assert "--model" in words("of-compact", "/compact --")
    assert words("of-none", "/xyzzy ") == []
    assert any(word.startswith("ses_") for word in words("of-open", "/open "))
