"""A setting locked by an administrator cannot be changed in any way."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_args

import pytest
from pydantic import BaseModel
from tests.harness.session import SessionHarness, ask
from tests.sample_size import thinned
from tests.session.permissions.test_modes_and_limits import answered, once, tools

from palimpsest.app.loaded_config import LoadedConfig, load, trust_project
from palimpsest.app.wiring import App
from palimpsest.context.policy_overrides import policy_numbers, possible_values
from palimpsest.model.script import calls, says
from palimpsest.session.config.layer_merge import _entry_type, _table_type
from palimpsest.session.config.setting_files import ConfigFolders, LockedSettings
from palimpsest.session.config.settings import Config
from palimpsest.session.definitions.agents import BUILT_IN
from palimpsest.session.definitions.project_definitions import DefinitionSources, ProjectDefinitions
from palimpsest.session.extensions.hooks import hook
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.open_sessions.storage_cleanup import prune_storage
from palimpsest.session.permissions.effective_rules import EffectiveRules
from palimpsest.testing import ScriptedModel
from palimpsest.tools.permission_rules.modes import MODE_APPROVALS
from palimpsest.tools.permission_rules.permissions import Allowed, MustAsk, as_limits, decide_call
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.transcript.context_values.policies import Policy, PolicyChoice
from palimpsest.transcript.errors import ConfigError, UserError
from palimpsest.transcript.session_record.sessions import Budget
from palimpsest.transcript.values import ModelInfo, ModelRef, Reply, Rule

LOCKED = as_limits((Rule(permission="bash", action="ask"),), "lock")
RUN = calls("bash", command="echo 1")
ALLOW = (Rule(permission="bash", action="allow"),)


@pytest.mark.parametrize("mode", ["bypass", "accept-edits"])
async def test_no_mode_answers_a_locked_question(tmp_path: Path, mode: str) -> None:
    harness = SessionHarness(
        tmp_path, ScriptedModel(RUN, says("a")), effective_rules=EffectiveRules(fixed_rules=LOCKED)
    )
    session = await harness.session()
    session.control.use_mode(mode)
    asked = answered(session, once)

    await ask(session, "one")

    assert [ask.permission for ask in asked] == ["bash"]
    assert asked[0].always == ()


async def test_no_always_and_no_agent_answers_a_locked_question(tmp_path: Path) -> None:
    agents = {**BUILT_IN, "build": BUILT_IN["build"].model_copy(update={"rules": ALLOW})}
    model = ScriptedModel(RUN, says("a"), RUN, says("b"))
    harness = SessionHarness(
        tmp_path, model, known_agents=agents, effective_rules=EffectiveRules(fixed_rules=LOCKED)
    )
    session = await harness.session()
    asked = answered(session, lambda _: Reply(answer="always"))

    await ask(session, "one")
    await ask(session, "two")

    assert len(asked) == 2
    assert session.control.allowances == ()


async def test_yes_does_not_answer_a_locked_question(tmp_path: Path) -> None:
    harness = SessionHarness(
        tmp_path, ScriptedModel(RUN, says("a")), effective_rules=EffectiveRules(fixed_rules=LOCKED)
    )
    session = await harness.session()
    asked = answered(session, lambda _: Reply(answer="reject", by="headless"))

    answer = await session.prompt("one", PromptOptions(yes=True))

    assert len(asked) == 1
    assert tools(answer.messages)[0].state.status == "error"


# Every setting, and every way to change it


def leaves(settings: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every setting with its type; a table with chosen names has one entry, called ``x``."""
    for name, field in settings.model_fields.items():
        annotation: Any = Annotated[(field.annotation, *field.metadata, None)]
        inner, entries = _table_type(field.annotation), _entry_type(field.annotation)
        if inner is not None and entries is None:
            yield from leaves(inner, (*path, name))
        elif entries is not None:
            yield from leaves(entries, (*path, name, "x"))
        else:
            yield ".".join((*path, name)), annotation


