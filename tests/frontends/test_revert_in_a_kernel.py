"""Reverting in a real kernel: by magic and by Python object, with files of the write and Python tools."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import ROOT, Kernel

SCRIPT = f"""import sys
sys.path.insert(0, {str(ROOT)!r})
from palimpsest.model.script import calls, says
from tests.harness.kernel_session import load
harness = load(
    get_ipython(),
    calls('python', code="open('a.txt', 'w').write('by Python')"), says('Written.'),
    calls('bash', command='echo more >> a.txt; mkdir sub; echo x > sub/b.txt'), says('Changed.'),
    says('Instead.'), snapshots=True,
)"""


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with Kernel(cwd=tmp_path) as kernel:
        run = kernel.client.run(SCRIPT)
        assert run.status == "ok", run.reply
        yield kernel


@pytest.mark.slow
def test_each_subcommand_does_what_it_says(kernel: Kernel, tmp_path: Path) -> None:
    client = kernel.client
    client.run("%agent --yes Write it")
    client.run("%agent --yes Change it")
    file, other = tmp_path / "a.txt", tmp_path / "sub" / "b.txt"
    assert file.read_text() == "by Pythonmore\n"

    changed = client.run("%agent diff last").markdown()
    assert "That turn changed 2 files" in changed
    looked = client.run("%agent revert --preview").markdown()
    assert "Would revert 3 messages." in looked
    assert other.exists()
    assert "Reverted 3 messages." in client.run("%agent revert").markdown()
    assert (file.read_text(), other.parent.exists()) == ("by Python", False)
    assert "3 messages; %agent unrevert" in client.run("%agent status").markdown()
    assert "are here again" in client.run("%agent unrevert").markdown()
    assert file.read_text() == "by Pythonmore\n"

    client.run("%agent revert")
    assert "Removed 3 messages" in client.run("%agent cleanup").markdown()
    assert client.run("%agent unrevert").status == "error"
    assert "Instead." in client.run("%agent Do something else").markdown()
    assert file.read_text() == "by Python"
