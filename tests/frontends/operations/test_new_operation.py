"""An operation that one file adds has a magic, a page's command and button, a Python call, help, completion and types.

With a line in the table, a named method of Python and a row of documentation it is four files, none of TypeScript.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import new_kinds
from tests.frontends.operations.count_words import CountWords
from tests.frontends.three_interfaces import ThreeInterfaces
from tests.harness.kernel import ROOT, Kernel
from tests.new_kinds import OPERATION

from palimpsest.frontends.magic.line_parser import MagicLine, OptionError, help_text, parse_line
from palimpsest.frontends.operation_table import TABLE

REGISTER = """
from tests.frontends.operations.count_words import CountWords
from palimpsest.frontends.operation_table import TABLE
TABLE.register(CountWords)
"""


ASKS_EVERYWHERE = """
import json
from pathlib import Path
from palimpsest.app.wiring import App
from palimpsest.frontends.magic.line_parser import parse_line
from palimpsest.model.script import says
from palimpsest.public.session_object import open_session
from palimpsest.testing import ScriptedModel

facts = {"model": "scripted/model", "models": {"scripted/model": {"window": 90_000}}, "titles": False}
model = ScriptedModel(says("Three small words."))
app = App(start=Path.cwd(), overrides=facts, model=lambda _info: model)
session = open_session(app)
session.prompt("Say three.")
(button,) = session.run("buttons").buttons
print(json.dumps({
    "magic": parse_line("count letters").unit,
    "method": [session.count_words(), session.count_words("one two")],
    "button": [button.label, button.command, session.run(button.command).words],
}))
app.close()
"""


def test_none_of_its_files_is_of_the_page() -> None:
    assert not any("labextension" in changed_path for changed_path in new_kinds.files(OPERATION))


@pytest.mark.soak  # with each commit a cell, a page and Python ask the same handler, below; this adds the files of the recipe, in a copy
@pytest.mark.slow
def test_the_four_files_give_it_a_magic_a_button_and_a_named_method(tmp_path: Path) -> None:
    sources = shutil.ignore_patterns("__pycache__", "static")
    shutil.copytree(ROOT / "kernel_ext", tmp_path / "kernel_ext", ignore=sources)
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs/routes.md", tmp_path / "docs")
    new_kinds.write(OPERATION, tmp_path)
    (tmp_path / "project").mkdir()

    ran = subprocess.run(
        [sys.executable, "-c", ASKS_EVERYWHERE],
        cwd=tmp_path / "project",
        env={**os.environ, "PYTHONPATH": str(tmp_path / "kernel_ext"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "magic": "letters",
        "method": [5, 2],
        "button": ["Count words", "count-words", 5],
    }


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of this process with the operation, which is taken out again."""
    monkeypatch.setattr(
        TABLE, "_operation_index", type(TABLE._all_operations)(*map(dict, TABLE._all_operations))
    )
    TABLE.register(CountWords)


@pytest.mark.usefixtures("added")
def test_a_line_is_read_by_its_fields_and_a_slip_in_it_is_no_prompt() -> None:
    assert parse_line("count") == CountWords()
    assert parse_line("count letters") == CountWords(unit="letters")
    assert parse_line("count the rows of df") == MagicLine(prompt="count the rows of df")
    for slip, words in (
        ("cuont letters", "Did you mean %agent count letters?"),
        ("count leters", "Did you mean %agent count letters?"),
        ("count letters please", "does not take 'letters please'"),
        ("-q count", "takes no options before it"),
    ):
        with pytest.raises(OptionError) as caught:
            parse_line(slip)
        assert words in str(caught.value)
    assert "%agent count             how much was said" in help_text()


@pytest.mark.soak  # with each commit a page asks it, below; this adds the types of the page
@pytest.mark.usefixtures("added")
def test_the_protocol_of_the_page_has_its_arguments_and_its_answer() -> None:
    schema = protocol().schema()["$defs"]

    assert {"$ref": "#/$defs/CountWords"} in schema["Command"]["anyOf"]
    assert schema["CountWords"]["properties"]["unit"]["enum"] == ["words", "letters"]
    assert schema["Answers"]["properties"]["count-words"] == {"$ref": "#/$defs/WordCount"}
    assert schema["WordCount"]["required"] == ["words"]


def protocol() -> Any:
    """Return the script that writes the page's types."""
    spec = importlib.util.spec_from_file_location("protocol_script", ROOT / "scripts/protocol.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


@pytest.fixture(scope="module")
def interfaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeInterfaces]:
    with Kernel(cwd=tmp_path_factory.mktemp("counting")) as kernel:
        made = ThreeInterfaces(kernel)
        made.cell(REGISTER)
        yield made


@pytest.mark.slow
def test_a_cell_a_page_and_python_ask_the_same_handler(interfaces: ThreeInterfaces) -> None:
    session = interfaces.begin("says('Three small words.')")
    interfaces.says("Say three.")

    assert "5 words were said." in interfaces.says("count")
    assert interfaces.sends(type="count-words", session=session) == {"words": 5}
    assert interfaces.sends(type="count-words", text="one two") == {"words": 2}
    assert interfaces.look("now().run('count-words').words") == 5
    assert interfaces.look("now().run('count-words', text='abc', unit='letters').words") == 3


@pytest.mark.slow
def test_a_button_of_the_panel_comes_from_the_table_and_its_answer_with_words(
    interfaces: ThreeInterfaces,
) -> None:
    session = interfaces.begin("says('Three small words.')")
    interfaces.says("Say three.")

    (button,) = interfaces.sends(type="buttons")["buttons"]
    pressed = interfaces.posts(type=button["command"], session=session, **button["arguments"])

    assert (button["label"], button["command"]) == ("Count words", "count-words")
    assert button["help"].startswith("how much was said")
    said = interfaces.outcome(pressed)
    assert (said["answer"], said["words"]) == ({"words": 5}, "5 words were said.")
    assert "words" not in interfaces.outcome(interfaces.posts(type="sessions"))


@pytest.mark.slow
def test_it_is_in_the_help_and_completed(interfaces: ThreeInterfaces) -> None:
    client = interfaces.kernel.client

    assert "%agent count " in client.run("%agent help").stream()
    assert "count" in client.complete("%agent cou")
    assert client.complete("%agent count le") == ["letters"]
    assert "count-words" in interfaces.kernel.request(type="dance")["error"]


@pytest.mark.slow
def test_a_wrong_argument_gets_one_sentence_from_each(interfaces: ThreeInterfaces) -> None:
    refused = interfaces.kernel.request(type="count-words", unit="pages")
    run = interfaces.kernel.client.run("now().run('count-words', unit='pages')")

    assert "The command 'count-words' is not well formed: unit: " in refused["error"]
    assert run.reply["content"]["evalue"].startswith("unit: Input should be 'words' or 'letters'")
    unknown = interfaces.kernel.client.run("now().run('dance')")
    assert "There is no operation 'dance'" in unknown.reply["content"]["evalue"]


@pytest.mark.slow
def test_what_a_page_or_a_program_may_not_ask_so_is_refused_in_one_sentence(
    interfaces: ThreeInterfaces,
) -> None:
    interfaces.begin("says('Hi.')")
    interfaces.says("Hello.")
    kernel = interfaces.kernel

    assert "id: " in kernel.request(type="count-words", id="")["error"]
    asked = interfaces.posts(type="context", question="at the end")
    assert "is no question about the context" in interfaces.outcome(asked)["error"]
    run = kernel.client.run("now().run('prompt', text='Hello.')")
    assert run.reply["content"]["evalue"].startswith("It is a turn: session.start")
