"""Policies that replace old observations by a placeholder, whatever the size of the request, and call no model."""

import re

from palimpsest.context_policies.interface.policy import Change, PolicyResult, PolicyView, Probe
from palimpsest.context_policies.interface.settings import Preset
from palimpsest.context_policies.items.reducible import (
    border_of_newest,
    call_of_result,
    decided_with_reason,
    is_reducible,
    is_shown,
    placeholder_changes,
    removal_changes,
    restoring_changes,
    shown_events,
    shown_results_since,
)
from palimpsest.context_policies.items.tool_calls import input_of, is_text_command_output

MASKED_TEXT = "<MASKED>"
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
    initial_state = (0, 0)
    """Number of elided observations and number of considered ones: none."""
    n: int = 5
    polling: int = 1
    always_keep: tuple[str, ...] = ()
    """Tools tagged ``keep_output``."""
    always_remove: tuple[str, ...] = ()
    """Tools tagged ``remove_output``."""

    def step(self, state: tuple[int, int], view: PolicyView) -> PolicyResult:
        elided_count, considered_count = state
        outputs = view.outputs
        shown_count = view.shown_outputs
        template_prompts = 1  # SWE-agent's instance template counts as an observation
        rounded_count = (shown_count + template_prompts) // self.polling * self.polling
        kept_count = shown_count - max(0, rounded_count - self.n - template_prompts)
        border = border_of_newest(view, kept_count)
        old_outputs = [
            index
            for index in outputs[elided_count:border]
            if view.item(index).tool not in self.always_keep
        ]
        if self.always_remove:
            new_outputs = outputs[max(considered_count, border) :]
            old_outputs += [
                output_index
                for output_index in new_outputs
                if view.item(output_index).tool in self.always_remove
            ]
        changes = [
            change
            for output_index in old_outputs
            for change in _line_count_changes(view, output_index)
        ]
        outputs_shown_again = [
            output_index
            for output_index in outputs[border:elided_count]
            if view.item(output_index).tool not in self.always_remove
        ]
        # After newer observations were reverted, older ones are shown again.
        changes += restoring_changes(view, outputs_shown_again, "masked")
        # The largest number of observations at which none is elided yet.
        max_unelided = (
            -(-(self.n + template_prompts + 1) // self.polling) * self.polling
            - template_prompts
            - 1
        )
        probe = Probe("observations", shown_count, max_unelided, "observations")
        candidates_text = f"observations beyond the newest {self.n} that it may elide"
        return decided_with_reason((border, len(outputs)), changes, probe, candidates_text)


class SweAgentClosedWindow(Preset):
    """SWE-agent's closed windows: only the newest view of each file shows the file's lines.

    Only messages of role ``user`` are considered: prompts, and the outputs of commands that were written as text.
    Results of tool calls stay, unless ``results`` is on. A message with numbered lines that names no file is removed, as
    in SWE-agent.
    """

    preset = "sweagent.closed_window"
    source = "SWE-agent 3ea751c, agent/history_processors.py: ClosedWindowHistoryProcessor"
    sticky = False
    initial_state = (0, ())
    """Number of items considered so far, and the views of files in them, the oldest first."""
    results: bool = False
    """Whether the results of tool calls are considered as well."""

    def step(
        self, state: tuple[int, tuple[tuple[str, int], ...]], view: PolicyView
    ) -> PolicyResult:
        considered_count, views_before = state
        views = [*views_before, *self._file_views(view, considered_count)]
        newer_files: set[str] = set()
        changes: list[Change] = []
        for file_name, index in reversed(views):
            if not view.shows(index):
                continue
            is_closed = view.state(index) == "masked"
            if not file_name:
                call_index = (
                    call_of_result(view, index) if view.item(index).kind == "output" else None
                )
                changes += removal_changes(
                    view, [index] if call_index is None else [call_index, index]
                )
            elif file_name not in newer_files:
                changes += restoring_changes(view, [index], "masked")
            elif not is_closed:
                changes += _changes_without_lines(view, index)
            newer_files.add(file_name)
        probe = Probe("older views of files", len(changes), 0, "views")
        return PolicyResult((view.count, tuple(views)), changes, probe, fired=bool(changes))

    def _file_views(self, view: PolicyView, first_item: int) -> list[tuple[str, int]]:
        """Return the file and item of each view from ``first_item`` on; the file is empty where none is named."""
        views: list[tuple[str, int]] = []
        for index in range(first_item, view.count):
            kind = view.item(index).kind
            is_command_output = kind == "output" and (
                self.results or is_text_command_output(view, index)
            )
            if kind == "user" or is_command_output:
                text = view.read(index)
                if VIEWED_LINE.search(text) is not None:
                    file_match = VIEWED_FILE.search(text)
                    views.append((file_match[1] if file_match else "", index))
        return views


class SweAgentRemoveRegex(Preset):
    """SWE-agent's remove_regex: what matches a pattern is taken out of all but the ``keep_texts`` newest texts."""

    preset = "sweagent.remove_regex"
    source = "SWE-agent 3ea751c, agent/history_processors.py: RemoveRegex"
    sticky = False
    initial_state = 0
    """Number of items considered so far: none."""
    remove: tuple[str, ...] = ("<diff>.*</diff>",)
    keep_texts: int = 0

    def step(self, state: int, view: PolicyView) -> PolicyResult:
        end = max(state, view.count - self.keep_texts)
        changes: list[Change] = []
        for index in range(state, end):
            is_text = view.item(index).kind in ("output", "user", "assistant")
            if is_text and is_reducible(view, index):
                text_before = text = view.read(index)
                for pattern in self.remove:
                    text = re.sub(pattern, "", text, flags=re.DOTALL)
                if text != text_before:
                    changes += placeholder_changes(view, [index], "truncated", text)
        probe = Probe("texts with a match", len(changes), 0, "texts")
        return PolicyResult(end, changes, probe, fired=bool(changes))


class MaskWindow(Preset):
    """Observation masking: all but the newest ``n`` observations become a placeholder before every request."""

    preset = "complexity_trap.mask"
    source = "The Complexity Trap, arXiv 2508.21433 v3: M = 10"
    sticky = False
    initial_state = 0
    """Number of observations that are masked: none."""
    n: int = 10
    placeholder: str = ""
    """The text in place of an observation; empty: SWE-agent's count of lines."""

    def step(self, state: int, view: PolicyView) -> PolicyResult:
        border = border_of_newest(view, self._kept_count(view))
        # After newer observations were reverted, older ones are shown again.
        changes = restoring_changes(view, view.outputs[border:state], "masked")
        for index in view.outputs[state:border]:
            if self.placeholder:
                changes += placeholder_changes(view, [index], "masked", self.placeholder)
            else:
                changes += _line_count_changes(view, index)
        probe = self._probe(view)
        candidates_text = f"observations beyond the newest {self.n} that it may mask"
        return decided_with_reason(border, changes, probe, candidates_text)

    def _kept_count(self, view: PolicyView) -> int:  # noqa: ARG002
        """Return how many of the newest observations stay."""
        return self.n

    def _probe(self, view: PolicyView) -> Probe:
        """Return the number of observations, and how many of these may stay."""
        return Probe("observations", view.shown_outputs, self.n, "observations")


class OpenHandsMask(MaskWindow):
    """OpenHands' observation masking: observations before the newest ``n`` events become ``<MASKED>``.

    Messages and calls are events, too: in a session whose answers make one call each, half as many observations stay.
    """

    preset = "openhands.observation_masking"
    source = "OpenHands 611629e, condenser/impl/observation_masking_condenser.py"
    n: int = 100
    placeholder: str = MASKED_TEXT

    def _kept_count(self, view: PolicyView) -> int:
        """Return how many observations are among the newest events."""
        newest_events = shown_events(view)[-self.n :] if self.n > 0 else []
        return shown_results_since(view, newest_events[0]) if newest_events else 0

    def _probe(self, view: PolicyView) -> Probe:
        """Return the number of events, and how many may stay."""
        return Probe("events", len(shown_events(view)), self.n, "events")


class OpenHandsBrowserOutput(Preset):
    """OpenHands' browser condenser: only the newest ``n`` observations from a browser stay.

    The others are replaced by their address and ``placeholder``.
    """

    preset = "openhands.browser_output"
    source = "OpenHands 611629e, condenser/impl/browser_output_condenser.py"
    sticky = False
    initial_state = (0, ())
    """Number of results considered so far, and a browser's results among them."""
    n: int = 1
    tool: str = "brows"
    """Text that the names of browsing tools contain."""
    placeholder: str = "Content omitted"

    def step(self, state: tuple[int, tuple[int, ...]], view: PolicyView) -> PolicyResult:
        considered_count, pages_before = state
        new_outputs = [
            index
            for index in view.outputs[considered_count:]
            if self.tool in view.item(index).tool.lower()
        ]
        pages = [index for index in (*pages_before, *new_outputs) if is_shown(view, index)]
        border = max(0, len(pages) - self.n)
        # After newer pages were reverted, older ones are shown again.
        changes = restoring_changes(view, pages[border:], "masked")
        for page_index in pages[:border]:
            if view.state(page_index) != "masked":
                changes += placeholder_changes(
                    view, [page_index], "masked", self._placeholder_text(view, page_index)
                )
        probe = Probe("pages of a browser", len(pages), self.n, "pages")
        candidates_text = f"pages beyond the newest {self.n} that it may mask"
        return decided_with_reason(
            (len(view.outputs), (*pages_before, *new_outputs)), changes, probe, candidates_text
        )

    def _placeholder_text(self, view: PolicyView, page_index: int) -> str:
        call_index = call_of_result(view, page_index)
        address = input_of(view, call_index).get("url") if call_index is not None else None
        return f"Visited URL {address}\n{self.placeholder}" if address else self.placeholder


def _line_count_changes(view: PolicyView, index: int) -> list[Change]:
    """Return the change that shows SWE-agent's text for an elided observation, with the number of its lines."""
    line_count = len(view.read(index).splitlines())
    return placeholder_changes(
        view, [index], "masked", f"Old environment output: ({line_count} lines omitted)"
    )


def _changes_without_lines(view: PolicyView, index: int) -> list[Change]:
    """Return the change that shows a view of a file without its lines."""
    text = view.read(index)
    lines = list(VIEWED_LINE.finditer(text))
    note = f"Outdated window with {len(lines)} lines omitted...\n"
    text = text[: lines[0].start()] + note + text[lines[-1].end() :]
    return placeholder_changes(view, [index], "masked", text)
