"""Answer requests for titles, turn summaries and compactions with extracted text only."""

import ast
import re
from dataclasses import replace

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.rehearsal.parsing.cell_source import parse_python
from palimpsest.rehearsal.parsing.conversation import (
    ENGINE_TAGS_PATTERN,
    SUMMARY_PROMPT,
    Conversation,
    Exchange,
    PastTurn,
    ToolUse,
    json_object,
    without_engine_text,
)
from palimpsest.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.rehearsal.parsing.tables import parse_variables
from palimpsest.rehearsal.parsing.tool_outputs import ToolResult
from palimpsest.rehearsal.small_talk import NOTICE_MARK

MAX_TITLE_CHARS = 50
MIN_CUT_TITLE_CHARS = 20
"""A title is cut after a word only if so many characters stay before it."""
MAX_SECTION_LINES = 25
"""Maximum lines of one section of a summary."""
MAX_FIRST_LINES = 5
"""Maximum lines at the beginning of a longer section that stay; the others stay at its end."""
MAX_FACT_CHARS = 200
MAX_SESSION_CHARS = 1_500
"""Maximum characters of the paragraph about a session; older text is left out."""
_TITLE_PROMPT = lazy_pattern(
    r"(?i)\A\s*(?:generate|write|make|give)\s+(?:a |me )?(?:short )?title\b[^\n]*"
)
_POLITE_BEGINNING = lazy_pattern(
    r"(?i)^(?:(?:please|can you|could you|would you|will you|i want you to|i would like to|i'd like to|let's|now)\b[\s,]*)+"
)
_ROLE_MARK = lazy_pattern(
    r"(?m)^\[(User|Assistant|Assistant reasoning|Assistant tool calls?|Tool calls?|Tool result|Tool error)\]:? ?"
)

_BEFORE_NOTE = lazy_pattern(rf"\n+(?=<(?:{ENGINE_TAGS_PATTERN})>\n)", re.IGNORECASE)
"""The beginning of an engine's note below a prompt in a serialised conversation."""


def asks_for_title(conversation: Conversation) -> bool:
    """Return whether the request is for a title."""
    return any(_TITLE_PROMPT.match(turn.prompt) for turn in conversation.turns[:1])


def asks_for_summary(conversation: Conversation) -> bool:
    """Return whether the request is for a summary of a quoted conversation."""
    prompt = conversation.current.prompt
    return "<conversation>" in prompt and "</conversation>" in prompt


def title_of(conversation: Conversation) -> str:
    """Return a title of at most ``MAX_TITLE_CHARS`` characters: the first prompt, shortened."""
    for turn in conversation.turns:
        text = _TITLE_PROMPT.sub("", turn.prompt, count=1)
        pieces = _ROLE_MARK.split(text)
        text = pieces[2] if len(pieces) > 2 else re.sub(r"</?conversation>", " ", text)
        if text.strip():
            return shortened_text(text)
    return "Conversation"


def shortened_text(text: str) -> str:
    """Return the first sentence of a prompt as one line of at most ``MAX_TITLE_CHARS`` characters."""
    prompt = ParsedPrompt(text)
    prose = " ".join(
        re.sub(r"[`*_#>|]+(?=\s)|(?<=\s)[`*_#>|]+|^[`*_#>|]+|`", "", prompt.prose).split()
    )
    if not prose and prompt.fences:
        prose = f"Run {next(iter(prompt.fences[0].code.split(chr(10))), 'code')}"
    prose = _POLITE_BEGINNING.sub("", prose) or prose or "Conversation"
    sentence = re.split(r"(?<=[.!?])\s+", prose)[0].rstrip(".!?:;, ") or prose
    if len(sentence) > MAX_TITLE_CHARS:
        cut = sentence[: MAX_TITLE_CHARS - 2]
        cut = cut[: cut.rfind(" ")] if " " in cut[MIN_CUT_TITLE_CHARS:] else cut
        sentence = cut.rstrip(" ,;:") + "..."
    return (sentence[:1].upper() + sentence[1:])[:MAX_TITLE_CHARS] or "Conversation"


def turn_summary_of(conversation: Conversation) -> str:
    """Return the summary of a turn and of the session: prompts, calls and the ends of answers."""
    prompt = conversation.current.prompt
    earlier_text, unsummarised, newest_turn = (
        tag[1].strip() if (tag := re.search(rf"(?s)<{name}>(.*?)</{name}>", prompt)) else ""
        for name in ("before", "not-told-yet", "newest-turn")
    )
    turns = _parse_serialised(newest_turn)
    title = shortened_text(next((turn.prompt for turn in turns if turn.prompt.strip()), ""))
    turn_text = _turn_sentences(turns)
    session_text = " ".join(
        filter(None, (earlier_text, _turn_sentences(_parse_serialised(unsummarised)), turn_text))
    )
    return f"<title>{title}</title>\n<turn>{turn_text}</turn>\n<session>{_newest_part(session_text)}</session>"


