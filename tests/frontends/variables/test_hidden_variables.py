"""Variables whose names the setting hides are told, offered and described nowhere."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel
from tests.harness.served_home import served_home

from palimpsest.app.loaded_config import load
from palimpsest.model.script import calls, says
from palimpsest.session.prompts.hidden_variables import (
    HiddenNames,
    HiddenVariable,
    HidingQuietNamespace,
)
from palimpsest.testing import FaultServer
from palimpsest.tools.tool import NAMES_AND_TYPES, ShownVariables, VariableInfo

MODEL = "openai/gpt-4o"


class Variables:
    """The user's variables, which note how they are looked at (session.interfaces.prompt_mentions.QuietNamespace)."""

    def __init__(self) -> None:
        self.shown: list[ShownVariables] = []

    async def list(self, shown: ShownVariables = NAMES_AND_TYPES) -> Sequence[VariableInfo]:
        self.shown.append(shown)
        return [VariableInfo(name, "int", "") for name in ("clients", "total", "x_private")]

    async def description_of(self, name: str, max_chars: int = 4_000) -> str:
        return name[:max_chars]

    def names(self) -> Sequence[tuple[str, str]]:
        return [("total", "int"), ("clients", "int")]

    def type_and_shape(self, path: str) -> str:
        return path


def hiding() -> tuple[HidingQuietNamespace, HiddenNames, Variables]:
    names, inner = HiddenNames(["clients", "*_private"]), Variables()
    return HidingQuietNamespace(inner, names), names, inner


async def test_lists_leave_hidden_names_out_and_count_them() -> None:
    namespace, names, inner = hiding()

    found = await namespace.list(ShownVariables(readable_names=frozenset({"clients", "total"})))

    assert [variable.name for variable in found] == ["total"]
    assert names.left_out == {"clients", "x_private"}
    assert inner.shown[0].readable_names == {"total"}, "no value of a hidden one is looked at"
    assert namespace.names() == [("total", "int")]


@pytest.mark.parametrize(
    "path",
    ["clients", "clients[0]", "clients.rows", "sys.modules['__main__'].clients", "x_private"],
)
async def test_a_path_with_a_hidden_name_is_not_described(path: str) -> None:
    namespace, _, _ = hiding()

    with pytest.raises(HiddenVariable, match="stays in the kernel"):
        await namespace.description_of(path)
    with pytest.raises(HiddenVariable):
        namespace.type_and_shape(path)
    assert await namespace.description_of("Clients") == "Clients"


def test_every_file_adds_an_untrusted_project_s_too(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".config/palimpsest").mkdir(parents=True)
    (home / ".config/palimpsest/config.toml").write_text('hidden_variables = ["mine"]\n')
    (project / ".git").mkdir(parents=True)
    (project / "palimpsest.toml").write_text('hidden_variables = ["theirs"]\n')
    environment = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}

    loaded = load(project, environment)

    assert loaded.value.hidden_variables == ("mine", "theirs")
    assert loaded.untrusted_settings == ()


@pytest.mark.slow
def test_a_hidden_variable_is_not_told_offered_or_described(
    tmp_path: Path, server: FaultServer
) -> None:
    settings = 'titles = false\nnotebook = "none"\nhidden_variables = ["clients", "*_private"]\n'
    home, base = tmp_path / "home", server.openai_base
    env = served_home(home, MODEL, base, settings, PALIMPSEST_REPLAY="never")
    server.script(calls("variables"), calls("variables", name="clients"), says("I see."))
    with Kernel(cwd=tmp_path, env=env) as kernel:
        kernel.run("%load_ext palimpsest")
        kernel.run("clients = ['VALUE-' + 'KEPT']; x_private = 1; open_one = 2")
        kernel.run("%agent what is in @clients and @open_one")
        offered = kernel.complete("%agent what is in @")
        context = kernel.run("%agent context").markdown()

    sent = [dict(request.body) for request in server.requests]
    said = json.dumps([body["messages"] for body in sent])
    assert "VALUE-KEPT" not in said
    assert "x_private" not in said
    assert "open_one: int" in said
    assert said.count("The user keeps the variable clients from you") >= 2, "mention and call"
    assert "open_one" in offered
    assert not {"clients", "x_private"} & set(offered)
    assert "Kept from the agent by the setting hidden\\_variables: 2 variables" in context.replace(
        "hidden_variables", "hidden\\_variables"
    )
