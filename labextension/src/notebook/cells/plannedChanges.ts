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
  indexBefore: number | null;
  /** Whether it gets another source. */
  isEdited: boolean;
  /** The change that inserted it. */
  insertion?: CellChange;
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
  const cellsById = new Map(before.map(cell => [cell.id, cell]));
  const cells = before.map(({ id, source }, index): IPlannedCell => ({
    id,
    source,
    indexBefore: index,
    isEdited: false
  }));
  const results = changes.map(change => planChange(cells, cellsById, change));
  return { results, cells };
}

function planChange(
  cells: IPlannedCell[],
  cellsById: ReadonlyMap<string, IKnownCell>,
  change: CellChange
): CellResult {
  const { action, cell: id } = change;
  const index = cells.findIndex(cell => cell.id === id);
  const planned = cells[index];
  if (action === 'insert') {
    if (planned !== undefined) {
      return { cell: id, problem: 'changed', source: planned.source };
    }
    const newIndex = indexBehind(cells, change.after);
    if (newIndex < 0) {
      return { cell: id, problem: 'missing' };
    }
    cells.splice(newIndex, 0, {
      id,
      source: change.new ?? '',
      indexBefore: null,
      isEdited: false,
      insertion: change
    });
    return { cell: id };
  }
  if (planned === undefined) {
    return { cell: id, problem: 'missing' };
  }
  const cell = cellsById.get(id);
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
  const previousId = cells[index - 1]?.id;
  if (action === 'delete') {
    if (cell?.isDeletable === false) {
      return { cell: id, problem: 'locked' };
    }
    cells.splice(index, 1);
    return { cell: id, was_after: previousId };
  }
  if (change.after !== id) {
    const others = cells.filter(other => other !== planned);
    const newIndex = indexBehind(others, change.after);
    if (newIndex < 0) {
      return { cell: id, problem: 'missing' };
    }
    cells.splice(index, 1);
    cells.splice(newIndex, 0, planned);
  }
  return { cell: id, was_after: previousId };
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
  const oldIndexes = cells.flatMap(({ indexBefore: oldIndex }) =>
    oldIndex === null ? [] : [oldIndex]
  );
  if (
    oldIndexes.every((before, index) => before > (oldIndexes[index - 1] ?? -1))
  ) {
    return new Set(oldIndexes);
  }
  const weightSums: number[] = [];
  const previousPositions: number[] = [];
  for (const [index, before] of oldIndexes.entries()) {
    let bestPosition = -1;
    for (let other = 0; other < index; other += 1) {
      if (
        (oldIndexes[other] ?? 0) < before &&
        (weightSums[other] ?? 0) > (weightSums[bestPosition] ?? 0)
      ) {
        bestPosition = other;
      }
    }
    previousPositions.push(bestPosition);
    weightSums.push((weightSums[bestPosition] ?? 0) + weight(before));
  }
  const stayingIndexes = new Set<number>();
  let index = weightSums.indexOf(Math.max(...weightSums));
  while (index >= 0) {
    stayingIndexes.add(oldIndexes[index] ?? -1);
    index = previousPositions[index] ?? -1;
  }
  return stayingIndexes;
}

/** A replacement of the characters from `start` to `end`. */
interface IReplacement {
  start: number;
  end: number;
  text: string;
}

/** Returns the shortest replacement that makes one text of another, so that cursors elsewhere in it stay. */
export function shortestReplacement(
  oldText: string,
  newText: string
): IReplacement {
  const shorterLength = Math.min(oldText.length, newText.length);
  let start = 0;
  while (start < shorterLength && oldText[start] === newText[start]) {
    start += 1;
  }
  let tailLength = 0;
  while (
    tailLength < shorterLength - start &&
    oldText.at(-1 - tailLength) === newText.at(-1 - tailLength)
  ) {
    tailLength += 1;
  }
  // A pair of surrogates is one character, which the shared text must not divide.
  if (
    isHighSurrogate(oldText, start - 1) ||
    isHighSurrogate(newText, start - 1)
  ) {
    start -= 1;
  }
  if (
    isLowSurrogate(oldText, oldText.length - tailLength) ||
    isLowSurrogate(newText, newText.length - tailLength)
  ) {
    tailLength -= 1;
  }
  return {
    start,
    end: oldText.length - tailLength,
    text: newText.slice(start, newText.length - tailLength)
  };
}

function isHighSurrogate(text: string, index: number): boolean {
  return /[\uD800-\uDBFF]/.test(text.charAt(index));
}

function isLowSurrogate(text: string, index: number): boolean {
  return /[\uDC00-\uDFFF]/.test(text.charAt(index));
}
