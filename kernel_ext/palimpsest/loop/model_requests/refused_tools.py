"""Leave out a tool whose schema the provider refuses, and send the request again without it.

A provider refuses a whole request because of one such tool, which its error identifies by name or by index. The tool is
left out for the rest of the session, with a notice for the user.
"""

import dataclasses
import re
from collections.abc import Sequence

from palimpsest.context.budget.request_tokens import check_budget
from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.loop.model_requests.request_builder import (
    ReadyRequest,
    assembly_of_view,
    facts_for,
    record_request,
)
from palimpsest.loop.run_inputs.run_context import RequestServices, StepSetup
from palimpsest.model.errors.response_body import server_message
from palimpsest.model.wire.tool_call_text import tool_name
from palimpsest.transcript.errors import ApiError, ErrorValue
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.values import ModelInfo, ToolSpec

REFUSED_TOOL_SUBJECT = "refused-tool"
"""The subject of the notice about a tool that was left out."""
REFUSAL_STATUSES = frozenset({400, 422})
"""HTTP statuses of refusals because of a request's content."""
MAX_OMITTED_TOOLS = 20
"""Maximum tools that one session leaves out; a provider that refuses more has another reason."""
MAX_ERROR_CHARS = 300
"""Maximum characters of the provider's error in the notice."""
INDEX_PATTERNS = (
    lazy_pattern(r"function_?declarations\[(\d+)\]", re.IGNORECASE),
    lazy_pattern(r"\btools?\.(\d+)\b"),
    lazy_pattern(r"\btools?\[(\d+)\]", re.IGNORECASE),
    lazy_pattern(r"\btools/(\d+)/"),
    lazy_pattern(r"['\"]tools['\"], ?(\d+)\b"),
)
"""Patterns for the index of a tool in an error; Gemini first writes the index of its list."""
NAME_PATTERN = lazy_pattern(
    r"\b(?:function|tool)s?(?: (?:declaration|schema|with name|name))?:? ?[`'\"“]([\w.-]{1,128})[`'\"”]",
    re.IGNORECASE,
)
SCHEMA_PATTERN = lazy_pattern(
    r"schema|parameter|declaration|definition|description|invalid", re.IGNORECASE
)
LEFT_OUT_NOTICE = (
    "{model} refuses the tool {tool!r}, so that it is left out for the rest of this session, and the request was sent "
    "again without it. The provider said: {said}"
)

REFUSED_TOOLS_SENTENCE = "{model} refused in this session, so that they are left out: {names}."


def refused_tool_name(error: ErrorValue, specs: Sequence[ToolSpec], info: ModelInfo) -> str | None:
    """Return the name of the tool that a provider's refusal is about; None where it is about something else."""
    if not isinstance(error, ApiError) or error.status not in REFUSAL_STATUSES or not specs:
        return None
    error_text = server_message(error.response_body, error.message)
    target = profile(info.ref)
    names_by_sent_name = {tool_name(spec.name, target): spec.name for spec in specs}
    for pattern in INDEX_PATTERNS:
        indices = {int(index) for index in pattern.findall(error_text)}
        if indices:
            index = min(indices)
            return specs[index].name if index < len(specs) else None
    if not SCHEMA_PATTERN.search(error_text):
        return None
    tool_names = [
        names_by_sent_name[name]
        for name in NAME_PATTERN.findall(error_text)
        if name in names_by_sent_name
    ]
    return tool_names[0] if tool_names else None


def without_refused_tool(
    services: RequestServices, setup: StepSetup, message: AssistantMessage, error: ErrorValue
) -> StepSetup | None:
    """Leave out the tool that a refusal names, with a notice; None where it names none that may be left out."""
    name = refused_tool_name(error, setup.specs, setup.info)
    refused_specs = services.refused_tools
    is_required = setup.wants_structured and setup.specs and setup.specs[-1].name == name
    if (
        name is None
        or is_required
        or len(refused_specs) >= MAX_OMITTED_TOOLS
        or not isinstance(error, ApiError)
    ):
        return None
    spec = next(known_spec for known_spec in setup.specs if known_spec.name == name)
    refused_specs.add((setup.info.ref.provider, spec.model_dump_json()))
    error_text = " ".join(server_message(error.response_body, error.message).split())
    sentence = LEFT_OUT_NOTICE.format(
        model=setup.info.ref.id, tool=name, said=error_text[:MAX_ERROR_CHARS]
    )
    services.log.write_notice(message, REFUSED_TOOL_SUBJECT, sentence)
    return dataclasses.replace(setup, specs=accepted_tools(setup.specs, setup.info, refused_specs))


def accepted_tools(
    specs: tuple[ToolSpec, ...], info: ModelInfo, refused_specs: set[tuple[str, str]]
) -> tuple[ToolSpec, ...]:
    """Return the specs that the model's provider has not refused; ``refused_specs`` are pairs of provider and spec JSON."""
    provider = info.ref.provider
    return tuple(spec for spec in specs if (provider, spec.model_dump_json()) not in refused_specs)


def refused_tools_sentence(info: ModelInfo, refused_specs: set[tuple[str, str]]) -> str:
    """Return a sentence about the tools that the model's provider refused; empty where it refused none."""
    provider = info.ref.provider
    names = sorted(
        ToolSpec.model_validate_json(spec).name
        for tool_provider, spec in refused_specs
        if tool_provider == provider
    )
    return REFUSED_TOOLS_SENTENCE.format(model=info.ref.id, names=", ".join(names)) if names else ""


def request_again(
    services: RequestServices,
    setup: StepSetup,
    message: AssistantMessage,
    refused_request: ReadyRequest,
) -> ReadyRequest:
    """Build the same request with the tools of ``setup``; ``message`` is its still empty answer."""
    messages = tuple(
        earlier for earlier in services.log.state.messages() if earlier.id != message.id
    )
    assembly = assembly_of_view(services.log.view(messages), setup)
    total_tokens = assembly.projection.total
    facts = facts_for(services.log, setup, total_tokens)
    parameters = dict(refused_request.request.parameters)
    if not setup.specs:
        parameters.pop("tool_choice", None)
    return record_request(
        services, setup, assembly, facts, check_budget(total_tokens, facts), message.id, parameters
    )
