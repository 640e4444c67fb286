/** What becomes of a notebook's cells when changes are made to them, and which changes cannot be made: pure functions. */
import type { CellChange, CellResult } from '../../protocol/generated';

/** A cell before the changes. */
export interface IKnownCell {
  id: string;
  source: string;
  /** Whether the user keeps it from the agent. */
  isHidden: boolean;
  isEditable: boolean;
  isDeletable: boolean;
}

/** A cell after the changes. */
export interface IPlannedCell {
  id: string;
  source: string;
  /** Its index before the changes; null for a new one. */
  before: number | null;
  /** Whether it gets another source. */
  isEdited: boolean;
  /** The change that inserted it. */
  inserted?: CellChange;
}

/** The outcome of changes, if all of them can be made. */
export interface IChangePlan {
  /** One for each change. */
  results: CellResult[];
  /** All cells, in their new order. */
  cells: IPlannedCell[];
}

/** Plans changes one after another: each finds the cells as the ones before it left them. */
export function planChanges(
  before: readonly IKnownCell[],
  changes: readonly CellChange[]
): IChangePlan {
  const known = new Map(before.map(cell => [cell.id, cell]));
  const cells = before.map(({ id, source }, index): IPlannedCell => ({
    id,
    source,
    before: index,
    isEdited: false
  }));
  const results = changes.map(change => planChange(cells, known, change));
  return { results, cells };
}

function planChange(
  cells: IPlannedCell[],
  known: ReadonlyMap<string, IKnownCell>,
  change: CellChange
): CellResult {
  const { action, cell: id } = change;
  const index = cells.findIndex(cell => cell.id === id);
  const planned = cells[index];
  if (action === 'insert') {
    if (planned !== undefined) {
      return { cell: id, problem: 'changed', source: planned.source };
    }
    const at = indexBehind(cells, change.after);
    if (at < 0) {
      return { cell: id, problem: 'missing' };
    }
    cells.splice(at, 0, {
      id,
      source: change.new ?? '',
      before: null,
      isEdited: false,
      inserted: change
    });
    return { cell: id };
  }
  if (planned === undefined) {
    return { cell: id, problem: 'missing' };
  }
  const cell = known.get(id);
  if (cell?.isHidden === true) {
    return { cell: id, problem: 'hidden' };
  }
  if (planned.source !== change.old) {
    return { cell: id, problem: 'changed', source: planned.source };
  }
  if (action === 'edit') {
    if (cell?.isEditable === false) {
      return { cell: id, problem: 'locked' };
    }
    planned.source = change.new ?? '';
    planned.isEdited = true;
    return { cell: id };
  }
  const wasAfter = cells[index - 1]?.id;
  if (action === 'delete') {
    if (cell?.isDeletable === false) {
      return { cell: id, problem: 'locked' };
    }
    cells.splice(index, 1);
    return { cell: id, was_after: wasAfter };
  }
  if (change.after !== id) {
    const others = cells.filter(other => other !== planned);
    const at = indexBehind(others, change.after);
    if (at < 0) {
      return { cell: id, problem: 'missing' };
    }
    cells.splice(index, 1);
    cells.splice(at, 0, planned);
  }
  return { cell: id, was_after: wasAfter };
}

/** Returns the index behind a cell, 0 without one, and -1 where the cell is missing. */
function indexBehind(
  cells: readonly IPlannedCell[],
  id: string | undefined
): number {
  if (id === undefined) {
    return 0;
  }
  const index = cells.findIndex(cell => cell.id === id);
  return index < 0 ? -1 : index + 1;
}

/**
 * Returns the indexes, before the changes, of the cells that stay where they are while others are moved around them.
 *
 * The shared model moves a cell by making it again, which costs the cell its own undo and a reader in it the cursor. So
 * the heaviest cells stay, and as many as possible.
 */
export function stayingCells(
  cells: readonly IPlannedCell[],
  weight: (before: number) => number
): ReadonlySet<number> {
  const oldIndexes = cells.flatMap(({ before }) =>
    before === null ? [] : [before]
  );
  if (
    oldIndexes.every((before, index) => before > (oldIndexes[index - 1] ?? -1))
  ) {
    return new Set(oldIndexes);
  }
  const sums: number[] = [];
  const previous: number[] = [];
  for (const [index, before] of oldIndexes.entries()) {
    let best = -1;
    for (let other = 0; other < index; other += 1) {
      if (
        (oldIndexes[other] ?? 0) < before &&
        (sums[other] ?? 0) > (sums[best] ?? 0)
      ) {
        best = other;
      }
    }
    previous.push(best);
    sums.push((sums[best] ?? 0) + weight(before));
  }
  const staying = new Set<number>();
  let index = sums.indexOf(Math.max(...sums));
  while (index >= 0) {
    staying.add(oldIndexes[index] ?? -1);
    index = previous[index] ?? -1;
  }
  return staying;
}

/** A replacement of the characters from `start` to `end`. */
interface IReplacement {
  start: number;
  end: number;
  text: string;
}

/** Returns the shortest replacement that makes one text of another, so that cursors elsewhere in it stay. */
export function shortestReplacement(was: string, now: string): IReplacement {
  const shorter = Math.min(was.length, now.length);
  let start = 0;
  while (start < shorter && was[start] === now[start]) {
    start += 1;
  }
  let tail = 0;
  while (tail < shorter - start && was.at(-1 - tail) === now.at(-1 - tail)) {
    tail += 1;
  }
  // A pair of surrogates is one character, which the shared text must not divide.
  if (isHighSurrogate(was, start - 1) || isHighSurrogate(now, start - 1)) {
    start -= 1;
  }
  if (
    isLowSurrogate(was, was.length - tail) ||
    isLowSurrogate(now, now.length - tail)
  ) {
    tail -= 1;
  }
  return {
    start,
    end: was.length - tail,
    text: now.slice(start, now.length - tail)
  };
}

function isHighSurrogate(text: string, index: number): boolean {
  return /[\uD800-\uDBFF]/.test(text.charAt(index));
}

function isLowSurrogate(text: string, index: number): boolean {
  return /[\uDC00-\uDFFF]/.test(text.charAt(index));
}
