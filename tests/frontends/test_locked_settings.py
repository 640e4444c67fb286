"""Settings that an administrator locks cannot be changed by any way a user has, in a real kernel."""

from collections.abc import Iterator

import pytest
from tests.harness.kernel import Kernel

LOCKED = """
c = get_config()
c.Palimpsest.locked = {
    "model": "rehearsal/rules", "variant": "low", "mode": "ask", "budget": {"usd": 5.0},
    "permission": {"python": "ask", "bash": "deny"}, "titles": False, "max_steps": 7,
    "default_agent": "build",
}
"""
PLACES = """
import pathlib
from palimpsest.session.config import jupyter_config
jupyter_config.usual_folders = lambda environment: (pathlib.Path({folder!r}),)
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("locked")
    system, home = folder / "system", folder / "home"
    system.mkdir()
    (system / "ipython_kernel_config.py").write_text(LOCKED)
    agents = home / ".palimpsest/agents"
    agents.mkdir(parents=True)
    (agents / "free.md").write_text("---\nmodel: rehearsal/other\npermission: allow\n---\nFree.")
    environment = {
        "HOME": str(home),
        "JUPYTER_CONFIG_DIR": str(home / "jupyter"),
        "PALIMPSEST_PERMISSION": "allow",
        "PALIMPSEST_CONFIG_CONTENT": 'model = "rehearsal/other"\nmode = "bypass"\nvariant = "high"',
    }
    with Kernel(cwd=folder, env=environment) as kernel:
        assert kernel.run(PLACES.format(folder=str(system))).status == "ok"
        assert kernel.run("%load_ext palimpsest").status == "ok"
        yield kernel


def said(kernel: Kernel, cell: str) -> str:
    run = kernel.run(cell)
    return run.markdown() + run.stream("stderr") + str(run.reply["content"].get("evalue", ""))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%agent -m rehearsal/other hello", "model is fixed to"),
        ("%agent --variant high hello", "variant is fixed to"),
        ("%agent --max-steps 90 hello", "max_steps is fixed to"),
        ("%agent --agent free hello", "default_agent is fixed to"),
        ("%agent mode bypass", "The mode is ask, fixed by"),
        ("%agent budget 99usd", "The spending limit is fixed by"),
        ("import palimpsest; palimpsest.current_session().control.use_mode('bypass')", "fixed by"),
        ("import palimpsest; palimpsest.current_session().control.set_budget(usd=99)", "fixed by"),
    ],
)  # fmt: skip
def test_no_line_and_no_call_changes_what_is_locked(kernel: Kernel, cell: str, words: str) -> None:
    assert words in said(kernel, cell)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ({"type": "prompt", "text": "x", "model": "rehearsal/other"}, "model is fixed to"),
        ({"type": "prompt", "text": "x", "variant": "high"}, "variant is fixed to"),
        ({"type": "prompt", "text": "x", "agent": "free"}, "default_agent is fixed to"),
        ({"type": "mode", "mode": "bypass"}, "fixed by"),
        ({"type": "budget", "usd": 99.0}, "fixed by"),
    ],
)
def test_no_command_of_a_page_changes_what_is_locked(
    kernel: Kernel, command: dict[str, object], words: str
) -> None:
    kernel.request(type="watch", client="page")
    identifier = f"{command['type']}-{words}-{len(command)}-{list(command)[-1]}"
    kernel.request(**{**command, "id": identifier})

    told = kernel.wait(lambda m: identifier in str(m["content"]))

    assert words in str(told["content"])
    kernel.request(type="unwatch", client="page")


@pytest.mark.slow
def test_what_is_locked_answers_and_asks(kernel: Kernel) -> None:
    assert "`* ask`" in said(kernel, "%agent mode")
    shown = said(kernel, "%agent config")
    assert shown.count(", fixed") >= 7
    code = (
        "from palimpsest.ipython_extension import current_app; from palimpsest.tools.permission_rules.permissions import decide_call; "
        "a = current_app(); s = palimpsest.current_session(); "
        "r = a.effective_rules.rules_of(None, (), a.definitions.agents['free'].rules); "
    )
    kernel.run("import palimpsest; " + code)
    assert (
        kernel.value("decide_call('python', ['1'], r)") == "MustAsk(patterns=('1',), locked=True)"
    )
    assert kernel.value("type(decide_call('bash', ['ls'], r)).__name__") == "'Denied'"


@pytest.fixture(scope="module")
def scripted_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with Kernel(cwd=tmp_path_factory.mktemp("escapes")) as kernel:
        kernel.load_scripted_model()
        yield kernel


def rules(kernel: Kernel, *said: str) -> None:
    """Add rules after the usual ones, each as ``permission action``."""
    made = ", ".join(
        f"Rule(permission={rule.split()[0]!r}, action={rule.split()[1]!r})" for rule in said
    )
    run = kernel.run(
        "from palimpsest.transcript.values import Rule\n"
        "from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES\n"
        f"harness.services.rules.effective_rules.rules = (*DEFAULT_RULES, {made})"
    )
    assert run.status == "ok", run.reply["content"]


@pytest.mark.slow
@pytest.mark.parametrize("code", ["!touch ran", "%%bash\\ntouch ran", "x = !touch ran"])
def test_a_denied_shell_is_denied_in_python_too(scripted_kernel: Kernel, code: str) -> None:
    rules(scripted_kernel, "python allow", "bash deny")
    scripted_kernel.script(f'calls("python", code="{code}")', 'says("No.")')

    run = scripted_kernel.run("%%agent\ngo")

    assert "denies this call" in scripted_kernel.requests() + run.markdown()
    assert not (scripted_kernel.folder / "ran").exists()


@pytest.mark.slow
def test_an_allowed_python_asks_before_a_shell(scripted_kernel: Kernel) -> None:
    rules(scripted_kernel, "python allow", "bash ask")
    scripted_kernel.script('calls("python", code="!touch asked")', 'says("Done.")')
    sent = scripted_kernel.send("%%agent\ngo", stdin=True)

    question = scripted_kernel.question(30)
    scripted_kernel.answer("1")
    scripted_kernel.finish(sent)

    assert "always" not in question
    assert (scripted_kernel.folder / "asked").exists()
    rules(scripted_kernel, "python allow", "bash allow")
    scripted_kernel.script('calls("python", code="!touch allowed")', 'says("Done.")')
    scripted_kernel.run("%%agent\ngo")
    assert (scripted_kernel.folder / "allowed").exists()
