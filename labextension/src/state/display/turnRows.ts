/**
 * The rows of a segment, with the work of its whole turn folded: a cell's answer is cut into several outputs, and a row
 * of work may reach over some of them.
 *
 * Such a row is drawn by the first of them. All outputs of a turn share one computation.
 */
import type { Message } from '../../protocol/generated';
import type { ISegment } from '../../protocol/segment';
import type { Density } from './density';
import { lines, type Line } from './lines';
import { foldWork } from './workRows';

/** The outputs of a cell from the first segment of a turn to its last, in order; null is another output. */
export type TurnOutputs = readonly (ISegment | null)[];

interface ITurnRows {
  outputs: TurnOutputs;
  density: Density;
  live: boolean;
  /** By the place of the output. */
  rows: readonly (readonly Line[])[];
}

const NONE: readonly Line[] = [];
const computed = new WeakMap<ISegment, ITurnRows>();
const drawn = new WeakMap<ISegment, readonly Line[]>();
const unfolded = new WeakMap<ISegment, readonly Line[]>();

/** Returns the rows of the segment at a place of its turn's outputs; equal rows are the same object as before. */
export function turnRows(
  outputs: TurnOutputs,
  place: number,
  density: Density,
  live: boolean
): readonly Line[] {
  const own = outputs[place];
  const rows = all(outputs, density, live)[place] ?? NONE;
  if (own === null || own === undefined) {
    return rows;
  }
  const before = drawn.get(own);
  if (before !== undefined && isSame(before, rows)) {
    return before;
  }
  drawn.set(own, rows);
  return rows;
}

/** Returns the messages of all segments. */
export function turnMessages(outputs: TurnOutputs): readonly Message[] {
  return outputs.flatMap(segment => segment?.messages ?? []);
}

function all(
  outputs: TurnOutputs,
  density: Density,
  live: boolean
): readonly (readonly Line[])[] {
  const last = outputs.findLast(segment => segment !== null);
  const known = last ? computed.get(last) : undefined;
  if (
    known?.density === density &&
    known.live === live &&
    isEqual(known.outputs, outputs)
  ) {
    return known.rows;
  }
  const rows =
    density === 'quiet'
      ? folded(outputs, live)
      : outputs.map(segment => (segment === null ? NONE : linesOf(segment)));
  if (last) {
    computed.set(last, { outputs, density, live, rows });
  }
  return rows;
}

/** Folds the work of neighbouring segments together. */
function folded(outputs: TurnOutputs, live: boolean): Line[][] {
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
  outputs.forEach((segment, place) => {
    if (segment === null) {
      close(false);
      return;
    }
    for (const line of linesOf(segment)) {
      places.set(line, place);
      neighbours.push(line);
    }
  });
  close(true);
  return rows;
}

function linesOf(segment: ISegment): readonly Line[] {
  const known = unfolded.get(segment);
  if (known !== undefined) {
    return known;
  }
  const found = lines(segment.messages, segment.first_step);
  unfolded.set(segment, found);
  return found;
}

function isEqual<T>(one: readonly T[], other: readonly T[]): boolean {
  return (
    one.length === other.length &&
    one.every((value, index) => value === other[index])
  );
}

function isSame(before: readonly Line[], now: readonly Line[]): boolean {
  return (
    before.length === now.length &&
    before.every((row, index) => {
      const other = now[index];
      return (
        row === other ||
        (row.kind === 'work' &&
          other?.kind === 'work' &&
          isEqual(row.lines, other.lines))
      );
    })
  );
}
