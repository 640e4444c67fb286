"""Ask other projects' own code whether it acts one token below its threshold, at it and above it; write the answers as JSON.

It runs where a project is installed and imports nothing of this one, as ``run_originals.py`` does; what is not
installed is left out.
"""

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

BESIDE = (-1, 0, 1)


def anthropic_sdk() -> dict[str, Callable[[int], bool]]:
    """The tool runner of Anthropic's SDK, which looks at the usage of its last message."""
    runner = importlib.import_module("anthropic.lib.tools._beta_runner").BetaToolRunner
    summary = SimpleNamespace(
        usage=SimpleNamespace(output_tokens=1), content=[SimpleNamespace(type="text", text="s")]
    )

    def acts(tokens: int) -> bool:
        usage = SimpleNamespace(
            input_tokens=tokens - 30,
            cache_creation_input_tokens=10,
            cache_read_input_tokens=10,
            output_tokens=10,
        )
        made = runner.__new__(runner)
        messages = SimpleNamespace(create=lambda **_: summary)
        made.__dict__.update(
            _compaction_control={"enabled": True},
            _get_last_message=lambda: SimpleNamespace(usage=usage),
            _client=SimpleNamespace(beta=SimpleNamespace(messages=messages)),
            _params={"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]},
            set_messages_params=lambda _: None,
        )
        return bool(made._check_and_compact())

    return {"anthropic_sdk.compaction_control 100000": acts}


def langchain() -> dict[str, Callable[[int], bool]]:
    """LangChain's middleware, by the tokens that it is given."""
    module = importlib.import_module("langchain.agents.middleware.summarization")
    editing = importlib.import_module("langchain.agents.middleware.context_editing")
    core = importlib.import_module("langchain_core.messages")
    models = importlib.import_module("langchain_core.language_models.fake_chat_models")
    model = models.GenericFakeChatModel(messages=iter(()))
    made = module.SummarizationMiddleware(model=model, trigger=("tokens", 4_000))
    helper = getattr(made, "_lc_helper", made)

    def summarises(tokens: int) -> bool:
        return bool(helper._should_summarize([core.HumanMessage("x")], tokens))

    def clears(tokens: int) -> bool:
        call = {"name": "t", "args": {}, "id": "1"}
        messages = [
            core.AIMessage("", tool_calls=[call]),
            core.ToolMessage("x" * 99, tool_call_id="1"),
        ]
        editing.ClearToolUsesEdit(keep=0).apply(messages, count_tokens=lambda _: tokens)
        return messages[-1].content != "x" * 99

    return {"langchain.summarization 4000": summarises, "langchain.clear_tool_uses 100000": clears}


def openai_agents() -> dict[str, int]:
    """The number that OpenAI's Agents SDK asks the server to compact at: of a model it does not know, and of one it knows."""
    module = importlib.import_module("agents.sandbox.capabilities.compaction")

    def asked(**given: str) -> int:
        edits = module.Compaction().sampling_params(given)["context_management"]
        return int(edits[0]["compact_threshold"])

    return {"openai.compact": asked(), "openai.compact gpt-4.1": asked(model="gpt-4.1")}


def answers() -> dict[str, Any]:
    """Return of each rule and threshold whether it acts one below, at it and one above, and the numbers of others."""
    by_preset: dict[str, Any] = {}
    for rules in (anthropic_sdk, langchain, openai_agents):
        try:
            those = rules()
        except ImportError as error:
            sys.stderr.write(f"{rules.__name__} is not installed: {error}\n")
            continue
        for name, asked in those.items():
            threshold = int(name.rpartition(" ")[2]) if callable(asked) else 0
            by_preset[name] = (
                [asked(threshold + offset) for offset in BESIDE] if callable(asked) else asked
            )
    return by_preset


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(answers()))
