"""An untrusted folder can only restrict: tested for each setting, and each file of agents and commands."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from tests.sample_size import thinned

from palimpsest.app.loaded_config import LoadedConfig, load, trust_project
from palimpsest.app.wiring import App
from palimpsest.session.config.setting_files import ConfigFolders
from palimpsest.session.config.settings import Config, Settings
from palimpsest.session.trust.untrusted_allow_list import SETTING_TESTS
from palimpsest.testing import ScriptedModel
from palimpsest.tools.permission_rules.permissions import (
    Allowed,
    Denied,
    MustAsk,
    decide_call,
    merge_rules,
)
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.transcript.errors import ConfigError


@pytest.fixture
def places(tmp_path: Path) -> ConfigFolders:
    return ConfigFolders((tmp_path / "etc",), (tmp_path / "own",), tmp_path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def loaded(project: Path, places: ConfigFolders, text: str, user: str = "") -> LoadedConfig:
    write(places.user[0] / "config.toml", user)
    write(project / "palimpsest.toml", text)
    return load(project, {}, folders=places)


LOOSENS = [
    ('model = "openai/gpt-5"', "model"),
    ('model = "rehearsal/../x"', "model"),
    ('small_model = "openai/gpt-5-nano"', "small_model"),
    ('variant = "high"', "variant"),
    ('system = "Say yes."', "system"),
    ('share = "auto"', "share"),
    ("share = true", "share"),
    ('variables = "values"', "variables"),
    ("snapshot = false", "snapshot"),
    ('on_failure = "show"', "on_failure"),
    ('variables = "values"', "variables"),
    ("titles = true", "titles"),
    ("turn_summaries = true", "turn_summaries"),
    ("max_steps = 100000", "max_steps"),
    ("subagent_depth = 9", "subagent_depth"),
    ("context_tokens = 900000", "context_tokens"),
    ("context_tokens = 1", "context_tokens"),
    ("history_limit = 0", "history_limit"),
    ('default_agent = "build"', "default_agent"),
    ('default_agent = "mine"', "default_agent"),
    ('mode = "bypass"', "mode"),
    ('mode = "accept-edits"', "mode"),
    ("[budget]\nusd = 1000", "budget"),
    ('[models."openai/gpt-5".price]\ninput = 0\noutput = 0', "models"),
    ('[models."openai/gpt-5"]\napi_base = "http://127.0.0.1:9/v1"', "models"),
    ('[models."openai/gpt-5"]\nwindow = 9000000', "models"),
    ("[tool_output]\nmax_bytes = 900000000", "tool_output"),
    ("[policy.truncate]\nmax_bytes = 900000000", "policy"),
    ("[compaction]\nreserved = 900000000", "compaction"),
    ('[compaction]\nmodel = "openai/gpt-5"', "compaction"),
    ('[compaction]\nprompt = "Forget."', "compaction"),
    ("[policy.recovery]\ncompactions = 99", "policy"),
    ('policy = "opencode-1.18"', "policy"),
    ("[retention]\ndays = 0\nsize = '1B'", "retention"),
    ("[dms.ada]\nhistory_limit = 0", "dms"),
    ('hooks = ["os:getcwd"]', "hooks"),
    ('[mcp.x]\ncommand = "sh"', "mcp"),
    ('[agent.build]\nmodel = "openai/gpt-5"', "agent.build.model"),
    ('[agent.build]\nprompt = "Obey."', "agent.build.prompt"),
    ('[agent.title]\nprompt = "Obey."', "agent.title.prompt"),
    ("[agent.build]\nsteps = 100000", "agent.build.steps"),
    ("[agent.plan]\ndisable = true", "agent.plan.disable"),
    ('[agent.mine]\nprompt = "Obey."', "agent.mine.prompt"),
    ('[agent.new]\nmodel = "openai/gpt-5"', "agent.new.model"),
    ('[agent.new.permission]\nbash = "allow"', "agent.new.permission"),
    ('[command.mine]\ntemplate = "Obey."', "command.mine.template"),
    ('[command.new]\ntemplate = "x"\nmodel = "openai/gpt-5"', "command.new.model"),
    ('[command.new]\ntemplate = "x"\nagent = "build"', "command.new.agent"),
    ('[permission]\nbash = "allow"', "permission"),
    ('[permission]\nread = "ask"', "permission"),
    ('instructions = ["../outside.md"]', "instructions"),
]

USER = """
titles = false
max_steps = 50
context_tokens = 60000
history_limit = 3
default_agent = "plan"
[budget]
usd = 1
[permission]
read = { "secret*" = "deny" }
[agent.mine]
prompt = "Mine."
[command.mine]
template = "Mine."
"""


@pytest.mark.parametrize(("text", "key"), thinned(LOOSENS, 2))
def test_what_loosens_waits(project: Path, places: ConfigFolders, text: str, key: str) -> None:
    before = loaded(project, places, "", USER).value
    config = loaded(project, places, text, USER)

    assert [setting.key for setting in config.untrusted_settings] == [key]
    assert config.rules("permission", config.value.permission)[0].action == "deny"
    after = config.value
    if key not in ("permission", "compaction", "instructions") and not key.startswith(
        "command.new"
    ):
        kept = {"agent": {**before.agent}, "command": {**before.command}}
        assert after.model_copy(update=kept).model_dump() == before.model_dump()
    assert config.problems == ()
    assert any(key in words for _, lines in config.remarks() for words in lines)


@pytest.mark.parametrize(
    "text",
    [
        'model = "oobabooga/http://127.0.0.1:9/v1"',
        'small_model = "huggingface/HTTPS://127.0.0.1:9"',
        '[compaction]\nmodel = "openai///127.0.0.1:9/x"',
        '[agent.new]\nmodel = "x/http://h"',
        '[command.new]\nmodel = "x/http://h"',
        '[models."x/http://h"]\nwindow = 9',
    ],
)
def test_no_project_names_an_address_even_if_it_is_trusted(
    project: Path, places: ConfigFolders, text: str
) -> None:
    loaded(project, places, text + "\n[policy.recovery]\ncompactions = 9")
    assert trust_project(project, {}, places)

    config = load(project, {}, folders=places)

    assert config.untrusted_settings == ()
    assert config.models() == frozenset()
    assert "from a project's file, because your key would go there" in config.problems[0]


def test_an_address_in_a_model_s_name_counts_only_in_a_person_s_own_settings(
    app: Callable[..., App],
) -> None:
    name = "oobabooga/http://127.0.0.1:9/v1"
    with pytest.raises(ConfigError, match=r'models\."provider/name"\.api_base'):
        app().info(name)

    assert app(f'model = "{name}"').info(name).ref.id == name


TIGHTENS = [
    ('model = "rehearsal/rules"', lambda c: c.model == "rehearsal/rules"),
    ("titles = false", lambda c: c.titles is False),
    ("turn_summaries = false", lambda c: c.turn_summaries is False),
    ("max_steps = 5", lambda c: c.max_steps == 5),
    ("subagent_depth = 0", lambda c: c.subagent_depth == 0),
    ("context_tokens = 20000", lambda c: c.context_tokens == 20_000),
    ("history_limit = 2", lambda c: c.history_limit == 2),
    ('default_agent = "plan"', lambda c: c.default_agent == "plan"),
    ('mode = "plan"', lambda c: c.mode == "plan"),
    ("[budget]\nusd = 0.5\ntokens = 9", lambda c: (c.budget.usd, c.budget.tokens) == (0.5, 9)),
    ("[tool_output]\nmax_lines = 20", lambda c: c.tool_output.max_lines == 20),
    ("[compaction]\ntail_turns = 3\nauto = false", lambda c: c.compaction.tail_turns == 3),
    ("[policy.prune]\nprotect_tokens = 9", lambda c: c.policy.prune.protect_tokens == 9),
    ('variables = "names"', lambda c: c.variables == "names"),
    ('share = "disabled"', lambda c: c.share == "disabled"),
    ("snapshot = true", lambda c: c.snapshot),
    ('on_failure = "raise"', lambda c: c.on_failure == "raise"),
    ('variables = "names"', lambda c: c.variables == "names"),
    ('[permission]\nbash = "deny"', lambda c: {"bash": "deny"} in c.permission),
    ('[permission]\ngrep = "ask"', lambda c: {"grep": "ask"} in c.permission),
    ("[agent.build]\nsteps = 3", lambda c: c.agent["build"].steps == 3),
    ('[agent.new]\nprompt = "Help."', lambda c: c.agent["new"].prompt == "Help."),
    ('[command.new]\ntemplate = "Do."', lambda c: c.command["new"].template == "Do."),
    ("[mcp.mine]\nenabled = false", lambda c: c.mcp["mine"].enabled is False),
    ("hooks = []\n[mcp]", lambda c: c.mcp["mine"].command == "x"),
]


@pytest.mark.parametrize(("text", "holds"), TIGHTENS)
def test_what_tightens_holds_at_once(
    project: Path, places: ConfigFolders, text: str, holds: Callable[[Config], bool]
) -> None:
    config = loaded(project, places, text, '[mcp.mine]\ncommand = "x"')

    assert holds(config.value)
    assert [setting for setting in config.untrusted_settings if setting.value] == []


def leaves(settings: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every setting by dotted key, ``*`` for a chosen name, with its type."""
    for name, field in settings.model_fields.items():
        tables = [
            member for member in (field.annotation, *get_args(field.annotation)) if is_table(member)
        ]
        named = get_args(field.annotation)[1:] if str(field.annotation).startswith("dict") else ()
        inner = next((annotation for annotation in (*tables, *named) if is_table(annotation)), None)
        if inner is not None:
            star = ("*",) if inner in named else ()
            yield from leaves(inner, (*path, name, *star))
        else:
            yield ".".join((*path, name)), field.annotation


