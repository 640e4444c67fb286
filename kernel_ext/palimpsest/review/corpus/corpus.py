"""All sessions of a folder as one table, and policies compared over all of them.

No source is read before a table is requested. Results are stored for each source (``result_cache``), so a stopped run
continues where it was, and an unchanged source is not read again.
"""

import hashlib
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.replay.moved_summaries import SummaryChoice
from palimpsest.home_paths import home_path
from palimpsest.model.tokenizer import rough_count_sentences
from palimpsest.render.reports.table import ReportTable, ShownAsTable
from palimpsest.review.corpus.corpus_tables import CorpusComparison, data_frame, write_parquet
from palimpsest.review.corpus.executors import ProgressFunction, results_of
from palimpsest.review.corpus.folder_overview import FolderOverview, OverviewOrder, OverviewSession
from palimpsest.review.corpus.progress_bar import default_progress
from palimpsest.review.corpus.result_cache import ResultCache, default_folder, result_key
from palimpsest.review.corpus.session_sources import SessionSource, content_hash, sources_in
from palimpsest.review.corpus.session_work import (
    FIGURES_KEY,
    WASTES_KEY,
    ReplayOptions,
    Rows,
    SessionWork,
)
from palimpsest.review.prices.price_file import PriceWords, price_words
from palimpsest.review.session_figures import SessionFigures, figures_table
from palimpsest.review.session_review import PolicyLike
from palimpsest.review.timeline_view.chosen_policies import policy_from_words
from palimpsest.transcript.errors import UserError

_FIGURES_ADAPTER: TypeAdapter[list[SessionFigures]] = TypeAdapter(list[SessionFigures])
StoredRows = tuple[Rows, tuple[str, ...]]
"""The rows of one result of a source, and the sentences on its problems."""
DIGEST_CHARS = 16


