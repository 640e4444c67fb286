/**
 * Decisions about single changes of a call that were not sent: a question is answered once, for all of its changes.
 *
 * They are the page's, so that notebook and panel show the same.
 */
import type { CellDecision } from '../../protocol/generated';
import { ReadableValue } from '../store/readableValue';

type CellDecisions = ReadonlyMap<number, CellDecision>;

const NONE: CellDecisions = new Map();

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
  of(ask: string): CellDecisions {
    return this.getSnapshot().get(ask) ?? NONE;
  }

  decide(ask: string, decisions: readonly CellDecision[]): CellDecisions {
    const decided = new Map(this.of(ask));
    decisions.forEach(decision => {
      decided.set(decision.index, decision);
    });
    this._update(ask, decided);
    return decided;
  }

  /** Takes the decision about a change back. */
  takeBack(ask: string, index: number): void {
    const decided = new Map(this.of(ask));
    decided.delete(index);
    this._update(ask, decided);
  }

  forget(ask: string): void {
    this._update(ask, NONE);
  }

  private _update(ask: string, decisions: CellDecisions): void {
    const value = new Map(this.getSnapshot());
    if (decisions.size === 0) {
      value.delete(ask);
    } else {
      value.set(ask, decisions);
    }
    this.set(value);
  }
}

/** The page's decisions. */
export const pendingDecisions = new PendingDecisions(new Map());

/** Returns the reply to a question about so many changes; null while some are undecided. */
export function replyOf(
  count: number,
  decisions: CellDecisions
): ICellsReply | null {
  const decided = [...decisions.values()].sort(
    (left, right) => left.index - right.index
  );
  if (decided.length < count) {
    return null;
  }
  if (decided.every(({ accept, source }) => accept && source === undefined)) {
    return { answer: 'once' };
  }
  // Without any reason a rejection of everything ends the turn, as one of every other question does.
  return decided.every(({ accept, reason }) => !accept && reason === '')
    ? { answer: 'reject' }
    : { answer: 'once', cells: decided };
}
