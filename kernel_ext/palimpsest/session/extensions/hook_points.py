"""Call a session's hooks: for a prompt, the system prompt, tool calls, context decisions and whole requests.

Border: implements ``Hooks`` of the loop and wraps the tools of a step; ``hooks`` calls a hook, and
``hook_answers`` defines which answers are valid. Changes by a hook are recorded.
"""

import copy
import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from palimpsest.context.engine_text.system_prompt import (
    as_header_and_rest,
    joined_sections,
    with_further_instructions,
)
from palimpsest.processor.tool_call_runner import ToolLookup
from palimpsest.session.extensions import hook_answers
from palimpsest.session.extensions.hooks import SessionHooks
from palimpsest.tools.tool import Tool, ToolContext, ToolOutcome
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.hook_values import (
    Compacting,
    CompactingEvent,
    DecideEvent,
    HookDecision,
    PromptEvent,
    Refuse,
    RequestEvent,
    SystemEvent,
    SystemPrompt,
    ToolAfter,
    ToolBefore,
)

SYSTEM_PROMPT_FIXED_REASON = "an administrator fixed what stands in the system prompt"


class HookPoints(SessionHooks):
    """Calls the hooks of one session, with one method for each kind of hook."""

    async def prompt(self, event: PromptEvent) -> tuple[tuple[str, str], ...]:
        """Call the hooks that add text to a prompt; returns the rule of the hook and its text, for each text."""
        additions: list[tuple[str, str]] = []
        for hook in self.registry.hooks_of("prompt"):
            answer = await self.call_hook(hook, event, hook_answers.validate_texts)
            additions += [(hook.rule, text) for text in answer or ()]
        return tuple(additions)

    async def system(self, event: SystemEvent, *, is_fixed: bool) -> tuple[str, ...]:
        """Return the system prompt as hooks change it; each hook gets the prompt as the hook before it left it.

        Plain texts are added at its end. Where an administrator fixed its contents (``is_fixed``), it is never replaced.
        """
        texts, added_texts = event.texts, list[str]()
        for hook in self.registry.hooks_of("system"):
            current_texts = with_further_instructions(texts, joined_sections(added_texts), "")
            current_event = replace(event, texts=current_texts)
            validate = functools.partial(
                hook_answers.validate_system, earlier_texts=current_event.texts
            )
            answer = await self.call_hook(hook, current_event, validate)
            if not isinstance(answer, SystemPrompt):
                added_texts += answer or ()
            elif is_fixed:
                self.note_skipped(hook.rule, SYSTEM_PROMPT_FIXED_REASON)
            else:
                texts, added_texts = as_header_and_rest(tuple(answer.texts), event.texts[0]), []
        return with_further_instructions(texts, joined_sections(added_texts), "")

    async def decide(self, event: DecideEvent) -> Sequence[HookDecision]:
        """Return the context decisions of hooks: what to leave out of the context or keep in it."""
        decisions: list[HookDecision] = []
        for hook in self.registry.hooks_of("decide"):
            validate = functools.partial(hook_answers.validate_decisions, rule=hook.rule)
            decisions += await self.call_hook(hook, event, validate) or ()
        return decisions

    async def compacting(self, event: CompactingEvent) -> Compacting | None:
        """Return the hooks' texts that a summary must keep, and the last hook's summary prompt, if any."""
        context: list[str] = []
        prompt: str | None = None
        for hook in self.registry.hooks_of("compacting"):
            answer = await self.call_hook(hook, event, hook_answers.validate_compacting)
            if answer is not None:
                context += answer.context
                prompt = answer.prompt or prompt
        return Compacting(tuple(context), prompt) if context or prompt else None

    async def request(
        self, model: str, messages: Sequence[Mapping[str, Any]]
    ) -> tuple[str, tuple[dict[str, Any], ...]] | None:
        """Return the rule of the last hook that rewrote a request, and its messages; None where none did.

        Each hook is given the messages that the one before it wrote.
        """
        new_request: tuple[str, tuple[dict[str, Any], ...]] | None = None
        for hook in self.registry.hooks_of("request"):
            current_messages = new_request[1] if new_request is not None else messages
            copies = tuple(copy.deepcopy(dict(message)) for message in current_messages)
            event = RequestEvent(self.session_id(), model, copies)
            answer = await self.call_hook(hook, event, hook_answers.validate_messages)
            if answer is not None and list(answer) != [
                dict(message) for message in current_messages
            ]:
                new_request = (hook.rule, answer)
        return new_request


