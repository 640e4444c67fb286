"""Classify a prompt: which rule fires.

Rules are tried in order; the first that fits wins. The rule for data comes last, since its
words (*show*, *count*, *find*) occur in every other kind of prompt too.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from palimpsest.model.rehearsal.parsing.conversation import COMPACTED
from palimpsest.model.rehearsal.parsing.data_request import (
    DataRequest,
    continues,
    mentions_data,
    read_data_request,
)
from palimpsest.model.rehearsal.parsing.entity_linking import link_columns, link_variables
from palimpsest.model.rehearsal.parsing.prompt_parser import ParsedPrompt, is_data_file
from palimpsest.model.rehearsal.parsing.query_spec import QuerySpec
from palimpsest.model.rehearsal.parsing.tables import DATA_KINDS
from palimpsest.model.rehearsal.parsing.tool_outputs import span
from palimpsest.model.rehearsal.parsing.vocabulary import GLUE, word_set
from palimpsest.model.rehearsal.plans.code_plan import (
    python_code,
    python_plan,
    shell_command,
    shell_plan,
)
from palimpsest.model.rehearsal.plans.data_plan import data_plan
from palimpsest.model.rehearsal.plans.error_plan import error_intent, error_plan
from palimpsest.model.rehearsal.plans.file_edit_plan import edit_plan, edit_terms, write_plan
from palimpsest.model.rehearsal.plans.file_plan import (
    list_plan,
    read_plan,
    search_plan,
    search_term,
)
from palimpsest.model.rehearsal.plans.plan_runner import Plan, PlanAnswer, PlanRunner
from palimpsest.model.rehearsal.plans.question_plan import ASK, TODO, question_plan, todo_plan
from palimpsest.model.rehearsal.plans.small_talk import (
    GREETINGS,
    HELLO,
    THANKFUL,
    THANKS,
    known_names,
    spoken_answer,
)
from palimpsest.model.rehearsal.plans.table_search import NAMED, describe_tables, list_variables

COMPUTED = word_set(
    "statistic count shape missing correlation share distinct top plot columns compare"
)
"""Operations for which a file is loaded even after *read*, since its lines alone answer none of them."""
MOST_NAMING_WORDS = 8
"""A short prompt without a verb we know may still name data."""
LISTING = r"\b(?:list|show|what|which|see|display|print|name|names|give|tell|any|are there|do (?:i|we) have|find|get|ls|enumerate|view)\b"


NO_WISH = DataRequest(None, "")


@dataclass(frozen=True)
class Intent:
    """Which rule fired."""

    kind: str
    code: str = ""
    """The code or command that the prompt gave."""
    wish: DataRequest = NO_WISH


def read_intent(prompt: ParsedPrompt, topic: QuerySpec | None = None) -> Intent:
    """Return which rule a prompt fires."""
    if about_error := error_intent(prompt):
        return Intent(about_error)
    if ASK.match(prompt.text):
        return Intent("question")
    if TODO.search(prompt.text):
        return Intent("todo")
    return _talk(prompt) or _code(prompt) or _files(prompt) or _data(prompt, topic)


_TALK = (
    ("recap", r"\bwhat (?:did|have) (?:we|you|i) (?:do|done|did|ask)|\bso far\b|\brecap\b|\bsumm\w+ (?:of )?(?:this|our|the) (?:conversation|session|chat|discussion|work)\b|\bwhat happened\b|\bwhat (?:have )?(?:we|i) (?:talk|discuss|ask)"),
    ("continue", r"^(?:please )?(?:continue|go on|keep going|proceed|carry on|next step)\b"),
    ("identity", r"\b(?:who|what) are you\b|\bare you (?:an? )?(?:real|ai|llm|chatgpt|gpt|claude|human|bot|language|robot)|\bwhich model\b|\bwhat model\b|\byour name\b|\bwhat llm\b|\bis this (?:a real|an) (?:ai|llm|model)"),
    ("help", r"^(?:help|\?|commands?|usage)\b[.!?]*$|\bwhat (?:can|could|do) (?:you|i|we) (?:do|ask|offer|help|know|understand)\b|\bhow (?:can|do|does|could) (?:you help|i use|this work|you work|i start|i ask|it work|you do)|\bwhat (?:are|is) you(?:r)? (?:capabilit|abilit|skill|able)|\bhelp me\b[.!?]*$|\bshow (?:me )?(?:the )?help\b|\bwhat (?:commands|kinds? of (?:question|prompt|thing))|\bwhat (?:is|are) possible|\bcapabilities\b|\bi need (?:some )?help\b[.!?]*$|\bwhat should i (?:ask|type)|\bcan you help\b[^,]{0,8}$"),
)  # fmt: skip


def _talk(prompt: ParsedPrompt) -> Intent | None:
    words = frozenset(word.text for word in prompt.words)
    if not words and not prompt.fences and not re.match(r"\s*[$!]?\s*\w|\s*\?\s*$", prompt.text):
        return Intent("unknown")
    if prompt.text.strip() == COMPACTED:
        return Intent("recap")
    for kind, pattern in _TALK:
        if prompt.matches(pattern) and (kind != "continue" or len(prompt.words) <= 25):
            return Intent(kind)
    if words & GREETINGS and words <= HELLO:
        return Intent("greeting")
    return Intent("thanks") if words & THANKS and words <= THANKFUL else None


def _code(prompt: ParsedPrompt) -> Intent | None:
    if _is_write(prompt) or _is_edit(prompt):
        return None
    if command := shell_command(prompt):
        return Intent("shell", command)
    if code := python_code(prompt):
        return Intent("python", code)
    return None


def _is_edit(prompt: ParsedPrompt) -> bool:
    return bool(prompt.paths) and edit_terms(prompt) is not None


def _is_write(prompt: ParsedPrompt) -> bool:
    verb = prompt.matches(
        r"\b(?:write|create|save|make|put|store|generate|touch|overwrite|add|produce)\b"
    )
    if not verb or prompt.matches(r"\b(?:plot|chart|graph|histogram)\b") or _is_edit(prompt):
        return False
    if prompt.matches(r"\bappend\b"):
        return False
    named = bool(prompt.paths) or bool(
        prompt.matches(r"\bfile (?:called|named)\b|\b(?:a|new|text) file\b")
    )
    return named and not prompt.matches(r"\b(?:list|show|search|find)\b(?=.*\bfiles\b)")


def _files(prompt: ParsedPrompt) -> Intent | None:
    if _is_edit(prompt) or (prompt.paths and prompt.matches(r"\b(?:replace|substitute)\b")):
        return Intent("edit")
    if _is_write(prompt):
        return Intent("write")
    if _is_file_listing(prompt):
        return Intent("list")
    if _is_search(prompt):
        return Intent("search")
    return _reading(prompt)


_SEARCH = (
    r"\b(?:search|grep|scan)\b",
    r"\b(?:find|look(?:ing)? for|locate|hunt for|where is) (?:the )?(?:word|text|string|phrase|term)\b",
    r"\b(?:find|look for|locate|looking for)\b(?=.*\b(?:in|across|through|inside)\b.*\b(?:files?|code|project|notebooks?|scripts?|repo|repository|folder|everywhere|source)\b)",
    r"\bwhich (?:\w+ )?(?:files?|scripts?|notebooks?|lines?) (?:\w+ )?(?:contain|mention|use|include|import|have|refer|say|define|call)s?\b",
    r"\b(?:where|which file) .*\b(?:used|defined|mentioned|called|imported|declared|occur|appear)s?\b",
    r"\b(?:occurrences?|mentions?|usages?) of\b",
    r"\b(?:lines?|files?) (?:with|containing|that contain|that mention|mentioning)\b",
)


def _is_search(prompt: ParsedPrompt) -> bool:
    if not any(prompt.matches(pattern) for pattern in _SEARCH):
        literal = prompt.quotes or prompt.ticks
        marker = re.search(
            r"\b(?:find|locate|where(?:'s| is)|look for)\s+(?:all\s+)?(?:the\s+)?([A-Z]{3,}s?|\w+_\w+\(?\)?|\w+\(\))",
            prompt.prose,
        )
        found = (
            prompt.matches(r"\b(?:find|locate|look for)\b")
            and literal
            and not any(text in prompt.paths for text in literal)
        )
        return bool(marker) or bool(found)
    return search_term(prompt) is not None


def _is_file_listing(prompt: ParsedPrompt) -> bool:
    if prompt.matches(r"^(?:ls|dir|tree)\b(?!\s*=)"):
        return True
    if prompt.globs and not prompt.matches(r"\b(?:search|grep|replace|contain|mention)"):
        return True
    asks_file = prompt.matches(r"\b(?:find|locate|is there)\b.*\bfile\b") and not prompt.quotes
    if asks_file and not prompt.matches(r"\bin (?:the )?file\b"):
        return True
    short = bool(prompt.folders) and not prompt.paths and len(prompt.words) <= 6
    if short and prompt.matches(LISTING + r"|\bwhat's\b|\bopen\b"):
        return True
    if not prompt.matches(_FILE_NOUNS) or prompt.matches(_CONTENT_WORDS):
        return False
    if prompt.paths and not prompt.matches(r"\b(?:find|locate)\b"):
        return False
    return bool(prompt.matches(LISTING + r"|\bwhat's\b|\bcontents?\b")) or len(prompt.words) <= 4


_FILE_NOUNS = r"\b(?:files|folders?|director(?:y|ies)|csvs|notebooks|scripts|subfolders|documents|file names|filenames|project tree|tree)\b"
_CONTENT_WORDS = r"\b(?:search|grep|contain\w*|mention\w*|occurrences?|defined|import)\b"


_READ = r"\b(?:read|show|open|cat|print|display|view|see|what's|what is|what does|contents?|look|say|says|head|first|lines|let me see|give me|load up|type out|inside|in it|check|tell me|dump)\b"


def _reading(prompt: ParsedPrompt) -> Intent | None:
    if not prompt.paths:
        return None
    path = prompt.paths[0]
    rest = [word for word in prompt.words if word.text not in path.casefold()]
    summarises = bool(
        prompt.matches(
            r"\b(?:summar\w+|overview|outline|about|gist|key points|explain|describe|tl;?dr)\b"
        )
    )
    if is_data_file(path):
        wish = read_data_request(prompt)
        shows = prompt.matches(r"^(?:please )?(?:read|open|cat|print)\b")
        asks = wish.op and wish.op != "head" and not (shows and wish.op not in COMPUTED)
        named = asks and shows and wish.why.casefold() in path.casefold()
        if prompt.matches(r"\b(?:load|import|python|pandas)\b") or (asks and not named):
            return Intent("data", wish=wish if wish.op else DataRequest("describe", "load"))
    elif summarises:
        return Intent("outline")
    if prompt.matches(_READ) or not rest:
        return Intent("read")
    return Intent("outline") if summarises and not is_data_file(path) else None


_VARIABLES = (
    r"\bvariables?\b|\bnamespace\b|\bdata ?frames\b|\bobjects\b|\bin (?:the )?(?:memory|kernel|workspace|session|scope)\b|\bglobals\b|\bworkspace\b",
    r"\b(?:what|which) (?:data|data ?frames?|data ?sets?|tables?) (?:do|have|are|is|did|can)\b(?=.*\b(?:have|got|loaded|available|there|defined|see|use|exist)\b)",
    r"\bwhat(?:'s| is| have| did) .*\b(?:loaded|defined)\b|\bwhos?\b$",
)


def _is_variable_listing(prompt: ParsedPrompt) -> bool:
    if not any(prompt.matches(pattern) for pattern in _VARIABLES):
        return False
    if prompt.matches(
        r"\b(?:mean|average|median|sum|plot|count of|correlat|by|missing|group|max|min)\b"
    ):
        return False
    return (
        bool(prompt.matches(LISTING))
        or bool(prompt.matches(r"\bwhat's\b|\bhave\b|\bwhos?\b|\bloaded\b|\bdefined\b|\bmy\b"))
        or len(prompt.words) <= 3
    )


def _data(prompt: ParsedPrompt, topic: QuerySpec | None) -> Intent:
    if _is_variable_listing(prompt):
        return Intent("variables")
    wish = read_data_request(prompt)
    if wish.op or (topic and continues(prompt)):
        return Intent("data", wish=wish)
    if prompt.mentions or mentions_data(prompt) or prompt.matches(r"\b(?:by|per|for each)\b"):
        return Intent("data", wish=DataRequest(None, "the words name data"))
    return Intent("name" if len(prompt.words) <= MOST_NAMING_WORDS else "unknown")


PLANS: dict[str, Callable[[PlanRunner, Intent], Plan]] = {
    "python": lambda runner, intent: python_plan(runner, intent.code),
    "shell": lambda runner, intent: shell_plan(runner, intent.code),
    "list": lambda runner, _: list_plan(runner),
    "read": lambda runner, _: read_plan(runner),
    "outline": lambda runner, _: read_plan(runner, summarise=True),
    "search": lambda runner, _: search_plan(runner),
    "write": lambda runner, _: write_plan(runner),
    "edit": lambda runner, _: edit_plan(runner),
    "fix": lambda runner, _: error_plan(runner, mends=True),
    "explain": lambda runner, _: error_plan(runner, mends=False),
    "question": lambda runner, _: question_plan(runner),
    "todo": lambda runner, _: todo_plan(runner),
    "variables": lambda runner, _: variables_plan(runner),
    "data": lambda runner, intent: data_plan(runner, intent.wish),
    "name": lambda runner, _: name_plan(runner),
}
"""The rules that call tools; all others only speak."""


def plan_for(runner: PlanRunner, intent: Intent) -> Plan:
    """Return the plan of a rule."""
    plan = PLANS.get(intent.kind)
    return _spoken(runner, intent.kind) if plan is None else plan(runner, intent)


def _spoken(runner: PlanRunner, kind: str) -> Plan:
    """Return an answer as a plan without tool calls."""
    yield from ()
    return spoken_answer(runner, kind)


def variables_plan(runner: PlanRunner) -> Plan:
    """List the variables; when one is named, look into it instead."""
    if not runner.can("python"):
        runner.need("variables", "for this")
    variables = yield from list_variables(runner)
    named = link_variables(runner.prompt.words, variables)
    if any(variable.is_table and named.get(variable.name, 0) >= NAMED for variable in variables):
        return (
            yield from data_plan(runner, DataRequest("columns", "variables of a table"), variables)
        )
    if not variables:
        return PlanAnswer("There are no variables yet.", "The list is empty.")
    any_kind = not runner.prompt.matches(r"\bdata\b")
    kinds = [one for one in variables if any_kind or one.kind in DATA_KINDS] or list(variables)
    if runner.prompt.matches(r"\bdata ?frames?\b|\btables?\b|\bdata ?sets?\b"):
        kinds = [variable for variable in variables if variable.is_table]
        if not kinds:
            return PlanAnswer(
                f"None of the {len(variables)} variables is a DataFrame.",
                "The list holds no DataFrame.",
            )
    listed = "\n".join(f"- {span(v.line)}" for v in kinds[:60])
    noun = "variable" if len(kinds) == 1 else "variables"
    return PlanAnswer(f"{len(kinds)} {noun}:\n\n{listed}", "The result lists them.")


def name_plan(runner: PlanRunner) -> Plan:
    """Look whether the words name a variable or columns; else say that no rule fits."""
    if not runner.can("variables"):
        return spoken_answer(runner, "unknown")
    variables = yield from list_variables(runner)
    named = link_variables(runner.prompt.words, variables)
    if any(score >= NAMED for score in named.values()):
        return (yield from data_plan(runner, DataRequest("describe", "a name"), variables))
    tables = [variable.name for variable in variables if variable.is_table]
    known = (yield from describe_tables(runner, tables)) if len(tables) == 1 else []
    seen = replace(
        runner, topic=runner.topic or (QuerySpec(known[0], "describe") if known else None)
    )
    words = [word for word in runner.prompt.words if word.text not in GLUE]
    links = link_columns(runner.prompt.words, known[0].columns) if known else ()
    if links and len(words) <= 2 * sum(link.end - link.start for link in links):
        return (
            yield from data_plan(
                replace(seen, topic=None),
                DataRequest(None, "names of columns"),
                variables,
                known[0],
            )
        )
    names = known_names(variables, [])
    return spoken_answer(replace(seen, known_names=names or runner.known_names), "unknown")
