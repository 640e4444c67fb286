"""A prompt that names a file of the project attaches it."""

import base64
from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness, ask
from tests.harness.subagent_session import make_subagent_harness
from tests.model.valid_bodies import PNG

from palimpsest.model.script import calls, fails, says
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.testing import ScriptedModel
from palimpsest.tools.permission_rules.permissions import from_config
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.transcript.parts import FilePart, FileSource, SourceText, TextPart


def told(session: Any) -> list[str]:
    """Return the synthetic texts beside the newest prompt."""
    newest = [m for m in session.snapshot().messages if m.info.role == "user"][-1]
    return [p.text for p in newest.parts if isinstance(p, TextPart) and p.synthetic]


def sent(model: ScriptedModel) -> str:
    return str(model.requests[-1].messages)


async def make_harness(
    root: Path, *answers: Any, **more: Any
) -> tuple[SessionHarness, Any, ScriptedModel]:
    model = ScriptedModel(*answers)
    harness = make_subagent_harness(root, model, **more)
    return harness, await harness.session(), model


async def test_a_named_file_is_read_before_the_first_request(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("x = 1\n")
    harness, session, model = await make_harness(tmp_path, says("One."))

    await ask(session, "What is x in @src/a.py? It is not @src/b.py.")

    assert told(session) == ["The user attached src/a.py. The read tool shows of it:\n1: x = 1"]
    assert "1: x = 1" in sent(model)
    records = await harness.records(session)
    assert all(found.matches for found in rebuild_all(harness.store, session.id, records))


async def test_it_is_read_once_though_the_turn_has_several_steps(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    _, session, _ = await make_harness(
        tmp_path, fails(500), calls("list"), says("One."), says("Yes.")
    )

    await ask(session, "See @a.py, @a.py and @./a.py")

    assert len(told(session)) == 2

    await ask(session, "And?")

    assert told(session) == []


async def test_a_picture_is_attached(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(base64.b64decode(PNG))
    _, session, _ = await make_harness(tmp_path, says("A pixel."))

    await ask(session, "What is in @a.png?")

    (message, _) = session.snapshot().messages
    (file,) = [part for part in message.parts if isinstance(part, FilePart)]
    assert (file.mime, file.filename) == ("image/png", "a.png")
    assert file.source == FileSource(
        type="file", path="a.png", text=SourceText(value="@a.png", start=11, end=17)
    )


@pytest.mark.parametrize(
    "words",
    ["@decorator", "@app.route", "ada@a.py", "@gone.py", "`@a.py`", "@../b.txt", "@/etc/passwd"],
)
async def test_other_words_behind_an_at_sign_stay_words(tmp_path: Path, words: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("x = 1\n")
    (root / "decorator").write_text("no\n")
    (tmp_path / "b.txt").write_text("outside\n")
    _, session, _ = await make_harness(root, says("Hm."))

    await ask(session, f"What about {words} here?")

    assert told(session) == []
    assert session.snapshot().asks == ()


async def test_a_rule_holds_for_a_named_file_too(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    rules = (*DEFAULT_RULES, *from_config({"read": {"a.py": "deny"}}, home="/home/ada"))
    _, session, model = await make_harness(tmp_path, says("Hm."), rules=rules)

    await ask(session, "See @a.py")

    (words,) = told(session)
    assert words.startswith(
        "The user attached a.py, which cannot be read: A permission rule denies"
    )
    assert "x = 1" not in sent(model)
