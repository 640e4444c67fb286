"""Parse a prompt's request about data, before the data is known."""

from collections.abc import Set
from dataclasses import dataclass

from palimpsest.rehearsal.parsing import vocabulary
from palimpsest.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.rehearsal.parsing.word_matching import number_of

MAX_ROWS = 1_000
"""Maximum number of rows that a prompt may ask for; a larger number is no number of rows."""
FREQUENCY_WORDS = {"common", "frequent", "popular", "rare", "rarest", "commonest", "prevalent"}


@dataclass(frozen=True, kw_only=True)
class RequestOptions:
    """Options that a request about data states in words."""

    statistic: str | None = None
    chart: str | None = None
    number: int | None = None
    order: str | None = None
    """``most`` or ``least``."""
    is_tail: bool = False
    """Whether the last rows are asked for."""


@dataclass(frozen=True)
class DataRequest(RequestOptions):
    """A request about data."""

    op: str | None
    """``plot``, ``statistic``, ``count``, ``missing``, ``distinct``, ``correlation``, ``top``,
    ``describe``, ``columns``, ``head``, ``shape``, ``rows``, or None when the prompt only names data."""
    why: str
    """The words that determined ``op``, for the reasoning."""


NO_REQUEST = DataRequest(None, "")


def read_data_request(prompt: ParsedPrompt) -> DataRequest:
    """Return the prompt's request about data."""
    op, matched_words = _operation_and_words(prompt)
    stems = [word.stem for word in prompt.words]
    texts = [word.text for word in prompt.words]
    statistics = (
        vocabulary.STATISTIC_BY_WORD.get(word.stem) or vocabulary.STATISTIC_BY_WORD.get(word.text)
        for word in prompt.words
    )
    return DataRequest(
        op=op,
        why=matched_words,
        statistic=next(filter(None, statistics), None),
        chart=_chart_kind(prompt),
        number=_row_count(prompt),
        order=_rank_order(stems, texts),
        is_tail=bool(prompt.matches(r"\b(last|tail|bottom|final)\b")),
    )


def _operation_and_words(prompt: ParsedPrompt) -> tuple[str | None, str]:
    for op, words, pattern in _OPERATION_RULES:
        if pattern and (match := prompt.matches(pattern)):
            return op, match[0]
        for word in prompt.words:
            if word.stem in words or word.text in words:
                return op, word.text
    return None, ""


