"""Decide which rule a prompt fires, and return the plan that answers it.

Rules are tried in order, and the first that fits is used. The rule for DataFrames comes last, since its words
(*show*, *count*, *find*) occur in every other kind of prompt too.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from palimpsest.rehearsal import cell_questions, code_questions, file_questions
from palimpsest.rehearsal.error_questions.error_plan import error_plan, error_request
from palimpsest.rehearsal.frame_questions import variable_questions
from palimpsest.rehearsal.frame_questions.data_request import (
    NO_REQUEST,
    DataRequest,
    mentions_data,
    read_data_request,
)
from palimpsest.rehearsal.frame_questions.frame_plan import frame_plan
from palimpsest.rehearsal.parsing.conversation import SUMMARY_PROMPT
from palimpsest.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.rehearsal.plan_runner import Plan, PlanRunner
from palimpsest.rehearsal.small_talk import (
    GREETING_PROMPT_WORDS,
    GREETINGS,
    THANKS,
    THANKS_PROMPT_WORDS,
    spoken_answer,
)

MAX_CONTINUE_WORDS = 25
"""Maximum words of a prompt that begins with *continue* and asks for nothing else."""
MAX_NAMING_WORDS = 8
"""Maximum words of a prompt without a known verb that may name a variable or columns."""
_TALK_PATTERNS = (
    ("recap", r"\bwhat (?:did|have) (?:we|you|i) (?:do|done|did|ask)|\bso far\b|\brecap\b|\bwhat happened\b"),
    ("continue", r"^(?:please )?(?:continue|go on|keep going|proceed|carry on|next step)\b"),
    ("identity", r"\b(?:who|what) are you\b|\bare you (?:an? )?(?:real|ai|llm|chatgpt|gpt|claude|human|bot)|\b(?:which|what) model\b"),
    ("help", r"^(?:help|\?|commands?|usage)\b[.!?]*$|\bwhat (?:can|could|do) (?:you|i|we) (?:do|ask|offer|help|know|understand)\b|\bhow (?:can|do|does|could) (?:you help|i use|this work|you work|i start|i ask)|\bhelp me\b[.!?]*$"),
)  # fmt: skip


@dataclass(frozen=True)
class PromptKind:
    """The rule that a prompt fires."""

    name: str
    code: str = ""
    """The code or the command in the prompt."""
    request: DataRequest = NO_REQUEST
    """The question about a DataFrame in the prompt."""


def prompt_kind(prompt: ParsedPrompt) -> PromptKind:
    """Return which rule a prompt fires."""
    if name := error_request(prompt) or _talk_kind(prompt) or cell_questions.cell_request(prompt):
        return PromptKind(name)
    file_kind = file_questions.file_request(prompt)
    if file_kind != "write" and (command := code_questions.shell_command(prompt)):
        return PromptKind("shell", command)
    if file_kind != "write" and (code := code_questions.python_code(prompt)):
        return PromptKind("python", code)
    return PromptKind(file_kind) if file_kind else _data_kind(prompt)


def _talk_kind(prompt: ParsedPrompt) -> str:
    words = frozenset(word.text for word in prompt.words)
    if not words and not prompt.fences and not re.match(r"\s*\w|\s*\?\s*$", prompt.text):
        return "unknown"
    if prompt.text.strip() == SUMMARY_PROMPT:
        return "recap"
    for name, pattern in _TALK_PATTERNS:
        if prompt.matches(pattern) and (
            name != "continue" or len(prompt.words) <= MAX_CONTINUE_WORDS
        ):
            return name
    if words & GREETINGS and words <= GREETING_PROMPT_WORDS:
        return "greeting"
    return "thanks" if words & THANKS and words <= THANKS_PROMPT_WORDS else ""


def _data_kind(prompt: ParsedPrompt) -> PromptKind:
    if variable_questions.asks_for_variables(prompt):
        return PromptKind("variables")
    request = read_data_request(prompt)
    if request.op:
        return PromptKind("data", request=request)
    if prompt.mentions or mentions_data(prompt) or prompt.matches(r"\b(?:by|per|for each)\b"):
        return PromptKind("data", request=DataRequest(None, "the words name data"))
    return PromptKind("name" if len(prompt.words) <= MAX_NAMING_WORDS else "unknown")


PLAN_BY_RULE: dict[str, Callable[[PlanRunner, PromptKind], Plan]] = {
    "python": lambda runner, kind: code_questions.python_plan(runner, kind.code),
    "shell": lambda runner, kind: code_questions.shell_plan(runner, kind.code),
    "list": lambda runner, _: file_questions.list_plan(runner),
    "read": lambda runner, _: file_questions.read_plan(runner),
    "search": lambda runner, _: file_questions.search_plan(runner),
    "write": lambda runner, _: file_questions.write_plan(runner),
    "insert": lambda runner, _: cell_questions.insert_plan(runner),
    "rename": lambda runner, _: cell_questions.rename_plan(runner),
    "replace": lambda runner, _: cell_questions.replace_plan(runner),
    "delete": lambda runner, _: cell_questions.delete_plan(runner),
    "move": lambda runner, _: cell_questions.move_plan(runner),
    "runcell": lambda runner, _: cell_questions.run_plan(runner),
    "fix": lambda runner, _: error_plan(runner, corrects=True),
    "explain": lambda runner, _: error_plan(runner, corrects=False),
    "variables": lambda runner, _: variable_questions.variables_plan(runner),
    "data": lambda runner, kind: frame_plan(runner, kind.request),
    "name": lambda runner, _: variable_questions.name_plan(runner),
}
"""The plans of the rules that call tools; all other rules answer with a fixed text."""


def plan_for(runner: PlanRunner, kind: PromptKind) -> Plan:
    """Return the plan of a rule."""
    plan = PLAN_BY_RULE.get(kind.name)
    return _fixed_answer_plan(runner, kind.name) if plan is None else plan(runner, kind)


def _fixed_answer_plan(runner: PlanRunner, name: str) -> Plan:
    """Return an answer as a plan without tool calls."""
    yield from ()
    return spoken_answer(runner, name)
