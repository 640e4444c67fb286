"""What is saved of a turn follows the setting ``density``, and nothing is lost in what opens."""

from pathlib import Path

import pytest

from palimpsest.model.script import thinks
from palimpsest.testing import ScriptedModel, isolated_session
from palimpsest.transcript.values import Density

DENSITIES: tuple[Density, ...] = ("quiet", "all steps")
LINES = {"quiet": 0, "all steps": 3}


@pytest.mark.parametrize("density", DENSITIES)
def test_what_is_saved_follows_the_setting(tmp_path: Path, density: Density) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"words of {name}\n", encoding="utf-8")
    model = ScriptedModel(
        thinks("First thought.").calls("read", path="a.txt"),
        thinks("Second thought.").calls("read", path="b.txt"),
        thinks("Third thought.").says("They hold words."),
    )
    with isolated_session(model, folder=tmp_path, settings={"density": density}) as session:
        session.prompt("What do they hold?", yes=True)
        page = session.export("html", "page.html").read_text(encoding="utf-8")
        book = session.export("ipynb", "book.ipynb").read_text(encoding="utf-8")
        words = session.export("md", "words.md").read_text(encoding="utf-8")

    page = page.replace("\N{NO-BREAK SPACE}", " ")
    parts = ["First thought.", "Second thought.", "Third thought.", "words of a", "words of b"]
    steps = ["step 1 ·", "step 2 ·", "step 3 ·"]
    for passage in [*parts, *steps, "They hold words."]:
        assert passage in page
    assert [part for part in parts if part not in book] == []
    folds = density == "quiet"
    for made in (page, book):
        assert ("<details" in made and "looked at 2 files" in made) == folds
    assert ("▸ looked at 2 files · thought" in words) == folds
    assert words.count("*step ") == LINES[density]
    assert words.count("3 steps ·") == (1 if folds else 0)
    assert "They hold words." in words
