"""Code asks a model's profile for the kind of provider, and does not compare provider names."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import palimpsest

PACKAGE = Path(palimpsest.__file__).parent
NAMES = re.compile(
    r"anthropic|claude|openai|chatgpt|\bgpt-?\d|gemini|vertex|(?<=[a-z])stral\b|mixtral|bedrock|azure|ollama"
    r"|openrouter|deepseek|moonshot|\bkimi|copilot|\bgroq\b|\bxai\b|\bqwen|databricks|fireworks|cohere"
)
"""Found in text in small letters, which takes a third of the time that ignoring case does."""

RULES = {
    "transcript/provider_profile/profile.py": "the profile",
    "transcript/provider_profile/provider_table.py": "its rows",
    "transcript/provider_profile/cache_rules.py": "what of a prompt each of them caches",
    "transcript/provider_profile/request_limits.py": "the most that each takes in a request",
    "transcript/provider_profile/older_profiles.py": "the rows of requests that were recorded before there was a profile",
    "transcript/provider_profile/recorded_agents.py": "what the recorded agents decide, which golden data holds",
}
ACCESS = {
    "model/providers.py": "where keys and addresses are, and default models",
    "model/catalog/model_info.py": "an error's example, and why a model is listed",
    "model/catalog/discovery.py": "why a model is listed, and what helps where a server has none",
    "model/adapter/litellm_patches.py": "which of litellm's clients are asked without a look at the types",
    "model/catalog/local_servers.py": "how a server on this machine is asked for its models",
    "model/catalog/gateway_names.py": "the names under which gateways list the models of others",
    "model/catalog/unlisted_prices.py": "the prices of models and of long prompts that litellm's table has not",
    "model/adapter/litellm_model.py": "litellm's environment, and what of it is imported early",
    "model/direct/supported_models.py": "which providers speak which of two formats, and where they are",
    "model/direct/direct_model.py": "the headers of a request",
}
FORMATS = {
    "model/adapter/provider_calls.py": "the formats of calls that the provider ran",
    "model/adapter/stream_joiner.py": "the formats of what a provider cites and thinks",
    "model/direct/openai_body.py": "the body of a request in that format, and what of it some refuse",
    "model/wire/native_blocks.py": "the format of blocks that go back as they came",
    "model/wire/provider_messages.py": "the same",
    "transcript/provider_calls.py": "the form of calls that ran at a provider",
    "testing/dialects.py": "the formats that the fault server speaks",
    "testing/fault_server.py": "the same",
    "testing/scripted_model.py": "thinking that the scripted model signs",
    "testing/__main__.py": "the variables that lead to the fault server",
    "model/script.py": "two wordings of one refusal, to be played",
    "model/script_file.py": "the same, in a file",
    "model/errors/refusal_patterns.py": "the words of a refusal",
}
WORDS = {
    "context/engine_text/system_prompt.py": "the paragraphs themselves, by the profile's guidance",
    "model/errors/classification.py": "how a server is started",
    "model/errors/exception_details.py": "the form of keys, which are scrubbed",
    "transcript/redaction/secret_patterns.py": "names of variables that hold keys",
    "transcript/redaction/token_forms.py": "the form of keys, which are scrubbed",
    "frontends/magic/line_parser.py": "an example of a model's name",
    "rehearsal/prompt_kinds.py": "what a person asks",
    "rehearsal/small_talk.py": "which variables hold keys",
    "session/definitions/agent_files.py": "the folder of another agent's definitions",
    "session/definitions/command_files.py": "the same",
    "session/definitions/definition_files.py": "the same",
    "tools/file_access/file_contents.py": "the name of a file with instructions",
    "tools/file_access/paths.py": "names of protected files",
    "recordings/import_journal/registry.py": "the programs whose captures are read",
    "review/prices/given_prices.py": "an example of a model's name",
    "review/prices/offline_prices.py": "a prefix of models in the list of prices",
    "review/comparison/own_rule.py": "which rule is the recorded agent's own",
    "review/request_contents/neutral_request.py": "the words in which a recording of no provider is shown",
    "review/timeline_view/report_data.py": "the names of the policies that a report shows by itself",
}
ROOMS = {
    "recordings/formats/": "the formats of other agents' recordings, and the models that they name",
    "recordings/format_parts/": "the same",
    "recordings/captured_http/": "the same, of requests to providers and their answers",
    "recordings/printed_streams/": "the same, of what agents print",
    "recordings/message_formats/": "the forms of messages that several of them share",
    "lessons/plans/": "the agents whose sessions and rules a lesson is about",
    "context_policies/presets/": "the rules of other agents and providers, by their names",
}
"""Folders in which every file may name providers."""
ALLOWED = RULES | ACCESS | FORMATS | WORDS


def test_only_the_profile_knows_providers_by_name() -> None:
    names_by_path = {
        path.relative_to(PACKAGE).as_posix(): names
        for path in sorted(PACKAGE.rglob("*.py"))
        if (names := sorted(set(named_in(path))))
    }
    for room in ROOMS:
        inside = {path for path in names_by_path if path.startswith(room)}
        assert inside, room
        names_by_path = {path: names for path, names in names_by_path.items() if path not in inside}

    assert {path: names for path, names in names_by_path.items() if path not in ALLOWED} == {}
    assert sorted(set(ALLOWED) - set(names_by_path)) == []


def named_in(path: Path) -> Iterator[str]:
    """Yield the strings in a file's code that name a provider; docstrings do not count."""
    source = path.read_text(encoding="utf-8")
    if not NAMES.search(source.lower()):  # a file without such a word need not be parsed
        return
    tree = ast.parse(source)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in said
            and NAMES.search(node.value.lower())
        ):
            yield node.value
