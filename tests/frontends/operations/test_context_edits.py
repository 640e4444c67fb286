"""``%agent pin``, ``exclude`` and ``restore`` in a real kernel: by id, at once, and reversible."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel

SUMMARY = "## Goal\\n- know the penguins\\n\\n## Numbers and facts\\n- 43.92\\n" + "- none\\n" * 40
SETUP = f"""
from palimpsest.model.script import calls, says
from tests.harness.kernel_session import load
harness = load(get_ipython())
harness.script(
    calls('read', path='a.csv'), says('It lists penguins. ' * 400).in_pieces(4_000), says('Two.'), says('Three.'),
    says('{SUMMARY}'), says('Four.'), says('Five.'),
)
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    (tmp_path / "a.csv").write_text("species,mass\nAdelie,3750\n")
    with Kernel(cwd=tmp_path) as kernel:
        assert kernel.client.run(SETUP).status == "ok"
        yield kernel


def sent(kernel: Kernel, number: int) -> str:
    return kernel.client.value(f"str(harness.model.requests[{number}].messages)")


@pytest.mark.slow
def test_a_person_chooses_what_the_model_sees(kernel: Kernel) -> None:
    client = kernel.client
    nothing = client.run("%agent pin")
    client.run("%agent Read it")

    out = client.run("%agent exclude last")
    listed = client.run("%agent restore")
    client.run("%agent And now?")
    back = client.run("%agent restore last")
    client.run("%agent pin last")
    client.run("%agent Third?")
    client.run("%agent compact")
    client.run("%agent What was the mass?")

    assert "nothing to choose" in nothing.markdown()
    assert "Left out the call read" in out.markdown()
    assert "left out" in listed.markdown()
    assert "Adelie" not in sent(kernel, 2)
    assert "Restored the call read" in back.markdown()
    assert "Adelie" in sent(kernel, 3)
    assert "know the penguins" in sent(kernel, 5)
    assert "Adelie,3750" in sent(kernel, 5)
    assert "pinned, quoted after the summary" in client.run("%agent pin").markdown()
    assert client.run("%agent restore summary").markdown().startswith("The compaction is undone")
    client.run("%agent And now?")
    assert "Read it" not in sent(kernel, 5)
    assert "Read it" in sent(kernel, 6)
    assert "know the penguins" not in sent(kernel, 6)


@pytest.mark.slow
def test_a_name_that_is_none_gets_one_sentence(kernel: Kernel) -> None:
    kernel.client.run("%agent Read it")

    run = kernel.client.run("%agent restore backup")

    words = str(run.reply["content"]["evalue"])
    assert "There is no part or message 'backup' in this session." in words
    assert words.endswith("To send it as a prompt, write %agent -- restore backup.")
    assert "Traceback" not in str(run.messages)


@pytest.mark.slow
def test_a_page_chooses_over_the_control_channel(kernel: Kernel) -> None:
    kernel.request(type="watch", client="page")
    kernel.client.run("%agent Read it")

    kernel.request(type="context-edit", id="choose-1", action="exclude", target="last")
    told = kernel.wait(
        lambda m: m["content"].get("kind") == "outcome" and m["content"]["id"] == "choose-1"
    )
    kernel.request(type="context-edit", id="choose-2", action="undo")
    refused = kernel.wait(
        lambda m: m["content"].get("kind") == "outcome" and m["content"]["id"] == "choose-2"
    )
    kernel.client.run("%agent And now?")

    assert "error" not in told["content"]
    assert refused["content"]["error"].startswith("There is no compaction to undo")
    assert "Adelie" not in sent(kernel, 2)


@pytest.mark.slow
def test_names_are_completed(kernel: Kernel) -> None:
    kernel.client.run("%agent Read it")

    assert "last" in kernel.client.complete("%agent pin la")
