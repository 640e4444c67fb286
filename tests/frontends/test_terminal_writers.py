"""Whatever writes to a terminal does so through ``frontends/terminal.py``, and nothing that it quotes steers it."""

import ast
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.frontends.turn_output.test_terminal_output import Feed
from tests.harness.kernel import Kernel, Run
from tests.harness.process_forks import APPLICATION, forked_python
from tests.harness.terminal import ipython
from tests.hostile_text import HOSTILE, steers
from tests.render.sample_parts import assistant, failed, ran

from palimpsest.frontends import terminal
from palimpsest.frontends.command_line.main import main
from palimpsest.frontends.operation_text.command_output import (
    CommandOutput,
    sentence_output,
    table_output,
)
from palimpsest.frontends.turn_output.terminal_output import TerminalOutput
from palimpsest.frontends.typed_input.typed_answers import interview_text, permission_question
from palimpsest.frontends.usage_errors import usage_error
from palimpsest.render.formats.text import render_message, render_session
from palimpsest.transcript.errors import ApiError, UserError
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.values import Ask, Question, QuestionOption

PACKAGE = Path(__file__).resolve().parents[2] / "kernel_ext" / "palimpsest"
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))

STREAMS = {
    "frontends/terminal.py": "the writers",
    "frontends/kernel/output_capture.py": "captures what the agent's Python prints",
    "frontends/command_line/main.py": "closes it after its reader has gone; tells help from an error",
    "frontends/command_line/terminal_context.py": "asks whether it is a terminal",
    "review/corpus/progress_bar.py": "numbers alone, and review imports no front end",
    "transcript/errors.py": "asks for its encoding alone: IPython writes the sentence",
    "tools/mcp/watchdog.py": "a process of its own, whose output is captured",
}
"""Modules that may name a stream, and why."""
SPEAKS = {"print", "input", "breakpoint"}
LIBRARIES = {"click", "rich", "curses", "readline", "getpass", "warnings"}
ATTRIBUTES = {
    ("sys", "stdout"), ("sys", "stderr"), ("sys", "__stdout__"), ("sys", "__stderr__"),
    ("getpass", "getpass"), ("warnings", "warn"),
}  # fmt: skip
NAMED = re.compile(
    r"\b(?:"
    + "|".join([*SPEAKS, *LIBRARIES, "__stdout__", "__stderr__", "stdout", "stderr", "UsageError"])
    + r"|text/plain)\b"
)
"""What stands in a module that goes past the writers."""
PLAIN = {"visible_text", "_words"}
"""Functions whose result is plain text for a terminal."""


def bypasses(path: str, source: str) -> list[str]:
    """Return what in a module writes to a terminal, or reads from one, past the writers."""
    nodes = [*ast.walk(ast.parse(source))]
    bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
    calls = [bypass for node in nodes for bypass in _bypasses(node, SPEAKS - bound)]
    of_streams = {"sys.stdout", "sys.stderr"} if path in STREAMS else set()
    shows = {"text/plain"} if not path.startswith("frontends/") else set()
    return [name for name in calls if name not in of_streams | shows]


def _bypasses(node: ast.AST, speaks: set[str]) -> Iterator[str]:
    match node:
        case ast.Name(id=name) if name in speaks:
            yield name
        case ast.Attribute(value=ast.Name(id=module), attr=name) if (module, name) in ATTRIBUTES:
            yield f"{module}.{name}"
        case ast.Import(names=names):
            yield from (
                bound_name.name
                for bound_name in names
                if bound_name.name in LIBRARIES - {"getpass", "warnings"}
            )
        case ast.ImportFrom(module=module) if module in LIBRARIES:
            yield str(module)
        case ast.Call(func=ast.Name(id="UsageError")):
            yield "UsageError"
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                named = isinstance(key, ast.Constant) and key.value == "text/plain"
                if named and not _is_plain(value):
                    yield "text/plain"


def _is_plain(value: ast.expr) -> bool:
    called = value.func if isinstance(value, ast.Call) else None
    return isinstance(value, ast.Constant) or (isinstance(called, ast.Name) and called.id in PLAIN)


