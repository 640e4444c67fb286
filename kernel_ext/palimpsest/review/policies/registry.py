"""All presets by name: listed as a table, and made with numbers that were changed.

A name may be written as text with its numbers, ``opencode.prune protect=20000``, and with the version that it was
read at, ``opencode.prune@31e22f65``; ``a | b`` makes a pipeline.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from functools import reduce
from typing import Any

from palimpsest.render.reports.table import Column, ReportTable
from palimpsest.review.policies import (
    clearing,
    cutting,
    duplicates,
    idle,
    masking,
    summarising,
    summarising_messages,
    trimming,
)
from palimpsest.review.policies.pipeline import Pipeline
from palimpsest.review.policies.policy import ContextPolicy
from palimpsest.review.policies.settings import Preset
from palimpsest.transcript.errors import UserError

PRESETS: Mapping[str, type[Preset]] = {
    one.preset: one
    for one in (
        clearing.OpenCodePrune,
        summarising.OpenCodeCompact,
        summarising.OpenCodeCompact2,
        duplicates.DcpDeduplicate,
        duplicates.DcpSupersedeWrites,
        duplicates.DcpPurgeErrors,
        summarising.PiCompact,
        idle.OpenClawCacheTtl,
        summarising.OpenClawCompact,
        clearing.ClearToolUses,
        clearing.ClearThinking,
        summarising.AnthropicCompact,
        summarising.AnthropicSdkCompact,
        idle.ClaudeCodeMicrocompact,
        summarising.ClaudeCodeAuto,
        clearing.LearnClaudeCodeMicro,
        cutting.OpenAiTruncation,
        trimming.OpenAiTrimmer,
        summarising.CodexCompact,
        masking.GeminiMask,
        trimming.GeminiTruncate,
        summarising.GeminiCompress,
        clearing.LangChainClear,
        cutting.LangChainTrim,
        summarising_messages.LangChainSummarization,
        trimming.DeepAgentsOffload,
        summarising_messages.DeepAgentsSummarization,
        masking.SweAgentLastN,
        masking.SweAgentClosedWindow,
        trimming.MiniSweAgent,
        masking.MaskWindow,
        masking.OpenHandsMask,
        masking.OpenHandsBrowser,
        cutting.KeepEnds,
        cutting.OpenHandsAmortized,
        cutting.OpenHandsConversationWindow,
        summarising_messages.OpenHandsLlm,
        clearing.InspectEdit,
        cutting.InspectTrim,
        summarising.InspectSummary,
        cutting.StrandsSlidingWindow,
        cutting.StrandsOverflow,
        summarising_messages.StrandsSummarizing,
        trimming.StrandsOffload,
        cutting.RooTruncate,
        summarising.RooCondense,
        duplicates.ClineDuplicateReads,
        summarising.ClineCompact,
        summarising.GooseCompact,
        summarising_messages.AiderSummary,
        summarising_messages.LettaSlidingWindow,
        summarising_messages.AdkCompaction,
        trimming.SmolAgents,
    )
}
"""Every preset, the projects' together."""
NEAREST = 3
THIRD_PARTY = "third party: the rule is known from analyses by others, not from the vendor."
_WORDS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}


def presets_table() -> ReportTable:
    """Return all presets as a table."""
    return ReportTable(
        title=f"{len(PRESETS)} policies",
        columns=(
            Column("name", "name"),
            Column("when", "when"),
            Column("what", "what"),
            Column("holds", "holds"),
            Column("source", "source"),
            Column("version", "version"),
            Column("third_party", "third party"),
            Column("numbers", "numbers"),
        ),
        rows=tuple(
            (
                name,
                one.acts_at,
                one.changes_what,
                "sticky" if one.sticky else "recomputed",
                one.source,
                one.version,
                "third party" if one.third_party else "",
                ", ".join(f"{key}={_shown(value)}" for key, value in numbers_of(one).items()),
            )
            for name, one in PRESETS.items()
        ),
        notes=(THIRD_PARTY[0].upper() + THIRD_PARTY[1:],),
    )


