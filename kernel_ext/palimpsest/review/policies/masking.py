"""Policies that put a placeholder in the place of old results before each request, and call no model.

Rules and numbers were read from the projects at the versions named in each ``source``.
"""

import re
from dataclasses import dataclass
from typing import ClassVar

from palimpsest.review.policies.permitted import ABSENT
from palimpsest.review.policies.policy import Change, Decided, PolicyView, Probe
from palimpsest.review.policies.settings import ActsAt, Preset

MASKED = "<MASKED>"
BROWSER_TOOLS = frozenset({"browser", "browse", "browse_interactive", "browse_url"})
BROWSER_PREFIX = "browser_"
NUMBERED_LINE = re.compile(r"^\d+:.*(?:\n|$)", re.MULTILINE)
OPEN_FILE = re.compile(r"\[File: (\S[^\n]{0,400}) \(\d{1,9} lines total\)\]")


@dataclass(frozen=True, kw_only=True)
class GeminiMask(Preset):
    """Gemini CLI's masking: results older than the newest ``protect`` tokens become a head, a tail and a file.

    Nothing is masked below ``minimum`` tokens; the latest turn is kept.
    """

    preset: ClassVar[str] = "gemini.mask"
    source: ClassVar[str] = "Gemini CLI, services/toolOutputMaskingService.ts"
    version: ClassVar[str] = "5411f11"
    acts_at: ClassVar[ActsAt] = "threshold"
    protect: int = 50_000
    minimum: int = 30_000
    preview_chars: int = 500
    """Characters of head and of tail that stay."""

    def decide(self, state: int, view: PolicyView) -> Decided:
        """Mask what lies beyond the protected tokens, if it is enough."""
        passed = freed = 0
        found: list[int] = []
        for index in reversed(view.outputs):
            item = view.item(index)
            shown = view.state(index)
            if shown == "masked" or shown in ABSENT or item.pinned:
                continue
            weight = view.tokens(index)
            passed += weight
            if passed > self.protect and item.turn < view.turn:
                freed += weight
                found.append(index)
        probe = Probe("tokens of results that may be masked", freed, self.minimum)
        if freed <= self.minimum:
            return Decided(state, probe=probe)
        most = 2 * self.preview_chars + 60
        changes = [
            Change(index, "masked", chars=min(view.item(index).chars, most)) for index in found
        ]
        return Decided(state, changes, probe, fired=True)


