"""Policies that show a placeholder of old observations, however large the request is, and call no model."""

import re

from palimpsest.review.policies.policy import Change, Decided, PolicyView, Probe
from palimpsest.review.policies.reducible import (
    border_of_newest,
    call_of_result,
    decided,
    dropped,
    is_reducible,
    is_shown,
    reopened,
    replaced,
    shown_events,
)
from palimpsest.review.policies.settings import Preset
from palimpsest.review.policies.tool_calls import input_of, was_sent_as_users

MASKED = "<MASKED>"
VIEWED_FILE = re.compile(r"\[File:\s+([^\n]{1,500}?)\s+\(\d+\s+lines total\)\]")
VIEWED_LINE = re.compile(r"^\d+:.*?(?:\n|\Z)", re.MULTILINE)


class SweAgentLastN(Preset):
    """SWE-agent's last n observations: all older ones are elided before every request.

    With ``polling`` over 1 the border moves in steps of so many observations, which spares the cache; the first
    prompt counts as one of them, as SWE-agent's instance template does. Tools can be tagged, so that their
    observations always stay or never do.
    """

    preset = "sweagent.last_n"
    source = (
        "SWE-agent 3ea751c, agent/history_processors.py: LastNObservations, TagToolCallObservations"
    )
    sticky = False
    at_first = (0, 0)
    """How many observations are elided and how many were looked at: none."""
    n: int = 5
    polling: int = 1
    always_keep: tuple[str, ...] = ()
    """Tools tagged ``keep_output``."""
    always_remove: tuple[str, ...] = ()
    """Tools tagged ``remove_output``."""

    def step(self, state: tuple[int, int], view: PolicyView) -> Decided:
        elided, seen = state
        outputs = view.outputs
        shown = view.shown_outputs
        template = 1
        steps = (shown + template) // self.polling * self.polling
        kept = shown - max(0, steps - self.n - template)
        border = border_of_newest(view, kept)
        old = [one for one in outputs[elided:border] if view.item(one).tool not in self.always_keep]
        if self.always_remove:
            new = outputs[max(seen, border) :]
            old += [one for one in new if view.item(one).tool in self.always_remove]
        changes = [change for one in old for change in _elided(view, one)]
        again = [
            one for one in outputs[border:elided] if view.item(one).tool not in self.always_remove
        ]
        changes += reopened(view, again, "masked")  # newer ones were reverted
        # So many are never elided.
        most = -(-(self.n + template + 1) // self.polling) * self.polling - template - 1
        probe = Probe("observations", shown, most, "observations")
        able = f"observations beyond the newest {self.n} that it may elide"
        return decided((border, len(outputs)), changes, probe, able)


class SweAgentClosedWindow(Preset):
    """SWE-agent's closed windows: of each viewed file only the newest view shows its lines.

    It looks at messages of role ``user`` only: prompts, and the outputs of commands that were written as text. What
    a tool call returned stays, unless ``results`` is on. A message with numbered lines that names no file is left
    out, as SWE-agent does.
    """

    preset = "sweagent.closed_window"
    source = "SWE-agent 3ea751c, agent/history_processors.py: ClosedWindowHistoryProcessor"
    sticky = False
    at_first = (0, ())
    """How many items were looked at, and the views of files that they hold, the oldest first."""
    results: bool = False
    """The results of tool calls count as well."""

    def step(self, state: tuple[int, tuple[tuple[str, int], ...]], view: PolicyView) -> Decided:
        seen, known = state
        views = [*known, *self._views(view, seen)]
        newest: set[str] = set()
        changes: list[Change] = []
        for file, one in reversed(views):
            if not view.shows(one):
                continue
            is_closed = view.state(one) == "masked"
            if not file:
                call = call_of_result(view, one) if view.item(one).kind == "output" else None
                changes += dropped(view, [one] if call is None else [call, one])
            elif file not in newest:
                changes += reopened(view, [one], "masked")
            elif not is_closed:
                changes += _closed(view, one)
            newest.add(file)
        probe = Probe("older views of files", len(changes), 0, "views")
        return Decided((view.count, tuple(views)), changes, probe, fired=bool(changes))

    def _views(self, view: PolicyView, first: int) -> list[tuple[str, int]]:
        """Return the file of each view from an item on; empty where its lines are numbered and none is named."""
        found: list[tuple[str, int]] = []
        for one in range(first, view.count):
            kind = view.item(one).kind
            users = kind == "output" and (self.results or was_sent_as_users(view, one))
            if kind == "user" or users:
                text = view.read(one)
                if VIEWED_LINE.search(text) is not None:
                    named = VIEWED_FILE.search(text)
                    found.append((named[1] if named else "", one))
        return found


class SweAgentRemoveRegex(Preset):
    """SWE-agent's remove_regex: what matches a pattern is taken out of all but the newest ``keep`` texts."""

    preset = "sweagent.remove_regex"
    source = "SWE-agent 3ea751c, agent/history_processors.py: RemoveRegex"
    sticky = False
    at_first = 0
    """How many items were looked at: none."""
    remove: tuple[str, ...] = ("<diff>.*</diff>",)
    keep: int = 0

    def step(self, state: int, view: PolicyView) -> Decided:
        until = max(state, view.count - self.keep)
        changes: list[Change] = []
        for one in range(state, until):
            if view.item(one).kind in ("output", "user", "assistant") and is_reducible(view, one):
                whole = text = view.read(one)
                for pattern in self.remove:
                    text = re.sub(pattern, "", text, flags=re.DOTALL)
                if text != whole:
                    changes += replaced(view, [one], "truncated", text)
        probe = Probe("texts with a match", len(changes), 0, "texts")
        return Decided(until, changes, probe, fired=bool(changes))


class MaskWindow(Preset):
    """Observation masking: all but the newest ``n`` observations become a placeholder before every request."""

    preset = "complexity_trap.mask"
    source = "The Complexity Trap, arXiv 2508.21433 v3: M = 10"
    sticky = False
    at_first = 0
    """How many observations are masked: none."""
    n: int = 10
    placeholder: str = ""
    """Empty: the count of lines that SWE-agent writes."""

    def step(self, state: int, view: PolicyView) -> Decided:
        border = border_of_newest(view, self._kept(view))
        changes = reopened(view, view.outputs[border:state], "masked")  # newer ones were reverted
        for one in view.outputs[state:border]:
            if self.placeholder:
                changes += replaced(view, [one], "masked", self.placeholder)
            else:
                changes += _elided(view, one)
        probe = self._probe(view)
        able = f"observations beyond the newest {self.n} that it may mask"
        return decided(border, changes, probe, able)

    def _kept(self, view: PolicyView) -> int:  # noqa: ARG002
        """Return how many of the newest observations stay."""
        return self.n

    def _probe(self, view: PolicyView) -> Probe:
        """Return what is counted, and how many of these may stay."""
        return Probe("observations", view.shown_outputs, self.n, "observations")


class OpenHandsMask(MaskWindow):
    """OpenHands' observation masking: observations before the newest ``n`` events become ``<MASKED>``.

    A message is an event, too, and so is each call: of a session of single calls half as many observations stay.
    """

    preset = "openhands.observation_masking"
    source = "OpenHands 611629e, condenser/impl/observation_masking_condenser.py"
    n: int = 100
    placeholder: str = MASKED

    def _kept(self, view: PolicyView) -> int:
        """Return how many observations are among the newest events."""
        events = shown_events(view)
        newest = events[max(0, len(events) - self.n) :]
        return sum(view.item(one).kind == "output" for one in newest)

    def _probe(self, view: PolicyView) -> Probe:
        """Return how many events there are, and how many may stay."""
        return Probe("events", len(shown_events(view)), self.n, "events")


class OpenHandsBrowserOutput(Preset):
    """OpenHands' browser condenser: of what a browser showed only the newest ``n`` observations stay.

    In the place of the others stand the address and ``placeholder``.
    """

    preset = "openhands.browser_output"
    source = "OpenHands 611629e, condenser/impl/browser_output_condenser.py"
    sticky = False
    at_first = (0, ())
    """How many results were looked at, and those of a browser."""
    n: int = 1
    tool: str = "brows"
    """What the name of a tool that browses contains."""
    placeholder: str = "Content omitted"

    def step(self, state: tuple[int, tuple[int, ...]], view: PolicyView) -> Decided:
        seen, known = state
        new = [one for one in view.outputs[seen:] if self.tool in view.item(one).tool.lower()]
        pages = [one for one in (*known, *new) if is_shown(view, one)]
        border = max(0, len(pages) - self.n)
        changes = reopened(view, pages[border:], "masked")  # newer ones were reverted
        for one in pages[:border]:
            if view.state(one) != "masked":
                changes += replaced(view, [one], "masked", self._text(view, one))
        probe = Probe("pages of a browser", len(pages), self.n, "pages")
        able = f"pages beyond the newest {self.n} that it may mask"
        return decided((len(view.outputs), (*known, *new)), changes, probe, able)

    def _text(self, view: PolicyView, page: int) -> str:
        call = call_of_result(view, page)
        address = input_of(view, call).get("url") if call is not None else None
        return f"Visited URL {address}\n{self.placeholder}" if address else self.placeholder


def _elided(view: PolicyView, index: int) -> list[Change]:
    """Return the change to SWE-agent's text for an elided observation, which counts its lines."""
    lines = len(view.read(index).splitlines())
    return replaced(view, [index], "masked", f"Old environment output: ({lines} lines omitted)")


def _closed(view: PolicyView, index: int) -> list[Change]:
    """Return the change that shows a view of a file without its lines."""
    text = view.read(index)
    lines = list(VIEWED_LINE.finditer(text))
    note = f"Outdated window with {len(lines)} lines omitted...\n"
    text = text[: lines[0].start()] + note + text[lines[-1].end() :]
    return replaced(view, [index], "masked", text)
