/** Computes what a session and its child sessions have spent, and the spending limit. */
import type { SessionInfo } from '../../protocol/generated';

interface ISpending {
  /** US dollars of the requests with a known price; undefined if no price was known. */
  cost: number | undefined;
  tokens: number;
  /** The number of requests without a known price; the cost leaves them out. */
  unpriced: number;
  /** The limits in effect. */
  usd: number | undefined;
  limit: number | undefined;
}

/** Returns what a session and its subagents cost, with the limits in effect. */
export function spendingOf(session: SessionInfo | undefined): ISpending {
  const { below, budget, cost, tokens, unpriced } = session ?? {};
  const known = [cost, below?.cost].filter(count => count !== undefined);
  const totalTokens = tokenSum(tokens) + tokenSum(below?.tokens);
  // A fork shows its parent's answers, and its own known cost is zero.
  const unknown =
    known.length === 0 && (session === undefined || totalTokens > 0);
  return {
    cost: unknown ? undefined : known.reduce((sum, count) => sum + count, 0),
    tokens: totalTokens,
    unpriced: (unpriced ?? 0) + (below?.unpriced ?? 0),
    usd: budget?.usd_until ?? budget?.usd,
    limit: budget?.tokens_until ?? budget?.tokens
  };
}

function tokenSum(usage: SessionInfo['tokens'] | undefined): number {
  const { cache_read, cache_write, input, output, reasoning } = usage ?? {};
  return [cache_read, cache_write, input, output, reasoning].reduce<number>(
    (sum, count) => sum + (count ?? 0),
    0
  );
}
