/** Estimates the height, in pixels, of rows that were never rendered. */
import { oncePerObject } from '../../protocol/oncePerObject';
import type { Line } from '../lines/lines';
import type { ITurn } from './turns';

/** The height of a line of text, and of a row such as a call's, with its margin. */
const LINE_PX = 20;
const ROW_PX = 32;
/** Average characters in a line of the panel, and of a cell. */
const PANEL_LINE_CHARS = 55;
const CELL_LINE_CHARS = 110;

/** Estimates the height of a turn in the panel. */
export const turnHeight = oncePerObject((turn: ITurn): number => {
  const promptHeight =
    turn.prompt === null
      ? 0
      : ROW_PX + textHeight(turn.prompt, PANEL_LINE_CHARS);
  const parts = turn.messages.flatMap(message => message.parts);
  return parts.reduce(
    (sum, part) =>
      sum +
      (part.type === 'text' ? textHeight(part.text, PANEL_LINE_CHARS) : ROW_PX),
    promptHeight
  );
});

/** Estimates the height of consecutive lines in a cell. */
export function linesHeight(lines: readonly Line[]): number {
  return lines.reduce(
    (sum, line) =>
      sum +
      (line.kind === 'text'
        ? textHeight(line.part.text, CELL_LINE_CHARS)
        : ROW_PX),
    0
  );
}

function textHeight(text: string, chars: number): number {
  return text
    .split('\n')
    .reduce(
      (sum, line) =>
        sum + LINE_PX * Math.max(0.5, Math.ceil(line.length / chars)),
      LINE_PX / 2
    );
}