def _turn_sentences(turns: list[PastTurn]) -> str:
    """Return sentences about the prompts, the called tools and the last answer."""
    prompts = [shortened_text(turn.prompt) for turn in turns if turn.prompt.strip()]
    tools = dict.fromkeys(exchange.tool_use.tool for turn in turns for exchange in turn.exchanges)
    answers = [
        text for turn in turns for answer in turn.answers if (text := without_notice(answer))
    ]
    sentences = [f"Asked: {'; '.join(prompts)}."] if prompts else []
    if tools:
        sentences.append(f"Called {', '.join(tools)}.")
    if answers:
        sentences.append(f"Answered: {_one_line(answers[-1])}")
    return " ".join(sentences)


def without_notice(answer: str) -> str:
    """Return an answer without the paragraph about the rehearsal model."""
    return "\n\n".join(
        paragraph for paragraph in answer.strip().split("\n\n") if NOTICE_MARK not in paragraph
    )


def _newest_part(text: str) -> str:
    """Return the end of a session's paragraph, from the beginning of a sentence if possible."""
    if len(text) <= MAX_SESSION_CHARS:
        return text
    end_text = text[-MAX_SESSION_CHARS:]
    sentence_start = end_text.find("Asked: ")
    return end_text[sentence_start:] if sentence_start >= 0 else end_text[end_text.find(" ") + 1 :]


Facts = dict[str, list[str]]
"""Facts extracted from a conversation, by their kinds, the keys of ``SECTION_TITLES``."""
SECTION_TITLES = {
    "goal": "Goal",
    "done": "Done",
    "files": "Files",
    "variables": "Variables",
    "numbers": "Numbers",
    "errors": "Errors",
    "open": "Open questions",
}
HEADING_WORDS = (
    ("goal", "goal objective purpose intent task instruction request"),
    ("files", "file directories directory path"),
    ("variables", "variable data kernel namespace"),
    ("errors", "blocked error problem blocker failure"),
    ("done", "completed done accomplished progress finished"),
    ("open", "next open question active pending remaining todo"),
    ("numbers", "detail number discover finding important fact result context"),
)
"""Words in a template's headings for each kind of facts, in order of precedence."""


def summary_of(conversation: Conversation) -> str:
    """Return a structured summary of a conversation."""
    prompt = conversation.current.prompt
    turns, earlier_summary = _turns_and_summary(conversation)
    facts = _with_earlier_facts(facts_of(turns), earlier_summary)
    headings = _template_headings(prompt)
    if headings:
        return _filled_template(headings, facts)
    return "\n\n".join(_markdown_section(kind, facts) for kind in SECTION_TITLES)


def _turns_and_summary(conversation: Conversation) -> tuple[list[PastTurn], str]:
    """Return the turns to summarise and the summary before them."""
    prompt = conversation.current.prompt
    earlier_match = re.search(
        r"(?s)<(?:prior|previous)-summary>(.*?)</(?:prior|previous)-summary>", prompt
    )
    quoted = re.search(r"(?s)<conversation>(.*?)</conversation>", prompt)
    text = quoted[1] if quoted else prompt
    if quoted or len(_ROLE_MARK.findall(text)) >= 2:
        return _parse_serialised(text), earlier_match[1] if earlier_match else ""
    turns = [turn for turn in conversation.earlier if turn.prompt != SUMMARY_PROMPT]
    return turns, earlier_match[1] if earlier_match else conversation.summary


def _parse_serialised(text: str) -> list[PastTurn]:
    """Parse a conversation that was serialised as marked paragraphs."""
    pieces = _ROLE_MARK.split(text)
    turns: list[PastTurn] = []
    call = ToolUse("", {})
    for speaker, body in zip(pieces[1::2], pieces[2::2], strict=True):
        paragraph = body.strip()
        last_turn = turns[-1] if turns else PastTurn("")
        if speaker == "User":
            turns.append(PastTurn(without_engine_text(_BEFORE_NOTE.sub("\n\n", paragraph))))
            continue
        if not turns:
            turns.append(last_turn)
        if speaker == "Assistant":
            turns[-1] = replace(last_turn, answers=(*last_turn.answers, paragraph))
        elif "call" in speaker:
            match = re.match(r"(?s)([\w.-]+)\((.*)\)\s*\Z", paragraph)
            tool_name = match[1] if match else paragraph.split("(")[0].strip()
            call = ToolUse(tool_name, json_object(match[2]) if match else {})
        elif speaker.startswith("Tool"):
            turns[-1] = replace(
                last_turn, exchanges=(*last_turn.exchanges, Exchange(call, paragraph))
            )
    return turns


