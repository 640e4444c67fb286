"""Run work in processes, on any executor, or in this process, and yield the results as they arrive.

New processes do not run the caller's script again, so neither a script nor a notebook needs a ``__main__`` guard. If a
recording ends a process, only that recording is lost: the unfinished works are done again, one at a time, and a recording
that ends its process a second time is reported.
"""

import multiprocessing
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import ModuleType

from palimpsest.review.corpus.session_work import (
    MAX_ERROR_CHARS,
    SessionResult,
    SessionWork,
    review_source,
)
from palimpsest.transcript.errors import UserError

ProgressFunction = Callable[[int, int], None]
"""A function that is called with the number of finished sources, and that of all sources."""
MIN_WORKS = 4
"""Minimum pieces of work for which processes are started, since the start of a process takes a second."""
PROCESS_ENDED_SENTENCE = (
    "Its process ended while it was read; it may need more memory than there is."
)


def results_of(works: Sequence[SessionWork], executor: Executor | None) -> Iterator[SessionResult]:
    """Yield the result of each piece of work, in the order in which they end.

    Without an executor, works are shared among processes, or done in this process where there are few, or where a policy
    is defined in the notebook and cannot be sent. Raises UserError where a policy cannot be sent to the executor.
    """
    if executor is not None:
        yield from _results_from_executor(executor, works)
    elif len(works) < MIN_WORKS or _has_local_policy(works):
        yield from map(review_source, works)
    else:
        yield from _results_from_processes(works)


def _results_from_executor(
    executor: Executor, works: Sequence[SessionWork]
) -> Iterator[SessionResult]:
    futures: dict[Future[SessionResult], SessionWork] = {}
    try:
        futures = {executor.submit(review_source, work): work for work in works}
        for future in as_completed(futures):
            yield _future_result(future, futures[future])
    except (pickle.PicklingError, AttributeError) as error:
        raise UserError(f"A policy cannot be sent to the executor: {error}.") from error
    finally:
        for future in futures:
            future.cancel()


def _results_from_processes(works: Sequence[SessionWork]) -> Iterator[SessionResult]:
    unfinished_by_source = {work.source: work for work in works}
    worker_count = min(os.cpu_count() or 1, len(works))
    try:
        for result in _results_from_pool(works, worker_count):
            del unfinished_by_source[result.source]
            yield result
    except BrokenProcessPool:
        for work in [*unfinished_by_source.values()]:
            try:
                yield from _results_from_pool([work], 1)
            except BrokenProcessPool:
                yield SessionResult(work.source, problems=(PROCESS_ENDED_SENTENCE,), failed=True)


def _results_from_pool(works: Sequence[SessionWork], worker_count: int) -> Iterator[SessionResult]:
    pool = ProcessPoolExecutor(worker_count, mp_context=multiprocessing.get_context("spawn"))
    try:
        with _without_main():
            futures = [pool.submit(review_source, work) for work in works]
        for future in as_completed(futures):
            yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _future_result(future: Future[SessionResult], work: SessionWork) -> SessionResult:
    try:
        return future.result()
    except (pickle.PicklingError, AttributeError):
        raise
    except Exception as error:  # noqa: BLE001  # every error of an executor concerns this work only
        sentence = f"The executor failed: {type(error).__name__}: {str(error)[:MAX_ERROR_CHARS]}."
        return SessionResult(work.source, problems=(sentence,), failed=True)


@contextmanager
def _without_main() -> Iterator[None]:
    """Keep processes that start in this context from running the caller's script, which their work does not need."""
    main_module = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main_module


def _has_local_policy(works: Sequence[SessionWork]) -> bool:
    """Return whether a policy cannot be sent to a process that does not run the caller's script."""
    for policy in works[0].policy_by_key.values():
        try:
            if b"__main__" in pickle.dumps(policy):
                return True
        except (pickle.PicklingError, AttributeError, TypeError):
            return True
    return False
