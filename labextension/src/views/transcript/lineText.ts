/**
 * The words of a line that is not drawn: what a person finds, copies or has read to them.
 */
import { lines, type Line } from '../../state/display/lines';
import type { ITurn } from '../../state/display/turns';
import type { IWords } from '../host';
import { standalonePartText } from '../parts/standaloneParts';
import { lineKind } from './lineKinds';

/** Returns the words of a turn, one line after the other. */
export function turnText(turn: ITurn, words: IWords): string {
  const said = turn.attached.map(part => standalonePartText(part, words));
  return joined([
    turn.prompt ?? '',
    ...said,
    linesText(lines(turn.messages), words)
  ]);
}

/** Returns the words of lines that stand one below the other. */
export function linesText(stretch: readonly Line[], words: IWords): string {
  return joined(stretch.map(line => lineKind(line).text(line, words)));
}

function joined(texts: readonly string[]): string {
  return texts.filter(text => text.trim() !== '').join('\n\n');
}