def facts_of(turns: list[PastTurn]) -> Facts:
    """Return the facts of these turns for a summary, by their kinds."""
    facts: Facts = {kind: [] for kind in SECTION_TITLES}
    for turn in turns:
        if turn.prompt.strip():
            facts["goal"].append(_one_line(turn.prompt))
            facts["files"] += ParsedPrompt(turn.prompt).paths
        for exchange in turn.exchanges:
            _add_exchange_facts(facts, exchange)
        for answer in turn.answers:
            facts["numbers"] += [
                _one_line(line)
                for line in answer.splitlines()
                if re.search(r"\d", line) and not line.startswith("```")
            ]
            if NOTICE_MARK in answer:
                facts["done"].append(f'The user was told: "{NOTICE_MARK}".')
    if turns and not turns[-1].answers and turns[-1].prompt.strip():
        facts["open"].append(f"Answer the prompt: {_one_line(turns[-1].prompt)}")
    return facts


def _add_exchange_facts(facts: Facts, exchange: Exchange) -> None:
    call, result = exchange.tool_use, ToolResult(exchange.output)
    first_input = next((str(value) for value in call.input.values()), "")
    facts["done"].append(f"{call.tool}: {_one_line(first_input)}" if first_input else call.tool)
    for key in ("path", "filePath", "file_path"):
        if isinstance(call.input.get(key), str):
            facts["files"].append(call.input[key])
    if call.tool == "variables" and not call.input:
        facts["variables"] += [variable.line for variable in parse_variables(exchange.output)]
    if call.tool == "python":
        code = str(call.input.get("code", ""))
        facts["variables"] += assigned_names(code)
        facts["files"] += [
            text
            for text in re.findall(r"[\"']([^\"'\n]+)[\"']", code)
            if ParsedPrompt(f'"{text}"').paths
        ]
    if result.error:
        facts["errors"].append(_one_line(f"{result.error[0]}: {result.error[1]}"))
    elif result.is_tool_error:
        facts["errors"].append(_one_line(exchange.output))


def assigned_names(code: str) -> list[str]:
    """Return the names that code assigns at its top level."""
    tree = parse_python(code)
    nodes = [node for node in (tree.body if tree else ()) if isinstance(node, ast.Assign)]
    targets = [target for node in nodes for target in node.targets]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_FACT_CHARS else line[: MAX_FACT_CHARS - 3] + "..."


def _with_earlier_facts(facts: Facts, earlier_summary: str) -> Facts:
    """Return the facts with those of an earlier summary before them, but for its open questions, which were answered."""
    earlier_facts: Facts = {fact_kind: [] for fact_kind in SECTION_TITLES}
    kind = "numbers"
    for line in earlier_summary.splitlines():
        fact = line.strip().lstrip("-*").strip()
        if line.startswith("#"):
            kind = _kind_of(line) or kind
        elif kind != "open" and fact not in {"", "(none)", "None"}:
            earlier_facts[kind].append(fact)
    return {fact_kind: earlier_facts[fact_kind] + facts[fact_kind] for fact_kind in SECTION_TITLES}


def _template_headings(prompt: str) -> list[str]:
    template = re.search(r"(?s)<template>(.*?)</template>", prompt)
    outside_text = re.sub(
        r"(?s)<(conversation|prior-summary|previous-summary)>.*?</\1>", "", prompt
    )
    text = template[1] if template else outside_text
    return [line.strip() for line in text.splitlines() if re.match(r"\s*#{2,3} \S", line)]


def _kind_of(heading: str) -> str | None:
    title = heading.casefold()
    return next(
        (kind for kind, words in HEADING_WORDS if any(word in title for word in words.split())),
        None,
    )


def _filled_template(headings: list[str], facts: Facts) -> str:
    parts: list[str] = []
    used_kinds: set[str] = set()
    kinds = [_kind_of(heading) for heading in headings]
    for heading, kind, next_heading in zip(headings, kinds, [*headings[1:], ""], strict=True):
        parts.append(heading)
        if heading.startswith("## ") and next_heading.startswith("### "):
            continue
        items = facts[kind] if kind and kind not in used_kinds else []
        if kind == "numbers" and "variables" not in kinds:
            items = items + [f"Variable {name}" for name in facts["variables"]]
        used_kinds |= {kind} if kind else set()
        parts.append(_bullet_list(items))
    remaining_kinds = [
        kind for kind in SECTION_TITLES if kind not in {*used_kinds, "variables"} and facts[kind]
    ]
    return "\n".join(parts + [_markdown_section(kind, facts) for kind in remaining_kinds])


def _markdown_section(kind: str, facts: Facts) -> str:
    return f"## {SECTION_TITLES[kind]}\n{_bullet_list(facts[kind])}"


def _bullet_list(items: list[str]) -> str:
    lines = list(dict.fromkeys(items))
    if len(lines) > MAX_SECTION_LINES:
        # The first lines show the subject, the last lines the present state.
        left_out_count = len(lines) - MAX_SECTION_LINES
        lines = [
            *lines[:MAX_FIRST_LINES],
            f"({left_out_count} lines left out)",
            *lines[MAX_FIRST_LINES - MAX_SECTION_LINES :],
        ]
    return "\n".join(f"- {item}" for item in lines) or "- (none)"
