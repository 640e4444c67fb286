"""A page learns what a prompt may name and what would go along, while the prompt is typed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness.kernel import Kernel, Message

pytestmark = pytest.mark.slow

LOUD = """
ran = []
class Loud:
    def __repr__(self): ran.append('repr'); return 'loud'
    def __len__(self): ran.append('len'); return 3
    def __eq__(self, other): ran.append('eq'); return True
    def __hash__(self): ran.append('hash'); return 1
    def __getattr__(self, name): ran.append(name); raise AttributeError(name)
    @property
    def size(self): ran.append('property'); return 1
loud = Loud(); held = [loud, {'key': loud}]
class Text(str):
    def __repr__(self): ran.append('text'); return 'text'
texts = [Text('a')]
def shown(a, b=loud): pass
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "data").mkdir()
    (folder / "data" / "birds.csv").write_text("name,mass\n" + "robin,20\n" * 30)
    (folder / "Makefile").write_text("all:\n")
    (folder / "secret notes.txt").write_text("A name that no prompt can hold.")
    (folder / ".env").write_text("KEY=1")
    return folder


@pytest.fixture(scope="module")
def kernel(project: Path) -> Iterator[Kernel]:
    with Kernel(cwd=project, env={"PALIMPSEST_REHEARSAL_DELAY": "0"}) as kernel:
        kernel.run("%load_ext palimpsest")
        kernel.run("%agent sessions")  # waits until all is loaded
        kernel.run(LOUD, cellId="cell-loud")
        kernel.run(
            "import pandas as pd\nbirds = pd.DataFrame({'name': ['a', 'b'], 'mass': [1, 2]})"
        )
        kernel.run("table = {'rows': [1, 2, 3]}\nprint('PRINTED')\ntable", cellId="cell-table")
        kernel.run("secret_cell = 1", tags=["agent-hidden"])
        kernel.run("birds['colour']", cellId="cell-error")
        kernel.request(type="hello", protocol=4, client="page")
        kernel.request(type="watch", client="page")
        yield kernel


def outcome(kernel: Kernel, identifier: str, **command: Any) -> Message:
    """Send a command and return its answer, or its error."""
    reply = kernel.request(id=identifier, **command)
    assert reply["status"] == "ok", reply
    message = kernel.wait(
        lambda m: m["content"].get("kind") == "outcome" and m["content"].get("id") == identifier
    )
    content: Message = message["content"]
    answer: Message = content.get("answer", content)
    return answer


def rows(kernel: Kernel, identifier: str, **fields: Any) -> dict[str, dict[str, Any]]:
    found = outcome(kernel, identifier, type="mentions", **fields)["rows"]
    return {row["text"]: row for row in found}


def previews(kernel: Kernel, identifier: str, text: str) -> dict[str, dict[str, Any]]:
    found = outcome(kernel, identifier, type="mention-preview", text=text)["previews"]
    return {mention["text"]: mention for mention in found}


def cell_with(kernel: Kernel, source: str) -> str:
    """Return the number of the newest cell whose first line is this."""
    listed = rows(kernel, f"find-{source}-{len(kernel.iopub)}")
    return next(
        row["text"].removeprefix("cell ")
        for row in listed.values()
        if row["kind"] == "cell" and row["about"] == source
    )


def test_everything_that_a_prompt_may_name_is_listed(kernel: Kernel) -> None:
    listed = rows(kernel, "listed")
    failed = cell_with(kernel, "birds['colour']")

    assert listed["error"] == {
        "text": "error",
        "kind": "error",
        "about": "KeyError: 'colour'",
    }
    assert listed["birds"]["about"] == "DataFrame 2\N{MULTIPLICATION SIGN}2"
    assert listed["table"]["about"] == "dict, 1 item"
    assert listed[f"cell {failed}"]["failed"] is True
    assert {"data/birds.csv", "./Makefile"} <= listed.keys()
    assert "secret notes.txt" not in listed
    assert not any("secret_cell =" in row["about"] for row in listed.values())
    kinds = list(dict.fromkeys(row["kind"] for row in listed.values()))
    assert kinds == ["variable", "error", "cell", "out", "file"]


def test_nothing_of_the_user_runs_and_nothing_is_written(kernel: Kernel, project: Path) -> None:
    kernel.run("_ = palimpsest.current_session().review")  # the log of what came before is written
    before = {
        path: path.stat().st_mtime_ns for path in project.rglob("*") if path.suffix == ".jsonl"
    }
    kernel.run("ran.clear()")
    rows(kernel, "quiet-rows")
    preview = previews(
        kernel, "quiet", "@loud @held @texts @shown @loud.size @held[1] @error @Loud @birds"
    )

    assert kernel.value("ran") == "[]"
    assert [mention["state"] for mention in preview.values()] == [
        *["uncounted"] * 4,
        "unknown",  # a path runs no property, also when it is sent
        "uncounted",
        "sent",
        "uncounted",
        "sent",
    ]
    after = {
        path: path.stat().st_mtime_ns for path in project.rglob("*") if path.suffix == ".jsonl"
    }
    assert before == after


