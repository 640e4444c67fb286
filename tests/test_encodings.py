"""No text is read or written by the encoding of the locale: a page of code that is not UTF-8 breaks nothing."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.sample_size import SOAKING, sampled_cases

PACKAGE = Path(__file__).parents[1] / "kernel_ext" / "palimpsest"
WITHOUT_MODE = {"read_text", "write_text"}
TEXTUAL = {"text", "universal_newlines"}
THINK_OPEN = r"open\(|(?:read|write)_text\(|\b(?:text|universal_newlines)=True"
"""What stands in a module of which a call opens text."""
LOCALES = {
    "C": {"LC_ALL": "C"},
    "POSIX, ascii": {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii"},
    "German, ISO-8859-1": {"LC_ALL": "C", "PYTHONIOENCODING": "iso-8859-1"},
    "Japanese, Shift-JIS": {"LC_ALL": "C", "PYTHONIOENCODING": "shift_jis"},
}
"""Locales that this machine may not have are played by the encoding that they give the standard streams."""
STRICTEST = "POSIX, ascii"
"""One that writes nothing beyond ASCII."""
SAID = "Fünf Käfer, 企鵝 🐧"
COMMANDS = {
    "inspect": ["inspect", "säge-企鵝.jsonl"],
    "inspect --json": ["inspect", "säge-企鵝.jsonl", "--json"],
    "inspect --markdown": ["inspect", "säge-企鵝.jsonl", "--markdown"],
    "compare": ["compare", "säge-企鵝.jsonl", "--policy", "recorded", "opencode.prune"],
    "compare --json": ["compare", "säge-企鵝.jsonl", "--policy", "recorded", "--json"],
    "report": ["report", "säge-企鵝.jsonl", "-o", "bericht-ü.html"],
    "import": ["import", "säge-企鵝.jsonl", "--project", "."],
    "a file that is not there": ["inspect", "gibt-es-nicht-ü.jsonl"],
    "a wrong option": ["inspect", "--hälp"],
}
SAMPLED = ("inspect", "report", "a file that is not there")
"""A table, a page and an error; the others write one of these, JSON or a log by the same way."""


def calls_without_encoding(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of calls that open text by the encoding of the locale."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if "encoding" in given or None in given:
            continue
        if any(getattr(given.get(flag), "value", None) is True for flag in TEXTUAL) or (
            name in WITHOUT_MODE and len(node.args) < (1 if name == "read_text" else 2)
        ):
            yield node.lineno
        elif name == "fdopen" or (name == "open" and isinstance(node.func, ast.Name)):
            mode = given.get("mode", node.args[1] if len(node.args) > 1 else ast.Constant("r"))
            if not (isinstance(mode, ast.Constant) and "b" in str(mode.value)):
                yield node.lineno


def test_every_text_is_opened_as_what_it_is() -> None:
    opened = {
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in PACKAGE.rglob("*.py")
        if re.search(THINK_OPEN, text := path.read_text(encoding="utf-8"))
        for line in calls_without_encoding(ast.parse(text))
    }

    assert opened == set()


@pytest.mark.parametrize(
    "code",
    [
        "open(p)",
        "open(p, 'w')",
        "os.fdopen(f, 'w')",
        "p.read_text()",
        "p.write_text(t)",
        "run(a, text=True)",
    ],
)
def test_the_law_sees_each_form(code: str) -> None:
    assert list(calls_without_encoding(ast.parse(code))) == [1]


def written(made: Path) -> Path:
    """Make the folder of a project whose name and recording are not ASCII."""
    made.mkdir()
    asked = {
        "type": "user", "uuid": "u1", "sessionId": "s1", "timestamp": "2026-01-01T00:00:00Z", "cwd": str(made),
        "message": {"role": "user", "content": SAID},
    }  # fmt: skip
    content = [{"type": "text", "text": f"{SAID}, ja"}]
    usage = {"input_tokens": 100, "output_tokens": 10}
    answered = {
        "type": "assistant", "uuid": "a1", "parentUuid": "u1", "sessionId": "s1", "timestamp": "2026-01-01T00:00:05Z",
        "message": {"role": "assistant", "model": "claude-sonnet-4-5", "id": "m1", "content": content, "usage": usage},
    }  # fmt: skip
    lines = [json.dumps(record, ensure_ascii=False) for record in (asked, answered)]
    (made / "säge-企鵝.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return made


IN_FORKS = """
import os, runpy, sys
from importlib import import_module
for name in ("command_line.main", "operations.recordings"):
    import_module("palimpsest.frontends." + name)
given, number = [], 0
for word in sys.argv[1:]:
    if word != "<end>":
        given.append(word)
        continue
    pid = os.fork()
    if pid == 0:
        for fd, name in ((1, "out"), (2, "err")):
            file = os.open("%s-%d" % (name, number), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, fd)
        sys.argv[1:] = given
        try:
            runpy.run_module("palimpsest", run_name="__main__", alter_sys=True)
        finally:
            sys.stdout.flush()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with open("code-%d" % number, "w", encoding="ascii") as file:
        file.write(str(code))
    given, number = [], number + 1
