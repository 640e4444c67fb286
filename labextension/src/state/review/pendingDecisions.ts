/**
 * Decisions about single changes of a call that were not sent: a question is answered once, for all of its changes.
 *
 * They are the page's, so that notebook and panel show the same.
 */
import type { CellDecision } from '../../protocol/generated';
import { ReadableValue } from '../store/readableValue';

type CellDecisions = ReadonlyMap<number, CellDecision>;

const NO_DECISIONS: CellDecisions = new Map();

/** How a question is answered. */
interface ICellsReply {
  answer: 'once' | 'reject';
  cells?: CellDecision[];
}

/** Holds the decisions by the id of the question. */
class PendingDecisions extends ReadableValue<
  ReadonlyMap<string, CellDecisions>
> {
  /** Returns the decisions about the changes of a question, by their number. */
  decisionsOf(askId: string): CellDecisions {
    return this.getSnapshot().get(askId) ?? NO_DECISIONS;
  }

  decide(askId: string, decisions: readonly CellDecision[]): CellDecisions {
    const decisionsByIndex = new Map(this.decisionsOf(askId));
    decisions.forEach(decision => {
      decisionsByIndex.set(decision.index, decision);
    });
    this._update(askId, decisionsByIndex);
    return decisionsByIndex;
  }

  /** Takes the decision about a change back. */
  takeBack(askId: string, index: number): void {
    const decisionsByIndex = new Map(this.decisionsOf(askId));
    decisionsByIndex.delete(index);
    this._update(askId, decisionsByIndex);
  }

  forget(askId: string): void {
    this._update(askId, NO_DECISIONS);
  }

  private _update(askId: string, decisions: CellDecisions): void {
    const decisionsByAsk = new Map(this.getSnapshot());
    if (decisions.size === 0) {
      decisionsByAsk.delete(askId);
    } else {
      decisionsByAsk.set(askId, decisions);
    }
    this.set(decisionsByAsk);
  }
}

/** The page's decisions. */
export const pendingDecisions = new PendingDecisions(new Map());

/** Returns the reply to a question about `changeCount` changes; null while some are undecided. */
export function replyOf(
  changeCount: number,
  decisions: CellDecisions
): ICellsReply | null {
  const sortedDecisions = [...decisions.values()].sort(
    (left, right) => left.index - right.index
  );
  if (sortedDecisions.length < changeCount) {
    return null;
  }
  if (
    sortedDecisions.every(
      ({ accept, source }) => accept && source === undefined
    )
  ) {
    return { answer: 'once' };
  }
  // Without any reason a rejection of everything ends the turn, as one of every other question does.
  return sortedDecisions.every(({ accept, reason }) => !accept && reason === '')
    ? { answer: 'reject' }
    : { answer: 'once', cells: sortedDecisions };
}
