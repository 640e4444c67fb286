"""Look up what a model's provider accepts: one profile for each model reference.

Border: pure, no I/O. A request must suit two things: the server it is sent to (the *wire*), and the chat
template of the model behind it (the *family*), which a gateway may or may not adapt to. So a profile is the
row of the wire overlaid by the row of the family: a requirement of either row applies, and content that either
refuses is not sent. All code that depends on the kind of provider uses this profile, and never a provider's name. The
tests' strict validators repeat the rules for ids of tool calls on purpose: they check this module.
"""

import re
from dataclasses import dataclass, fields
from functools import lru_cache

from palimpsest.transcript.provider_profile.provider_table import (
    FAMILIES,
    FAMILY_WIRES,
    GUIDANCE,
    NAME_FAMILIES,
    PROVIDERS,
    WHOLE_WORDS,
    WIRES,
    Family,
    Guidance,
    IdRule,
    MediaInResults,
    TurnOrder,
    Wire,
    WireProfileRow,
)
from palimpsest.transcript.provider_profile.recorded_agents import RecordedRules, recorded_rules
from palimpsest.transcript.provider_profile.request_limits import (
    CLAUDE,
    CLAUDE_ELSEWHERE,
    CLAUDE_LARGE,
    LARGE_WINDOW,
    NO_LIMITS,
    PROVIDER_LIMITS,
    WIRE_LIMITS,
    RequestLimits,
)
from palimpsest.transcript.values import ModelInfo, ModelRef

ID_RULE_ORDER: tuple[IdRule, ...] = ("any", "short", "words", "short_words", "nine")
"""The strictest rule is last."""
MAX_SHORT_ID_CHARS = 40
NINE_ID_CHARS = 9
NOT_LETTER_OR_DIGIT = re.compile(r"[^a-zA-Z0-9]")
NON_WORD_CHARACTER = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderProfile(WireProfileRow):
    """The rules for requests to one model: the row of its server, overlaid by that of its family."""

    wire: Wire
    family: Family
    merges_equal_calls: bool
    """Whether identical calls of one answer would arrive as one, so that they are put into separate steps."""
    name: tuple[str, str]
    """The names of provider and model, on which the rules of the recorded agents depend."""

    @property
    def recorded(self) -> RecordedRules:
        """The rules of other agents for this model, for the presets that imitate these agents."""
        return recorded_rules(*self.name)

    @property
    def keeps_signatures(self) -> bool:
        """Whether signed thinking is sent back with its signatures; else none is."""
        return self.family in self.signed_by

    def cache_lifetime(self, marked_for: str = "") -> tuple[float, float] | None:
        """Return for how many seconds a prompt stays cached, at least and at most; None where that is not known.

        ``marked_for`` is the time that the cache marks request.
        """
        return self.cache_lifetimes.get(self.family, {}).get(marked_for)

    @property
    def merges_answers(self) -> bool:
        """Whether two assistant messages in a row become one, and the first message must be a user's."""
        return self.turn_order != "any"

    @property
    def must_end_with_user(self) -> bool:
        """Whether the last message must be a user's or a tool result."""
        return self.turn_order in {"user_last", "alternating"}

    @property
    def merges_questions(self) -> bool:
        """Whether two user messages in a row become one.

        They stay apart where the provider accepts that: a merged message would lose the cached prefix.
        """
        return self.turn_order == "alternating"


TURN_ORDERS: tuple[TurnOrder, ...] = ("any", "user_first", "user_last", "alternating")
"""The strictest order is last."""
MEDIA_ORDER: tuple[MediaInResults, ...] = ("none", "images", "all")
"""The strictest choice is first."""
GEMINI_VERSION = re.compile(r"gemini-(\d+)")


def profile(ref: ModelRef) -> ProviderProfile:
    """Return the profile of a model, for any provider and any of its names."""
    return _profile(ref.provider, ref.name)


