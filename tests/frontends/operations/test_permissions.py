"""``%agent mode``, ``permissions``, ``budget`` and ``config trust`` in a real kernel."""

from collections.abc import Iterator

import pytest
from tests.harness.kernel import Kernel

from palimpsest.frontends.typed_input.typed_answers import parse_reply, question_text
from palimpsest.frontends.typed_input.typed_values import parse_amounts
from palimpsest.transcript.values import Ask, Reply

RULED = """
mode = "bypass"
[permission]
bash = "allow"
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2usd", {"usd": 2.0}),
        ("$ 2", {}),
        ("$2", {"usd": 2.0}),
        ("1,000,000 tokens", {"tokens": 1e6}),
        ("500k tokens $3", {"tokens": 500_000.0, "usd": 3.0}),
        ("2usd 3usd", {}),
        ("$5 tokens", {}),
        ("12", {}),
    ],
)
def test_amounts_name_what_they_limit(text: str, found: dict[str, float]) -> None:
    assert parse_amounts(text) == found


def test_a_typed_four_allows_always_in_the_project() -> None:
    assert parse_reply("4") == Reply(answer="always", scope="project")
    assert parse_reply("project") == Reply(answer="always", scope="project")
    assert parse_reply("2") == Reply(answer="always")


def test_a_typed_question_offers_what_it_can_mean() -> None:
    ask = Ask(id="per_1", permission="bash", patterns=("ls",), title="ls", input={})
    with_always = ask.model_copy(update={"always": ("ls *",)})

    assert "4 always in this project" in question_text(with_always, str)
    assert "always" not in question_text(ask, str)
    limit = ask.model_copy(update={"permission": "budget"})
    assert question_text(limit, str) == "ls\n1 go on   3 stop\n> "


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("allowing")
    (folder / "palimpsest.toml").write_text(RULED)
    home = tmp_path_factory.mktemp("home")
    own = {"JUPYTER_CONFIG_DIR": str(home), "HOME": str(home)}
    with Kernel(cwd=folder, env=own) as kernel:
        assert kernel.client.run("%load_ext palimpsest").status == "ok"
        yield kernel


@pytest.mark.slow
@pytest.mark.parametrize("amount", ["-1usd", "1usd 2usd", "9" * 400 + " tokens", "tokens", "0usd"])
def test_an_amount_that_is_none_is_said_and_sends_nothing(kernel: Kernel, amount: str) -> None:
    run = kernel.client.run(f"%agent budget {amount}")

    assert run.reply["content"].get("ename") == "UsageError"
    assert "budget 2usd" in run.reply["content"]["evalue"] or "2usd, or" in str(run.reply)


def said(kernel: Kernel, line: str) -> str:
    """Return a cell's output, or the message of its error."""
    run = kernel.client.run(line)
    return run.markdown() if run.status == "ok" else str(run.reply["content"]["evalue"])


@pytest.mark.slow
class TestInAKernel:
    """The same lines in a real kernel."""

    def test_a_mode_is_shown_and_changed(self, kernel: Kernel) -> None:
        assert "`* ask`" in said(kernel, "%agent mode")
        words = said(kernel, "%agent mode accept edits")
        assert "The mode of this session is accept-edits from the next call on" in words
        assert "There is no permission mode 'yolo'" in said(kernel, "%agent mode yolo")
        assert "is ask from the next call on" in said(kernel, "%agent mode default")

    def test_rules_are_listed_with_where_they_come_from(self, kernel: Kernel) -> None:
        words = said(kernel, "%agent permissions")

        assert "Nothing was always allowed yet" in words
        assert "built in" in words
        assert "number 3" in said(kernel, "%agent permissions revoke 3")

    def test_a_limit_is_set_and_taken_off(self, kernel: Kernel) -> None:
        words = said(kernel, "%agent budget $2 500k tokens")
        assert "<span>&#36;</span>0 of <span>&#36;</span>2.00" in words
        assert "of 500,000 tokens" in words
        assert "has no spending limit" in said(kernel, "%agent budget off")

    def test_a_project_is_trusted_while_the_kernel_runs(self, kernel: Kernel) -> None:
        assert "Waits until you trust this project" in said(kernel, "%agent config")
        assert 'mode = "bypass"' in said(kernel, "%agent config trust")
        assert "`* bypass`" in said(kernel, "%agent mode")
        assert "waits for your trust again" in said(kernel, "%agent config distrust")
        assert "`* ask`" in said(kernel, "%agent mode")