def is_table(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Settings)


def test_every_setting_is_allowed_by_name_or_waits() -> None:
    known = {key for key, _ in leaves(Config)}
    named = {key for key in SETTING_TESTS if key != "policy.prune.*"}

    assert named <= known, "a setting that is not there any more"
    assert {"models.*.price.input", "models.*.api_base", "hooks", "mcp.*.command"} <= known - named


def test_a_question_of_the_project_s_lifts_no_deny_and_still_asks(
    project: Path, places: ConfigFolders
) -> None:
    user = '[permission]\nbash = { "*" = "allow", "rm *" = "deny" }'
    config = loaded(project, places, '[permission]\nbash = "ask"', user)
    rules = merge_rules(DEFAULT_RULES, config.rules("permission", config.value.permission))

    assert isinstance(decide_call("bash", ["rm x"], rules), Denied)
    assert isinstance(decide_call("bash", ["ls"], rules), MustAsk)
    assert [setting.key for setting in config.untrusted_settings] == ["permission"]


SCRIPT = "print('hello')\n"


@pytest.mark.parametrize(
    ("settings", "changed"),
    [
        ('[mcp.x]\ncommand = "python"\nargs = ["tools/server.py"]', "tools/server.py"),
        ('[mcp.x]\ncommand = "python"\nargs = ["tools/server.py"]', "tools/beside.py"),
        ('[mcp.x]\ncommand = "./tools/run.sh"', "tools/run.sh"),
        ('[mcp.x]\ncommand = "python"\nargs = ["-m", "tools.server"]', "tools/server.py"),
        ('[mcp.x]\ncommand = "sh"\nargs = ["-c", "cd tools && ./run.sh"]', "tools/run.sh"),
        ('[mcp.x]\ncommand = "node"\nargs = ["--require=./tools/a.js", "x"]', "tools/a.js"),
        ('[mcp.x]\ncommand = "sh"\nenv = { PYTHONPATH = "tools" }', "tools/server.py"),
        ('[mcp.x]\ncommand = "python"\ncwd = "tools"\nargs = ["server.py"]', "tools/server.py"),
        ('hooks = ["tools.server:hook"]', "tools/server.py"),
        ('hooks = ["tools.server:hook"]', "tools/__init__.py"),
        ('hooks = ["tools:hook"]', "tools.so"),
        ('[hooks]\ntool_before = ["tools.server:hook"]', "tools/beside.py"),
    ],
)
def test_a_changed_program_asks_again(
    project: Path, places: ConfigFolders, settings: str, changed: str
) -> None:
    for name in ("server.py", "beside.py", "run.sh", "a.js", "notes.md"):
        write(project / "tools" / name, SCRIPT)
    loaded(project, places, settings)
    assert trust_project(project, {}, places)
    assert load(project, {}, folders=places).untrusted_settings == ()

    write(project / "tools" / "notes.md", "Something else.")
    assert load(project, {}, folders=places).untrusted_settings == ()
    write(project / changed, "import os\n")

    assert load(project, {}, folders=places).untrusted_settings != ()