def numbers_of(preset: type[Preset]) -> dict[str, Any]:
    """Return a preset's numbers with their defaults, without the estimator where it is the usual one."""
    return {
        one.name: one.default
        for one in fields(preset)
        if one.default is not MISSING and one.name != "estimator"
    }


def get(policy: str, **numbers: Any) -> ContextPolicy:
    """Return a preset by its name, with numbers changed; raises UserError.

    >>> get("opencode.prune", protect=20_000).name
    'opencode.prune protect=20000'
    >>> get("gemini.truncate | opencode.prune protect=20000").name
    'gemini.truncate | opencode.prune protect=20000'
    """
    written = [one.split() for one in policy.split("|")]
    if not all(written):
        raise UserError(f"A policy's name is missing in {policy!r}; `policies.list()` shows them.")
    if len(written) > 1 and numbers:
        raise UserError(
            "Numbers of a pipeline stand behind the name that they belong to: "
            "'gemini.truncate | opencode.prune protect=20000'."
        )
    stages = [_made(words[0], words[1:], numbers) for words in written]
    return stages[0] if len(stages) == 1 else reduce(_joined, stages[1:], stages[0])


def _joined(first: ContextPolicy, second: ContextPolicy) -> ContextPolicy:
    return Pipeline((first,)) | second if not isinstance(first, Pipeline) else first | second


def _made(written: str, words: Iterable[str], numbers: Mapping[str, Any]) -> Preset:
    name, _, version = written.partition("@")
    preset = PRESETS.get(name)
    if preset is None:
        raise UserError(f"There is no policy {name!r}{_nearest(name, PRESETS)}")
    if version and version != preset.version:
        raise UserError(f"{name!r} was read at version {preset.version!r}, not at {version!r}.")
    wanted: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise UserError(
                f"{word!r} is no number of a policy; write it as name=value, such as protect=20000."
            )
        wanted[key] = value
    known = numbers_of(preset) | {"estimator": preset.estimator}
    checked = {}
    for key, value in (wanted | dict(numbers)).items():
        if key not in known:
            raise UserError(f"The policy {name!r} has no number {key!r}{_nearest(key, known)}")
        checked[key] = _checked(name, key, value, known[key])
    return preset(**checked)


def _checked(name: str, key: str, value: Any, default: Any) -> Any:
    """Return a value of the type of a number's default; raises UserError."""
    given = _read(value, default) if isinstance(value, str) else value
    match default:
        case bool():
            fits, kind = isinstance(given, bool), "yes or no"
        case int() | float():
            whole = isinstance(default, int)
            number = isinstance(given, int if whole else int | float)
            fits = number and not isinstance(given, bool) and 0 <= given < float("inf")
            kind = "a whole number that is not negative" if whole else "a number from 0"
        case tuple():
            given = tuple(given) if isinstance(given, list | tuple | set | frozenset) else given
            fits = isinstance(given, tuple) and all(isinstance(one, str) for one in given)
            kind = "names, such as a,b"
        case _:
            fits, kind = isinstance(given, str), "text"
    if not fits:
        raise UserError(f"{key!r} of the policy {name!r} is {kind}, not {value!r}.")
    return given


def _read(text: str, default: Any) -> Any:
    """Return what a text says for a number with this default; the text itself where it says nothing."""
    if isinstance(default, bool):
        return _WORDS.get(text.lower(), text)
    if isinstance(default, tuple):
        return tuple(one for one in text.split(",") if one)
    if isinstance(default, int | float):
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
    return text


def _nearest(name: str, known: Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(name, names, NEAREST, 0.4)
    near = near or [one for one in names if name and name in one][:NEAREST]
    if not near and len(names) <= 2 * NEAREST + 2:
        near = names
    told = ", ".join(map(repr, near))
    return f"; the nearest are {told}." if near else "; `palimpsest.policies.list()` shows all."


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(value)
    return f"{value:_}" if isinstance(value, int) else f"{value}"
