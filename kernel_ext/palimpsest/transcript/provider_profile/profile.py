"""Look up what a model's provider accepts: one profile for each model reference.

Border: pure, no I/O. A request must suit two things: the server it is sent to (the *wire*), and the chat
template of the model behind it (the *family*), which a gateway may or may not adapt to. So a profile is the
row of the wire overlaid by the row of the family: what one of them demands holds, what one of them refuses
is not sent. All code that depends on the kind of provider asks here; no other code looks at names. What a server
accepts as the id of a tool call is stated here only; the tests' strict validators state it again, on
purpose: they check what is written here.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from palimpsest.transcript.provider_profile.provider_table import (
    FAMILIES,
    GUIDANCE,
    NAMES,
    OWN_WORD,
    PROVIDERS,
    SERVED,
    WIRES,
    CacheMarks,
    Family,
    Guidance,
    IdRule,
    LeadingRole,
    MediaInResults,
    SchemaSubset,
    TurnOrder,
    Wire,
)
from palimpsest.transcript.provider_profile.recorded_agents import RecordedRules, recorded_rules
from palimpsest.transcript.provider_profile.request_limits import (
    NO_LIMITS,
    RequestLimits,
    request_limits,
)
from palimpsest.transcript.values import ModelInfo, ModelRef

ORDER: tuple[IdRule, ...] = ("any", "short", "words", "short_words", "nine")
SHORT_CHARS = 40
NINE_CHARS = 9
NO_LETTER_OR_DIGIT = re.compile(r"[^a-zA-Z0-9]")
NO_WORD = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderProfile:
    """What holds for requests to one model."""

    wire: Wire
    family: Family
    id_rule: IdRule
    turn_order: TurnOrder
    leading_role: LeadingRole
    media_in_results: MediaInResults
    thinking_field: str | None
    """The field beside the text in which the server wants an answer's thinking back."""
    keeps_signatures: bool
    """Signed thinking is sent back with its signatures; else none is."""
    cache_marks: CacheMarks
    max_tools: int | None
    """A request that offers more tools is refused; None where no limit is known."""
    schema_subset: SchemaSubset
    guidance: Guidance
    """Which paragraph of the system prompt is for this model."""
    answers_results: bool
    """A user message may not directly follow a tool result: an assistant message is put between them."""
    thinks_before_calls: bool
    """Thinking cannot be enabled while calls are answered that came without thinking."""
    letter_first: bool
    plain_properties: bool
    """A tool's name begins with a letter or an underscore."""
    pictures: frozenset[str]
    documents: frozenset[str]
    """Types of files that may stand in a user's message."""
    results_named: bool
    """A result carries the name of its tool."""
    results_parsed: bool
    """The adapter parses JSON and ``data:`` urls in a result's text as values before it sends them."""
    equal_calls_once: bool
    """Identical calls of one answer arrive as one call, so they are put into separate steps."""
    ids_sign: bool
    """A call's id holds the signature of the thinking before it, and is sent back whole."""
    openai_client: bool
    """The adapter uses OpenAI's client library."""
    caches_by_session: bool
    """A key routes the requests of a session to the server that has their beginning in its cache."""
    window_asked: bool
    """The server silently cuts a long prompt unless the request sets the size of the window."""
    limits_apart: bool
    """The table of models gives the part of the window that OpenAI allows for input, not the window."""
    cache_lifetimes: tuple[tuple[str, tuple[float, float]], ...]
    """Seconds that a prompt stays cached, at least and at most, by what its mark asks for; empty where that is not documented."""
    recorded: RecordedRules
    """What the recorded agents would do, for the presets that follow them."""

    def cache_lifetime(self, marked_for: str = "") -> tuple[float, float] | None:
        """Return for how many seconds a prompt stays cached, at least and at most; None where that is not known.

        ``marked_for`` is the time that the cache marks ask for.
        """
        return dict(self.cache_lifetimes).get(marked_for)

    @property
    def merges_answers(self) -> bool:
        """Whether two assistant messages in a row become one, and the first message must be a user's."""
        return self.turn_order != "any"

    @property
    def user_last(self) -> bool:
        """Whether the last message must be a user's or a tool result."""
        return self.turn_order in {"user_last", "alternating"}

    @property
    def merges_questions(self) -> bool:
        """Whether two user messages in a row become one.

        Not where the provider does not demand it: a merged message would not keep a cached prefix.
        """
        return self.turn_order == "alternating"


