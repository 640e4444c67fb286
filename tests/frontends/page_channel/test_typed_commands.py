"""A command typed into the panel is run or refused with a sentence; the model is never paid for a typing error."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.kernel import Kernel

from palimpsest.frontends.operation_table import TABLE
from palimpsest.frontends.operations.operation import Operation
from palimpsest.frontends.operations.reverts import Revert
from palimpsest.frontends.operations.sessions import NewSession
from palimpsest.frontends.operations.turns import Cancel, Compact, Retry
from palimpsest.frontends.page_channel.typed_commands import (
    same_commands,
    typed_command,
)
from palimpsest.transcript.errors import UserError

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
        ("/stop", Cancel()),
        ("/new", NewSession()),
        ("/revert", Revert(action="revert")),
        ("/unrevert", Revert(action="unrevert")),
        ("/cleanup", Revert(action="cleanup")),
    ],
)
def test_runs_what_the_magic_runs(text: str, operation: Operation) -> None:
    assert typed_command(text, OWN) == operation


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("/compcat", "There is no command /compcat. Did you mean /compact?"),
        ("/compcat please", "Did you mean /compact?"),
        ("/reviewx", "Did you mean /review?"),
        ("/git/commitx", "Did you mean /git/commit?"),
        ("/undo", "did you mean /revert?"),
        ("/clear", "did you mean /new?"),
        ("/model gpt", "choose the model below the text"),
        ("/sessions", "listed under the panel's title"),
        ("/status", "write %agent status in a cell"),
        ("/share", "write %agent share in a cell"),
        ("/fix", "%agent fix in a cell"),
        ("/new plot it", "/new takes no words"),
        ("/retry now", "/retry"),
        ("/xyzzy", "There is no command /xyzzy."),
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


@pytest.mark.parametrize("name", sorted({*TABLE.forms, *TABLE.panel_forms, *same_commands()}))
def test_every_command_alone_is_run_or_answered(name: str) -> None:
    if name in TABLE.panel_forms:
        assert isinstance(typed_command(f"/{name}", ()), Operation)
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
