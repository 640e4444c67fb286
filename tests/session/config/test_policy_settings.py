"""The context policy is built from settings: a preset, single numbers, short names and flags."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.harness.session import SessionHarness, ask, until

from palimpsest.app.loaded_config import LoadedConfig, load, trust_project
from palimpsest.context.policy_overrides import policy_choice, policy_with_changes
from palimpsest.context.presets import OPENCODE_1_18, PRESETS
from palimpsest.model.script import says
from palimpsest.session.config.context_policy import ConfiguredPolicy, without_task
from palimpsest.session.config.setting_files import ConfigFolders
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.context_values.policies import Policy, PolicyChoice
from palimpsest.transcript.errors import ConfigError, SessionHeld
from palimpsest.transcript.session_record.sessions import SessionInfo, SessionTime

FILE = "project's file ~/work/palimpsest.toml"


def loaded(
    tmp_path: Path,
    text: str,
    environment: Mapping[str, str] | None = None,
    locked_settings: str = "",
) -> LoadedConfig:
    project = tmp_path / "work"
    (project / ".git").mkdir(parents=True)
    (project / "palimpsest.toml").write_text(text, encoding="utf-8")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "config.toml").write_text(locked_settings, encoding="utf-8")
    places = ConfigFolders((tmp_path / "etc",), (), tmp_path)
    trust_project(project, environment or {}, places)
    return load(project, environment or {}, folders=places)


def session(made: PolicyChoice | None) -> SessionInfo:
    return SessionInfo(
        id="ses_1",
        project_id="p",
        directory="/",
        title="",
        version="0",
        time=SessionTime(created=0, updated=0),
        policy_choice=made,
    )


def test_a_word_is_a_preset_to_the_last_number(tmp_path: Path) -> None:
    config = loaded(tmp_path, 'policy = "opencode-1.18"')

    assert config.policy.policy == OPENCODE_1_18
    assert config.problems == ()
    assert ("policy.base", "opencode-1.18", FILE) in config.rows()
    assert ("tool_output.max_bytes", "51200", "policy opencode-1.18") in config.rows()


def test_a_table_changes_single_numbers_of_its_base(tmp_path: Path) -> None:
    text = (
        '[policy]\nbase = "palimpsest"\nhistory_limit = 30\n[policy.prune]\nprotect_tokens = 10000'
    )

    config = loaded(tmp_path, text)

    wanted = {"history_limit": 30, "prune.protect_tokens": 10_000}
    assert config.policy.policy == policy_with_changes(Policy(), wanted)
    assert ("policy.prune.protect_tokens", "10000", FILE) in config.rows()
    assert not [row for row in config.rows() if row[0] == "policy.prune.minimum_tokens"]


def test_short_names_and_flags_change_the_same_policy(tmp_path: Path) -> None:
    text = """
        policy = "opencode-1.18"
        [compaction]
        auto = true
        prune = true
        reserved = 9000
        tail_turns = 3
        tail_tokens = 4000
        model = "openai/gpt-5-mini"
        prompt = "Say what was done."
        [tool_output]
        max_lines = 10
        max_bytes = 2000
        direction = "tail"
    """
    flags = {"PALIMPSEST_DISABLE_AUTOCOMPACT": "1", "PALIMPSEST_OUTPUT_TOKEN_MAX": "5000"}

    config = loaded(tmp_path, text, flags)

    assert config.problems == ()
    assert policy_choice(config.policy.policy) == PolicyChoice(
        base="opencode-1.18",
        changes={
            "truncate.max_lines": 10,
            "truncate.max_bytes": 2_000,
            "truncate.direction": "tail",
            "reserved": 9_000,
            "prune.rule": "opencode",
            "overflow.auto": False,
            "overflow.reserved": 9_000,
            "overflow.output_cap": 5_000,
            "compact.tail_turns": 3,
            "compact.tail_tokens": 4_000,
            "compact.model": "openai/gpt-5-mini",
            "compact.prompt": "Say what was done.",
        },
    )
    assert ("compaction.auto", "False", "PALIMPSEST_DISABLE_AUTOCOMPACT") in config.rows()


def test_a_flag_wins_over_every_file(tmp_path: Path) -> None:
    text = '[policy.prune]\nrule = "batch"\n[compaction]\nprune = true'

    config = loaded(tmp_path, text, {"PALIMPSEST_DISABLE_PRUNE": "true"})

    assert config.policy.policy.prune.rule == "none"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('policy = "palimpset"', "'palimpset'; did you mean palimpsest? Known policies: "),
        ("policy.prun.protect_tokens = 1", "'policy.prun'; did you mean 'prune'?"),
        (
            "policy.prune.protect_token = 1",
            "'policy.prune.protect_token'; did you mean 'protect_tokens'?",
        ),
        ("policy.prune.protect_tokens = -1", "is a whole number of at least 0, not -1."),
        ("policy.prune.start_share = 70", "is a number from 0 to 1, not 70."),
        ("policy.prune.rule = 'batches'", "not batches; did you mean batch?"),
        ("policy.estimator = 'tiktoken/o200k'", "no token estimator 'tiktoken/o200k'. Known:"),
        ("compaction.prunes = true", "'compaction.prunes'; did you mean 'prune'?"),
        ("compaction.auto = 'no'", "compaction.auto should be true or false, but it is 'no'."),
        ("tool_output.direction = 'heads'", "but it is 'heads'; did you mean 'head'?"),
    ],
)
def test_says_what_was_probably_meant_and_leaves_the_value_out(
    tmp_path: Path, text: str, words: str
) -> None:
    config = loaded(tmp_path, text)

    assert len(config.problems) == 1
    assert words in config.problems[0]
    assert config.policy.policy == Policy()


def test_a_flag_that_says_neither_yes_nor_no_is_named(tmp_path: Path) -> None:
    flags = {"PALIMPSEST_DISABLE_PRUNE": "maybe", "PALIMPSEST_OUTPUT_TOKEN_MAX": "many"}

    config = loaded(tmp_path, "", flags)

    assert config.problems == (
        "PALIMPSEST_DISABLE_PRUNE is 1 or 0, not 'maybe'.",
        "PALIMPSEST_OUTPUT_TOKEN_MAX is a whole number of at least 1, not 'many'.",
    )
    assert config.policy.policy == Policy()


def test_none_is_written_as_a_word(tmp_path: Path) -> None:
    config = loaded(tmp_path, 'policy.compact.tail_turns = "none"')

    assert config.policy.policy.compact.tail_turns is None


def test_what_an_administrator_locked_holds_under_every_name(tmp_path: Path) -> None:
    text = 'policy.truncate.max_lines = 5\ntool_output.max_lines = 6\npolicy.prune.rule = "none"'

    config = loaded(tmp_path, text, locked_settings='locked = ["tool_output", "compaction.prune"]')

    assert config.policy.policy == Policy()
    assert len(config.problems) == 3
    chosen = config.policy
    with pytest.raises(ConfigError, match=r"truncate.max_lines is fixed to 2000 by the organ"):
        chosen.changed_policy(session(None), ("truncate.max_lines=9",))
    with pytest.raises(ConfigError, match="is fixed to"):
        chosen.changed_policy(session(None), ("opencode-1.18",))
    # A policy chosen before the lock is not used any more.
    assert chosen.policy_of(session(policy_choice(PRESETS["opencode-1.1"]))).prune.rule == "batch"


def test_words_change_the_policy_of_a_session() -> None:
    ours = ConfiguredPolicy(Policy())
    words = ("opencode-1.18", "prune.rule=opencode", "prune.protect_tokens=1_000")

    made = ours.changed_policy(session(None), words)

    assert made == policy_with_changes(
        OPENCODE_1_18, {"prune.rule": "opencode", "prune.protect_tokens": 1_000}
    )
    assert ours.policy_of(session(policy_choice(made))) == made
    assert ours.changed_policy(session(policy_choice(made)), ("default",)) is None
    again = ours.changed_policy(session(policy_choice(made)), ("default", "history_limit=4"))
    assert again == policy_with_changes(Policy(), {"history_limit": 4})


def test_a_choice_that_this_version_lacks_is_named_and_can_be_left() -> None:
    later = session(PolicyChoice(base="opencode-3.0", changes={}))

    with pytest.raises(ConfigError, match=r"'opencode-3.0'.*%agent policy default goes back"):
        ConfiguredPolicy(Policy()).policy_of(later)
    assert ConfiguredPolicy(Policy()).changed_policy(later, ("default",)) is None


async def test_the_longest_answer_is_what_the_policy_allows(tmp_path: Path) -> None:
    model = ScriptedModel(says("Well."), says("Well."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()

    await ask(session, "Hi")
    await session.use_policy("overflow.output_cap=500")
    await ask(session, "Hi")

    assert [request.parameters["max_tokens"] for request in model.requests] == [4_000, 500]


async def test_a_chosen_policy_takes_little_room_in_the_log(tmp_path: Path) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel(says("Well.")))
    session = await harness.session()

    policy = await session.use_policy("opencode-1.18", "prune.protect_tokens=10000")

    [*_, record] = await harness.records(session)
    kept = '"policy_choice":{"base":"opencode-1.18","changes":{"prune.protect_tokens":10000}}'
    assert kept in record.line()
    assert '"policy":' not in record.line()
    assert session.policy() == policy


async def test_a_session_of_another_kernel_shows_its_policy_and_keeps_it(tmp_path: Path) -> None:
    def start(name: str) -> SessionHarness:
        store = JsonlStore(open_project_folder(tmp_path), heartbeat_seconds=0.1, watch_seconds=2.5)
        return SessionHarness(tmp_path, ScriptedModel(says("Well.")), store=store, kernel_id=name)

    writer, reader = start("kernel-a"), start("kernel-b")
    session = await writer.session()
    await ask(session, "Hi")
    await session.journal.flush()
    followed = await reader.workspace.open(session.id)
    assert followed.read_only
    assert followed.policy() == without_task(Policy())  # the task tool is not offered here

    chosen = await session.use_policy("opencode-1.1")
    await session.journal.flush()

    await until(lambda: followed.policy() == chosen)
    with pytest.raises(SessionHeld):
        await followed.use_policy("default")
    await reader.workspace.close()
    await writer.workspace.close()