TURN_ORDERS: tuple[TurnOrder, ...] = ("any", "user_first", "user_last", "alternating")
MEDIA: tuple[MediaInResults, ...] = ("none", "images", "all")


GEMINI_VERSION = re.compile(r"gemini-(\d+)")


def profile(ref: ModelRef) -> ProviderProfile:
    """Return the profile of a model, whoever serves it under whatever name."""
    return _profile(ref.provider, ref.name)


@lru_cache(maxsize=1_024)
def _profile(provider: str, name: str) -> ProviderProfile:
    whose = _family(provider, name)
    wire = _wire(provider, whose)
    row, template = WIRES[wire], FAMILIES[whose]
    several = row.leading_role == template.leading_role == "systems"
    return ProviderProfile(
        wire=wire,
        family=whose,
        id_rule=stricter_id_rule(row.id_rule, template.id_rule),
        turn_order=max(row.turn_order, template.turn_order, key=TURN_ORDERS.index),
        leading_role="systems" if several else "system",
        media_in_results=min(row.media_in_results, template.media_in_results, key=MEDIA.index),
        thinking_field=row.thinking_field,
        keeps_signatures=whose in row.signed_by,
        cache_marks="none" if template.cache_marks == "none" else row.cache_marks,
        max_tools=row.max_tools,
        schema_subset="json_schema" if row.translates_schemas else template.schema_subset,
        guidance=guidance_of(f"{provider}/{name}"),
        answers_results=row.answers_results or template.answers_results,
        thinks_before_calls=template.thinks_before_calls,
        letter_first=row.letter_first or template.letter_first,
        plain_properties=row.plain_properties or template.plain_properties,
        pictures=row.pictures & template.pictures,
        documents=row.documents & template.documents,
        results_named=row.results_named,
        results_parsed=row.results_parsed,
        equal_calls_once=row.once_before is not None and _version(name) < row.once_before,
        ids_sign=row.ids_sign,
        openai_client=row.openai_client,
        caches_by_session=row.caches_by_session,
        window_asked=row.window_asked,
        limits_apart=row.limits_apart,
        cache_lifetimes=tuple(row.cache_lifetimes.get(whose, {}).items()),
        recorded=recorded_rules(provider, name),
    )


def limits_of(model: ModelInfo) -> RequestLimits:
    """Return what one request to a model may hold; a server that only speaks OpenAI's interface has limits of its own."""
    found = profile(model.ref)
    if found.wire == "openai" and model.api_base is not None:
        return NO_LIMITS
    return request_limits(_plain(model.ref.provider), found.wire, found.family, model.window)


def family(ref: ModelRef) -> Family:
    """Return the family of a model."""
    return profile(ref).family


def guidance_of(model_id: str) -> Guidance:
    """Return which guidance a model is given, by its full id."""
    name = model_id.lower()
    pieces = frozenset(name.replace("/", "-").split("-"))
    for piece, found in GUIDANCE:
        if piece in (pieces if piece in OWN_WORD else name):
            return found
    return "other"


def _family(provider: str, name: str) -> Family:
    """Return the family that a model's name shows, else the usual one of its provider."""
    known = next((whose for piece, whose in NAMES if piece in name.lower()), None)
    return known or PROVIDERS.get(_plain(provider), ("chat", "other"))[1]


def _wire(provider: str, whose: Family) -> Wire:
    plain = _plain(provider)
    return SERVED.get((plain, whose)) or PROVIDERS.get(plain, ("chat", "other"))[0]


def _plain(provider: str) -> str:
    """Return a provider's prefix in lower case, and one for all that the table of models has for Vertex."""
    name = provider.lower()
    return "vertex_ai" if name.startswith("vertex_ai") else name


def _version(name: str) -> int:
    found = GEMINI_VERSION.search(name.lower())
    return int(found[1]) if found else 0


def stricter_id_rule(one: IdRule, other: IdRule) -> IdRule:
    """Return the rule under which an id is accepted by both."""
    if {one, other} == {"short", "words"}:
        return "short_words"
    return max(one, other, key=ORDER.index)


def as_words(identifier: str) -> str:
    """Return an id with an underscore for each character other than letters, digits, underscores, dashes."""
    return NO_WORD.sub("_", identifier)


def as_nine(identifier: str) -> str:
    """Return the first nine letters and digits of an id, filled up with zeros."""
    return letters_and_digits(identifier)[:NINE_CHARS].ljust(NINE_CHARS, "0")


def letters_and_digits(identifier: str) -> str:
    """Return an id without everything else."""
    return NO_LETTER_OR_DIGIT.sub("", identifier)