_OPERATION_RULES: tuple[tuple[str, Set[str], str], ...] = (
    ("plot", vocabulary.PLOT_WORDS, r"\b(bar|line|pie|box|scatter)s?[ -](?:plot|chart|graph)|\bas (?:a |an )?(?:bar|line|pie|box|scatter)s?\b|\bdistribution\b|\bpie of\b|\bas (?:a )?pie\b|\bhow .*\bdistributed\b"),
    ("columns", set(), r"\b(?:what|which|list|show|name|names of|give me|display|print|see)\b.*\b(?:columns|fields|features|headers?|dtypes|col(?:umn)? names)\b(?! (?:is|are|has|have) (?:highest|missing))|\bcolumn (?:names|types)\b|\bdata types\b|^(?:the )?(?:columns?|fields?|dtypes)\b"),
    ("shape", {"shape", "dimension"}, r"\bhow (?:big|large|long|wide) (?:is|are) (?!.*\b(?:mean|average|median|deviation|sum|total|variance|correlation|max\w*|min\w*)\b)|\bhow many (?:columns|fields|features)\b|\bnumber of (?:columns|fields|features)\b|\bsize of\b|\brows and columns\b"),
    ("missing", {"missing", "nan", "null", "incomplete"}, r"\b(?:empty|blank|na) (?:values?|cells?|entries|fields?)\b|\bnas\b|\bgaps in\b"),
    ("correlation", vocabulary.CORRELATION_WORDS, ""),
    ("count", FREQUENCY_WORDS, r"\bmost often\b|\bleast often\b"),
    ("distinct", vocabulary.DISTINCT_WORDS, r"\bwhich values\b|\bwhat values\b|\bvalues of\b|\bpossible values\b"),
    ("top", set(), r"\b(?:top|bottom|first|last)\s+(?:\d+|two|three|four|five|six|seven|eight|nine|ten)\b(?!\s*(?:rows|lines|records|entries|observations|samples)\b(?!.*\bby\b))|\b(?:\d+|two|three|four|five|six|seven|eight|nine|ten) (?:\w+ )?(?:highest|largest|biggest|smallest|lowest|heaviest|lightest|longest|shortest|tallest|oldest|youngest|cheapest|priciest)\b|\b(?:sort|rank|order|sorted|ranked|ordered)\b|\b(?:rows?|records?|entry|entries) (?:with|has|have|that has|that have) (?:the )?(?:\d+ )?(?:highest|largest|biggest|most|greatest|lowest|smallest|least|maximum|minimum|max|min|best|worst)\b"),
    ("head", set(), r"\b(?:first|last|head|tail|top|few|some|sample|example|preview|peek|glimpse)\b.*\b(?:rows?|lines?|records?|entries|observations?|of)\b|\bhead\b|\btail\b|\bpreview\b|\bglimpse\b|\bpeek\b"),
    ("statistic", set(vocabulary.STATISTIC_BY_WORD), ""),
    ("count", vocabulary.COUNT_WORDS, ""),
    ("statistic", vocabulary.MOST_WORDS | vocabulary.LEAST_WORDS | set(vocabulary.COLUMN_WORDS_BY_ADJECTIVE), ""),
    ("rows", set(), r"\b(?:rows?|records?|entries|observations?|those|ones|all|data) (?:where|with|that|which|whose|for which|in which|of|from)\b|\bfilter\b|\bonly (?:the|those)\b|\bsubset\b|\bselect\b|\bwhere\b.*(?:[<>=]|\b(?:is|are|equals?)\b)|(?:\b(?:above|over|below|under|exceeding|(?:greater|less|more|fewer|larger|smaller|longer|shorter|heavier|lighter|higher|lower|older|younger) than|at (?:least|most)|between)|[<>]=?)\s*\d"),
    ("compare", vocabulary.COMPARISON_WORDS, r"\bbreak ?down\b|\bgroup(?:ed)? by\b"),
    ("describe", vocabulary.DESCRIBE_WORDS, r"\bwhat(?:'s| is| are| does)?\b.*\b(?:in|inside|look like|contain|hold)\b|\b(?:tell|show|teach) me (?:something |more |everything )?about\b|\babout (?:the |this |my |our )?(?:data|table|frame|dataset|df|@)|\blook at\b|\blooks? like\b|\bwhat (?:is|are) .*\babout\b|\bhave a look\b|\bquick look\b|\bget to know\b|\bwhat kind of data\b|\bwalk me through\b"),
)  # fmt: skip


def _chart_kind(prompt: ParsedPrompt) -> str | None:
    word_forms = (form for word in prompt.words for form in (word.text, word.stem))
    return next(
        (
            vocabulary.CHART_BY_WORD[word_form]
            for word_form in word_forms
            if word_form in vocabulary.CHART_BY_WORD and word_form not in {"column", "correlation"}
        ),
        None,
    )


def _rank_order(stems: list[str], texts: list[str]) -> str | None:
    for stem, text in zip(stems, texts, strict=True):
        if {text, stem} & vocabulary.MOST_WORDS:
            return "most"
        if {text, stem} & vocabulary.LEAST_WORDS or text in {"ascending", "rare", "rarest"}:
            return "least"
    return "most" if "descending" in texts else None


def _row_count(prompt: ParsedPrompt) -> int | None:
    number_pattern = r"\d+|two|three|four|five|six|seven|eight|nine|ten"
    match = prompt.matches(
        rf"\b(?:top|first|last|bottom|head|tail|best|worst|show|sample|random)\s+(?:the\s+)?({number_pattern})\b"
    ) or prompt.matches(
        rf"\b({number_pattern})\s+(?:\w+\s+)?(?:rows?|lines?|records?|entries|largest|highest|biggest|smallest|lowest|heaviest|lightest|longest|shortest|most|least|examples?|samples?|random)\b"
    )
    number = number_of(match[1]) if match else None
    return int(number) if number is not None and 0 < number <= MAX_ROWS else None


def mentions_data(prompt: ParsedPrompt) -> bool:
    """Return whether the prompt mentions data as such."""
    column_words = vocabulary.COLUMN_WORDS - {"type", "variable"}
    head_words = vocabulary.HEAD_WORDS - {"first", "last", "few"}
    return bool(
        prompt.stems & (vocabulary.DATA_WORDS | vocabulary.ROW_WORDS | column_words | head_words)
    )