EXEMPT = {
    "frontends/lesson_cells.py": {"text/plain"},  # in a cell, by IPython's own displays
    "frontends/terminal.py": {"input"},
    "frontends/usage_errors.py": {"UsageError"},
    "testing/__main__.py": {"print"},  # its own address, for who tests
    "frontends/kernel/output_capture.py": {"text/plain"},  # what the agent's Python displays
}


def test_nothing_reaches_a_terminal_past_the_writers() -> None:
    wrong = {
        path: left
        for path in MODULES
        if NAMED.search(source := (PACKAGE / path).read_text(encoding="utf-8"))
        if (bypassed := bypasses(path, source))
        if (left := [name for name in bypassed if name not in EXEMPT.get(path, set())])
    }

    assert len(MODULES) > 400
    assert wrong == {}


@pytest.mark.parametrize(
    "line",
    [
        "print(text)",
        "answer = input(text)",
        "read = input",
        "import sys\nsys.stdout.write(text)",
        "import sys\nout = sys.stderr",
        "from getpass import getpass",
        "import click",
        "from rich import print",
        "import warnings\nwarnings.warn(text)",
        "raise UsageError(text)",
        "publish({'text/plain': words})",
        "publish({'text/markdown': safe(text), 'text/plain': scrub(text)})",
    ],
)
def test_a_writer_past_them_is_found(line: str) -> None:
    assert bypasses("frontends/cell_turn/new.py", line)


NESTED = {HOSTILE: [{HOSTILE: HOSTILE}, [HOSTILE, 1, None]], "code": f"x\n{HOSTILE}\ny"}
ASK = Ask(
    id="per_1",
    permission="bash",
    patterns=(HOSTILE,),
    always=(HOSTILE, HOSTILE),
    title=HOSTILE,
    input=NESTED,
    diff=f"--- a/{HOSTILE}\n+++ b\n-{HOSTILE}\n+x",
    warnings=(HOSTILE,),
    tool=HOSTILE,
)
QUESTION = Question(
    question=f"{HOSTILE}\n{HOSTILE}",
    options=(QuestionOption(label=HOSTILE, description=HOSTILE),),
)
MESSAGE = assistant(
    TextPart(id="prt_t", session_id="ses_1", message_id="msg_2", text=HOSTILE),
    ran(HOSTILE, HOSTILE, **{HOSTILE: HOSTILE}),
    ran("python", HOSTILE, "prt_p", code=HOSTILE),
    failed("bash", HOSTILE, "prt_f", command=HOSTILE),
    error=ApiError(message=HOSTILE, status=500, retryable=False),
)


def _question() -> str:
    question = permission_question(ASK, str)
    shown = [question.prompt]
    while question.answer_in("") is None and question.prompt not in shown:
        shown.append(question.prompt)
    return "\n".join(shown)


def _interview() -> str:
    return interview_text(QUESTION, 1, 1)


def _turn() -> str:
    feed = Feed(MESSAGE)
    feed.change_count += 1
    printed = TerminalOutput(feed, scrub=str)  # type: ignore[arg-type]
    printed.refresh()
    answer = SimpleNamespace(messages=[MESSAGE], text=HOSTILE, error=MESSAGE.info.error)
    printed.finish(answer)  # type: ignore[arg-type]
    quiet = TerminalOutput(feed, scrub=str, is_quiet=True)  # type: ignore[arg-type]
    quiet.finish(answer)  # type: ignore[arg-type]
    return ""


def _bundles() -> str:
    made = [
        sentence_output(HOSTILE),
        table_output(("", ""), [(HOSTILE, HOSTILE)]),
        CommandOutput("", HOSTILE),
    ]
    return "".join(output.bundle["text/plain"] for output in made)


def _errors() -> str:
    error = UserError(HOSTILE)
    return "".join([str(error), *error._render_traceback_(), str(usage_error(HOSTILE))])


def _direct() -> str:
    terminal.write(HOSTILE)
    terminal.write_error(HOSTILE)
    terminal.show_progress(HOSTILE)
    return ""


