"""Policies that show a placeholder of old observations, however large the request is, and call no model.

Rules and numbers follow spec/review.md 2.1, read from the projects at the versions named in each ``source``.
"""

import re
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from palimpsest.review.policies.policy import Change, Decided, PolicyView, Probe, SessionFacts
from palimpsest.review.policies.reducible import (
    border_of_newest,
    decided,
    is_reducible,
    is_shown,
    replaced,
    shortened,
)
from palimpsest.review.policies.settings import Preset

MASKED = "<MASKED>"
PREVIEW_NOTE_CHARS = 60
"""Characters around a preview: what was masked, how long it was and in which file it is."""
VIEWED_FILE = re.compile(r"\[File:\s+([^\n]{1,500}?)\s+\(\d+\s+lines total\)\]")
VIEWED_LINE = re.compile(r"^\d+:.*?(?:\n|\Z)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class GeminiMask(Preset):
    """Gemini CLI's masking: results older than the newest ``protect`` tokens become a head, a tail and a file.

    Nothing is masked below ``minimum`` tokens; the latest turn is kept.
    """

    preset: ClassVar[str] = "gemini.mask"
    source: ClassVar[str] = "Gemini CLI 5411f11, services/toolOutputMaskingService.ts"
    protect: int = 50_000
    minimum: int = 30_000
    preview_chars: int = 500
    """Characters of head and of tail that stay."""

    def start(self, facts: SessionFacts) -> "MaskedUntil":  # noqa: ARG002
        """Return that nothing is masked and nothing was weighed."""
        return MaskedUntil()

    def step(self, state: "MaskedUntil", view: PolicyView) -> Decided:
        """Mask what lies beyond the protected tokens, if it is enough."""
        # What was beyond them stays beyond, unless something else was shown otherwise since.
        known = view.changes is not None and view.changes == state.changes
        weighed = self._weighed(state if known else MaskedUntil(state.masked, state.masked), view)
        probe = Probe("tokens of results that may be masked", weighed.freed, self.minimum)
        if weighed.freed <= self.minimum:
            return Decided(weighed, probe=probe)
        outputs = view.outputs
        found = [one for one in outputs[state.masked : weighed.beyond] if _is_unmasked(view, one)]
        size = 2 * self.preview_chars + PREVIEW_NOTE_CHARS
        changes = [
            change for one in reversed(found) for change in shortened(view, one, size, "masked")
        ]
        able = f"results of over {size} characters among them"
        return decided(MaskedUntil(weighed.beyond), changes, probe, able)

    def _weighed(self, known: "MaskedUntil", view: PolicyView) -> "MaskedUntil":
        """Return where the protected tokens begin now; only results that are new or leave them are looked at.

        A result that an earlier policy of a pipeline shortened is as long as it left it.
        """
        outputs, turn = view.outputs, view.turn
        beyond, freed, protected = known.beyond, known.freed, known.protected
        for one in outputs[max(known.seen, beyond) :]:
            if _is_unmasked(view, one):
                protected += view.tokens(one)
        place = beyond
        while protected > self.protect and place < len(outputs):
            one = outputs[place]
            place += 1
            if not _is_unmasked(view, one):
                continue
            if view.item(one).turn >= turn:
                break
            protected -= view.tokens(one)
            freed += view.tokens(one)
            beyond = place
        return MaskedUntil(known.masked, beyond, freed, view.changes, protected, len(outputs))


class MaskedUntil(NamedTuple):
    """How far results are masked, and what was weighed beyond the protected tokens."""

    masked: int = 0
    """The place of the first result that is not masked."""
    beyond: int = 0
    """The place before which all that is not masked was weighed."""
    freed: int = 0
    """The tokens of these."""
    changes: int | None = None
    """``PolicyView.changes`` when they were weighed."""
    protected: int = 0
    """The tokens of the results from there on."""
    seen: int = 0
    """How many results there were then."""


def _is_unmasked(view: PolicyView, index: int) -> bool:
    """Return whether a result may be masked and is not."""
    return view.shows(index) and view.state(index) != "masked" and not view.item(index).pinned


@dataclass(frozen=True, kw_only=True)
class SweAgentLastN(Preset):
    """SWE-agent's last n observations: all older ones are elided before every request.

    With ``polling`` over 1 the border moves in steps of so many observations, which spares the cache. Tools can
    be tagged, so that their observations always stay or never do.
    """

    preset: ClassVar[str] = "sweagent.last_n"
    source: ClassVar[str] = (
        "SWE-agent 3ea751c, agent/history_processors.py: LastNObservations, TagToolCallObservations"
    )
    sticky: ClassVar[bool] = False
    n: int = 5
    polling: int = 1
    always_keep: tuple[str, ...] = ()
    """Tools tagged ``keep_output``."""
    always_remove: tuple[str, ...] = ()
    """Tools tagged ``remove_output``."""

    def start(self, facts: SessionFacts) -> tuple[int, int]:  # noqa: ARG002
        """Return how many observations are elided and how many were looked at: none."""
        return 0, 0

    def step(self, state: tuple[int, int], view: PolicyView) -> Decided:
        """Elide the observations that are no longer among the newest."""
        elided, seen = state
        outputs = view.outputs
        shown = view.shown_outputs
        late = shown % self.polling if self.polling > 1 else 0
        border = max(border_of_newest(view, self.n + late), elided)
        old = [one for one in outputs[elided:border] if view.item(one).tool not in self.always_keep]
        if self.always_remove:
            new = outputs[max(seen, border) :]
            old += [one for one in new if view.item(one).tool in self.always_remove]
        changes = [change for one in old for change in _elided(view, one)]
        step = max(self.polling, 1)
        most = (self.n // step + 1) * step - 1  # so many are never elided
        probe = Probe("observations", shown, most, "observations")
        able = f"observations beyond the newest {self.n} that it may elide"
        return decided((border, len(outputs)), changes, probe, able)


@dataclass(frozen=True, kw_only=True)
class SweAgentClosedWindow(Preset):
    """SWE-agent's closed windows: of each viewed file only the newest view shows its lines."""

    preset: ClassVar[str] = "sweagent.closed_window"
    source: ClassVar[str] = (
        "SWE-agent 3ea751c, agent/history_processors.py: ClosedWindowHistoryProcessor"
    )
    sticky: ClassVar[bool] = False

    def start(self, facts: SessionFacts) -> tuple[int, tuple[tuple[str, int], ...]]:  # noqa: ARG002
        """Return how many observations were looked at, and the newest view of each file."""
        return 0, ()

    def step(self, state: tuple[int, tuple[tuple[str, int], ...]], view: PolicyView) -> Decided:
        """Close the older views of files that were viewed again."""
        seen, known = state
        newest = dict(known)
        changes: list[Change] = []
        for one in view.outputs[seen:]:
            text = view.read(one)
            found = VIEWED_FILE.search(text)
            if found is None or VIEWED_LINE.search(text) is None:
                continue
            before = newest.get(found[1])
            if before is not None:
                changes += _closed(view, before)
            newest[found[1]] = one
        probe = Probe("older views of files", len(changes), 0, "views")
        state = (len(view.outputs), tuple(newest.items()))
        return Decided(state, changes, probe, fired=bool(changes))


@dataclass(frozen=True, kw_only=True)
class SweAgentRemoveRegex(Preset):
    """SWE-agent's remove_regex: what matches a pattern is taken out of all but the newest ``keep`` texts."""

    preset: ClassVar[str] = "sweagent.remove_regex"
    source: ClassVar[str] = "SWE-agent 3ea751c, agent/history_processors.py: RemoveRegex"
    sticky: ClassVar[bool] = False
    remove: tuple[str, ...] = ("<diff>.*</diff>",)
    keep: int = 0

    def start(self, facts: SessionFacts) -> int:  # noqa: ARG002
        """Return how many items were looked at: none."""
        return 0

    def step(self, state: int, view: PolicyView) -> Decided:
        """Take the matches out of the texts that are no longer among the newest."""
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


@dataclass(frozen=True, kw_only=True)
class MaskWindow(Preset):
    """Observation masking: all but the newest ``n`` observations become a placeholder before every request."""

    preset: ClassVar[str] = "complexity_trap.mask"
    source: ClassVar[str] = "The Complexity Trap, arXiv 2508.21433 v3: M = 10"
    sticky: ClassVar[bool] = False
    n: int = 10
    placeholder: str = ""
    """Empty: the count of lines that SWE-agent writes."""

    def start(self, facts: SessionFacts) -> int:  # noqa: ARG002
        """Return how many observations are masked: none."""
        return 0

    def step(self, state: int, view: PolicyView) -> Decided:
        """Mask the observations that are no longer among the newest."""
        border = max(state, border_of_newest(view, self.n))
        changes: list[Change] = []
        for one in view.outputs[state:border]:
            if self.placeholder:
                changes += replaced(view, [one], "masked", self.placeholder)
            else:
                changes += _elided(view, one)
        probe = Probe("observations", view.shown_outputs, self.n, "observations")
        able = f"observations beyond the newest {self.n} that it may mask"
        return decided(border, changes, probe, able)


@dataclass(frozen=True, kw_only=True)
class OpenHandsMask(MaskWindow):
    """OpenHands' observation masking: all but the newest observations become ``<MASKED>``."""

    preset: ClassVar[str] = "openhands.observation_masking"
    source: ClassVar[str] = "OpenHands 611629e, condenser/impl/observation_masking_condenser.py"
    n: int = 100
    placeholder: str = MASKED


@dataclass(frozen=True, kw_only=True)
class OpenHandsBrowserOutput(Preset):
    """OpenHands' browser condenser: of what a browser showed only the newest ``n`` observations stay."""

    preset: ClassVar[str] = "openhands.browser_output"
    source: ClassVar[str] = "OpenHands 611629e, condenser/impl/browser_output_condenser.py"
    sticky: ClassVar[bool] = False
    n: int = 1
    tool: str = "brows"
    """What the name of a tool that browses contains."""
    placeholder: str = "Content omitted"

    def start(self, facts: SessionFacts) -> tuple[int, tuple[int, ...]]:  # noqa: ARG002
        """Return how many results were looked at, and the newest ones of a browser."""
        return 0, ()

    def step(self, state: tuple[int, tuple[int, ...]], view: PolicyView) -> Decided:
        """Mask the pages that are no longer among the newest."""
        seen, newest = state
        new = [one for one in view.outputs[seen:] if self.tool in view.item(one).tool.lower()]
        pages = [one for one in (*newest, *new) if is_shown(view, one)]
        old = pages[: max(0, len(pages) - self.n)]
        changes = replaced(view, old, "masked", self.placeholder)
        probe = Probe("pages of a browser", len(pages), self.n, "pages")
        kept = tuple(pages[len(old) :])
        able = f"pages beyond the newest {self.n} that it may mask"
        return decided((len(view.outputs), kept), changes, probe, able)


def _elided(view: PolicyView, index: int) -> list[Change]:
    """Return the change to SWE-agent's text for an elided observation, which counts its lines."""
    lines = view.read(index).count("\n") + 1
    return replaced(view, [index], "masked", f"Old environment output: ({lines} lines omitted)")


def _closed(view: PolicyView, index: int) -> list[Change]:
    """Return the change that shows a view of a file without its lines."""
    text = view.read(index)
    lines = list(VIEWED_LINE.finditer(text))
    note = f"Outdated window with {len(lines)} lines omitted...\n"
    text = text[: lines[0].start()] + note + text[lines[-1].end() :]
    return replaced(view, [index], "masked", text)


PRESETS: tuple[type[Preset], ...] = (
    GeminiMask,
    SweAgentLastN,
    SweAgentClosedWindow,
    SweAgentRemoveRegex,
    MaskWindow,
    OpenHandsMask,
    OpenHandsBrowserOutput,
)