def test_the_tokens_are_those_of_the_prompt_that_is_sent(kernel: Kernel) -> None:
    number = cell_with(kernel, "table = {'rows': [1, 2, 3]}")
    text = (
        f"compare @cell {number}, @out {number}, @error, @birds, @table['rows'] and @data/birds.csv"
    )
    preview = previews(kernel, "tokens", text)
    mark = len(kernel.iopub)
    outcome(kernel, "sent", type="prompt", text=text, model="rehearsal/rules")

    records = [record for m in kernel.iopub[mark:] for record in m["content"].get("records", ())]
    parts = [record["part"] for record in records if record["type"] == "message.part.updated"]
    sent = [
        part["tokens"] for part in parts if part["type"] == "notebook" and part["about"] != "runs"
    ]
    assert [mention["state"] for mention in preview.values()] == ["sent"] * 6
    assert [mention["tokens"] for mention in preview.values()][:5] == list(dict.fromkeys(sent))
    assert preview["@data/birds.csv"]["tokens"] > 100


def test_what_names_nothing_or_stays_here_says_so(kernel: Kernel) -> None:
    hidden = int(cell_with(kernel, "birds['colour']")) - 1
    text = "@cell 99 @error 98 @nobody @data/none.csv @.env me@home.org @birds.nothing"
    preview = previews(kernel, "nothing", f"{text} @cell {hidden}")

    assert {text: mention["state"] for text, mention in preview.items()} == {
        "@cell 99": "unknown",
        "@error 98": "unknown",
        "@nobody": "unknown",
        "@data/none.csv": "unknown",
        "@.env": "asks",
        "@birds.nothing": "unknown",
        f"@cell {hidden}": "hidden",
    }


def test_a_command_and_a_task_name_nothing(kernel: Kernel) -> None:
    assert previews(kernel, "task", "@explore look at @birds") == {}


def test_it_is_answered_while_a_cell_runs(kernel: Kernel) -> None:
    number = cell_with(kernel, "table = {'rows': [1, 2, 3]}")
    gate = kernel.gate()
    run = kernel.send(gate.blocking)
    gate.reached()
    listed = rows(kernel, "busy-rows")
    preview = previews(kernel, "busy", f"@birds and @cell {number} and @nobody")
    gate.open()
    kernel.finish(run)
    later = previews(kernel, "free", "@birds")

    assert listed["birds"]["about"] == "DataFrame 2\N{MULTIPLICATION SIGN}2"
    assert [mention["state"] for mention in preview.values()] == ["busy", "sent", "unknown"]
    assert later["@birds"]["tokens"] > 0


def test_what_a_rule_denies_is_not_listed_and_stays_here(tmp_path: Path) -> None:
    (tmp_path / "palimpsest.toml").write_text(
        "[permission]\nvariables = 'deny'\nnotebook = 'deny'\nread = {'notes.md' = 'deny'}\n"
    )
    (tmp_path / "notes.md").write_text("Ours.")
    (tmp_path / "open.md").write_text("Yours.")
    with Kernel(cwd=tmp_path) as kernel:
        kernel.run("%load_ext palimpsest")
        kernel.run("%agent sessions")
        kernel.run("held = 1")
        kernel.request(type="watch", client="page")
        listed = rows(kernel, "denied-rows")
        preview = previews(kernel, "denied", "@held @cell 1 @error @notes.md @open.md")

        assert [
            mention for mention in listed if mention in ("held", "cell 2", "notes.md", "open.md")
        ] == ["open.md"]
        assert {row["kind"] for row in listed.values()} == {"file"}
        assert {text: mention["state"] for text, mention in preview.items()} == {
            "@held": "denied",
            "@cell 1": "denied",
            "@error": "denied",
            "@notes.md": "denied",
            "@open.md": "sent",
        }


def test_a_file_is_no_variable_that_a_rule_denies(tmp_path: Path) -> None:
    (tmp_path / "palimpsest.toml").write_text("[permission]\nvariables = 'deny'\n")
    (tmp_path / "open.md").write_text("Yours.")
    with Kernel(cwd=tmp_path, env={"PALIMPSEST_REHEARSAL_DELAY": "0"}) as kernel:
        kernel.run("%load_ext palimpsest")
        kernel.run("%agent sessions")
        kernel.request(type="watch", client="page")
        mark = len(kernel.iopub)
        outcome(kernel, "open", type="prompt", text="sum up @open.md", model="rehearsal/rules")
        told = str([m["content"].get("records") for m in kernel.iopub[mark:]])

        assert "The user attached open.md." in told
        assert "keeps that from you" not in told


def test_five_hundred_variables_and_two_hundred_cells_are_listed_at_once(kernel: Kernel) -> None:
    kernel.run("for n in range(500): globals()[f'many_{n}'] = [n]")
    for n in range(30):
        kernel.run(f"many_{n}")
    listed = rows(kernel, "many")

    assert sum(text.startswith("many_") for text in listed) == 500
    assert next(iter(listed)) == "many_499"
    assert list(listed).index("shown") > list(listed).index("loud")
    kernel.run("for n in range(500): del globals()[f'many_{n}']")
