/**
 * Computes what a session and its child sessions have spent, and the spending limit.
 */
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

/** Returns the sums. */
export function spending(session: SessionInfo | undefined): ISpending {
  const { below, budget, cost, tokens, unpriced } = session ?? {};
  const known = [cost, below?.cost].filter(one => one !== undefined);
  const all = total(tokens) + total(below?.tokens);
  // A fork shows its parent's answers, and its own known cost is zero.
  const unknown = known.length === 0 && (session === undefined || all > 0);
  return {
    cost: unknown ? undefined : known.reduce((sum, one) => sum + one, 0),
    tokens: all,
    unpriced: (unpriced ?? 0) + (below?.unpriced ?? 0),
    usd: budget?.usd_until ?? budget?.usd,
    limit: budget?.tokens_until ?? budget?.tokens
  };
}

function total(usage: SessionInfo['tokens'] | undefined): number {
  const { cache_read, cache_write, input, output, reasoning } = usage ?? {};
  return [cache_read, cache_write, input, output, reasoning].reduce<number>(
    (all, one) => all + (one ?? 0),
    0
  );
}