@dataclass(frozen=True, kw_only=True)
class SweAgentLastN(Preset):
    """SWE-agent's last n observations: all older ones are elided before every request.

    With ``polling`` over 1 the border moves in steps of so many observations, which spares the cache.
    """

    preset: ClassVar[str] = "sweagent.last_n"
    source: ClassVar[str] = "SWE-agent, agent/history_processors.py: LastNObservations"
    version: ClassVar[str] = "3ea751c"
    sticky: ClassVar[bool] = False
    n: int = 5
    polling: int = 1
    always_keep: tuple[str, ...] = ()
    """Tools whose results stay, as those with the tag ``keep_output``."""
    always_remove: tuple[str, ...] = ()
    """Tools whose results are elided at once, as those with the tag ``remove_output``."""

    def decide(self, state: int, view: PolicyView) -> Decided:
        """Elide the observations that are no longer among the newest."""
        outputs = view.outputs
        border = (len(outputs) // self.polling) * self.polling - self.n
        probe = Probe("observations", len(outputs), self.n, "observations")
        gone = [
            one
            for one in outputs[state : max(border, state)]
            if view.item(one).tool not in self.always_keep and view.state(one) != "masked"
        ]
        if self.always_remove:
            gone += [
                one
                for one in outputs[max(border, state) :]
                if view.item(one).tool in self.always_remove and view.state(one) != "masked"
            ]
        changes = [Change(one, "masked", _elided(view, one)) for one in gone]
        return Decided(max(border, state), changes, probe, fired=bool(changes))


@dataclass(frozen=True, kw_only=True)
class SweAgentClosedWindow(Preset):
    """SWE-agent's closed windows: of several views of one file only the newest shows its lines."""

    preset: ClassVar[str] = "sweagent.closed_window"
    source: ClassVar[str] = "SWE-agent, agent/history_processors.py: ClosedWindowHistoryProcessor"
    version: ClassVar[str] = "3ea751c"
    sticky: ClassVar[bool] = False

    def start(self, facts: object) -> tuple[int, dict[str, int]]:  # noqa: ARG002
        """Return how many observations were looked at, and the open window of each file: none."""
        return 0, {}

    def decide(self, state: tuple[int, dict[str, int]], view: PolicyView) -> Decided:
        """Close the windows of files that were shown again."""
        seen, windows = state
        found = dict(windows)
        closed: list[Change] = []
        for index in view.outputs[seen:]:
            text = view.read(index)
            file = OPEN_FILE.search(text)
            if file is None or NUMBERED_LINE.search(text) is None:
                continue
            if file[1] in found:
                closed.append(_closed(view, found[file[1]]))
            found[file[1]] = index
        probe = Probe("older windows of a file", len(closed), 0, "windows")
        return Decided((len(view.outputs), found), closed, probe, fired=bool(closed))


@dataclass(frozen=True, kw_only=True)
class MaskWindow(Preset):
    """Observation masking: all but the newest ``n`` observations become a placeholder before every request."""

    preset: ClassVar[str] = "complexity_trap.mask"
    source: ClassVar[str] = "The Complexity Trap, arXiv 2508.21433: M = 10"
    version: ClassVar[str] = "v3"
    sticky: ClassVar[bool] = False
    n: int = 10
    placeholder: str = ""
    """Empty: the count of lines that SWE-agent writes."""

    def decide(self, state: int, view: PolicyView) -> Decided:
        """Mask the observations that are no longer among the newest."""
        border = max(state, len(view.outputs) - self.n)
        probe = Probe("observations", len(view.outputs), self.n, "observations")
        gone = view.outputs[state:border]
        changes = [Change(one, "masked", self.placeholder or _elided(view, one)) for one in gone]
        return Decided(border, changes, probe, fired=bool(changes))


@dataclass(frozen=True, kw_only=True)
class OpenHandsMask(MaskWindow):
    """OpenHands' observation masking: all but the newest observations become ``<MASKED>``."""

    preset: ClassVar[str] = "openhands.observation_masking"
    source: ClassVar[str] = "OpenHands, condenser/impl/observation_masking_condenser.py"
    version: ClassVar[str] = "611629e"
    n: int = 100
    placeholder: str = MASKED


@dataclass(frozen=True, kw_only=True)
class OpenHandsBrowser(Preset):
    """OpenHands' browser masking: only the newest result of the browser stays; the older ones become a sentence."""

    preset: ClassVar[str] = "openhands.browser_output"
    source: ClassVar[str] = "OpenHands, condenser/impl/browser_output_condenser.py"
    version: ClassVar[str] = "611629e"
    sticky: ClassVar[bool] = False
    n: int = 1

    def start(self, facts: object) -> tuple[int, tuple[int, ...]]:  # noqa: ARG002
        """Return how many results were looked at, and the newest ones of the browser: none."""
        return 0, ()

    def decide(self, state: tuple[int, tuple[int, ...]], view: PolicyView) -> Decided:
        """Mask what is no longer among the newest."""
        seen, newest = state
        pages = [*newest, *(one for one in view.outputs[seen:] if _is_page(view.item(one).tool))]
        border = max(0, len(pages) - self.n)
        probe = Probe("results of the browser", len(pages), self.n, "results")
        changes = [Change(one, "masked", "Content omitted") for one in pages[:border]]
        left = (len(view.outputs), tuple(pages[border:]))
        return Decided(left, changes, probe, fired=bool(changes))


def _is_page(tool: str) -> bool:
    return tool in BROWSER_TOOLS or tool.startswith(BROWSER_PREFIX)


def _closed(view: PolicyView, index: int) -> Change:
    """Return the decision that leaves out the numbered lines of a window."""
    text = view.read(index)
    lines = [*NUMBERED_LINE.finditer(text)]
    words = f"Outdated window with {len(lines)} lines omitted...\n"
    left = len(text) - (lines[-1].end() - lines[0].start()) + len(words)
    return Change(index, "masked", chars=min(left, view.item(index).chars))


def _elided(view: PolicyView, index: int) -> str:
    """Return SWE-agent's text for an elided observation, which counts its lines."""
    lines = view.read(index).count("\n") + 1
    return f"Old environment output: ({lines} lines omitted)"
