/** What a person said of a change on this page that was not sent yet. */
import { useSyncExternalStore } from 'react';
import type { CellDecision } from '../../protocol/generated';
import type { IReviewedChange } from '../../state/review/cellReview';
import { pendingDecisions } from '../../state/review/pendingDecisions';

/** Returns the changes about which no decision waits for those about the others. */
export function useWithoutDecision(
  changes: readonly IReviewedChange[]
): readonly IReviewedChange[] {
  const all = useSyncExternalStore(
    pendingDecisions.subscribe,
    pendingDecisions.getSnapshot
  );
  return changes.filter(
    ({ ask, index }) => all.get(ask?.id ?? '')?.has(index) !== true
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
