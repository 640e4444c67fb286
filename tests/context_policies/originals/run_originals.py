"""Run other projects' own code over the made sessions, and write what each request shows of each item as JSON.

It runs in an environment where these projects are installed, and imports nothing of this one. What is not installed
is left out. ``--sweagent`` names a checkout of SWE-agent, which is on no registry.
"""

import argparse
import asyncio
import contextlib
import importlib
import importlib.util
import io
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from session_specs import Turn, session  # beside this file, wherever that is

SEEDS = range(12)
TAG = re.compile(r"#(\d+)# ")
Shown = dict[int, int]
"""Characters that a request shows of items."""
Rule = Callable[[list[Any]], list[Any]]


def tokens(chars: int) -> int:
    """Return the tokens of a text: a quarter of its characters, rounded up."""
    return -(-chars // 4)


def item_of(words: str) -> int:
    """Return the item whose text this is; -1 for a text that is of none."""
    match = TAG.match(words)
    return int(match[1]) if match else -1


def walk(turns: tuple[Turn, ...], form: Any) -> list[Shown]:
    """Send the requests of a session in a project's form, and return what each of them showed."""
    shown = []
    messages: list[Any] = []
    for index, turn in enumerate(turns):
        messages.append(form.prompt(turn))
        for answer in turn.answers:
            messages = form.before(messages)
            shown.append(form.shown(messages))
            messages = [*form.kept(messages), form.answer(answer), *form.results(answer)]
        if index < len(turns) - 1:
            messages = form.turn_end(messages)
    messages = form.before(messages)
    return [*shown, form.shown(messages)]


class Form:
    """How a project writes messages, and what of it is run."""

    def before(self, messages: list[Any]) -> list[Any]:
        return messages

    def kept(self, messages: list[Any]) -> list[Any]:
        return messages

    def turn_end(self, messages: list[Any]) -> list[Any]:
        return messages


class Strands(Form):
    """Messages of Bedrock; a manager reduces the list of an agent in place."""

    def __init__(self, manager: Any, window: int = 0, *, every: bool = False) -> None:
        self.manager, self.window, self.every = manager, window, every
        self.agent = SimpleNamespace(messages=[], model=None, aux_model=None)

    def prompt(self, turn: Turn) -> Any:
        return {"role": "user", "content": [{"text": turn.prompt}]}

    def answer(self, answer: Any) -> Any:
        calls = [
            {"toolUse": {"toolUseId": f"{c.item}", "name": c.tool, "input": dict(c.given)}}
            for c in answer.calls
        ]
        return {"role": "assistant", "content": [{"text": answer.said}, *calls]}

    def results(self, answer: Any) -> list[Any]:
        results = [
            {
                "toolResult": {
                    "toolUseId": f"{c.item}",
                    "status": "success",
                    "content": [{"text": c.result}],
                }
            }
            for c in answer.calls
        ]
        return [{"role": "user", "content": results}] if results else []

    def shown(self, messages: list[Any]) -> Shown:
        chars = {}
        for message in messages:
            for part in message["content"]:
                if "text" in part:
                    chars[item_of(part["text"])] = len(part["text"])
                elif "toolUse" in part:
                    call = part["toolUse"]
                    chars[int(call["toolUseId"])] = len(call["name"] + json.dumps(call["input"]))
                else:
                    words = part["toolResult"]["content"][0]["text"]
                    chars[item_of(words)] = len(words)
        chars.pop(-1, None)
        return chars

    def size(self) -> int:
        summaries = sum(
            self.summary_tokens
            for message in self.agent.messages
            if "text" in message["content"][0] and item_of(message["content"][0]["text"]) < 0
        )
        return summaries + sum(map(tokens, self.shown(self.agent.messages).values()))

    summary_tokens = 4

    def before(self, messages: list[Any]) -> list[Any]:
        self.agent.messages = messages
        if self.every:
            self.manager.apply_management(self.agent)
        while self.window and self.size() > self.window:
            before = self.shown(self.agent.messages), len(self.agent.messages)
            try:
                self.manager.reduce_context(self.agent, e=RuntimeError("too large"))
            except Exception:  # noqa: BLE001  # it says so where nothing is left to do
                break
            if (self.shown(self.agent.messages), len(self.agent.messages)) == before:
                break
        return self.agent.messages

    def turn_end(self, messages: list[Any]) -> list[Any]:
        self.agent.messages = messages
        self.manager.apply_management(self.agent)
        return self.agent.messages


def strands() -> dict[str, Callable[[], Form]]:
    sliding = importlib.import_module(
        "strands.agent.conversation_manager.sliding_window_conversation_manager"
    ).SlidingWindowConversationManager
    summarizing = importlib.import_module(
        "strands.agent.conversation_manager.summarizing_conversation_manager"
    ).SummarizingConversationManager

    def summariser() -> Any:
        made = summarizing(preserve_recent_messages=6)
        made._generate_summary = lambda *_: {"role": "user", "content": [{"text": "y" * 16}]}
        return made

    return {
        "strands.sliding_window messages=12": lambda: Strands(sliding(12)),
        "strands.sliding_window messages=12 per_turn=1": lambda: Strands(sliding(12), every=True),
        "strands.truncate_results window=4000 messages=1000": lambda: Strands(
            sliding(1_000), 4_000
        ),
        "strands.truncate_results window=2500 messages=8": lambda: Strands(
            NoTurnEnd(sliding(8)), 2_500
        ),
        "strands.summarizing window=6000 messages=6 summary=4": lambda: Strands(
            summariser(), 6_000
        ),
    }


class NoTurnEnd:
    """A manager that acts where a request was too large, and at no other time."""

    def __init__(self, manager: Any) -> None:
        self.reduce_context = manager.reduce_context

    def apply_management(self, agent: Any) -> None:
        pass


class Each(Form):
    """What is done with a single result when it comes."""

    def __init__(self, cut: Callable[[Any], str]) -> None:
        self.cut = cut

    def prompt(self, turn: Turn) -> Any:
        return {turn.item: turn.prompt}

    def answer(self, answer: Any) -> Any:
        return {answer.item: answer.said} | {c.item: c.text for c in answer.calls}

    def results(self, answer: Any) -> list[Any]:
        return [{c.output: self.cut(c)} for c in answer.calls]

    def shown(self, messages: list[Any]) -> Shown:
        return {item: len(words) for message in messages for item, words in message.items()}


def smolagents() -> dict[str, Callable[[], Form]]:
    cut = importlib.import_module("smolagents.utils").truncate_content
    return {
        "smolagents.output longest_chars=2000 kept_chars=2000": lambda: Each(
            lambda c: cut(c.result, 2_000)
        ),
        "smolagents.output": lambda: Each(lambda c: cut(c.result)),
    }


def strands_offload() -> dict[str, Callable[[], Form]]:
    module = importlib.import_module("strands.vended_plugins.context_offloader")

    def cut(call: Any) -> str:
        plugin = module.ContextOffloader(storage=module.InMemoryStorage())

        async def count(messages: Any) -> int:
            return tokens(len(messages[0]["content"][0]["toolResult"]["content"][0]["text"]))

        metrics = SimpleNamespace(cycle_count=1)
        agent = Agent(SimpleNamespace(count_tokens=count), metrics)
        event = SimpleNamespace(
            cancel_message=None,
            tool_use={"toolUseId": str(call.item), "name": call.tool},
            selected_tool=None,
            result={"toolUseId": "1", "status": "success", "content": [{"text": call.result}]},
            agent=agent,
        )
        asyncio.run(plugin._handle_tool_result(event))
        return str(event.result["content"][0]["text"])

    return {"strands.offload": lambda: Each(cut)}


class Agent:
    """What the offloader asks of an agent."""

    def __init__(self, model: Any, metrics: Any) -> None:
        self.model, self.event_loop_metrics = model, metrics


def mini_swe_agent() -> dict[str, Callable[[], Form]]:
    package = Path(importlib.import_module("minisweagent").__file__ or "").parent
    yaml, jinja2 = importlib.import_module("yaml"), importlib.import_module("jinja2")
    config = yaml.safe_load((package / "config/benchmarks/swebench.yaml").read_text())
    template = jinja2.Template(config["model"]["observation_template"])

    def rendered(words: str) -> str:
        result = {"output": words, "returncode": 0, "exception_info": ""}
        return str(template.render(output=result))

    def cut(words: str) -> str:
        made = rendered(words)
        return words if words in made else made[len(rendered("")) :]

    return {
        f"mini_swe_agent.output result={length}": lambda: Each(lambda call: cut(call.result))
        for length in (9_999, 10_000, 10_001, 20_000)
    }


class Responses(Form):
    """Items of OpenAI's Responses API; a filter makes the input of each call of the model anew."""

    def __init__(self, rule: Callable[[list[Any]], list[Any]]) -> None:
        self.rule = rule

    def prompt(self, turn: Turn) -> Any:
        return [{"role": "user", "content": turn.prompt}]

    def answer(self, answer: Any) -> Any:
        calls = [
            {
                "type": "function_call",
                "call_id": f"{c.item}",
                "name": c.tool,
                "arguments": json.dumps(c.given),
            }
            for c in answer.calls
        ]
        return [{"role": "assistant", "content": answer.said}, *calls]

    def results(self, answer: Any) -> list[Any]:
        return [
            [
                {
                    "type": "function_call_output",
                    "call_id": f"{c.item}",
                    "output": c.result,
                    "item": c.output,
                }
            ]
            for c in answer.calls
        ]

    def shown(self, messages: list[Any]) -> Shown:
        chars = {}
        for message in self.rule([message for group in messages for message in group]):
            if "content" in message:
                chars[item_of(message["content"])] = len(message["content"])
            elif message["type"] == "function_call":
                chars[int(message["call_id"])] = len(message["name"] + message["arguments"])
            else:
                chars[message["item"]] = len(message["output"])
        return chars


def openai_agents() -> dict[str, Callable[[], Form]]:
    trimmer = importlib.import_module("agents.extensions.tool_output_trimmer").ToolOutputTrimmer

    def rule(**numbers: int) -> Callable[[list[Any]], list[Any]]:
        made = trimmer(**numbers)

        def run(items: list[Any]) -> list[Any]:
            data = SimpleNamespace(input=items, instructions=None)
            return list(made(SimpleNamespace(model_data=data)).input)

        return run

    return {
        "openai_agents.tool_output_trimmer": lambda: Responses(rule()),
        "openai_agents.tool_output_trimmer turns=1 longest_chars=400 preview=100": lambda: (
            Responses(rule(recent_turns=1, max_output_chars=400, preview_chars=100))
        ),
    }


class LangChain(Form):
    """Messages of LangChain; a rule makes those of a request, and what it stores stays."""

    def __init__(self, rule: Rule, *, stored: bool = False) -> None:
        self.rule, self.stored = rule, stored
        self.types = importlib.import_module("langchain_core.messages")
        self.sent: list[Any] = []

    def prompt(self, turn: Turn) -> Any:
        return self.types.HumanMessage(turn.prompt, id=f"m{turn.item}")

    def answer(self, answer: Any) -> Any:
        calls = [{"name": c.tool, "args": dict(c.given), "id": f"{c.item}"} for c in answer.calls]
        return self.types.AIMessage(answer.said, tool_calls=calls, id=f"m{answer.item}")

    def results(self, answer: Any) -> list[Any]:
        return [
            self.types.ToolMessage(
                c.result, tool_call_id=f"{c.item}", name=c.tool, id=f"m{c.output}"
            )
            for c in answer.calls
        ]

    def before(self, messages: list[Any]) -> list[Any]:
        self.sent = self.rule([message.model_copy(deep=True) for message in messages])
        return self.sent if self.stored else messages

    def shown(self, messages: list[Any]) -> Shown:  # noqa: ARG002  # those of the request
        return shown_of_chain(self.sent)


def shown_of_chain(messages: list[Any]) -> Shown:
    chars = {}
    for message in messages:
        if not (message.id or "").startswith("m"):
            continue
        chars[int(message.id[1:])] = len(message.content)
        for call in getattr(message, "tool_calls", None) or []:
            chars[int(call["id"])] = len(call["name"] + json.dumps(call["args"]))
    return chars


def chain_tokens(messages: Any, **_: Any) -> int:
    """Count messages of LangChain by four characters; a summary has four tokens."""
    summaries = [message for message in messages if not (message.id or "").startswith("m")]
    return 4 * len(summaries) + sum(map(tokens, shown_of_chain(list(messages)).values()))


def langchain() -> dict[str, Callable[[], Form]]:
    editing = importlib.import_module("langchain.agents.middleware.context_editing")
    middleware = importlib.import_module("langchain.agents.middleware.summarization")
    core = importlib.import_module("langchain_core.messages")

    def clear(**numbers: Any) -> Rule:
        edit = editing.ClearToolUsesEdit(**numbers)

        def run(messages: list[Any]) -> list[Any]:
            edit.apply(messages, count_tokens=chain_tokens)
            return messages

        return run

    def summarise(trigger: int, keep: int) -> Rule:
        made = middleware.SummarizationMiddleware(
            model=fake_model(),
            trigger=("tokens", trigger),
            keep=("messages", keep),
            token_counter=chain_tokens,
        )
        return summarising(made)

    def trim(**numbers: Any) -> Rule:
        return lambda messages: list(
            core.trim_messages(messages, token_counter=chain_tokens, **numbers)
        )

    return {
        "langchain.clear_tool_uses trigger=3000": lambda: LangChain(clear(trigger=3_000)),
        "langchain.clear_tool_uses trigger=3000 keep_results=1 clear_inputs=true spared_tools=bash": lambda: (
            LangChain(clear(trigger=3_000, keep=1, clear_tool_inputs=True, exclude_tools=("bash",)))
        ),
        "langchain.clear_tool_uses trigger=3000 at_least=1500": lambda: LangChain(
            clear(trigger=3_000, clear_at_least=1_500)
        ),
        "langchain.summarization trigger=5000 messages=6 summary=4": lambda: LangChain(
            summarise(5_000, 6), stored=True
        ),
        "langchain.trim_messages max_tokens=9000 start_on=user": lambda: LangChain(
            trim(max_tokens=9_000, strategy="last", start_on="human")
        ),
    }


def fake_model(window: int = 0) -> Any:
    models = importlib.import_module("langchain_core.language_models.fake_chat_models")
    core = importlib.import_module("langchain_core.messages")
    profile = {"profile": {"max_input_tokens": window}} if window else {}
    return models.GenericFakeChatModel(messages=iter([core.AIMessage("s")]), **profile)


def summarising(made: Any) -> Rule:
    """Return the rule of a middleware that summarises: what it stays with, and a summary of its own."""
    core = importlib.import_module("langchain_core.messages")
    helper = getattr(made, "_lc_helper", made)

    def run(messages: list[Any]) -> list[Any]:
        if not helper._should_summarize(messages, chain_tokens(messages)):
            return messages
        cut = helper._determine_cutoff_index(messages)
        # A summary that is larger than what it replaces is not told apart here, as it is there.
        return [core.HumanMessage("y" * 16, id="summary"), *messages[cut:]] if cut > 0 else messages

    return run


def deepagents() -> dict[str, Callable[[], Form]]:
    module = importlib.import_module("deepagents.middleware.summarization")
    backend = importlib.import_module("deepagents.backends").StateBackend()
    filesystem = importlib.import_module("deepagents.middleware.filesystem")
    eviction = importlib.import_module("deepagents.middleware._message_eviction")

    def middleware(window: int, **numbers: Any) -> Any:
        return module.SummarizationMiddleware(
            model=fake_model(window), backend=backend, token_counter=chain_tokens, **numbers
        )

    def arguments(window: int, settings: dict[str, Any]) -> Rule:
        made = middleware(window, trigger=("tokens", 10**9), truncate_args_settings=settings)
        return lambda messages: list(made._truncate_args(messages, chain_tokens(messages))[0])

    def offload(call: Any) -> str:
        if call.tool in filesystem.TOOLS_EXCLUDED_FROM_EVICTION or len(call.result) <= 4 * 2_000:
            return str(call.result)
        preview = eviction._create_content_preview(call.result)
        return "z" * OFFLOAD_NOTE + preview.text

    share = ("fraction", 0.85)
    return {
        "deepagents.truncate_args window=6000": lambda: LangChain(
            arguments(6_000, {"trigger": share, "keep": ("fraction", 0.10)})
        ),
        "deepagents.truncate_args window=0": lambda: LangChain(
            arguments(0, {"trigger": ("messages", 20), "keep": ("messages", 20)})
        ),
        "deepagents.summarization window=6000 summary=4": lambda: LangChain(
            summarising(middleware(6_000, trigger=share, keep=("fraction", 0.10))), stored=True
        ),
        "deepagents.summarization_messages trigger=5000 summary=4": lambda: LangChain(
            summarising(middleware(0, trigger=("tokens", 5_000), keep=("messages", 6))), stored=True
        ),
        "deepagents.offload result_tokens=2000": lambda: Each(offload),
    }


OFFLOAD_NOTE = 640
"""Characters of the note around a preview, whose paths are not those of a session."""


class Inspect(Form):
    """Messages of Inspect; a strategy compacts over its threshold until the rest fits, four times at most."""

    def __init__(self, strategy: Any, window: int, *, summary: bool = False) -> None:
        self.strategy, self.limit, self.summary = strategy, int(0.9 * window), summary
        self.types = importlib.import_module("inspect_ai.model")
        self.tool_call = importlib.import_module("inspect_ai.tool").ToolCall
        self.model = SimpleNamespace(api=SimpleNamespace(compact_reasoning_history=lambda: True))

    def prompt(self, turn: Turn) -> Any:
        return self.types.ChatMessageUser(content=turn.prompt)

    def answer(self, answer: Any) -> Any:
        content: list[Any] = [self.types.ContentText(text=answer.said)]
        if answer.thought:
            content.insert(0, self.types.ContentReasoning(reasoning=answer.thought))
        calls = [
            self.tool_call(id=f"{c.item}", function=c.tool, arguments=dict(c.given))
            for c in answer.calls
        ]
        return self.types.ChatMessageAssistant(content=content, tool_calls=calls or None)

    def results(self, answer: Any) -> list[Any]:
        return [
            self.types.ChatMessageTool(
                content=c.result,
                tool_call_id=f"{c.item}",
                function=c.tool,
                metadata={"item": c.output},
            )
            for c in answer.calls
        ]

    def shown(self, messages: list[Any]) -> Shown:
        chars = {}
        for message in messages:
            if (message.metadata or {}).get("item") is not None:
                chars[message.metadata["item"]] = len(message.text)
                continue
            parts = [message.content] if isinstance(message.content, str) else message.content
            for part in parts:
                thought = getattr(part, "reasoning", "")
                words = part if isinstance(part, str) else thought or part.text
                chars[item_of(words)] = len(words)
            for call in getattr(message, "tool_calls", None) or []:
                chars[int(call.id)] = len(call.function + json.dumps(call.arguments))
        chars.pop(-1, None)
        return chars

    def size(self, messages: list[Any]) -> int:
        summaries = sum("summary" in (message.metadata or {}) for message in messages)
        return 4 * summaries + sum(map(tokens, self.shown(messages).values()))

    def before(self, messages: list[Any]) -> list[Any]:
        passes = 0
        while self.size(messages) > self.limit and passes < 4:
            before = self.size(messages)
            messages = self.compacted(messages)
            passes += 1
            if passes > 1 and self.size(messages) >= before:
                break
        return messages

    def compacted(self, messages: list[Any]) -> list[Any]:
        found, _ = asyncio.run(self.strategy.compact(self.model, messages, []))
        return list(found)


def inspect_ai() -> dict[str, Callable[[], Form]]:
    module = importlib.import_module("inspect_ai.model._compaction")
    return {
        "inspect.compaction_trim window=6000": lambda: Inspect(
            module.CompactionTrim(memory=False), 6_000
        ),
        "inspect.compaction_edit window=6000": lambda: Inspect(
            module.CompactionEdit(memory=False), 6_000
        ),
    }


class Aider(Form):
    """Aider's history of prompts and answers, summarised at the end of turns."""

    def __init__(self, summary: Any) -> None:
        self.summary = summary

    def prompt(self, turn: Turn) -> Any:
        return {"role": "user", "content": turn.prompt}

    def answer(self, answer: Any) -> Any:
        return {"role": "assistant", "content": answer.said}

    def results(self, answer: Any) -> list[Any]:  # noqa: ARG002  # it calls no tools
        return []

    def shown(self, messages: list[Any]) -> Shown:
        chars = {item_of(message["content"]): len(message["content"]) for message in messages}
        chars.pop(-1, None)
        return chars

    def turn_end(self, messages: list[Any]) -> list[Any]:
        return [
            message for message in self.summary.summarize(messages) if message["content"] != "Ok."
        ]


def aider() -> dict[str, Callable[[], Form]]:
    history = importlib.import_module("aider.history").ChatSummary

    def made() -> Form:
        model = SimpleNamespace(
            name="m",
            info={},
            token_count=lambda m: sum(
                tokens(len(message["content"])) for message in (m if isinstance(m, list) else [m])
            ),
            simple_send_with_retries=lambda _: "",
        )
        return Aider(history(model, 400))

    return {"aider.history least_tokens=400 most_tokens=400 summary=13 without=calls": made}


class SweAgent(Form):
    """The history of SWE-agent, whose observations are of role ``user`` or ``tool``."""

    def __init__(self, processors: Any, role: str) -> None:
        self.processors, self.role = processors, role

    def prompt(self, turn: Turn) -> Any:
        return {"role": "user", "content": turn.prompt, "message_type": "user", "item": turn.item}

    def answer(self, answer: Any) -> Any:
        return {
            "role": "assistant",
            "content": answer.said,
            "message_type": "action",
            "item": answer.item,
            "calls": {c.item: len(c.text) for c in answer.calls},
        }

    def results(self, answer: Any) -> list[Any]:
        return [
            {
                "role": self.role,
                "content": c.result,
                "message_type": "observation",
                "item": c.output,
            }
            for c in answer.calls
        ]

    def shown(self, messages: list[Any]) -> Shown:
        sent = [dict(message) for message in messages]
        for message in sent[:1]:
            message["message_type"] = "observation"  # the instance template
        made = self.processors(sent)
        calls = {
            item: chars for message in made for item, chars in message.get("calls", {}).items()
        }
        return calls | {message["item"]: len(message["content"]) for message in made}


def sweagent(checkout: str) -> dict[str, Callable[[], Form]]:
    types = ModuleType("sweagent.types")
    types.__dict__.update(History=list, HistoryItem=dict)
    sys.modules["sweagent.types"] = types
    source = Path(checkout, "sweagent/agent/history_processors.py")
    spec = importlib.util.spec_from_file_location("history_processors", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["history_processors"] = module
    spec.loader.exec_module(module)
    last = module.LastNObservations
    return {
        f"sweagent.last_n n={n} polling={polling}": lambda n=n, polling=polling: SweAgent(
            last(n=n, polling=polling), "tool"
        )
        for n, polling in ((5, 1), (3, 4), (5, 5), (10, 10), (2, 7), (1, 3))
    }


PROJECTS: dict[str, tuple[Callable[[], dict[str, Callable[[], Form]]], str]] = {
    "strands": (strands, "strands-agents"),
    "strands_offload": (strands_offload, "strands-agents"),
    "smolagents": (smolagents, "smolagents"),
    "openai_agents": (openai_agents, "openai-agents"),
    "langchain": (langchain, "langchain"),
    "deepagents": (deepagents, "deepagents"),
    "inspect": (inspect_ai, "inspect-ai"),
    "aider": (aider, "aider-chat"),
    "mini_swe_agent": (mini_swe_agent, "mini-swe-agent"),
}


def answers(checkout: str = "") -> dict[str, Any]:
    """Return of each rule what each request of each session shows otherwise, and the versions that were run."""
    answers_by_rule: dict[str, Any] = {"versions": {}, "shown": {}}
    made = dict(PROJECTS)
    if checkout:
        made["sweagent"] = (lambda: sweagent(checkout), "")
    for project, (rules, package) in made.items():
        try:
            forms = rules()
            answers_by_rule["versions"][project] = version(package) if package else "3ea751c"
        except ImportError as error:
            sys.stderr.write(f"{project} is not installed: {error}\n")
            continue
        for name, form in forms.items():
            thoughts = project == "inspect"
            answers_by_rule["shown"][name] = [
                formatted_turns(sized(session(seed, thoughts=thoughts), name), form())
                for seed in SEEDS
            ]
    return answers_by_rule


def sized(turns: tuple[Turn, ...], name: str) -> tuple[Turn, ...]:
    """Return a session with results of the length that a rule's name says, if it says one."""
    _, says, length = name.partition(" result=")
    if not says:
        return turns

    def call(object_call: Any) -> Any:
        return replace(object_call, result=(object_call.result * 20)[: int(length)])

    def answer(said: Any) -> Any:
        return replace(said, calls=tuple(map(call, said.calls)))

    return tuple(replace(turn, answers=tuple(map(answer, turn.answers))) for turn in turns)


def formatted_turns(turns: tuple[Turn, ...], form: Form) -> list[dict[str, int]]:
    """Return of each request the items of it that are not shown whole: their characters, -1 where they are gone."""
    with contextlib.redirect_stdout(io.StringIO()):
        shown = walk(turns, form)
    whole = {}
    sent = []
    for turn in turns:
        whole[turn.item] = len(turn.prompt)
        for answer in turn.answers:
            sent.append(dict(whole))
            if answer.thought:
                whole[answer.reasoning] = len(answer.thought)
            whole[answer.item] = len(answer.said)
            whole |= {c.item: len(c.text) for c in answer.calls}
            whole |= {c.output: len(c.result) for c in answer.calls}
    return [
        {
            str(item): sizes.get(item, -1)
            for item, chars in all_of.items()
            if sizes.get(item, -1) != chars
        }
        for sizes, all_of in zip(shown, [*sent, whole], strict=True)
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("to", type=Path, help="the file into which the answers are written")
    parser.add_argument("--sweagent", default="", help="a checkout of SWE-agent")
    given = parser.parse_args()
    given.to.write_text(json.dumps(answers(given.sweagent), separators=(",", ":")))
