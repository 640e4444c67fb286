/** Groups the turns of a long transcript into pages; an unchanged page stays the same object. */
import { isSameList, type ITurn } from './turns';

/** The number of turns on a page. */
export const MAX_PAGE_TURNS = 32;

export interface ITurnPage {
  /** The index of its first turn. */
  firstIndex: number;
  turns: readonly ITurn[];
}

/** Groups turns into pages. */
export function pagesOf(
  turns: readonly ITurn[],
  before: readonly ITurnPage[] = []
): readonly ITurnPage[] {
  const pageCount = Math.ceil(turns.length / MAX_PAGE_TURNS);
  return Array.from({ length: pageCount }, (_, number) => {
    const firstIndex = number * MAX_PAGE_TURNS;
    const pageTurns = turns.slice(firstIndex, firstIndex + MAX_PAGE_TURNS);
    const pageBefore = before[number];
    return pageBefore !== undefined && isSameList(pageBefore.turns, pageTurns)
      ? pageBefore
      : { firstIndex, turns: pageTurns };
  });
}