class Corpus(ShownAsTable):
    """The sessions of a folder.

    Responsibilities: review the sources without stored results, store the results, and list what cannot be read. Only
    the results are written.
    """

    def __init__(
        self,
        sources: Sequence[SessionSource],
        executor: Executor | None,
        cache: ResultCache,
        progress: ProgressFunction,
        price: str | None,
        left_out: Sequence[str] = (),
        folder: Path = Path(),
    ) -> None:
        """``folder`` is the absolute path at or below which the sources lie."""
        self._folder = folder
        self.sources = tuple(sources)
        self._executor = executor
        self._cache = cache
        self._progress = progress
        self._price = price
        self._hashes: dict[SessionSource, str] = {}
        self._left_out = tuple(left_out)

    # Figures

    @cached_property
    def _figures_and_problems(self) -> tuple[list[SessionFigures], tuple[str, ...]]:
        figures: list[SessionFigures] = []
        problems: list[str] = []
        results = self._results_by_source({FIGURES_KEY: None}, ReplayOptions(self._price))
        for source in self.sources:
            rows, source_problems = results[source][FIGURES_KEY]
            problems += _with_source_name(source, source_problems)
            figures += _FIGURES_ADAPTER.validate_python(rows)
        return figures, (*problems, *self._left_out)

    @property
    def figures(self) -> tuple[SessionFigures, ...]:
        """The figures of all sessions, in the order of their sources."""
        return tuple(self._figures_and_problems[0])

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence for each place that could not be read, with the source's name."""
        return self._figures_and_problems[1]

    @cached_property
    def table(self) -> ReportTable:
        """One row for each session."""
        figures, problems = self._figures_and_problems
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
            "sessions": [figure.json() for figure in self.figures],
            "problems": list(self.problems),
        }

    def to_dataframe(self) -> Any:
        """Return one row for each session as a pandas DataFrame."""
        return data_frame(self.table)

    def to_parquet(self, path: str | Path) -> None:
        """Write one row for each session to a Parquet file."""
        write_parquet(self.table, path)

    def __repr__(self) -> str:
        return f"Corpus({len(self.sources)} sources)"

    def overview(self, by: OverviewOrder = "cost") -> FolderOverview:
        """Return a row for each session, with its file, parent and wastes, and the totals and remedies of all sessions.

        ``by`` orders the rows, the largest first: ``cost``, ``waste``, ``input``, ``requests``, ``breaks``; or ``file``.
        """
        results = self._results_by_source(
            {FIGURES_KEY: None, WASTES_KEY: None}, ReplayOptions(self._price)
        )
        sessions: list[OverviewSession] = []
        problems: list[str] = []
        for source in self.sources:
            rows, source_problems = results[source][FIGURES_KEY]
            problems += _with_source_name(source, source_problems)
            wastes_by_session = {
                str(row.get("session")): row for row in results[source][WASTES_KEY][0]
            }
            file_name = self._relative_name(source)
            sessions += [
                OverviewSession(file_name, figures, wastes_by_session.get(figures.session, {}))
                for figures in _FIGURES_ADAPTER.validate_python(rows)
            ]
        return FolderOverview.of(sessions, by, (*problems, *self._left_out))

    def _relative_name(self, source: SessionSource) -> str:
        """Return a source's path below the folder."""
        path = Path(source.path)
        return str(path.relative_to(self._folder)) if path != self._folder else path.name

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

        Policies are names, with numbers as in ``"sweagent.last_n n=10"``, or one's own: one that cannot be sent to
        another process is replayed in this one. ``summary`` is that of a session's ``compare``. Raises UserError for an unknown name.
        """
        if summary is not None:
            SummaryChoice.parse(summary)
        policy_list = [policies] if isinstance(policies, str) else list(policies)
        chosen_policies = tuple(map(policy_from_words, policy_list))
        if not chosen_policies:
            raise UserError("Name at least one policy.")
        price_text = " ".join(filter(None, (self._price, price_words(price, lifetime))))
        policy_keys = [policy_key(policy) for policy in chosen_policies]
        policy_by_key = dict(zip(policy_keys, chosen_policies, strict=True))
        results = self._results_by_source(
            policy_by_key, ReplayOptions(price_text or None, window, summary)
        )
        problems: list[str] = []
        for source in self.sources:
            source_problems = (text for key in policy_keys for text in results[source][key][1])
            problems += _with_source_name(source, dict.fromkeys(source_problems))
        rows_by_policy = tuple(
            [row for source in self.sources for row in results[source][key][0]]
            for key in policy_keys
        )
        problems += rough_count_sentences(
            policy.estimator
            for policy in chosen_policies
            if policy is not None and not isinstance(policy, str)
        )
        return CorpusComparison(rows_by_policy, tuple(problems))

    # Work

    def _results_by_source(
        self, policy_by_key: Mapping[str, str | ContextPolicy | None], options: ReplayOptions
    ) -> dict[SessionSource, dict[str, StoredRows]]:
        """Return the requested results of each source by their keys: as stored, else computed now."""
        results = {
            source: self._stored_rows(source, policy_by_key, options) for source in self.sources
        }
        works: list[SessionWork] = []
        for source, stored_rows in results.items():
            missing_policies = {
                key: policy_by_key[key] for key in policy_by_key if key not in stored_rows
            }
            if missing_policies:
                works.append(SessionWork(source, missing_policies, options))
        done_count = len(self.sources) - len(works)
        self._progress(done_count, len(self.sources))
        for result in results_of(works, self._executor):
            done_count += 1
            source_results = results[result.source]
            # Results of a failed source are not stored, so it is tried again the next time.
            for key in [
                missing_key for missing_key in policy_by_key if missing_key not in source_results
            ]:
                source_results[key] = rows, problems = result.rows.get(key, []), result.problems
                storage_key = self._storage_key(result.source, key, options)
                if storage_key and not result.failed:
                    self._cache.put(storage_key, rows, problems)
            self._progress(done_count, len(self.sources))
        return results

    def _stored_rows(
        self, source: SessionSource, keys: Iterable[str], options: ReplayOptions
    ) -> dict[str, StoredRows]:
        stored_rows: dict[str, StoredRows] = {}
        for key in keys:
            storage_key = self._storage_key(source, key, options)
            rows = self._cache.get(storage_key) if storage_key else None
            if rows is not None and (key != FIGURES_KEY or _are_figures(rows[0])):
                stored_rows[key] = rows
        return stored_rows

    def _storage_key(self, source: SessionSource, key: str, options: ReplayOptions) -> str:
        """Return the name under which a result is stored; empty where the source cannot be read."""
        if source not in self._hashes:
            try:
                self._hashes[source] = content_hash(source)
            except (OSError, ValueError, UserError):
                self._hashes[source] = ""
        digest = self._hashes[source]
        if not digest:
            return ""
        # The choice of summaries is part of the name only where there is one.
        replay_options = options if options.summary is not None else options[:2]
        return result_key(digest, source.session, key, *replay_options)


def corpus(
    folder: str | Path,
    executor: Executor | None = None,
    *,
    cache: str | Path | bool | None = None,
    progress: ProgressFunction | None = None,
    price: PriceWords | None = None,
    lifetime: str | float | None = None,
) -> Corpus:
    """Return all sessions of a folder of recordings or projects as one lazy table.

    ``executor`` is any of ``concurrent.futures``, or Dask's; without one, processes. ``cache`` is the folder
    of kept results, ``.palimpsest/review`` of the current project by default, False for none. ``progress`` is
    called with the number of finished sources and the number of all sources. ``price`` is a model's id, ``units``,
    ``MODEL=in/out/read/write`` or a price file, several in a list; without one, what was recorded. ``lifetime`` are the
    seconds for which the cache keeps a prefix. Raises UserError where the folder holds no session.
    """
    if isinstance(cache, str | Path):
        cache_folder: Path | None = home_path(cache)
    else:
        cache_folder = None if cache is False else default_folder()
    folder_sources = sources_in(folder)
    return Corpus(
        folder_sources.sources,
        executor,
        ResultCache(cache_folder),
        progress or default_progress(),
        price_words(price, lifetime),
        folder_sources.left_out,
        home_path(folder).absolute(),
    )


def policy_key(policy: str | ContextPolicy | None) -> str:
    """Return the key of a policy in stored results, from its name, numbers, source and code."""
    if policy is None or isinstance(policy, str):
        return str(policy or "raw")
    policy_type = type(policy)
    try:
        code = inspect.getsource(policy_type)
    except (OSError, TypeError):
        code = ""
    numbers = repr(policy) if hasattr(policy_type, "__dataclass_fields__") else ""
    digest = hashlib.sha256(f"{code}\0{policy.source}".encode()).hexdigest()[:DIGEST_CHARS]
    rough_note = " roughly counted" if rough_count_sentences([policy.estimator]) else ""
    return f"{policy_type.__module__}.{policy_type.__qualname__} {policy.name} {numbers} {digest}{rough_note}"


def _with_source_name(source: SessionSource, problems: Iterable[str]) -> list[str]:
    return [f"{source.name}: {problem}" for problem in problems]


def _are_figures(rows: Rows) -> bool:
    try:
        _FIGURES_ADAPTER.validate_python(rows)
    except ValidationError:
        return False
    return True
