"""One request with its contents: as sent, as rebuilt from the log, or as under another policy.

A request is built when it is asked for; the texts stay in the log.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

from palimpsest.context_policies.replay.simulation import Simulation
from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.render.reports.table import (
    ColumnSpec,
    ReportTable,
    ShownAsTable,
    TableColumn,
    table_of,
)
from palimpsest.render.safety.escaping import clean, in_html
from palimpsest.review.request_contents.neutral_request import body_of, neutral_messages_of
from palimpsest.review.request_contents.request_blocks import (
    item_blocks,
    recorded_blocks,
    sent_blocks,
    stored_blocks,
    unseen_blocks,
)
from palimpsest.review.request_contents.sent_requests import SentRequests
from palimpsest.review.request_contents.shown_items import ShownItem, shown_items
from palimpsest.transcript.context_values.neutral_messages import NeutralMessages
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.timeline import Timeline

Exactness = Literal["exact", "captured", "rebuilt", "partial", "estimate"]
EXACTNESS_SENTENCES: Mapping[Exactness, str] = {
    "exact": "As it was sent: rebuilt from the log, and its hash is the recorded one.",
    "captured": "System prompt, tools and cache marks are recorded, from a capture of what was sent, and no estimate; the "
    "messages are those that were recorded before it.",
    "rebuilt": "Rebuilt from the messages that were recorded before it.",
    "partial": "In part: the recording lacks some of it.",
    "estimate": "As the policy would have sent it: the actions are the recorded ones.",
}
MARKED_SENTENCE = "The client marked the prompt for the cache up to: {places}."
NOT_MARKED_SENTENCE = "The client set no cache marks."
MAX_EXCERPT_CHARS = 120
"""Maximum characters of a block's beginning in the table."""
MAX_BLOCK_CHARS = 2_000
"""Maximum characters of a block's text in HTML."""
MAX_HTML_CHARS = 60_000
"""Maximum characters of all texts in HTML."""


@dataclass(frozen=True, slots=True)
class FoundText:
    """A place in a request where a text was found."""

    block: int
    """Index of the block in the request, from 0."""
    offset: int
    """Offset in the block's text."""


