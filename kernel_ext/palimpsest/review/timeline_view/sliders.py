"""The policies of a view with their sliders: at most three numbers of each, with nine stops.

The stops are the same in a kernel, where a slider sends a query, and in a report, where each stop is precomputed, so
that both show the same picture for the same number.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from inspect import getdoc

from palimpsest.context_policies.interface.pipeline import Pipeline
from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.interface.recorded_policy import RECORDED
from palimpsest.context_policies.interface.settings import Preset
from palimpsest.context_policies.own_policies.custom import CustomPolicy
from palimpsest.context_policies.registry import presets, summary
from palimpsest.context_policies.replay.simulation import RAW_NAME
from palimpsest.render.safety.escaping import one_line
from palimpsest.review.timeline_view.chosen_policies import NO_POLICIES, ChosenPolicies
from palimpsest.review.timeline_view.view_values import PolicyOption, SliderView

MAX_SLIDERS = 3
MAX_DIGEST_CHARS = 12
MAX_STOPS = 9
NUMBERS_BY_IMPORTANCE = (
    "trigger",
    "protect",
    "n",
    "keep_tokens",
    "keep_results",
    "keep_turns",
    "keep_texts",
    "minimum",
    "polling",
    "window_share",
    "max_events",
    "messages",
    "keep_share",
    "preserve",
    "share",
    "reserve",
    "longest_chars",
    "longest_tokens",
    "turns",
    "window",
    "summary",
)
"""Names of numbers, the most important first; other numbers follow in the order of the preset."""
SHARE_STOPS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 0.9, 1.0)
COUNT_STOPS = (1, 2, 3, 5, 8, 10, 15, 20, 30)
"""Stops for numbers of results, messages and turns whose default is at most ``MAX_COUNT_DEFAULT``."""
MAX_COUNT_DEFAULT = 30
TOKENS_STOPS = (0, 25_000, 50_000, 75_000, 100_000, 125_000, 150_000, 175_000, 200_000)
"""Stops for a threshold that is off by default."""
SECONDS_STOPS = (0, 60, 300, 900, 1_800, 3_600, 7_200, 21_600, 86_400)
"""Stops for the lifetime of a cache."""
KEEP_TOKENS_STOPS = (0, 2_000, 5_000, 10_000, 15_000, 20_000, 30_000, 40_000, 60_000)
"""Stops for tokens that are kept, where none are by default."""
FACTOR_STOPS = (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5)
"""Multiples of a number's default, for tokens, characters and seconds."""
MAX_DECIMALS = 6
"""Decimals to which a multiple of a fraction is rounded."""
OWN_SOURCE = "your own"
"""Heading, in a list of policies, of those that a person wrote or put together."""
SESSION_SOURCE = "the session itself"
"""Heading of the tracks that no policy makes: ``raw`` and ``recorded``."""
SENTENCE_BY_TRACK = {RAW_NAME: "Every item is whole.", RECORDED: "As it was recorded."}
MAX_SENTENCE_CHARS = 300
"""Maximum characters of the sentence on a function."""


def policy_choices(policies: ChosenPolicies = NO_POLICIES) -> tuple[PolicyOption, ...]:
    """Return the policies of a view with their sliders: the chosen ones, then the other presets, sorted by name."""
    preset_options = _preset_options(tuple(presets()))
    option_by_name = {option.name: option for option in preset_options}
    chosen_options = (
        option_by_name[name]
        if name in option_by_name and isinstance(policy, Preset)
        else _chosen_option(name, policy)
        for name, policy in policies.items()
    )
    return (*chosen_options, *(option for option in preset_options if option.name not in policies))