WRITTEN: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys(
        ("model", "small_model", "compaction.model", "agent.x.model", "command.x.model"),
        ("openai/gpt-5", "anthropic/claude-sonnet-4-5"),
    ),
    **dict.fromkeys(("variant", "agent.x.variant", "command.x.variant"), ("low", "high")),
    "policy.base": ("palimpsest", "opencode-1.18"),
    "policy.estimator": ("chars/4", "tiktoken/o200k_base"),
    "permission": ({"bash": "deny"}, {"bash": "allow"}),
    "agent.x.permission": ({"bash": "deny"}, {"bash": "allow"}),
    "instructions": (["/a.md"], ["/b.md"]),
    "hooks": (["a.b:c"], ["d.e:f"]),
    "retention.size": ("1GB", "2GB"),
    "default_agent": ("plan", "build"),
    "models.x.api_base": ("http://127.0.0.1:1", "http://127.0.0.1:2"),
}
"""Two values of each setting whose type does not suggest valid ones."""


def two(key: str, annotation: Any) -> tuple[Any, Any]:
    """Return two valid values of a setting."""
    if key in WRITTEN:
        return WRITTEN[key]
    if key.startswith("policy."):
        now = policy_numbers(Policy())[key.removeprefix("policy.")]
        tries: list[Any] = [now, *(possible_values(key.removeprefix("policy.")))]
        tries += [1, 2, 0.25, 0.5, 5_000, 9_000, 0, True, False, "none", "a", (), ("b",)]
    else:
        tries = [True, False, 3, 4, 0.5, 0.75, *_words(annotation), "a", "b", ["a"], ["b"]]
        tries += [{"a": "b"}, {"c": "d"}]
    right: list[Any] = []
    for value in tries:
        if value is not None and not any(type(value) is type(r) and value == r for r in right):
            config = laid(key, value)
            if not config.problems and value_at(config.value, key) not in (None, *right):
                right.append(value)
        if len(right) == 2:
            return right[0], right[1]
    raise AssertionError(f"No two values of {key} were found; add them to WRITTEN.")


def _words(annotation: Any) -> list[str]:
    words = [annotation, *get_args(annotation)]
    words += [member for part in words for member in get_args(part)]
    return [
        member for part in words for member in (part, *get_args(part)) if isinstance(member, str)
    ]


def nested(key: str, value: Any) -> dict[str, Any]:
    made: Any = value
    for name in reversed(key.split(".")):
        made = {name: made}
    return dict(made)


def laid(key: str, value: Any, **more: Any) -> LoadedConfig:
    environment = {"PALIMPSEST_CONFIG_CONTENT": json.dumps(nested(key, value))}
    return load(
        Path("/nowhere"), environment, folders=ConfigFolders((), (), Path("/nowhere")), **more
    )


def value_at(config: Any, key: str) -> Any:
    for name in key.split("."):
        config = config.get(name) if isinstance(config, dict) else getattr(config, name)
    return config


KEYS = dict(leaves(Config))


