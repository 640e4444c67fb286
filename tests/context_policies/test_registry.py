"""Policies are found by name, version and numbers, and a wrong one is refused in one sentence."""

from typing import Any

import pytest
from tests.sample_size import thinned

from palimpsest.context_policies import registry
from palimpsest.context_policies.engine_presets.engine_policies import PRESETS, EnginePolicy
from palimpsest.context_policies.interface.preset_text import MAX_POLICY_CHARS, UnknownPolicy
from palimpsest.context_policies.interface.settings import Preset, number_text, version_of
from palimpsest.transcript.errors import ConfigError

UNVERSIONED = {
    *("cache.anthropic", "cache.deepseek", "cache.gemini", "cache.openai"),
    "codex.compact",
    "learn_claude_code.auto",
    "learn_claude_code.micro",
    "openai.truncation",
    "openai_agents.tool_output_trimmer",
    "palimpsest",
}
"""Services and pages, whose rules have no version."""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("opencode.prune", "opencode.prune"),
        ("opencode.prune protect=20_000", "opencode.prune protect=20000"),
        ("opencode.prune@31e22f65 protect=20000.0", "opencode.prune protect=20000"),
        ("opencode.prune protect=40000", "opencode.prune"),
        (
            "anthropic.clear_tool_uses spared_tools=a,b recomputed=yes placeholder='[ | ]'",
            "anthropic.clear_tool_uses spared_tools=a,b recomputed=true placeholder='[ | ]'",
        ),
        ("opencode.prune|pi.compact window_share=.5", ""),
        (
            "opencode.prune | pi.compact window_share=0.5",
            "opencode.prune | pi.compact window_share=0.5",
        ),
    ],
)
def test_a_text_names_a_policy_and_its_name_names_it_again(text: str, name: str) -> None:
    if not name:
        with pytest.raises(UnknownPolicy, match=r"takes a number from 0, not '\.5'"):
            registry.get(text)
        return

    policy = registry.get(text)

    assert policy.name == name
    assert registry.get(policy.name) == policy


def test_numbers_are_given_as_values_too_and_on_top_of_a_policys_own() -> None:
    policy = registry.get("opencode.prune turns=1", protect=20_000)

    assert policy.name == "opencode.prune protect=20000 turns=1"
    assert registry.get(policy) is policy
    assert registry.get(policy, protect=40_000).name == "opencode.prune turns=1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("opencode.prun", "There is no policy 'opencode.prun'; did you mean 'opencode.prune'"),
        ("mine.prune", "There is no policy 'mine.prune'; did you mean 'opencode.prune'"),
        ("opencode.prune@1.x", "known in 31e22f65, not in '1.x'."),
        ("opencode.prune protct=1", "has no number 'protct'; did you mean 'protect'?"),
        (
            "opencode.prune qq=1",
            "has no number 'qq'. There are: estimator, failed, minimum, protect",
        ),
        ("opencode.prune protect=many", "takes a whole number from 0, not 'many'."),
        ("opencode.prune protect=1.5", "takes a whole number from 0, not '1.5'."),
        ("opencode.prune protect=-1", "takes a whole number from 0, not '-1'."),
        ("opencode.prune protect=nan", "takes a whole number from 0, not 'nan'."),
        ("langchain.trim_messages strategy=middle", "takes 'last' or 'first', not 'middle'."),
        ("sweagent.last_n polling=0", "takes a whole number from 1, not '0'."),
        ("langchain.clear_tool_uses recomputed=perhaps", "takes true or false, not 'perhaps'."),
        ("opencode.prune 20000", "Write '20000' behind 'opencode.prune' as number=value."),
        ("opencode.prune turns=1 turns=2", "'turns' is given twice"),
        ("opencode.prune |", "'opencode.prune |' is no policy"),
        ("opencode.prune 'turns", "is no policy"),
        ("", "'' is no policy"),
        (" | ".join(["opencode.prune"] * 9), "at most 8"),
        ("x" * (MAX_POLICY_CHARS + 1), "at most 2,000 characters"),
    ],
)
def test_a_wrong_text_is_refused_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(UnknownPolicy) as refused:
        registry.get(text)

    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("value", [True, 1.5, None, float("nan"), "many", [1]])
def test_a_value_that_is_no_whole_number_is_refused(value: object) -> None:
    with pytest.raises(UnknownPolicy, match="takes a whole number from 0"):
        registry.get("opencode.prune", protect=value)