def _chosen_option(name: str, policy: str | ContextPolicy | None) -> PolicyOption:
    """Return the option of a chosen policy: with sliders for a person's function, else without."""
    match policy:
        case CustomPolicy():
            return PolicyOption(
                name=name,
                what=_first_paragraph(policy.function) or f"The function {policy.function_name}.",
                source=f"{OWN_SOURCE}, sha256 {policy.digest[:MAX_DIGEST_CHARS]}",
                sliders=() if policy.given_numbers else tuple(_own_sliders(policy.numbers)),
            )
        case Preset():
            sentence, source = summary(type(policy)), policy.source
        case Pipeline():
            sentence = f"Its {len(policy.stages)} policies act one after the other."
            source = f"{OWN_SOURCE}, {policy.source}"
        case None | str():
            sentence, source = SENTENCE_BY_TRACK[name], SESSION_SOURCE
        case _:
            sentence = _first_paragraph(type(policy)) or f"An object of {type(policy).__name__}."
            source = f"{OWN_SOURCE}, {policy.source}"
    return PolicyOption(name=name, what=sentence, source=source)


def _first_paragraph(code: object) -> str:
    """Return the first paragraph of a docstring as one line; empty where there is none."""
    return one_line((getdoc(code) or "").split("\n\n")[0], MAX_SENTENCE_CHARS)


def _own_sliders(numbers: Mapping[str, int | float]) -> Iterator[SliderView]:
    """Yield the sliders of a function's first numbers, in the order in which it takes them."""
    for name, default in [*numbers.items()][:MAX_SLIDERS]:
        is_share = isinstance(default, float) and 0 <= default <= 1
        is_count = isinstance(default, int) and default >= 0
        decimals = MAX_DECIMALS if isinstance(default, float) else None
        values: Iterable[float] = (round(default * factor, decimals) for factor in FACTOR_STOPS)
        if is_share or is_count:
            values = _stops_for(name, default, is_share)
        yield _slider_view(name, {*values, default}, default)


def _slider_view(name: str, stops: Iterable[float], default: float) -> SliderView:
    shown_stops = tuple(_thinned_stops(sorted(stops), default))
    return SliderView(name=name, stops=shown_stops, default=default)


@lru_cache(maxsize=4)
def _preset_options(presets: tuple[type[Preset], ...]) -> tuple[PolicyOption, ...]:
    return tuple(
        PolicyOption(
            name=preset.preset,
            what=summary(preset),
            source=preset.source,
            sliders=tuple(_preset_sliders(preset)),
        )
        for preset in presets
    )


def _preset_sliders(preset: type[Preset]) -> Iterator[SliderView]:
    numbers: dict[str, object] = {
        name: value
        for name, value in {**preset.own_numbers(), **preset.other_numbers()}.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    preferred_names = [name for name in preset.sliders or NUMBERS_BY_IMPORTANCE if name in numbers]
    for name in list(dict.fromkeys([*preferred_names, *numbers]))[:MAX_SLIDERS]:
        default = float(str(numbers[name]))
        is_share = isinstance(numbers[name], float)
        min_value = preset.smallest_values.get(name, 0)
        stops = {
            *(stop for stop in _stops_for(name, default, is_share) if stop >= min_value),
            default,
        }
        yield _slider_view(name, stops, default)


def _stops_for(name: str, default: float, is_share: bool) -> Iterator[float]:  # noqa: FBT001
    """Return values around a number's default, depending on its kind."""
    if is_share:
        yield from SHARE_STOPS
    elif name == "seconds":
        yield from SECONDS_STOPS
    elif default == 0:
        yield from KEEP_TOKENS_STOPS if name == "keep_tokens" else TOKENS_STOPS
    elif default <= MAX_COUNT_DEFAULT:
        yield from COUNT_STOPS
    else:
        yield from (float(round(default * factor)) for factor in FACTOR_STOPS)


def _thinned_stops(stops: list[float], default: float) -> list[float]:
    """Return at most ``MAX_STOPS`` stops: those nearest to their neighbours are left out, never the default."""
    while len(stops) > MAX_STOPS:
        gaps = [
            (after - before, index)
            for index, (before, after) in enumerate(zip(stops, stops[2:], strict=False), start=1)
            if stops[index] != default
        ]
        stops = [stop for index, stop in enumerate(stops) if index != min(gaps)[1]]
    return stops
