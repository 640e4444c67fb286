"""Another recording of the same format is read and compared, whatever variants its cases have."""

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.golden import openclaw_messages
from tests.golden.data import load

ROOT = Path(__file__).parents[2]
Case = dict[str, Any]


def plugin_prompt(case: Case) -> None:
    """A plugin writes the whole prompt of the compaction, so the conversation is not in it."""
    case["plugin"] = "experimental.session.compacting sets prompt"
    case["llm"][0]["messages"][0]["content"][0]["text"] = "Say in one word what was done."


def parent_not_user(case: Case) -> None:
    """The marker's parent is no user message: the recorded function throws and sends no request."""
    del case["result"]
    case["llm"], case["writes"], case["events"] = [], [], []
    case["threw"] = "Compaction parent must be a user message: msg_0001"


def without_plugin(case: Case) -> None:
    """A recording of an older version, without the field for plugins."""
    del case["plugin"]


FORMS: tuple[Callable[[Case], None], ...] = (plugin_prompt, parent_not_user, without_plugin)


@pytest.mark.soak  # with each commit tests/golden/test_compact.py compares the recorded ones; this adds forms that were not recorded
@pytest.mark.slow
def test_compactions_of_every_form_are_compared(tmp_path: Path) -> None:
    recorded = load("opencode", "compaction_process")["cases"]
    basic = next(one for one in recorded if one["name"] == "basic_manual")
    returns = [one for one in recorded if one["name"].startswith("model_returns_compact")]
    made = []
    for form in FORMS:
        case = copy.deepcopy(basic) | {"name": form.__name__}
        form(case)
        made.append(case)
    (tmp_path / "opencode").mkdir()
    text = json.dumps({"note": "made up", "cases": [*made, *returns]})
    (tmp_path / "opencode" / "compaction_process.json").write_text(text)

    files = [f"tests/golden/test_compact{name}.py" for name in ("", "_live")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-m", "", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        env=os.environ | {"PALIMPSEST_GOLDEN": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-4_000:]
    # Planned and found again; live all but those whose prompt a plugin writes or that nobody asked for.
    assert f"{2 + len(returns) + 1} passed, 2 skipped" in done.stdout, done.stdout[-4_000:]


@pytest.mark.parametrize("nothing", [None, 7, "words", []])
def test_an_entry_that_is_no_message_is_read_as_nobodys(nothing: Any) -> None:
    said = {"role": "user", "content": "Hello."}

    read = openclaw_messages.flat([nothing, said, {"role": "assistant", "content": [nothing]}])

    assert [one.role for one in read] == ["system", "user", "assistant"]
    assert read[0].blocks == ()
    assert read[0].source == nothing


def without(name: str) -> Callable[[Case], Any]:
    return lambda case: case.pop(name)


def new_part(case: Case) -> None:
    """A part of a type that only the next version knows."""
    case["input"][0]["parts"][0] = {"type": "hologram", "id": "prt_1", "messageID": "msg_1"}


ODD: dict[str, Callable[[Case], Any]] = {
    "a field that is not known": lambda case: case["cfg"].update(surprise=True),
    "no name": without("name"),
    "no input": without("input"),
    "no script": without("script"),
    "no trace": without("trace"),
    "nothing at all": lambda case: case.clear(),
    "a part of a new type": new_part,
}


@pytest.mark.soak  # with each commit an entry that is no message is read, above; this adds a run of pytest over damaged recordings
@pytest.mark.slow
def test_what_cannot_be_read_fails_alone_and_the_run_goes_on(tmp_path: Path) -> None:
    [good, other, *_] = load("opencode", "loop")["cases"]
    made: list[Any] = [good]
    for odd in ODD.values():
        made.append(copy.deepcopy(other))
        odd(made[-1])
    made += [None, 7, other]
    (tmp_path / "opencode").mkdir()
    text = json.dumps({"note": "made up", "cases": made})
    (tmp_path / "opencode" / "loop.json").write_text(text)
    (tmp_path / "opencode" / "compaction_process.json").write_text(text[: len(text) // 2])
    (tmp_path / "opencode" / "processor.json").write_text("")
    (tmp_path / "opencode" / "prune.json").write_text('{"note": "no cases"}')

    names = ("loop", "compact_live", "summary_calls", "prune")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-m", "", "-p", "no:cacheprovider",
         *(f"tests/golden/test_{name}.py" for name in names)],
        cwd=ROOT,
        env=os.environ | {"PALIMPSEST_GOLDEN": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip

    summary = done.stdout[done.stdout.index("short test summary info") :]
    failed = [line for line in summary.splitlines() if line.startswith(("ERROR", "FAILED"))]
    assert "during collection" not in done.stdout
    assert "read by no adapter: surprise" in done.stdout, done.stdout[-4_000:]
    assert f"{good['name']}]" not in summary
    of_the_loop = [line for line in failed if "test_loop" in line]
    assert len(of_the_loop) == len(made) - 2, done.stdout[-4_000:]
    assert [line for line in failed if "test_compact_live" in line and "[unreadable" in line]
    assert [line for line in failed if "test_summary_calls" in line and "[unreadable" in line]
    assert [line for line in failed if "test_prune" in line]