def test_a_copy_of_a_trusted_folder_is_not_trusted(project: Path, places: ConfigFolders) -> None:
    loaded(project, places, 'system = "Say yes."')
    trust_project(project, {}, places)
    assert load(project, {}, folders=places).value.system == "Say yes."

    copy = project.parent / "copy"
    shutil.copytree(project, copy)
    moved = project.parent / "moved"
    project.rename(moved)

    assert load(copy, {}, folders=places).value.system is None
    assert load(moved, {}, folders=places).value.system is None
    project.symlink_to(copy)  # the same name, now with another folder behind it
    assert load(project, {}, folders=places).value.system is None


def test_trust_that_lies_in_the_project_is_not_believed(
    project: Path, places: ConfigFolders
) -> None:
    inside = ConfigFolders((), (), project.parent, state=project / "state")
    loaded(project, places, 'system = "Say yes."')
    trust_project(project, {}, places)
    shutil.copytree(places.user[0], project / "state")

    assert load(project, {}, folders=places).value.system == "Say yes."
    assert load(project, {}, folders=inside).value.system is None


def test_what_cannot_be_kept_holds_as_long_as_the_process(project: Path) -> None:
    nowhere = ConfigFolders((), (), project.parent)
    write(project / "palimpsest.toml", 'system = "Say yes."')

    assert trust_project(project, {}, nowhere)

    assert load(project, {}, folders=nowhere).value.system == "Say yes."


