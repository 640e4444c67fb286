"""The vocabulary of the rehearsal model's rules.

Words are stems (see ``word_matching.stem``). A word of the vocabulary refers to a column only together with the
column's other words, or when it is the column's whole name.
"""


def word_set(text: str) -> frozenset[str]:
    """Return the whitespace-separated words of a text."""
    return frozenset(text.split())


def _value_by_word(rows: str) -> dict[str, str]:
    """Return the value of each word, from lines of ``value: word word word``."""
    value_by_word: dict[str, str] = {}
    for row in rows.strip().splitlines():
        value, _, words = row.partition(":")
        value_by_word |= dict.fromkeys(words.split(), value.strip())
    return value_by_word


STATISTIC_BY_WORD = _value_by_word(
    """
    mean: average averaged avg mean mittel typical
    median: median middle
    sum: sum total totalled overall
    min: min minimum minimal
    max: max maximum maximal
    std: std deviation stdev spread variability
    var: var variance
    """
)
"""Words that ask for a statistic, with the pandas method that computes it."""
MOST_WORDS = word_set(
    """
    best biggest busiest deepest fastest greatest heaviest high highest hottest largest latest
    leading longest max maximum most newest oldest priciest richest strongest tallest top warmest
    widest
    """
)
LEAST_WORDS = word_set(
    """
    bottom cheapest coldest coolest earliest fewest least lightest low lowest min minimum narrowest
    poorest shallowest shortest slowest smallest tiniest weakest worst youngest
    """
)
COLUMN_WORDS_BY_ADJECTIVE = _value_by_word(
    """
    mass weight: heaviest lightest heavy
    length duration: longest
    length height duration: shortest
    height: tallest tall
    age: oldest youngest old
    speed velocity: fastest slowest
    temperature temp: hottest warmest coldest coolest
    depth: deepest shallowest
    width: widest narrowest
    price cost: priciest cheapest expensive
    income wealth: richest poorest
    year date: newest latest earliest
    """
)
"""Adjectives, with the words of a column's name that they may refer to."""
CHART_BY_WORD = _value_by_word(
    """
    hist: histogram hist distribution density distributed
    scatter: scatter scatterplot correlation
    bar: bar barplot barchart column
    box: box boxplot whisker boxe
    line: line lineplot trend curve linechart
    pie: pie piechart
    """
)
"""Words that ask for a chart, with the chart's kind."""
PLOT_WORDS = word_set(
    """
    barchart barplot boxplot chart charted diagram draw drawing figure graph graphic graphically
    hist histogram lineplot picture piechart plot plotted plotting scatter scatterplot sketch
    visualisation visualise visualization visualize
    """
)
COUNT_WORDS = word_set("amount count counted counting frequency many number often tally")
ROW_WORDS = word_set("case datapoint element entry item line observation record row sample")
MISSING_WORDS = word_set("blank empty gap incomplete missing na nan none null")
DISTINCT_WORDS = word_set("different distinct distinctive unique")
DESCRIBE_WORDS = word_set(
    """
    analyse analyze characterise characterize describe describing description detail eda examine
    explain explore info information inspect introduce overview profile schema stat statistic
    structure summarise summarize summary understand
    """
)
COLUMN_WORDS = word_set("attribute col column dtype feature field header type variable")
HEAD_WORDS = word_set("few first glimpse head last peek preview sample snippet tail")
CORRELATION_WORDS = word_set(
    "association corr correlate correlated correlation relate related relationship"
)
COMPARISON_WORDS = word_set("compare comparing comparison differ difference versu vs")
GROUP_WORDS = word_set(
    """
    across aggregate among break breakdown broken by each every group grouped grouping per split
    within
    """
)
DATA_WORDS = word_set("csv data dataframe dataset df frame set spreadsheet table tibble")
GROUPING_PREPOSITIONS = word_set(
    """
    according across against among between by depending each every grouped over per split versus vs
    within
    """
)
"""Words before a column by which rows are grouped, as in *by species*."""
NAME_ENDING_WORDS = GROUPING_PREPOSITIONS | word_set("and or , ; with than where against only but")
"""Words that end a column's name: it never continues after one of them."""
JOINING_WORDS = word_set("& , a all also an and both different each every kind of or the then type")
"""Words that may come between ``by`` and the columns to group by."""
ABOVE_WORDS = word_set(
    """
    > >= above after bigger exceed exceeding greater heavier higher larger least longer more older
    over taller
    """
)
BELOW_WORDS = word_set(
    "< <= before below fewer less lighter lower most shorter smaller under younger"
)
NON_CONTENT_WORDS = word_set(
    """
    load loaded loading import imported read python pandas file files analyse explore mainly roughly
    ' , ; = == a about above according across actually add again against aggregate aggregated ah all
    along alright also am among amount an and another answer any anything are as at available basic
    be been begin being below between bit both break brief broken build but by calculate can can't
    change check column columns compare compared comparison compute contain contained correlated
    correlation could could've count create created curious current currently d data dataframe
    dataset depend depending df did differ difference display distributed distribution do doe does
    doing don't done down each entire equal equals ever every everything exactly exist exists few
    figure finally find fine first for frame from full generate get give go good got great group
    grouped grouping ha had has have having he help her here his hm hmm how hows i i'd i'll if in
    include included inside instead interested into is it it's its just kind kindly know last least
    let like list listed ll look lot m made make many may me might mine more most much must my need
    new next nice nicely not now number of oh ok okay on one ones only onto or order ordered other
    our out output over overall own per please possible present print put question quick quickly
    quite rank ranked re really relate related relationship result return right row rows s s' same
    say see shall she should show side simple simply so some something sort sorted split start still
    sure switch t table tell than thank thanks that that's the their them then there there's these
    they thing things think this those time to together too total try turn type um under up us use
    using value values ve versu very view vs vs. wanna want was way we well were what what's whats
    when where whether which who whole whom whose why will wish with within without wondering work
    would you your
    """
)
"""Words of ordinary sentences, which refer to nothing in the data."""
OPERATION_WORDS = frozenset[str]().union(
    *(
        STATISTIC_BY_WORD,
        CHART_BY_WORD,
        COLUMN_WORDS_BY_ADJECTIVE,
        MOST_WORDS,
        LEAST_WORDS,
        PLOT_WORDS,
        COUNT_WORDS,
        ROW_WORDS,
        MISSING_WORDS,
    ),
    *(
        DISTINCT_WORDS,
        DESCRIBE_WORDS,
        COLUMN_WORDS,
        HEAD_WORDS,
        CORRELATION_WORDS,
        COMPARISON_WORDS,
        GROUP_WORDS,
        DATA_WORDS,
        GROUPING_PREPOSITIONS,
        ABOVE_WORDS,
        BELOW_WORDS,
    ),
)
KNOWN_WORDS = NON_CONTENT_WORDS | OPERATION_WORDS
