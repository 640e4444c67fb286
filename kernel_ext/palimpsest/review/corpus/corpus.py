"""All sessions of a folder as one table, and policies compared over all of them.

Nothing is read before a table is asked for. What was found of a source is kept (``result_cache``), so that a
run that was stopped goes on where it was, and a source that did not change is not read again.
"""

import hashlib
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from palimpsest.home_paths import home_path
from palimpsest.render.reports.table import ReportTable, ShownAsTable
from palimpsest.review.comparison.price_file import PriceWords, price_words
from palimpsest.review.comparison.session_figures import SessionFigures, figures_table
from palimpsest.review.comparison.session_review import PolicyLike
from palimpsest.review.corpus.corpus_tables import CorpusComparison, data_frame, write_parquet
from palimpsest.review.corpus.executors import Told, results_of
from palimpsest.review.corpus.progress_bar import default_progress
from palimpsest.review.corpus.result_cache import ResultCache, default_folder, result_key
from palimpsest.review.corpus.session_sources import (
    SessionSource,
    content_hash,
    passed_over_in,
    sources_in,
)
from palimpsest.review.corpus.session_work import (
    FIGURES,
    ReplayOptions,
    Rows,
    SessionWork,
)
from palimpsest.review.recordings.preset_policies import policy_from_words
from palimpsest.review.replay.moved_summaries import SummaryChoice
from palimpsest.transcript.errors import UserError

_FIGURES: TypeAdapter[list[SessionFigures]] = TypeAdapter(list[SessionFigures])
Kept = tuple[Rows, tuple[str, ...]]


