"""Plans for prompts about variables: list them, or find out what a short prompt names."""

from palimpsest.rehearsal.frame_questions.data_request import DataRequest
from palimpsest.rehearsal.frame_questions.entity_linking import link_columns, link_variables
from palimpsest.rehearsal.frame_questions.frame_plan import frame_plan
from palimpsest.rehearsal.frame_questions.table_search import (
    MIN_NAME_SCORE,
    describe_tables,
    list_variables,
)
from palimpsest.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.rehearsal.parsing.tool_outputs import inline_code
from palimpsest.rehearsal.parsing.vocabulary import NON_CONTENT_WORDS
from palimpsest.rehearsal.plan_runner import Plan, PlanAnswer, PlanRunner
from palimpsest.rehearsal.small_talk import spoken_answer

MAX_LISTING_WORDS = 3
"""Maximum words of a prompt that asks for a list without a verb, such as *my variables*."""
MAX_LISTED_VARIABLES = 60
_VARIABLES = r"\bvariables?\b|\bnamespace\b|\bdata ?frames\b|\bin (?:the )?(?:memory|kernel|workspace)\b|\bwhat(?:'s| is| have| did) .*\b(?:loaded|defined)\b"
_LISTING = r"\b(?:list|show|what|what's|which|see|name|names|give|any|are there|have|my)\b"
_COMPUTATION = r"\b(?:mean|average|median|sum|plot|correlat|by|missing|group|max|min)\b"


def asks_for_variables(prompt: ParsedPrompt) -> bool:
    """Return whether a prompt asks which variables there are."""
    asks_for_list = prompt.matches(_LISTING) or len(prompt.words) <= MAX_LISTING_WORDS
    return bool(prompt.matches(_VARIABLES) and asks_for_list and not prompt.matches(_COMPUTATION))


def variables_plan(runner: PlanRunner) -> Plan:
    """Return the plan that lists the variables, or a table's columns when the prompt names a table."""
    variables = yield from list_variables(runner)
    name_scores = link_variables(runner.prompt.words, variables)
    table_names = [variable.name for variable in variables if variable.is_table]
    if any(name_scores.get(name, 0) >= MIN_NAME_SCORE for name in table_names):
        request = DataRequest("columns", "variables of a table")
        return (yield from frame_plan(runner, request, variables))
    if not variables:
        return PlanAnswer("There are no variables yet.", "The list is empty.")
    if runner.prompt.matches(r"\bdata ?frames?\b"):
        variables = tuple(variable for variable in variables if variable.is_table)
        if not variables:
            return PlanAnswer("None of the variables is a DataFrame.", "There is no DataFrame.")
    variable_lines = "\n".join(
        f"- {inline_code(variable.line)}" for variable in variables[:MAX_LISTED_VARIABLES]
    )
    noun = "variable" if len(variables) == 1 else "variables"
    return PlanAnswer(f"{len(variables)} {noun}:\n\n{variable_lines}", "The result lists them.")


def name_plan(runner: PlanRunner) -> Plan:
    """Return the plan for a short prompt: describe the variable or columns that it names, else say that no rule fits."""
    if "variables" not in runner.tools:
        return spoken_answer(runner, "unknown")
    variables = yield from list_variables(runner)
    name_scores = link_variables(runner.prompt.words, variables)
    if any(score >= MIN_NAME_SCORE for score in name_scores.values()):
        return (yield from frame_plan(runner, DataRequest("describe", "a name"), variables))
    table_names = [variable.name for variable in variables if variable.is_table]
    tables = (yield from describe_tables(runner, table_names)) if len(table_names) == 1 else []
    table = next(iter(tables), None)
    content_words = [word for word in runner.prompt.words if word.text not in NON_CONTENT_WORDS]
    links = link_columns(runner.prompt.words, table.columns) if table else ()
    if links and len(content_words) <= 2 * sum(link.end - link.start for link in links):
        request = DataRequest(None, "names of columns")
        return (yield from frame_plan(runner, request, variables, table))
    return spoken_answer(runner, "unknown", table)
