"""Send work to processes, to any executor, or do it here, and take the results as they come.

Processes are started anew and do not run the caller's script again, so a script needs no ``__main__`` guard
and a notebook none either. A recording that ends a process costs only itself: what was under way is done
again, one at a time, and the one that ends its process once more is named.
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

from palimpsest.review.corpus.session_work import SessionResult, SessionWork, review_source
from palimpsest.transcript.errors import UserError

Told = Callable[[int, int], None]
"""Called with the sources that are done, and all of them."""
LEAST_WORKS = 4
"""Fewer are done here: a process takes a second to start."""
ENDED = "Its process ended while it was read; it may need more memory than there is."


def results_of(works: Sequence[SessionWork], executor: Executor | None) -> Iterator[SessionResult]:
    """Yield the result of each work, in the order in which they end.

    Without an executor they are shared among processes, or done here where there are few, or where a
    policy is defined in the notebook and cannot be sent. Raises UserError where the executor cannot be sent it.
    """
    if executor is not None:
        yield from _from(executor, works)
    elif len(works) < LEAST_WORKS or _is_local(works):
        yield from map(review_source, works)
    else:
        yield from _from_processes(works)


def _from(executor: Executor, works: Sequence[SessionWork]) -> Iterator[SessionResult]:
    futures: dict[Future[SessionResult], SessionWork] = {}
    try:
        futures = {executor.submit(review_source, one): one for one in works}
        for future in as_completed(futures):
            yield _result(future, futures[future])
    except (pickle.PicklingError, AttributeError) as error:
        raise UserError(f"A policy cannot be sent to the executor: {error}.") from error
    finally:
        for future in futures:
            future.cancel()


def _from_processes(works: Sequence[SessionWork]) -> Iterator[SessionResult]:
    left = {one.source: one for one in works}
    workers = min(os.cpu_count() or 1, len(works))
    try:
        for one in _pooled(works, workers):
            del left[one.source]
            yield one
    except BrokenProcessPool:
        for work in [*left.values()]:
            try:
                yield from _pooled([work], 1)
            except BrokenProcessPool:
                yield SessionResult(work.source, problems=(ENDED,), failed=True)


def _pooled(works: Sequence[SessionWork], workers: int) -> Iterator[SessionResult]:
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    try:
        with _without_main():
            futures = [pool.submit(review_source, one) for one in works]
        for future in as_completed(futures):
            yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _result(future: Future[SessionResult], work: SessionWork) -> SessionResult:
    try:
        return future.result()
    except (pickle.PicklingError, AttributeError):
        raise
    except Exception as error:  # noqa: BLE001  # whatever an executor raises is about this work only
        words = f"The executor failed: {type(error).__name__}: {str(error)[:200]}."
        return SessionResult(work.source, problems=(words,), failed=True)


@contextmanager
def _without_main() -> Iterator[None]:
    """Start processes that do not run the caller's script: what is sent to them is defined in modules."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _is_local(works: Sequence[SessionWork]) -> bool:
    """Return whether a policy cannot be sent to a process that does not know the caller's script."""
    for policy in works[0].asked.values():
        try:
            if b"__main__" in pickle.dumps(policy):
                return True
        except (pickle.PicklingError, AttributeError, TypeError):
            return True
    return False
