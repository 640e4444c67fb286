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
  live: boolean;
  /** The rows of each output, by its index. */
  rows: readonly (readonly Line[])[];
}

const NONE: readonly Line[] = [];
const turnRowCache = new WeakMap<ISegment, ITurnRows>();
const returnedRows = new WeakMap<ISegment, readonly Line[]>();

/** Returns the rows of one segment of a turn; `index` is its place in `outputs`. Equal rows keep their object. */
export function turnRows(
  outputs: TurnOutputs,
  index: number,
  density: Density,
  live: boolean
): readonly Line[] {
  const own = outputs[index];
  const rows = allRows(outputs, density, live)[index] ?? NONE;
  if (own === null || own === undefined) {
    return rows;
  }
  const before = returnedRows.get(own);
  if (before !== undefined && isSame(before, rows)) {
    return before;
  }
  returnedRows.set(own, rows);
  return rows;
}

/** Returns the messages of all segments. */
export function turnMessages(outputs: TurnOutputs): readonly Message[] {
  return outputs.flatMap(segment => segment?.messages ?? []);
}

function allRows(
  outputs: TurnOutputs,
  density: Density,
  live: boolean
): readonly (readonly Line[])[] {
  const last = outputs.findLast(segment => segment !== null);
  const known = last ? turnRowCache.get(last) : undefined;
  if (
    known?.density === density &&
    known.live === live &&
    isSameList(known.outputs, outputs)
  ) {
    return known.rows;
  }
  const rows =
    density === 'quiet'
      ? foldedRows(outputs, live)
      : outputs.map(segment =>
          segment === null ? NONE : segmentLines(segment)
        );
  if (last) {
    turnRowCache.set(last, { outputs, density, live, rows });
  }
  return rows;
}

/** Folds the work of neighbouring segments together. */
function foldedRows(outputs: TurnOutputs, live: boolean): Line[][] {
  const rows: Line[][] = outputs.map(() => []);
  const places = new Map<Line, number>();
  let neighbours: Line[] = [];
  const close = (isLast: boolean) => {
    for (const row of foldWork(neighbours, live && isLast)) {
      const first = row.kind === 'work' ? row.lines[0] : row;
      rows[(first && places.get(first)) ?? 0]?.push(row);
    }
    neighbours = [];
  };
  outputs.forEach((segment, index) => {
    if (segment === null) {
      close(false);
      return;
    }
    for (const line of segmentLines(segment)) {
      places.set(line, index);
      neighbours.push(line);
    }
  });
  close(true);
  return rows;
}

const segmentLines = oncePerObject((segment: ISegment) =>
  messageLines(segment.messages, segment.first_step)
);

function isSame(before: readonly Line[], now: readonly Line[]): boolean {
  return (
    before.length === now.length &&
    before.every((row, index) => {
      const right = now[index];
      return (
        row === right ||
        (row.kind === 'work' &&
          right?.kind === 'work' &&
          isSameList(row.lines, right.lines))
      );
    })
  );
}