class Corpus(ShownAsTable):
    """The sessions of a folder.

    Responsibilities: find the sources, have them reviewed where that was not done yet, keep what was found,
    and name what cannot be read. Nothing is written but the kept results.
    """

    def __init__(
        self,
        sources: Sequence[SessionSource],
        executor: Executor | None,
        cache: ResultCache,
        progress: Told,
        price: str | None,
        passed_over: Sequence[str] = (),
    ) -> None:
        self.sources = tuple(sources)
        self._executor = executor
        self._cache = cache
        self._progress = progress
        self._price = price
        self._hashes: dict[SessionSource, str] = {}
        self._passed_over = tuple(passed_over)

    # Figures

    @cached_property
    def _found(self) -> tuple[list[SessionFigures], tuple[str, ...]]:
        figures: list[SessionFigures] = []
        problems: list[str] = []
        found = self._reviewed({FIGURES: None}, ReplayOptions(self._price))
        for source in self.sources:
            rows, told = found[source][FIGURES]
            problems += _named(source, told)
            figures += _FIGURES.validate_python(rows)
        return figures, (*problems, *self._passed_over)

    @property
    def figures(self) -> tuple[SessionFigures, ...]:
        """The figures of all sessions, in the order of their sources."""
        return tuple(self._found[0])

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be read, a sentence each, with the source's name."""
        return self._found[1]

    @cached_property
    def table(self) -> ReportTable:
        """One row a session."""
        figures, problems = self._found
        notes = (f"{len(problems)} problems; `problems` names them.",) if problems else ()
        return figures_table(f"{len(figures)} sessions", figures, notes)

    def __iter__(self) -> Iterator[SessionFigures]:
        return iter(self.figures)

    def __len__(self) -> int:
        return len(self.figures)

    def json(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {
            "schema": 1,
            "sessions": [one.json() for one in self.figures],
            "problems": list(self.problems),
        }

    def to_dataframe(self) -> Any:
        """Return one row a session as a pandas DataFrame."""
        return data_frame(self.table)

    def to_parquet(self, path: str | Path) -> None:
        """Write one row a session to a Parquet file."""
        write_parquet(self.table, path)

    def __repr__(self) -> str:
        return f"Corpus({len(self.sources)} sources)"

    # Policies

    def compare(
        self,
        policies: Sequence[PolicyLike] | str,
        *,
        price: PriceWords | None = None,
        lifetime: str | float | None = None,
        window: int = 0,
        summary: str | None = None,
    ) -> CorpusComparison:
        """Return policies side by side over all sessions that have requests.

        Policies are names, with numbers as in ``"sweagent.last_n n=10"``, or policies that can be sent to
        another process. ``summary`` is that of a session's ``compare``. Raises UserError for an unknown name.
        """
        if summary is not None:
            SummaryChoice.of(summary)
        wanted = [policies] if isinstance(policies, str) else list(policies)
        made = tuple(policy_from_words(one) if isinstance(one, str) else one for one in wanted)
        if not made:
            raise UserError("Name at least one policy.")
        words = " ".join(filter(None, (self._price, price_words(price, lifetime))))
        keys = [policy_key(one) for one in made]
        asked = dict(zip(keys, made, strict=True))
        found = self._reviewed(asked, ReplayOptions(words or None, window, summary))
        problems = [
            told
            for source in self.sources
            for told in _named(
                source, [*dict.fromkeys(p for key in keys for p in found[source][key][1])]
            )
        ]
        rows = tuple(
            [row for source in self.sources for row in found[source][key][0]] for key in keys
        )
        return CorpusComparison(rows, tuple(problems))

    # Work

    def _reviewed(
        self, asked: Mapping[str, PolicyLike], options: ReplayOptions
    ) -> dict[SessionSource, dict[str, Kept]]:
        """Return for each source what was asked, by its key: kept earlier, or found now."""
        found = {source: self._kept(source, asked, options) for source in self.sources}
        works = [
            SessionWork(source, {key: asked[key] for key in asked if key not in kept}, options)
            for source, kept in found.items()
            if len(kept) < len(asked)
        ]
        done = len(self.sources) - len(works)
        self._progress(done, len(self.sources))
        for result in results_of(works, self._executor):
            done += 1
            into = found[result.source]
            # What failed is not kept, and is tried again the next time.
            for key in [one for one in asked if one not in into]:
                into[key] = rows, problems = result.rows.get(key, []), result.problems
                name = self._name(result.source, key, options)
                if name and not result.failed:
                    self._cache.put(name, rows, problems)
            self._progress(done, len(self.sources))
        return found

    def _kept(
        self, source: SessionSource, asked: Iterable[str], options: ReplayOptions
    ) -> dict[str, Kept]:
        """Return what is kept about a source."""
        kept: dict[str, Kept] = {}
        for key in asked:
            name = self._name(source, key, options)
            rows = self._cache.get(name) if name else None
            if rows is not None and (key != FIGURES or _are_figures(rows[0])):
                kept[key] = rows
        return kept

    def _name(self, source: SessionSource, key: str, options: ReplayOptions) -> str:
        """Return the name under which an answer is kept; empty where the source cannot be read."""
        if source not in self._hashes:
            try:
                self._hashes[source] = content_hash(source)
            except (OSError, ValueError):
                self._hashes[source] = ""
        content = self._hashes[source]
        if not content:
            return ""
        asked = options if options.summary is not None else options[:2]
        return result_key(content, source.session, key, *asked)


def corpus(
    folder: str | Path,
    executor: Executor | None = None,
    *,
    cache: str | Path | bool | None = None,
    progress: Told | None = None,
    price: PriceWords | None = None,
    lifetime: str | float | None = None,
) -> Corpus:
    """Return all sessions of a folder of recordings or projects as one lazy table.

    ``executor`` is any of ``concurrent.futures``, or Dask's; without one, processes. ``cache`` is the folder
    of kept results, ``.palimpsest/review`` of the current project by default, False for none. ``progress`` is
    called with the sources that are done and all of them. ``price`` is a model's id, ``units``,
    ``MODEL=in/out/read/write`` or a price file, several in a list; without one, what was recorded. ``lifetime`` are the
    seconds for which the cache keeps a prefix. Raises UserError where the folder holds no session.
    """
    if isinstance(cache, str | Path):
        kept: Path | None = home_path(cache)
    else:
        kept = None if cache is False else default_folder()
    return Corpus(
        sources_in(folder),
        executor,
        ResultCache(kept),
        progress or default_progress(),
        price_words(price, lifetime),
        passed_over_in(folder),
    )


def policy_key(policy: PolicyLike) -> str:
    """Return what a policy is known by in kept results: its name, numbers, source and code."""
    if policy is None or isinstance(policy, str):
        return str(policy or "raw")
    kind = type(policy)
    try:
        code = inspect.getsource(kind)
    except (OSError, TypeError):
        code = ""
    numbers = repr(policy) if hasattr(kind, "__dataclass_fields__") else ""
    digest = hashlib.sha256(f"{code}\0{policy.source}".encode()).hexdigest()[:16]
    return f"{kind.__module__}.{kind.__qualname__} {policy.name} {numbers} {digest}"


def _named(source: SessionSource, problems: Sequence[str]) -> list[str]:
    return [f"{source.name}: {one}" for one in problems]


def _are_figures(rows: Rows) -> bool:
    try:
        _FIGURES.validate_python(rows)
    except ValidationError:
        return False
    return True