@lru_cache(maxsize=1_024)
def _profile(provider: str, name: str) -> ProviderProfile:
    family = _family_by_name(provider, name)
    wire = _wire(provider, family)
    wire_row, family_row = WIRES[wire], FAMILIES[family]
    has_many_system_messages = wire_row.leading_role == family_row.leading_role == "systems"
    overlaid_fields = {
        "id_rule": stricter_id_rule(wire_row.id_rule, family_row.id_rule),
        "turn_order": max(wire_row.turn_order, family_row.turn_order, key=TURN_ORDERS.index),
        "leading_role": "systems" if has_many_system_messages else "system",
        "media_in_results": min(
            wire_row.media_in_results, family_row.media_in_results, key=MEDIA_ORDER.index
        ),
        "cache_marks": "none" if family_row.cache_marks == "none" else wire_row.cache_marks,
        "schema_subset": "json_schema" if wire_row.translates_schemas else family_row.schema_subset,
        "needs_answer_after_results": wire_row.needs_answer_after_results
        or family_row.needs_answer_after_results,
        "calls_need_thinking": family_row.calls_need_thinking,
        "letter_first": wire_row.letter_first or family_row.letter_first,
        "restricted_property_names": wire_row.restricted_property_names
        or family_row.restricted_property_names,
        "pictures": wire_row.pictures & family_row.pictures,
        "documents": wire_row.documents & family_row.documents,
    }
    return ProviderProfile(
        **{
            field.name: overlaid_fields.get(field.name, getattr(wire_row, field.name))
            for field in fields(wire_row)
        },
        wire=wire,
        family=family,
        merges_equal_calls=wire_row.equal_calls_once_below_version is not None
        and _gemini_version(name) < wire_row.equal_calls_once_below_version,
        name=(provider, name),
    )


def limits_of(model: ModelInfo) -> RequestLimits:
    """Return the limits of one request to a model; none are known for other servers with OpenAI's interface."""
    provider_profile = profile(model.ref)
    if provider_profile.wire == "openai" and model.api_base is not None:
        return NO_LIMITS
    provider = _provider_prefix(model.ref.provider)
    rows = [PROVIDER_LIMITS.get(provider) or WIRE_LIMITS.get(provider_profile.wire)]
    if provider_profile.family == "anthropic":
        rows.append(CLAUDE_LARGE if model.window > LARGE_WINDOW else CLAUDE)
        rows.append(CLAUDE_ELSEWHERE if provider != "anthropic" else None)
    return stricter_limits(*(row.limits for row in rows if row is not None))


def stricter_limits(*all_limits: RequestLimits) -> RequestLimits:
    """Return the strictest of several limits, field by field."""
    strictest = {}
    for field in fields(RequestLimits):
        values = [getattr(limits, field.name) for limits in all_limits]
        strictest[field.name] = min((value for value in values if value is not None), default=None)
    return RequestLimits(**strictest)


def model_family(ref: ModelRef) -> Family:
    """Return the family of a model."""
    return profile(ref).family


def guidance_of(model_id: str) -> Guidance:
    """Return the name of the system prompt's paragraph for a model, by its full id."""
    name = model_id.lower()
    words = frozenset(name.replace("/", "-").split("-"))
    for name_part, guidance in GUIDANCE:
        if name_part in (words if name_part in WHOLE_WORDS else name):
            return guidance
    return "other"


def _family_by_name(provider: str, name: str) -> Family:
    """Return the family that a model's name shows, else the usual one of its provider."""
    for name_part, family in NAME_FAMILIES:
        if name_part in name.lower():
            return family
    return PROVIDERS.get(_provider_prefix(provider), ("chat", "other"))[1]


def _wire(provider: str, family: Family) -> Wire:
    prefix = _provider_prefix(provider)
    return FAMILY_WIRES.get((prefix, family)) or PROVIDERS.get(prefix, ("chat", "other"))[0]


def _provider_prefix(provider: str) -> str:
    """Return a provider's prefix in lower case, and ``vertex_ai`` for each of Vertex's prefixes."""
    name = provider.lower()
    return "vertex_ai" if name.startswith("vertex_ai") else name


def _gemini_version(name: str) -> int:
    match = GEMINI_VERSION.search(name.lower())
    return int(match[1]) if match else 0


def stricter_id_rule(first: IdRule, second: IdRule) -> IdRule:
    """Return the rule under which an id is accepted by both."""
    if {first, second} == {"short", "words"}:
        return "short_words"
    return max(first, second, key=ID_RULE_ORDER.index)


def word_character_id(identifier: str) -> str:
    """Return an id with an underscore for each character other than letters, digits, underscores, dashes."""
    return NON_WORD_CHARACTER.sub("_", identifier)


def nine_character_id(identifier: str) -> str:
    """Return the first nine letters and digits of an id, filled up with zeros."""
    return letters_and_digits(identifier)[:NINE_ID_CHARS].ljust(NINE_ID_CHARS, "0")


def letters_and_digits(identifier: str) -> str:
    """Return the letters and digits of an id."""
    return NOT_LETTER_OR_DIGIT.sub("", identifier)