# Files of agents, commands and skills


@pytest.fixture
def app(tmp_path: Path, project: Path) -> Iterator[Callable[[], App]]:
    made: list[App] = []
    home = tmp_path / "home"
    environment = {"HOME": str(home), "JUPYTER_CONFIG_DIR": str(home / "jupyter")}
    write(home / ".palimpsest/agents/own.md", "---\nsteps: 9\npermission:\n  bash: deny\n---\nOwn.")
    write(home / ".palimpsest/commands/tidy.md", "Tidy up.")
    write(home / ".palimpsest/skills/s/SKILL.md", "---\ndescription: own\n---\nOwn.")

    def start(own: str = "") -> App:
        write(home / "jupyter/palimpsest/config.toml", f"{own}\n{USER}")
        made.append(App(start=project, environment=environment, model=lambda _: ScriptedModel()))
        return made[-1]

    yield start
    for opened in made:
        opened.close()


HEAD = "---\n{}\n---\n"


def test_an_untrusted_agent_file_lifts_nothing(project: Path, app: Callable[[], App]) -> None:
    asks = "permission:\n  bash: ask\n  edit: ask\n  '*': allow\ntools: [Bash, Edit, Read]"
    for name in ("plan", "own", "build"):
        write(project / f".claude/agents/{name}.md", HEAD.format(f"name: {name}\n{asks}"))
    write(project / ".palimpsest/agents/plan.md", HEAD.format("permission:\n  edit: ask"))

    agents = app().definitions.agents

    for name, permission in (("plan", "bash"), ("plan", "edit"), ("own", "bash")):
        rules = (*DEFAULT_RULES, *agents[name].rules)
        assert isinstance(decide_call(permission, ["x"], rules), Denied), (name, permission)
    rules = (*DEFAULT_RULES, *agents["build"].rules)
    assert isinstance(decide_call("bash", ["x"], rules), MustAsk)
    assert decide_call("read", ["x"], rules) == Allowed()


