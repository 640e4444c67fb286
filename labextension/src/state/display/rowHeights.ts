/**
 * How high things are drawn, about: what was never seen is taken to be so high, in pixels.
 */
import type { Line } from './lines';
import type { ITurn } from './turns';

/** Of a line of words, and of a row such as that of a call with what is between two of them. */
const LINE = 20;
const ROW = 32;
/** Characters that have room in a line of a panel, and of a cell. */
const NARROW = 55;
const WIDE = 110;

const heights = new WeakMap<ITurn, number>();

/** Estimates the height of a turn in a panel. */
export function turnHeight(turn: ITurn): number {
  const known = heights.get(turn);
  if (known !== undefined) {
    return known;
  }
  const said = turn.prompt === null ? 0 : ROW + textHeight(turn.prompt, NARROW);
  const parts = turn.messages.flatMap(message => message.parts);
  const high = parts.reduce(
    (sum, part) =>
      sum + (part.type === 'text' ? textHeight(part.text, NARROW) : ROW),
    said
  );
  heights.set(turn, high);
  return high;
}

/** Estimates the height of lines that stand one below the other in a cell. */
export function linesHeight(lines: readonly Line[]): number {
  return lines.reduce(
    (sum, line) =>
      sum + (line.kind === 'text' ? textHeight(line.part.text, WIDE) : ROW),
    0
  );
}

function textHeight(text: string, chars: number): number {
  return text
    .split('\n')
    .reduce(
      (sum, line) => sum + LINE * Math.max(0.5, Math.ceil(line.length / chars)),
      LINE / 2
    );
}