def test_an_estimator_that_is_not_known_is_refused() -> None:
    with pytest.raises(ConfigError, match="no token estimator 'guess'"):
        registry.get("opencode.prune", estimator="guess")


def test_a_pipelines_numbers_stand_behind_its_names() -> None:
    with pytest.raises(UnknownPolicy, match="behind the names"):
        registry.get("opencode.prune | pi.compact", protect=1)


def test_the_table_has_a_row_for_each_policy_with_what_is_known_of_it() -> None:
    rows = {row["policy"]: row for row in registry.list().records()}

    assert set(rows) == {preset.preset for preset in registry.presets()}
    assert rows["opencode.prune"] == {
        "policy": "opencode.prune",
        "what": "OpenCode's prune: at the end of a turn, results older than the newest protect tokens are cleared.",
        "when": "turn end",
        "holds": "sticky",
        "source": "OpenCode",
        "version": "31e22f65",
        "counts": "",
        "third_party": "",
        "numbers": "protect=40000, minimum=20000, turns=2, failed=true",
    }
    assert rows["langchain.clear_tool_uses"]["holds"] == "recomputed"


def test_every_preset_has_a_name_of_its_own_a_source_and_a_version() -> None:
    presets = registry.presets()

    assert len(presets) >= 14
    assert len({preset.preset for preset in presets}) == len(presets)
    for preset in presets:
        assert issubclass(preset, EnginePolicy) or preset.preset.count(".") == 1, preset
        assert preset.source, preset
        version = version_of(preset)
        assert (not version) == (preset.preset in UNVERSIONED), preset
        assert not version or registry.get(f"{preset.preset}@{version}") == preset()


@pytest.mark.parametrize("preset", thinned(registry.presets(), 4), ids=lambda preset: preset.preset)
def test_each_number_is_read_as_it_is_written(preset: type[Preset]) -> None:
    for name, default in preset.own_numbers().items():
        other: Any = _another(default)
        changed = registry.get(preset.preset, **{name: other})

        assert getattr(changed, name) == other
        assert registry.get(changed.name) == changed
        assert registry.get(f"{preset.preset} {name}={number_text(default)}") == preset()


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.preset)
def test_a_number_of_an_engines_policy_is_read_as_it_is_written(preset: type[EnginePolicy]) -> None:
    written = f"{preset.preset} summary=900 prune.protect_tokens=7000 prune.deny_tools=a,b"

    policy = registry.get(written)

    assert isinstance(policy, EnginePolicy)
    assert policy.engine.prune.protect_tokens == 7_000
    assert policy.engine.prune.deny_tools == ("a", "b")
    assert registry.get(policy.name) == policy
    assert registry.get(policy, **{"prune.deny_tools": [], "summary": 1_500}).name == (
        f"{preset.preset} prune.protect_tokens=7000"
    )
    assert EnginePolicy.of(policy.engine) == registry.get(policy, summary=1_500)


@pytest.mark.parametrize(
    "number", ["prune.protct_tokens=1", "prune.protect_tokens=-1", "prune.rule=never"]
)
def test_a_wrong_number_of_an_engines_policy_is_refused(number: str) -> None:
    with pytest.raises(UnknownPolicy) as refused:
        registry.get(f"palimpsest {number}")

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("opencode.prune.protect", ("opencode.prune", "protect")),
        ("opencode-1.18.compact.tail_maximum", ("opencode-1.18", "compact.tail_maximum")),
        ("palimpsest.prune.protect_tokens", ("palimpsest", "prune.protect_tokens")),
        ("mine.prune", ("", "")),
    ],
)
def test_a_dotted_text_names_a_policy_and_its_number(text: str, found: tuple[str, str]) -> None:
    assert registry.split_policy_number(text) == found


def _another(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case tuple() | frozenset():
            return type(value)(["one", "two words"])
        case "chars/4":
            return "tiktoken/o200k_base"
        case "tiktoken/o200k_base":
            return "chars/4"
        case "last":
            return "first"
        case "reported":
            return "estimated"
        case "estimated":
            return "reported"
        case _:
            return "it's | one"


def test_all_versions_of_a_preset_are_in_one_package() -> None:
    """A name is looked for in the first package alone, where it is found there."""
    packages = {
        (preset.preset, preset.__module__.rpartition(".")[0]) for preset in registry.presets()
    }
    names = [name for name, _ in packages]

    assert sorted(names) == sorted(set(names))