@dataclass(frozen=True)
class ShownRequest(ShownAsTable):
    """A request with its contents."""

    timeline: Timeline = field(repr=False)
    request: int
    """Index of the request, from 0."""
    policy: str
    basis: Exactness
    blocks: tuple[RequestItem, ...] = field(repr=False)
    """The request's contents, in order."""
    outside_blocks: tuple[RequestItem, ...] = field(repr=False)
    """Counted tokens that are in no block: parts that the recording does not show, and items that were not sent."""
    tokens: float
    """The request's size by the replay's count: the tokens of ``blocks`` and ``outside_blocks``."""
    system: str = field(repr=False)
    """The system prompt; empty where it is not known."""
    tools: tuple[Mapping[str, Any], ...] = field(repr=False)
    """The offered tools; none where they are not known."""
    messages: NeutralMessages = field(repr=False)
    """The contents as provider-neutral messages; none for a request that a hook wrote, which is in ``body``."""
    sha256: str | None = None
    """Hash of the sent request, where its form is exact."""
    make_body: Callable[[], dict[str, Any]] = field(default=dict, repr=False, compare=False)
    """A function that returns ``body``, which is made when it is asked for."""

    @cached_property
    def body(self) -> dict[str, Any]:
        """The body that the provider was or would be sent, in OpenAI's form, as plain values."""
        return self.make_body()

    @property
    def note(self) -> str:
        """How the request is known, and which cache marks it carried where they were captured."""
        sentence = EXACTNESS_SENTENCES[self.basis]
        if self.basis != "captured":
            return sentence
        places_text = "; ".join(self.timeline.requests[self.request].cache_marks)
        return f"{sentence} {MARKED_SENTENCE.format(places=places_text) if places_text else NOT_MARKED_SENTENCE}"

    def find(self, text: str) -> tuple[FoundText, ...]:
        """Return the places of a plain text in the request, ignoring case; nothing for an empty text.

        >>> session.request(1).find("nobody wrote this")
        ()
        """
        if not text:
            return ()
        pattern = re.compile(re.escape(text), re.IGNORECASE)
        return tuple(
            FoundText(block_index, match.start())
            for block_index, block in enumerate(self.blocks)
            for match in pattern.finditer(block.text)
        )

    @cached_property
    def table(self) -> ReportTable:
        """The blocks as a table, with the beginnings of their texts."""
        timeline_request = self.timeline.requests[self.request]
        title = f"Request {self.request + 1} of {len(self.timeline.requests)} under {self.policy}: ~{self.tokens:,.0f} tokens"
        notes = [self.note]
        if timeline_request.reported is not None and self.basis != "estimate":
            notes.append(f"{timeline_request.reported:,} tokens were reported.")
        outside_tokens = sum(block.tokens for block in self.outside_blocks)
        if outside_tokens:
            notes.append(
                f"~{outside_tokens:,.0f} tokens are counted besides, of what is not shown here."
            )
        state_column = TableColumn("state", "state")
        tokens_column = TableColumn("tokens", "tokens", "count", "estimate")
        columns: tuple[ColumnSpec, ...] = (
            (TableColumn("item", "item", "count"), _item_number),
            TableColumn("role", "role"),
            TableColumn("kind", "kind"),
            (TableColumn("tool", "tool"), lambda block: block.name),
            (state_column, lambda block: f"{block.state}, pinned" if block.pinned else block.state),
            (tokens_column, lambda block: round(block.tokens)),
            TableColumn("chars", "chars", "count"),
            (TableColumn("text", "begins with"), lambda block: _text_beginning(block.text)),
        )
        return table_of(title, columns, self.blocks, tuple(notes))

    @property
    def contents(self) -> str:
        """The whole request as plain text: each block under a line that describes it."""
        return "\n\n".join(
            f"--- {_block_title(block)}\n{clean(block.text)}" for block in self.blocks
        )

    @property
    def html(self) -> str:
        """The table, and blocks to open, as an HTML fragment: long texts are cut, since a notebook saves it."""
        details_html, remaining_chars = [], MAX_HTML_CHARS
        for block in self.blocks:
            text = block.text[: min(MAX_BLOCK_CHARS, remaining_chars)]
            remaining_chars -= len(text)
            left_out_chars = block.chars - len(text)
            cut_note = (
                f"\n… {left_out_chars:,} more characters; .contents has all"
                if left_out_chars
                else ""
            )
            details_html.append(
                f"<details><summary>{in_html(clean(_block_title(block)))}</summary>"
                f'<pre style="white-space:pre-wrap">{in_html(clean(text + cut_note))}</pre></details>'
            )
        return "\n".join([self.table.html, *details_html])

    def json(self) -> dict[str, Any]:
        """Return the request as plain values."""
        return {
            "session": self.timeline.session,
            "request": self.request + 1,
            "policy": self.policy,
            "basis": self.basis,
            "note": self.note,
            "tokens": round(self.tokens),
            "sha256": self.sha256,
            "cache_marks": list(self.timeline.requests[self.request].cache_marks),
            "blocks": [_block_fields(block) for block in self.blocks],
            "beside": [_block_fields(block) for block in self.outside_blocks],
            "system": self.system,
            "tools": [dict(tool) for tool in self.tools],
            "body": self.body,
        }


