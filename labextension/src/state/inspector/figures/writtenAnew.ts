/** The tokens that a request had written anew: as reported by the provider, or estimated from the texts. */
import type { TimelineView } from '../../../protocol/generated';
import type { IDifference } from './difference';
import { pricesOfRequest } from './requestCost';

export interface IWrittenAnew {
  /** Tokens that came from the cache, unchanged tokens that were written anew, and new tokens. */
  readonly read: number;
  readonly anew: number;
  readonly fresh: number;
  /** In the money of the view's price. */
  readonly cost: number;
  readonly why: string;
  /** Whether cached tokens were not read from the cache; in an estimate: would not be. */
  readonly isBreak: boolean;
  /** Whether an estimate loses the cache only because the recording did. */
  readonly isTaken: boolean;
  readonly isFact: boolean;
}

/** Returns the three pieces of the later request, and the price of the second. */
export function writtenAnew(
  view: TimelineView,
  change: IDifference
): IWrittenAnew {
  const { reported, estimated, from, to } = change;
  const cacheBreak = view.breaks.find(entry => entry.request === to);
  if (reported !== null) {
    const before = Math.min(view.requests.reported[from] ?? 0, reported.input);
    // Where nothing is cached, what only grew sends the words of the request before again, and pays for them.
    const isGrown = reported.read < 1 && change.firstChanged === null;
    // Where nothing came from a cache though something changed, the words that stayed were paid for again, too.
    // How many is known by the texts only, whose sum is not what was reported.
    const same = change.common + change.again;
    const stayed =
      reported.read < 1
        ? (reported.input * same) / Math.max(same + change.fresh, 1)
        : 0;
    const anew = cacheBreak?.loss ?? (isGrown ? before : stayed);
    return {
      read: reported.read,
      anew,
      fresh: Math.max(reported.input - reported.read - anew, 0),
      cost: cacheBreak?.cost ?? 0,
      why: cacheBreak?.words ?? '',
      isBreak: cacheBreak !== undefined,
      isTaken: false,
      isFact: true
    };
  }
  const { input, read, write } = pricesOfRequest(view, to);
  const perToken = Math.max((write || input) - read, 0);
  const isTaken = estimated?.isTaken ?? false;
  const fromCache = Math.min(estimated?.read ?? change.common, change.common);
  const anew = change.common - fromCache + change.again;
  return {
    read: fromCache,
    anew,
    fresh: change.fresh,
    cost: (anew * perToken) / 1e6,
    why: isTaken ? (cacheBreak?.words ?? '') : '',
    isBreak: isTaken || change.again >= 1,
    isTaken,
    isFact: false
  };
}