@pytest.mark.parametrize("key", thinned(KEYS, 8))
def test_no_file_no_environment_and_no_option_changes_what_is_locked(
    tmp_path: Path, key: str
) -> None:
    fixed, other = two(key, KEYS[key])
    folder = tmp_path / "project"
    for name in (".git", ".palimpsest"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (tmp_path / "etc").mkdir()
    (tmp_path / "own").mkdir()
    places = ConfigFolders((tmp_path / "etc",), (tmp_path / "own",), tmp_path)
    said, wanted = (
        json.dumps({**nested(key, fixed), "locked": [key]}),
        json.dumps(nested(key, other)),
    )
    (tmp_path / "etc/config.json").write_text(said)
    before = load(folder, {}, folders=places)
    for name in ("own/config.json", "own/config.toml", "named.json", "project/palimpsest.json"):
        if name.endswith("json"):
            (tmp_path / name).write_text(wanted)
    (folder / ".palimpsest/config.json").write_text(wanted)
    environment = {
        "PALIMPSEST_CONFIG": str(tmp_path / "named.json"),
        "PALIMPSEST_CONFIG_CONTENT": wanted,
        "PALIMPSEST_PERMISSION": "allow",
        "PALIMPSEST_DISABLE_AUTOCOMPACT": "1",
        "PALIMPSEST_DISABLE_PRUNE": "1",
        "PALIMPSEST_AUTO_SHARE": "1",
        "PALIMPSEST_OUTPUT_TOKEN_MAX": "77",
    }
    trust_project(folder, environment, places)

    after = load(folder, environment, {key: other}, folders=places)

    assert value_at(after.value, key) == value_at(before.value, key)
    if key != "permission":
        assert (
            len(
                [problem for problem in after.problems if "is fixed by the organisation" in problem]
            )
            >= 5
        )


OTHER_WAYS = {
    "model", "small_model", "variant", "max_steps", "default_agent", "agent", "command", "mode",
    "budget", "permission", "policy", "compaction", "tool_output", "retention", "hooks", "system",
    "instructions", "history_limit", "replay",
}  # fmt: skip
"""Settings that can be changed by other means than settings files; each has a test below."""

ONLY_SETTINGS = {
    "titles", "turn_summaries", "models", "context_tokens", "dm_history_limit", "dms", "subagent_depth", "mcp", "share",
    "snapshot", "on_failure", "direct", "variables", "notebook", "notebook_tokens", "cells_without_page", "hidden_variables", "density",
}  # fmt: skip
"""Settings that only settings files can change."""


def test_every_setting_is_known_here() -> None:
    top = {key.split(".")[0] for key in KEYS}

    assert top - OTHER_WAYS - ONLY_SETTINGS == set(), "say what else can change it, and test that"


Start = Callable[..., tuple[App, LiveSession]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """A function that starts an application whose organisation locks the given settings."""
    apps: list[App] = []

    def begin(
        locked: dict[str, Any], *, model: Any = None, log: dict[str, Any] | None = None
    ) -> Any:
        home, project = tmp_path / "home", tmp_path / "project"
        (project / ".git").mkdir(parents=True, exist_ok=True)
        (home / "jupyter/palimpsest").mkdir(parents=True, exist_ok=True)
        own = {"model": "rehearsal/rehearsal", "titles": False}
        (home / "jupyter/palimpsest/config.json").write_text(json.dumps(own))
        text = json.dumps({**locked, "locked": [*locked]})
        etc = tmp_path / "etc"
        etc.mkdir(exist_ok=True)
        (etc / "config.json").write_text(text)
        environment = {"HOME": str(home), "JUPYTER_CONFIG_DIR": str(home / "jupyter")}
        app = App(
            start=project,
            environment=environment,
            model=(lambda info: model(info)) if model else (lambda _: ScriptedModel()),
        )
        apps.append(app)
        session = app.engine.submit(app.workspace.current("a.ipynb")).result()
        if log is not None:
            session.log.change_session(**log)
        return app, session

    usual = ConfigFolders.of_platform

    def placed(environment: Mapping[str, str]) -> ConfigFolders:
        return replace(usual(environment), organisation_folders=(tmp_path / "etc",))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ConfigFolders, "of_platform", staticmethod(placed))
        yield begin
        for opened in apps:
            opened.close()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def asked(app: App, session: LiveSession, text: str = "Hi", **options: Any) -> Answer:
    found: Answer = app.engine.submit(session.prompt(text, PromptOptions(**options))).result()
    return found


class Notes:
    """Models that record who was asked, and with which variant."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str | None]] = []
        self.requests: list[Any] = []

    def __call__(self, info: ModelInfo) -> ScriptedModel:
        self.seen.append((info.ref.id, info.ref.variant))
        made = ScriptedModel(says("Yes."))
        self.requests.append(made)
        return made


MINE = "rehearsal/mine"
OTHER = "rehearsal/other"
AGENT = "---\nmodel: rehearsal/other\nvariant: high\nsteps: 9\n---\nOther words."


@pytest.mark.parametrize(
    ("key", "value", "options"),
    [
        ("model", MINE, {"model": OTHER}),
        ("model", MINE, {"model": "rehearsal"}),
        ("variant", "low", {"variant": "high"}),
        ("max_steps", 3, {"max_steps": 9}),
        ("default_agent", "plan", {"agent": "build"}),
    ],
)
def test_an_option_of_a_prompt_is_refused(start: Start, key: str, value: Any, options: Any) -> None:
    app, session = start({key: value})

    with pytest.raises(ConfigError, match=f"{key} is fixed to .* by the organisation's file"):
        asked(app, session, **options)


@pytest.mark.parametrize("locked", [{"model": MINE}, {"compaction": {"model": MINE}}])
def test_a_model_named_for_a_summary_is_refused(start: Start, locked: Mapping[str, Any]) -> None:
    app, session = start(locked, model=Notes())
    asked(app, session)

    with pytest.raises(ConfigError, match=r"model is fixed to .* by the organisation's file"):
        app.engine.submit(session.compact(model=OTHER)).result()


def test_what_is_fixed_may_be_named(start: Start) -> None:
    notes = Notes()
    app, session = start({"model": MINE, "variant": "low", "max_steps": 3}, model=notes)

    answer = asked(app, session, model=MINE, variant="low", max_steps=3)

    assert answer.error is None
    assert notes.seen == [(MINE, "low")]


def test_no_agent_no_command_and_no_log_chooses_another_model(start: Start, tmp_path: Path) -> None:
    home = tmp_path / "home"
    write(home / ".palimpsest/agents/build.md", AGENT)
    write(home / ".palimpsest/agents/helper.md", AGENT.replace("steps", "mode: subagent\nsteps"))
    head = "---\nmodel: rehearsal/other\nvariant: high\nagent: plan\n---\nGo."
    write(home / ".palimpsest/commands/go.md", head)
    notes = Notes()
    ref = ModelRef(provider="rehearsal", name="other", variant="high")
    locked = {"model": MINE, "variant": "low", "default_agent": "build"}
    app, session = start(locked, model=notes, log={"model": ref, "agent": "plan"})

    one = asked(app, session)
    two_ = asked(app, session, "/go")
    asked(app, session, "@helper look")

    assert set(notes.seen) == {(MINE, "low")}
    assert one.messages[-1].info.agent == "build"
    assert two_.messages[-1].info.agent == "build"


def test_no_agent_writes_titles_or_summaries_with_another_model(
    start: Start, tmp_path: Path
) -> None:
    for name in ("title", "compaction"):
        write(tmp_path / f"home/.palimpsest/agents/{name}.md", AGENT)
    locked = {
        "small_model": "rehearsal/small",
        "compaction": {"model": "rehearsal/sum", "prompt": "Ours."},
    }
    app, session = start(locked)
    info = app.info(MINE)

    assert app.services.models.small_model(info).ref.id == "rehearsal/small"
    asked(app, session)
    user = session.snapshot().messages[0].info
    made = app.engine.submit(session._prompt_resolver.setup(user)).result()
    assert made.summary_model.name == "rehearsal/sum"
    assert (made.summary_system_prompt, made.policy.compact.prompt) == (None, "Ours.")


def test_no_file_changes_a_locked_agent_or_command(start: Start, tmp_path: Path) -> None:
    home = tmp_path / "home"
    text = AGENT.replace("steps", "permission:\n  bash: allow\nsteps")
    for name in ("build", "plan", "mine", "free"):
        write(home / f".palimpsest/agents/{name}.md", text)
    write(home / ".palimpsest/agents/explore.md", "---\ndisable: true\n---\n")
    write(home / ".palimpsest/commands/go.md", "Other words.")
    locked = {
        "agent": {"mine": {"prompt": "Mine."}},
        "command": {"go": {"template": "Go."}},
    }

    definitions = start(locked)[0].definitions

    assert definitions.agents["mine"].prompt == "Mine."
    assert definitions.agents["mine"].model is None
    assert definitions.agents["build"].prompt is None
    assert "explore" in definitions.agents
    assert "free" not in definitions.agents
    assert definitions.commands["go"].template == "Go."
    assert "is fixed by the organisation" in str(definitions.problems)


def test_single_settings_of_an_agent_can_be_locked(tmp_path: Path) -> None:
    locked_settings = LockedSettings({"agent.build.permission": "x", "agent.build.model": "x"})
    path = tmp_path / "home/.palimpsest/agents/build.md"
    write(path, AGENT.replace("steps", "permission:\n  bash: allow\nsteps"))
    places = ConfigFolders((), (), tmp_path / "home")
    (tmp_path / "p").mkdir()

    agent = ProjectDefinitions(
        DefinitionSources(tmp_path / "p", places, locked_settings=locked_settings),
        lambda: DEFAULT_RULES,
    ).agents["build"]

    assert (agent.model, agent.rules, agent.steps) == (None, (), 9)


@pytest.mark.parametrize("key", ["permission", "permission.bash"])
def test_locked_rules_stand_behind_every_other(start: Start, tmp_path: Path, key: str) -> None:
    free = "---\npermission:\n  bash: allow\n---\nFree."
    write(tmp_path / "home/.palimpsest/agents/build.md", free)
    locked = {"permission": {"bash": "ask", "read": "allow"}}
    begin = start(locked) if key == "permission" else None
    if begin is None:
        start({})[0].close()
        (tmp_path / "etc/config.json").write_text(json.dumps({**locked, "locked": [key]}))
        environment = {"HOME": str(tmp_path / "home"), "PALIMPSEST_PERMISSION": "allow"}
        app = App(
            start=tmp_path / "project", environment=environment, model=lambda _: ScriptedModel()
        )
        session = app.engine.submit(app.workspace.current("a.ipynb")).result()
    else:
        app, session = begin
    session.control.use_mode("bypass")
    record = session.snapshot().session
    rules = app.effective_rules.rules_of(record, (), app.definitions.agents["build"].rules)

    assert decide_call("bash", ["ls"], rules, MODE_APPROVALS["bypass"]) == MustAsk(
        ("ls",), locked=True
    )
    assert decide_call("read", ["a"], rules) == Allowed()
    if begin is None:
        app.close()


def test_mode_limit_and_policy_are_refused_and_a_log_s_are_passed_over(start: Start) -> None:
    log = {
        "mode": "bypass", "mode_own": True, "budget": Budget(usd=99.0, own=True),
        "policy_choice": PolicyChoice(base="opencode-1.18", changes={"history_limit": 99}),
    }  # fmt: skip
    locked = {
        "mode": "ask",
        "budget": {"usd": 1.0},
        "policy": {"base": "palimpsest"},
        "tool_output": {"max_lines": 9},
        "history_limit": 3,
        "dm_history_limit": 3,
    }
    app, session = start(locked, log=log)

    assert session.control.mode == "ask"
    assert (session.control.budget.usd, session.control.budget.own) == (1.0, False)
    assert policy_numbers(session.policy())["truncate.max_lines"] == 9
    assert policy_numbers(session.policy())["prune.rule"] == policy_numbers(Policy())["prune.rule"]
    for change in (
        lambda: session.control.use_mode("bypass"),
        lambda: session.control.set_budget(usd=9.0),
        lambda: app.engine.submit(session.use_policy("opencode-1.18")).result(),
        lambda: app.engine.submit(session.use_policy("truncate.max_lines=99")).result(),
    ):
        with pytest.raises(ConfigError, match="fixed"):
            change()
    asked(app, session)
    user = session.snapshot().messages[0].info
    made = app.engine.submit(session._prompt_resolver.setup(user)).result()
    assert made.policy.history_limit == 3


def test_no_switch_of_a_notebook_changes_a_locked_replay(start: Start) -> None:
    app, _session = start({"replay": "ask"})

    app.workspace.replay.switch_replay("a.ipynb", is_on=False)

    assert app.workspace.replay.mode("a.ipynb") == "ask"


def test_no_limit_of_age_or_size_is_other_than_the_locked_one(start: Start) -> None:
    app, _ = start({"retention": {"days": 365, "size": "1GB"}})
    retention = app.config.value.retention

    for other in ({"days": 1}, {"max_size": 5}, {"max_size": "2GB"}):
        with pytest.raises(ConfigError, match="retention"):
            app.engine.submit(
                prune_storage(
                    app.workspace, retention, locked_settings=app.locked_settings, **other
                )
            ).result()
    same = prune_storage(
        app.workspace, retention, days=365, max_size="1000MB", locked_settings=app.locked_settings
    )
    assert app.engine.submit(same).result().plan.due == ()


def test_no_cell_and_no_package_adds_a_hook(start: Start) -> None:
    app, _ = start({"hooks": []})

    with pytest.raises(UserError, match="The hooks are fixed by the organisation's file"):
        hook("prompt")(lambda _event: None)
    app.engine.submit(app.hooks.load()).result()
    assert app.hooks.hooks == []


def test_what_is_added_to_the_system_prompt_does_not_come_from_a_log(start: Start) -> None:
    notes = Notes()
    app, session = start({}, model=notes)
    asked(app, session)
    app.close()

    app, session = start({"system": "WORDS OF OURS", "model": MINE}, model=notes)
    asked(app, session)

    assert "WORDS OF OURS" in str(notes.requests[-1].requests[-1].messages)
