/** The tokens that a request had written anew: as reported by the provider, or estimated from the texts. */
import type { TimelineView } from '../../../protocol/generated';
import type { IDifference } from './difference';
import { pricesOfRequest } from './requestCost';

export interface IWrittenAnew {
  /** Tokens that came from the cache, unchanged tokens that were written anew, and new tokens. */
  readonly cachedTokens: number;
  readonly rewrittenTokens: number;
  readonly newTokens: number;
  /** In the money of the view's price. */
  readonly cost: number;
  readonly reason: string;
  /** Whether cached tokens were not read from the cache; in an estimate: would not be. */
  readonly isBreak: boolean;
  /** Whether an estimate loses the cache only because the recording did. */
  readonly isBreakTaken: boolean;
  readonly isFact: boolean;
}

/** Returns the three pieces of the later request, and the price of the second. */
export function writtenAnew(
  view: TimelineView,
  difference: IDifference
): IWrittenAnew {
  const { reported, estimated, olderRequest, newerRequest } = difference;
  const cacheBreak = view.breaks.find(entry => entry.request === newerRequest);
  if (reported !== null) {
    const tokensBefore = Math.min(
      view.requests.reported[olderRequest] ?? 0,
      reported.inputTokens
    );
    // Where nothing is cached, what only grew sends the words of the request before again, and pays for them.
    const isGrown =
      reported.readTokens < 1 && difference.firstChangedItem === null;
    // Where nothing came from a cache though something changed, the words that stayed were paid for again, too.
    // How many is known by the texts only, whose sum is not what was reported.
    const unchangedTokens = difference.commonTokens + difference.repeatedTokens;
    const rewrittenByTexts =
      reported.readTokens < 1
        ? (reported.inputTokens * unchangedTokens) /
          Math.max(unchangedTokens + difference.newTokens, 1)
        : 0;
    const rewrittenTokens =
      cacheBreak?.loss ?? (isGrown ? tokensBefore : rewrittenByTexts);
    return {
      cachedTokens: reported.readTokens,
      rewrittenTokens,
      newTokens: Math.max(
        reported.inputTokens - reported.readTokens - rewrittenTokens,
        0
      ),
      cost: cacheBreak?.cost ?? 0,
      reason: cacheBreak?.words ?? '',
      isBreak: cacheBreak !== undefined,
      isBreakTaken: false,
      isFact: true
    };
  }
  const { input, read, write } = pricesOfRequest(view, newerRequest);
  const extraPriceOfToken = Math.max((write || input) - read, 0);
  const isBreakTaken = estimated?.isBreakTaken ?? false;
  const cachedTokens = Math.min(
    estimated?.readTokens ?? difference.commonTokens,
    difference.commonTokens
  );
  const rewrittenTokens =
    difference.commonTokens - cachedTokens + difference.repeatedTokens;
  return {
    cachedTokens,
    rewrittenTokens,
    newTokens: difference.newTokens,
    cost: (rewrittenTokens * extraPriceOfToken) / 1e6,
    reason: isBreakTaken ? (cacheBreak?.words ?? '') : '',
    isBreak: isBreakTaken || difference.repeatedTokens >= 1,
    isBreakTaken,
    isFact: false
  };
}