def test_an_untrusted_file_waits_and_says_so(project: Path, app: Callable[[], App]) -> None:
    write(project / ".palimpsest/agents/build.md", HEAD.format("model: openai/gpt-5") + "Obey.")
    write(project / ".palimpsest/agents/own.md", HEAD.format("steps: 90\ndisable: false") + "Obey.")
    write(project / ".palimpsest/agents/explore.md", HEAD.format("disable: true"))
    write(project / ".palimpsest/agents/new.md", HEAD.format("steps: 900\nmodel: x/y") + "Help.")
    write(project / ".palimpsest/commands/tidy.md", "Obey.")
    write(project / ".palimpsest/commands/go.md", HEAD.format("model: x/y\nagent: build") + "Go.")
    write(project / ".palimpsest/skills/s/SKILL.md", HEAD.format("description: theirs") + "Obey.")
    opened = app()
    definitions = opened.definitions

    assert {setting.key for setting in opened.config.untrusted_settings} == {
        "agent.build.model", "agent.build.prompt", "agent.own.steps", "agent.own.prompt",
        "agent.explore.disable", "agent.new.steps", "agent.new.model",
        "command.tidy", "command.go.model", "command.go.agent", "skill.s",
    }  # fmt: skip
    assert (definitions.agents["build"].model, definitions.agents["build"].prompt) == (None, None)
    assert (definitions.agents["own"].prompt, definitions.agents["own"].steps) == ("Own.", 9)
    assert (definitions.agents["new"].prompt, definitions.agents["new"].model) == ("Help.", None)
    assert definitions.commands["tidy"].template == "Tidy up."
    assert (definitions.commands["go"].template, definitions.commands["go"].agent) == ("Go.", None)
    assert definitions.skills["s"].text == "Own."

    assert {setting.key for setting in opened.trust()} >= {"agent.build.model", "command.tidy"}

    assert opened.config.untrusted_settings == ()
    assert definitions.agents["build"].model == "openai/gpt-5"
    assert definitions.commands["go"].agent == "build"
    assert definitions.skills["s"].text == "Obey."
    write(project / ".palimpsest/agents/build.md", HEAD.format("model: openai/o9") + "Obey more.")
    definitions.refresh()
    assert definitions.agents["build"].model is None
    assert {setting.key for setting in opened.config.untrusted_settings} == {
        "agent.build.model",
        "agent.build.prompt",
    }
    assert opened.distrust()
    assert "command.tidy" in {setting.key for setting in opened.config.untrusted_settings}


def test_a_project_s_steps_shorten_every_agent_s_and_lengthen_none(
    project: Path, app: Callable[[], App]
) -> None:
    write(project / "palimpsest.toml", "max_steps = 40")

    opened = app()

    assert opened.services.agents.max_steps is None
    assert opened.services.agents.most_steps == 40


def test_nothing_is_read_from_a_file_of_the_environment(
    project: Path, app: Callable[[], App], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps({"mode": "bypass", "model": "openai/gpt-5"})
    write(
        project / ".env",
        f"PALIMPSEST_CONFIG_CONTENT={text}\nPALIMPSEST_PERMISSION=allow\n"
        "PALIMPSEST_STATE_DIR=.\nOPENAI_BASE_URL=http://127.0.0.1:9/v1\nOPENAI_API_KEY=sk-x\n",
    )
    monkeypatch.chdir(project)

    opened = app()

    assert (opened.config.value.mode, opened.config.value.model) == ("ask", None)
    assert opened.config.value.permission == ({"read": {"secret*": "deny"}},)
    assert opened.info("openai/gpt-5").api_base is None


def test_a_program_that_changed_since_the_kernel_began_is_not_started(
    project: Path, app: Callable[..., App], tmp_path: Path
) -> None:
    hook = f"open({str(tmp_path / 'ran')!r}, 'w')\ndef prompt(event): pass\n"
    write(project / "planted.py", "def prompt(event): pass\n")
    write(project / "server.py", "print()\n")
    write(
        project / "palimpsest.toml",
        'hooks = ["planted:prompt"]\n[mcp.theirs]\ncommand = "touch"\n'
        f'args = ["{tmp_path}/ran-mcp", "server.py"]',
    )
    app().trust()
    opened = app()
    assert opened.config.untrusted_settings == ()

    write(project / "planted.py", hook)
    write(project / "server.py", "print('another')\n")
    opened.engine.submit(opened.hooks.load()).result()
    told = opened.engine.submit(opened.servers.turn_began()).result()

    assert opened.hooks.hooks == []
    assert "changed since you trusted them" in str(opened.hooks.problems)
    assert "changed since you trusted them" in str(told)
    assert list(tmp_path.glob("ran*")) == []


@pytest.mark.parametrize("where", ["", "notebooks/"])
def test_a_program_beside_the_folder_of_the_notebook_is_bound_too(
    project: Path, places: ConfigFolders, where: str
) -> None:
    for name in ("tools/server.py", "tools/beside.py"):
        write(project / name, SCRIPT)
    (project / "notebooks").mkdir()
    up = "../" if where else ""
    write(
        project / f"{where}palimpsest.toml",
        f'[mcp.x]\ncommand = "python"\nargs = ["{up}tools/server.py"]',
    )
    start = project / "notebooks"
    assert load(start, {}, folders=places).untrusted_settings
    trust_project(start, {}, places)
    assert load(start, {}, folders=places).untrusted_settings == ()

    write(project / "tools/beside.py", "import os\n")

    assert load(start, {}, folders=places).untrusted_settings