class HookedTools:
    """The tools of one step, with hooks called before and after each tool call."""

    def __init__(self, inner: ToolLookup, hooks: HookPoints) -> None:
        self._inner_tools = inner
        self._hooks = hooks

    def resolve(self, name: str) -> Tool | str:
        """Return the tool of a name, or a sentence for the model where it cannot be called."""
        tool = self._inner_tools.resolve(name)
        return tool if isinstance(tool, str) else HookedTool(tool, self._inner_tools, self._hooks)

    def validate(self, tool: Tool, tool_input: Any) -> Any:
        """Return the validated arguments, or a sentence for the model about what is wrong with them."""
        inner_tool = tool.inner_tool if isinstance(tool, HookedTool) else tool
        return self._inner_tools.validate(inner_tool, tool_input)


class HookedTool:
    """A tool with hooks called before and after it.

    The call keeps the arguments that the model wrote; arguments that a hook changed go into its metadata.
    """

    def __init__(self, inner: Tool, offer: ToolLookup, hooks: HookPoints) -> None:
        self.inner_tool = inner
        self._offer = offer
        self._hooks = hooks
        self.name = inner.name
        self.description = inner.description
        self.arguments = inner.arguments
        self.concurrent = inner.concurrent
        self.permission = inner.permission

    async def run(self, arguments: Any, context: ToolContext) -> ToolOutcome:
        """Call the ``tool_before`` hooks, run the tool, and call the ``tool_after`` hooks.

        Raises UserError where a hook refuses the call.
        """
        arguments, before_notes = await self._call_before_hooks(arguments, context)
        if before_notes:
            context.metadata(None, before_notes)
        outcome = await self.inner_tool.run(arguments, context)
        outcome, after_notes = await self._call_after_hooks(arguments, outcome, context)
        if not (before_notes or after_notes):
            return outcome
        return replace(outcome, metadata={**outcome.metadata, **before_notes, **after_notes})

    async def _call_before_hooks(
        self, arguments: Any, context: ToolContext
    ) -> tuple[Any, dict[str, Any]]:
        notes: dict[str, Any] = {}
        for hook in self._hooks.registry.hooks_of("tool_before"):
            event = ToolBefore(*self._call_values(arguments, context))
            answer = await self._hooks.call_hook(hook, event, hook_answers.validate_arguments)
            if isinstance(answer, Refuse):
                reason = answer.reason.strip() or "it gave no reason"
                raise UserError(f"The hook {hook.label} did not let this call run: {reason}")
            if answer is None or answer == _json_arguments(arguments):
                continue
            checked_arguments = self._offer.validate(self.inner_tool, answer)
            if isinstance(checked_arguments, str):
                self._hooks.note_skipped(hook.rule, checked_arguments.rstrip("."))
                continue
            arguments = checked_arguments
            notes = {"changed_input": answer, "changed_by": hook.rule}
        return arguments, notes

    async def _call_after_hooks(
        self, arguments: Any, outcome: ToolOutcome, context: ToolContext
    ) -> tuple[ToolOutcome, dict[str, Any]]:
        notes: dict[str, Any] = {}
        original_output = outcome.output
        for hook in self._hooks.registry.hooks_of("tool_after"):
            values = self._call_values(arguments, context)
            metadata = copy.deepcopy(outcome.metadata)
            event = ToolAfter(*values, outcome.title, outcome.output, metadata)
            answer = await self._hooks.call_hook(hook, event, hook_answers.validate_output)
            if answer is None or answer == outcome.output:
                continue
            outcome = replace(outcome, output=answer)
            notes = {
                "output_changed_by": hook.rule,
                "output_before": _head_and_tail(original_output),
            }
        return outcome, notes

    def _call_values(
        self, arguments: Any, context: ToolContext
    ) -> tuple[str, str, str, str, str, dict[str, Any]]:
        """Return the first values of an event about a call: its ids, its agent, the tool and the arguments."""
        ids = (context.session_id, context.message_id, context.call_id)
        return (*ids, context.agent, self.name, _json_arguments(arguments))


MAX_KEPT_CHARS = 20_000
"""Maximum characters kept, in the call's metadata, of an output that a hook replaced; the middle is cut out."""


def _head_and_tail(text: str) -> str:
    if len(text) <= MAX_KEPT_CHARS:
        return text
    half = MAX_KEPT_CHARS // 2
    return f"{text[:half]}\n[... {len(text) - MAX_KEPT_CHARS:,} characters ...]\n{text[-half:]}"


def _json_arguments(arguments: Any) -> dict[str, Any]:
    """Return arguments as the JSON object that the model would write."""
    if isinstance(arguments, BaseModel):
        return arguments.model_dump(mode="json", exclude_unset=True)
    return dict(arguments)
