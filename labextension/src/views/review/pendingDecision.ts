/** Decisions about changes that were made on this page and not sent yet. */
import { useSyncExternalStore } from 'react';
import type { CellDecision } from '../../protocol/generated';
import type { IReviewedChange } from '../../state/review/cellReview';
import { pendingDecisions } from '../../state/review/pendingDecisions';

/** Returns the changes about which no decision waits for those about the others. */
export function useChangesWithoutDecision(
  changes: readonly IReviewedChange[]
): readonly IReviewedChange[] {
  const decisions = useSyncExternalStore(
    pendingDecisions.subscribe,
    pendingDecisions.getSnapshot
  );
  return changes.filter(
    ({ ask, index }) => decisions.get(ask?.id ?? '')?.has(index) !== true
  );
}

/** Returns the decision that waits for those about the other changes of its question; undefined if there is none. */
export function usePendingDecision(
  change: IReviewedChange | undefined
): CellDecision | undefined {
  return useSyncExternalStore(pendingDecisions.subscribe, () =>
    change === undefined
      ? undefined
      : pendingDecisions.decisionsOf(change.ask?.id ?? '').get(change.index)
  );
}
