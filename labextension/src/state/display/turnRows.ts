/**
 * The rows of a segment, with the work of its whole turn folded: a cell's answer is cut into several outputs, and a row
 * of work may reach over some of them.
 *
 * Such a row is drawn by the first of them. All outputs of a turn share one computation.
 */
import type { Message } from '../../protocol/generated';
import { oncePerObject } from '../../protocol/oncePerObject';
import type { ISegment } from '../../protocol/segment';
import type { Density } from './density';
import { messageLines, type Line } from '../lines/lines';
import { isSameList } from './turns';
import { foldWork } from './workRows';

/** The outputs of a cell from the first segment of a turn to its last, in order; null is another output. */
export type TurnOutputs = readonly (ISegment | null)[];

interface ITurnRows {
  outputs: TurnOutputs;
  density: Density;
  isLive: boolean;
  /** The rows of each output, by its index. */
  rowsOfOutputs: readonly (readonly Line[])[];
}

const NO_LINES: readonly Line[] = [];
const turnRowCache = new WeakMap<ISegment, ITurnRows>();
const returnedRows = new WeakMap<ISegment, readonly Line[]>();

/** Returns the rows of one segment of a turn; `index` is its place in `outputs`. Equal rows keep their object. */
export function turnRows(
  outputs: TurnOutputs,
  index: number,
  density: Density,
  live: boolean
): readonly Line[] {
  const segment = outputs[index];
  const rows = rowsOfTurn(outputs, density, live)[index] ?? NO_LINES;
  if (segment === null || segment === undefined) {
    return rows;
  }
  const before = returnedRows.get(segment);
  if (before !== undefined && isSameRows(before, rows)) {
    return before;
  }
  returnedRows.set(segment, rows);
  return rows;
}

/** Returns the messages of all segments. */
export function turnMessages(outputs: TurnOutputs): readonly Message[] {
  return outputs.flatMap(segment => segment?.messages ?? []);
}

function rowsOfTurn(
  outputs: TurnOutputs,
  density: Density,
  isLive: boolean
): readonly (readonly Line[])[] {
  const lastSegment = outputs.findLast(segment => segment !== null);
  const cachedTurn = lastSegment ? turnRowCache.get(lastSegment) : undefined;
  if (
    cachedTurn?.density === density &&
    cachedTurn.isLive === isLive &&
    isSameList(cachedTurn.outputs, outputs)
  ) {
    return cachedTurn.rowsOfOutputs;
  }
  const rowsOfOutputs =
    density === 'quiet'
      ? foldedRows(outputs, isLive)
      : outputs.map(segment =>
          segment === null ? NO_LINES : segmentLines(segment)
        );
  if (lastSegment) {
    turnRowCache.set(lastSegment, { outputs, density, isLive, rowsOfOutputs });
  }
  return rowsOfOutputs;
}

/** Folds the work of neighbouring segments together. */
function foldedRows(outputs: TurnOutputs, live: boolean): Line[][] {
  const rows: Line[][] = outputs.map(() => []);
  const outputIndexes = new Map<Line, number>();
  let neighbourLines: Line[] = [];
  const foldNeighbours = (isLast: boolean) => {
    for (const row of foldWork(neighbourLines, live && isLast)) {
      const firstLine = row.kind === 'work' ? row.lines[0] : row;
      rows[(firstLine && outputIndexes.get(firstLine)) ?? 0]?.push(row);
    }
    neighbourLines = [];
  };
  outputs.forEach((segment, index) => {
    if (segment === null) {
      foldNeighbours(false);
      return;
    }
    for (const line of segmentLines(segment)) {
      outputIndexes.set(line, index);
      neighbourLines.push(line);
    }
  });
  foldNeighbours(true);
  return rows;
}

const segmentLines = oncePerObject((segment: ISegment) =>
  messageLines(segment.messages, segment.first_step)
);

function isSameRows(
  rowsBefore: readonly Line[],
  rowsNow: readonly Line[]
): boolean {
  return (
    rowsBefore.length === rowsNow.length &&
    rowsBefore.every((row, index) => {
      const rowNow = rowsNow[index];
      return (
        row === rowNow ||
        (row.kind === 'work' &&
          rowNow?.kind === 'work' &&
          isSameList(row.lines, rowNow.lines))
      );
    })
  );
}