"""
"""Runs several commands, each in a fork of an interpreter that has its locale, streams and arguments."""
Ran = tuple[int, bytes, bytes]
"""Exit code, output and errors of a command."""


@cache
def ran_in(locale: str, folder: Path) -> dict[str, Ran]:
    """Run the commands in a locale, in a new folder."""
    names = [*COMMANDS] if SOAKING else SAMPLED
    made = written(folder / "Käfer-企鵝")
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LC_", "LANG", "PYTHONUTF8", "PYTHONIOENCODING"))
    }
    environment = clean | {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"} | LOCALES[locale]
    words = [word for name in names for word in (*COMMANDS[name], "<end>")]
    subprocess.run(
        [sys.executable, "-c", IN_FORKS, *words], cwd=made, env=environment, check=True, timeout=120
    )
    results = {}
    for number, name in enumerate(names):
        out, err = ((made / f"{kind}-{number}").read_bytes() for kind in ("out", "err"))
        results[name] = (int((made / f"code-{number}").read_text("ascii")), out, err)
    return results


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder for each locale."""
    return {name: tmp_path_factory.mktemp("locale") for name in LOCALES}


@pytest.mark.slow
@pytest.mark.parametrize("command", sampled_cases([*COMMANDS], *SAMPLED))
@pytest.mark.parametrize("locale", sampled_cases([*LOCALES], STRICTEST))
def test_no_codec_error_reaches_anybody_on_the_command_line(
    folders: dict[str, Path], locale: str, command: str
) -> None:
    code, out, err = ran_in(locale, folders[locale])[command]

    text = err.decode("ascii", "replace")
    assert "Traceback" not in text
    assert "codec" not in text
    assert "UnicodeE" not in text
    assert code == (2 if command.startswith("a ") else 0)
    if command.endswith("--json"):
        assert json.loads(out.decode("ascii"))["command"] == command.split()[0]


TOOLS_PROGRAM = """
import os, sys, tempfile
from palimpsest.testing import ScriptedModel, calls, isolated_session, says

with tempfile.TemporaryDirectory() as folder:
    names = ["s\\u00e4ge.txt".encode(), "\\u4f01.txt".encode(), b"bad\\xff.txt"]
    for name in names:
        with open(os.fsencode(folder) + b"/" + name, "wb") as file:
            file.write("K\\u00e4fer \\u4f01\\n".encode())
    model = ScriptedModel(
        calls("list", path="."),
        calls("read", path="s\\u00e4ge.txt"),
        calls("read", path="\\u4f01.txt"),
        calls("write", path="neu-\\u4f01.txt", content="\\u00fc\\n"),
        calls("edit", path="s\\u00e4ge.txt", old="K\\u00e4fer", new="Wanze"),
        calls("glob", pattern="*.txt"),
        calls("grep", pattern="\\u4f01"),
        calls("bash", command="echo \\u00fc\\u4f01; ls"),
        says("fertig \\u4f01"),
    )
    with isolated_session(model, folder=folder, settings={"permission": "allow"}) as session:
        answer = session.prompt("Los, \\u4f01!")
        for part in (part for message in answer.messages for part in message.parts):
            state = getattr(part, "state", None)
            if state is not None:
                print(part.tool, type(state).__name__, ascii(getattr(state, "error", "")))
        print(ascii(answer.error), ascii(str(session.export("json"))))
        session.diff()
    assert b"neu-" + "\\u4f01.txt".encode() in os.listdir(os.fsencode(folder))
"""


@pytest.mark.soak  # with each commit the command line has the strictest locale, above; this adds tools and exports
@pytest.mark.slow
@pytest.mark.parametrize("locale", sampled_cases([*LOCALES], STRICTEST))
def test_tools_and_exports_name_files_in_utf_8_in_every_locale(tmp_path: Path, locale: str) -> None:
    environment = os.environ | {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"} | LOCALES[locale]

    ran = subprocess.run(
        [sys.executable, "-c", TOOLS_PROGRAM],
        cwd=tmp_path, env=environment, capture_output=True, check=False, timeout=120,
    )  # fmt: skip

    text = (ran.stdout + ran.stderr).decode("ascii", "replace")
    assert "ToolFailed" not in text, text
    assert "codec" not in text
    assert "Traceback" not in text, text
    assert text.count("ToolCompleted") == 8


TERMINAL_PROGRAM = """
from palimpsest.testing import ScriptedModel, says
import palimpsest.app.wiring as wiring

wiring.App._model_of = lambda self, info: ScriptedModel(says("K\\u00e4fer \\u4f01"), says("T"), says("T"))
%load_ext palimpsest
%agent hello
%agent title K\\u00e4fer \\u4f01 \\U0001f427
%agent status
%agent sessions
%agent export md
import palimpsest
palimpsest.current_session().export("json", "/g\\u00f6/\\u4f01.json")
"""


@pytest.mark.soak  # with each commit none reaches anybody on the command line, above; this adds IPython
@pytest.mark.slow
@pytest.mark.parametrize("encoding", sampled_cases(["ascii", "iso-8859-1", "shift_jis"], "ascii"))
def test_no_codec_error_reaches_anybody_in_a_terminal(tmp_path: Path, encoding: str) -> None:
    program = tmp_path / "program.ipy"
    program.write_text(TERMINAL_PROGRAM.encode("ascii").decode("unicode_escape"), encoding="utf-8")
    environment = {
        **os.environ, "PYTHONIOENCODING": encoding, "IPYTHONDIR": str(tmp_path / "ipython"), "HOME": str(tmp_path),
    }  # fmt: skip

    ran = subprocess.run(
        [sys.executable, "-m", "IPython", "--colors=NoColor", program],
        cwd=tmp_path, env=environment, capture_output=True, check=False, timeout=120,
    )  # fmt: skip

    text = (ran.stdout + ran.stderr).decode(encoding, "replace")
    assert "codec can't" not in text
    assert "UnicodeE" not in text
    assert "state" in text
    assert "UserError: There is no folder" in text
    assert "\\U0001f427" in text
