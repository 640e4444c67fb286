/** Computes what a session and its child sessions have spent, and the spending limit. */
import type { SessionInfo } from '../../protocol/generated';

interface ISpending {
  /** US dollars of the requests with a known price; undefined if no price was known. */
  cost: number | undefined;
  tokens: number;
  /** The number of requests without a known price; the cost leaves them out. */
  unpricedCount: number;
  /** The limits in effect. */
  maxDollars: number | undefined;
  maxTokens: number | undefined;
}

/** Returns what a session and its subagents cost, with the limits in effect. */
export function spendingOf(session: SessionInfo | undefined): ISpending {
  const { below, budget, cost, tokens, unpriced } = session ?? {};
  const knownCosts = [cost, below?.cost].filter(cost => cost !== undefined);
  const totalTokens = tokenSum(tokens) + tokenSum(below?.tokens);
  // A fork shows its parent's answers, and its own known cost is zero.
  const isCostUnknown =
    knownCosts.length === 0 && (session === undefined || totalTokens > 0);
  return {
    cost: isCostUnknown
      ? undefined
      : knownCosts.reduce((sum, cost) => sum + cost, 0),
    tokens: totalTokens,
    unpricedCount: (unpriced ?? 0) + (below?.unpriced ?? 0),
    maxDollars: budget?.usd_until ?? budget?.usd,
    maxTokens: budget?.tokens_until ?? budget?.tokens
  };
}

function tokenSum(usage: SessionInfo['tokens'] | undefined): number {
  const { cache_read, cache_write, input, output, reasoning } = usage ?? {};
  return [cache_read, cache_write, input, output, reasoning].reduce<number>(
    (sum, count) => sum + (count ?? 0),
    0
  );
}
