/**
 * A long transcript as pages of turns: what did not change is the same page as before.
 */
import type { ITurn } from './turns';

/** So many turns are a page. */
export const PAGE_TURNS = 32;

export interface ITurnPage {
  /** How many turns stand before it. */
  first: number;
  turns: readonly ITurn[];
}

/** Cuts turns into pages. */
export function pages(
  turns: readonly ITurn[],
  before: readonly ITurnPage[] = []
): readonly ITurnPage[] {
  const count = Math.ceil(turns.length / PAGE_TURNS);
  return Array.from({ length: count }, (_, number) => {
    const first = number * PAGE_TURNS;
    const now = turns.slice(first, first + PAGE_TURNS);
    const known = before[number];
    return known?.turns.length === now.length &&
      now.every((turn, index) => turn === known.turns[index])
      ? known
      : { first, turns: now };
  });
}