WRITERS: dict[str, Callable[[], str]] = {
    "permission question": _question,
    "model's question": _interview,
    "printed turn": _turn,
    "message as text": lambda: render_message(MESSAGE),
    "session as text": lambda: render_session((MESSAGE,), HOSTILE),
    "subcommands": _bundles,
    "errors": _errors,
    "the writers": _direct,
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_quoted_is_shown_and_steers_nothing(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = WRITERS[name]()
    streams = capsys.readouterr()
    shown += streams.out + streams.err.replace("\r\\", "\\")

    assert "\\u202e" in shown
    assert "\\x9b2J" in shown
    assert steers(shown.replace("\r\\", "\\") if name == "the writers" else shown) in ([], ["\r"])


def test_a_question_that_is_read_steers_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n"))

    assert terminal.read_line(f"{HOSTILE}\n> ") == "1"

    output = capsys.readouterr().out
    assert "\\x1b]52" in output
    assert steers(output) == []


@pytest.mark.slow
@pytest.mark.parametrize("form", [[], ["--markdown"], ["--json"]])
def test_the_command_line_shows_what_a_recording_holds(
    form: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chat = {
        "messages": [
            {"role": "user", "content": HOSTILE},
            {"role": "assistant", "content": HOSTILE, "model": HOSTILE},
        ]
    }
    path = tmp_path / f"chat{HOSTILE.replace(chr(0), '').replace('/', '')[:60]}.jsonl"
    path.write_text(json.dumps(chat) + "\n{damaged\n")

    assert main(["inspect", str(path), *form]) == 0
    streams = capsys.readouterr()
    assert steers(streams.out) + steers(streams.err) == []
    if form == ["--json"]:
        assert json.loads(streams.out)["path"] == str(path)

    assert main(["inspect", str(path) + HOSTILE.replace("\x00", "")]) == 2
    with pytest.raises(SystemExit):
        main([*form, HOSTILE])
    streams = capsys.readouterr()
    assert "\\u202e" in streams.err
    assert steers(streams.out) + steers(streams.err) == []


def texts(run: Run) -> str:
    """Return whatever a terminal shows of a run."""
    content = run.reply["content"]
    said = [content.get("evalue", ""), *content.get("traceback", [])]
    for output in run.outputs():
        said += [output.get("text", ""), output.get("data", {}).get("text/plain", "")]
    coloured = "\n".join(["".join(words) for words in said])
    return re.sub(r"\x1b\[[0-9;]*m", "", coloured)  # IPython's own, around a traceback


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["title", "sessions", "status", "storage", "fork", "context", "sessions a"]
)
def test_a_title_steers_no_terminal(kernel: Kernel, command: str) -> None:
    kernel.script("says('Good morning.')")
    kernel.run("%agent --new Good morning?")
    title = HOSTILE.replace("\x00", "")
    call = f"get_ipython().run_line_magic('agent', {'title ' + title!r})"
    shown = texts(kernel.run(call)) + texts(kernel.run(f"%agent {command}"))

    assert "\\x1b]52" in shown
    assert steers(shown) == []


@pytest.mark.slow
def test_a_providers_error_steers_no_terminal(kernel: Kernel) -> None:
    kernel.script(f"fails(400, message={HOSTILE!r})")

    shown = texts(kernel.run("%agent --new hi"))

    assert "a\\x1b]52" in shown
    assert steers(shown) == []


@pytest.mark.soak  # with each commit what is quoted steers no terminal, above; this adds IPython itself at a terminal
@pytest.mark.slow
def test_a_call_draws_no_other_question_in_ipython(tmp_path: Path) -> None:
    code = "ran = 'it ran'\n# \x1b[5A\x1b[0JThe agent wants to use python: 1 + 1\n#  code: 1\x1b[8m"
    begin = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})\n"
        "from tests.harness.kernel_application import load\n"
        "from palimpsest.testing import calls, says\n"
        f"load(get_ipython()).script(calls('python', code={code!r}), says('Over.'))\n"
        "get_ipython().run_line_magic('agent', '--new go')\n"
    )
    (tmp_path / "begin.py").write_text(begin)
    with ipython(tmp_path, "begin.py", forked_python(*APPLICATION)) as terminal:
        terminal.until("\n> ")
        terminal.type("3\n")
        text = terminal.to_the_end()

    assert "# \\x1b[5A\\x1b[0JThe agent wants" in text
    assert "! code, line 2, column 3" in text
    assert "\x1b[5A" not in text
    assert "\x1b[8m" not in text
