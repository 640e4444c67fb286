"""One request with its contents: as it was sent, as it can be rebuilt, or as a policy would have sent it.

Only this one request is made, when it is asked for; the texts stay in the log.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

from palimpsest.render.reports.table import ReportTable, ShownAsTable, TableColumn, Told, table_of
from palimpsest.render.safety.escaping import clean, in_html
from palimpsest.review.replay.simulation import Simulation
from palimpsest.review.request_contents.neutral_request import body_of, neutral_messages_of
from palimpsest.review.request_contents.request_blocks import (
    item_blocks,
    recorded_blocks,
    sent_blocks,
    stored_blocks,
    unseen_blocks,
)
from palimpsest.review.request_contents.sent_requests import SentRequests
from palimpsest.review.request_contents.shown_items import shown_items
from palimpsest.transcript.context_values.neutral_messages import NeutralMessages
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.timeline import Timeline

Exactness = Literal["exact", "rebuilt", "partial", "estimate"]
EXACTNESS: Mapping[Exactness, str] = {
    "exact": "As it was sent: rebuilt from the log, and its hash is the recorded one.",
    "rebuilt": "Rebuilt from the messages that were recorded before it.",
    "partial": "In part: the recording lacks some of it.",
    "estimate": "As the policy would have sent it: the actions are the recorded ones.",
}
EXCERPT_CHARS = 120
BLOCK_CHARS = 2_000
"""Characters of a block's text in HTML."""
HTML_CHARS = 60_000
"""Characters of all texts in HTML."""


@dataclass(frozen=True, slots=True)
class FoundText:
    """A place where a request holds a text."""

    block: int
    """The block's place in the request, from 0."""
    offset: int
    """Characters before it in the block's text."""


@dataclass(frozen=True)
class ShownRequest(ShownAsTable):
    """A request with its contents."""

    timeline: Timeline = field(repr=False)
    request: int
    """Its number, from 0."""
    policy: str
    basis: Exactness
    blocks: tuple[RequestItem, ...] = field(repr=False)
    """What it holds, in order."""
    beside: tuple[RequestItem, ...] = field(repr=False)
    """What its size counts besides: what the recording does not show, and items that were not sent."""
    tokens: float
    """Its size, as the replay counts it: the tokens of all blocks and of what is counted besides."""
    system: str = field(repr=False)
    """The system prompt; empty where it is not known."""
    tools: tuple[Mapping[str, Any], ...] = field(repr=False)
    """The tools that were offered; none where they are not known."""
    messages: NeutralMessages = field(repr=False)
    """The same as provider-neutral messages; none of one that a hook wrote, which ``body`` holds."""
    sha256: str | None = None
    """Hash of what was sent, of an exact one."""
    make_body: Callable[[], dict[str, Any]] = field(default=dict, repr=False, compare=False)

    @cached_property
    def body(self) -> dict[str, Any]:
        """What the provider was sent, or would be, in OpenAI's form; as plain values."""
        return self.make_body()

    @property
    def note(self) -> str:
        """How the request is known, in a sentence."""
        return EXACTNESS[self.basis]

    def find(self, text: str) -> tuple[FoundText, ...]:
        """Return where the request holds a plain text, whatever the case of its letters; nothing for no text.

        >>> session.request(1).find("nobody wrote this")
        ()
        """
        return tuple(self._found(text)) if text else ()

    def _found(self, text: str) -> Iterator[FoundText]:
        wanted = re.compile(re.escape(text), re.IGNORECASE)
        for place, block in enumerate(self.blocks):
            for match in wanted.finditer(block.text):
                yield FoundText(place, match.start())

    @cached_property
    def table(self) -> ReportTable:
        """The blocks as a table, with the beginnings of their texts."""
        at = self.timeline.requests[self.request]
        title = f"Request {self.request + 1} of {len(self.timeline.requests)} under {self.policy}: ~{self.tokens:,.0f} tokens"
        notes = [self.note]
        if at.reported is not None and self.basis != "estimate":
            notes.append(f"{at.reported:,} tokens were reported.")
        counted = sum(one.tokens for one in self.beside)
        if counted:
            notes.append(f"~{counted:,.0f} tokens are counted besides, of what is not shown here.")
        columns: tuple[Told, ...] = (
            (TableColumn("item", "item", "count"), _number),
            TableColumn("role", "role"),
            TableColumn("kind", "kind"),
            (TableColumn("tool", "tool"), lambda one: one.name),
            (
                TableColumn("state", "state"),
                lambda one: f"{one.state}, pinned" if one.pinned else one.state,
            ),
            (TableColumn("tokens", "tokens", "count", "estimate"), lambda one: round(one.tokens)),
            TableColumn("chars", "chars", "count"),
            (TableColumn("text", "begins with"), lambda one: _excerpt(one.text)),
        )
        return table_of(title, columns, self.blocks, tuple(notes))

    @property
    def contents(self) -> str:
        """The whole request as plain text: each block under a line that says what it is."""
        return "\n\n".join(f"--- {_head(one)}\n{clean(one.text)}" for one in self.blocks)

    @property
    def html(self) -> str:
        """The table, and blocks to open, as an HTML fragment: long texts are cut, since a notebook saves it."""
        opened, left = [], HTML_CHARS
        for one in self.blocks:
            text = one.text[: min(BLOCK_CHARS, left)]
            left -= len(text)
            more = one.chars - len(text)
            cut = f"\n… {more:,} more characters; .contents has all" if more else ""
            opened.append(
                f"<details><summary>{in_html(clean(_head(one)))}</summary>"
                f'<pre style="white-space:pre-wrap">{in_html(clean(text + cut))}</pre></details>'
            )
        return "\n".join([self.table.html, *opened])

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
            "blocks": [_plain(one) for one in self.blocks],
            "beside": [_plain(one) for one in self.beside],
            "system": self.system,
            "tools": [dict(one) for one in self.tools],
            "body": self.body,
        }