def request_at(
    simulation: Simulation, request: int, sent_requests: SentRequests | None = None
) -> ShownRequest:
    """Return a request of a replay, from 0, with its contents; raises UserError for an unknown request.

    ``sent_requests`` reads the stored requests: with it, a request of a Palimpsest session that the policy does not change is
    returned exactly as sent.
    """
    timeline = simulation.timeline
    items_shown = shown_items(simulation, request)
    timeline_request = timeline.requests[request]
    facts_until = simulation.facts_until
    is_fact = facts_until is None or request < facts_until
    rebuilt = None
    if sent_requests is not None and is_fact:
        rebuilt = sent_requests.rebuilt_request(timeline_request.id)
    total_tokens = simulation.sizes[request].total
    unseen_tokens = total_tokens - sum(shown_item.tokens for shown_item in items_shown)
    make_request = partial(
        ShownRequest, timeline, request, simulation.policy_name, tokens=total_tokens
    )
    if rebuilt is not None:
        sent_request = rebuilt.request
        if rebuilt.neutral:
            blocks, unsent_blocks = sent_blocks(timeline, request, items_shown, rebuilt)
        else:
            blocks = stored_blocks(rebuilt)
            unsent_blocks = item_blocks(timeline, items_shown, is_recorded=True)
        return make_request(
            basis="exact" if rebuilt.matches else "rebuilt",
            blocks=blocks,
            outside_blocks=(*unseen_blocks("", "", unseen_tokens), *unsent_blocks),
            system="\n\n".join(block.text for block in blocks if block.kind == "system"),
            tools=tuple(tool.model_dump(mode="json") for tool in sent_request.tools),
            messages=rebuilt.neutral,
            sha256=rebuilt.record.sha256,
            make_body=lambda: {
                "model": sent_request.model.ref.id,
                "messages": [dict(message) for message in sent_request.messages],
                "tools": [tool.model_dump(mode="json") for tool in sent_request.tools],
                **dict(sent_request.parameters),
            },
        )
    blocks = item_blocks(timeline, items_shown, is_recorded=simulation.policy_name == "recorded")
    system = "\n\n".join(block.text for block in blocks if block.kind == "system")
    tools, separate_texts = _captured_tools(timeline, items_shown), ("", "")
    if sent_requests is not None:
        tools = tools or sent_requests.tools
        if not system:
            system = sent_requests.system
            separate_texts = system, sent_requests.tools_text
    messages = neutral_messages_of(timeline, blocks, separate_texts[0])
    exactness = "rebuilt" if timeline_request.seen == "exact" else timeline_request.seen
    return make_request(
        basis=exactness if is_fact else "estimate",
        blocks=(*recorded_blocks(*separate_texts, unseen_tokens), *blocks),
        outside_blocks=unseen_blocks(*separate_texts, unseen_tokens),
        system=system,
        tools=tools,
        messages=messages,
        make_body=lambda: body_of(messages, timeline_request.model, tools),
    )


def _captured_tools(
    timeline: Timeline, items_shown: Sequence[ShownItem]
) -> tuple[Mapping[str, Any], ...]:
    """Return the tools as a capture has them; empty where no capture has any."""
    texts = (
        timeline.read(shown_item.item.index)
        for shown_item in items_shown
        if shown_item.item.kind == "tools" and shown_item.state == "whole"
    )
    return tuple(tool.fields() for text in texts for tool in JsonValue(text).decoded().objects())


def _item_number(block: RequestItem) -> int | None:
    """Return the number of a block's item, from 1; None for a block without an item."""
    return None if block.item is None else block.item + 1


def _block_title(block: RequestItem) -> str:
    number_text = "" if block.item is None else f"item {block.item + 1}, "
    tool_text = f" {block.name}" if block.name else ""
    state_text = "" if block.state == "whole" else f", {block.state}"
    return f"{number_text}{block.role}: {block.kind}{tool_text}{state_text}, ~{block.tokens:,.0f} tokens"


def _text_beginning(text: str) -> str:
    line = " ".join(text[: 4 * MAX_EXCERPT_CHARS].split())
    return line if len(line) <= MAX_EXCERPT_CHARS else f"{line[: MAX_EXCERPT_CHARS - 1]}…"


def _block_fields(block: RequestItem) -> dict[str, Any]:
    field_names = ("role", "kind", "state", "text", "chars", "pinned", "is_error")
    return {
        "item": _item_number(block),
        "tokens": round(block.tokens),
        "tool": block.name,
        "label": block.words,
        **{field_name: getattr(block, field_name) for field_name in field_names},
    }
