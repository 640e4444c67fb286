/** Groups the turns of a long transcript into pages; an unchanged page stays the same object. */
import { isSameList, type ITurn } from './turns';

/** The number of turns on a page. */
export const PAGE_TURNS = 32;

export interface ITurnPage {
  /** The index of its first turn. */
  first: number;
  turns: readonly ITurn[];
}

/** Groups turns into pages. */
export function pagesOf(
  turns: readonly ITurn[],
  before: readonly ITurnPage[] = []
): readonly ITurnPage[] {
  const count = Math.ceil(turns.length / PAGE_TURNS);
  return Array.from({ length: count }, (_, number) => {
    const first = number * PAGE_TURNS;
    const pageTurns = turns.slice(first, first + PAGE_TURNS);
    const known = before[number];
    return known !== undefined && isSameList(known.turns, pageTurns)
      ? known
      : { first, turns: pageTurns };
  });
}