def request_at(
    simulation: Simulation, request: int, sent: SentRequests | None = None
) -> ShownRequest:
    """Return a request of a replay, from 0, with its contents; raises UserError where there is none.

    ``sent`` reads what the log holds of requests: with it one that was recorded here, and that the policy
    does not change, is as it was sent.
    """
    timeline = simulation.timeline
    shown = shown_items(simulation, request)
    at = timeline.requests[request]
    until = simulation.facts_until
    is_fact = until is None or request < until
    rebuilt = sent.rebuilt(at.id) if sent is not None and is_fact else None
    size = simulation.sizes[request].total
    unseen = size - sum(one.tokens for one in shown)
    made = partial(ShownRequest, timeline, request, simulation.policy, tokens=size)
    if rebuilt is not None:
        sent_request = rebuilt.request
        blocks, not_sent = (
            sent_blocks(timeline, request, shown, rebuilt)
            if rebuilt.neutral
            else (stored_blocks(rebuilt), item_blocks(timeline, shown, recorded=True))
        )
        return made(
            basis="exact" if rebuilt.matches else "rebuilt",
            blocks=blocks,
            beside=(*unseen_blocks("", "", unseen), *not_sent),
            system="\n\n".join(one.text for one in blocks if one.kind == "system"),
            tools=tuple(one.model_dump(mode="json") for one in sent_request.tools),
            messages=rebuilt.neutral,
            sha256=rebuilt.record.sha256,
            make_body=lambda: {
                "model": sent_request.model.ref.id,
                "messages": [dict(one) for one in sent_request.messages],
                "tools": [one.model_dump(mode="json") for one in sent_request.tools],
                **dict(sent_request.parameters),
            },
        )
    blocks = item_blocks(timeline, shown, recorded=simulation.policy == "recorded")
    own = "\n\n".join(one.text for one in blocks if one.kind == "system")
    system = own or (sent.system if sent is not None else "")
    tools = sent.tools if sent is not None else ()
    given = ("", "") if own or sent is None else (sent.system, sent.tools_text)
    messages = neutral_messages_of(timeline, blocks, "" if own else system)
    return made(
        basis="estimate" if not is_fact else "rebuilt" if at.seen == "exact" else at.seen,
        blocks=(*recorded_blocks(*given, unseen), *blocks),
        beside=unseen_blocks(*given, unseen),
        system=system,
        tools=tools,
        messages=messages,
        make_body=lambda: body_of(messages, at.model, tools),
    )


def _number(block: RequestItem) -> int | None:
    """Return the number of a block's item, from 1; None where it is no item."""
    return None if block.item is None else block.item + 1


def _head(block: RequestItem) -> str:
    number = "" if block.item is None else f"item {block.item + 1}, "
    tool = f" {block.name}" if block.name else ""
    state = "" if block.state == "whole" else f", {block.state}"
    return f"{number}{block.role}: {block.kind}{tool}{state}, ~{block.tokens:,.0f} tokens"


def _excerpt(text: str) -> str:
    line = " ".join(text[: 4 * EXCERPT_CHARS].split())
    return line if len(line) <= EXCERPT_CHARS else f"{line[: EXCERPT_CHARS - 1]}…"


def _plain(block: RequestItem) -> dict[str, Any]:
    names = ("role", "kind", "state", "text", "chars", "pinned", "is_error")
    return {
        "item": _number(block),
        "tokens": round(block.tokens),
        "tool": block.name,
        "label": block.words,
        **{name: getattr(block, name) for name in names},
    }
