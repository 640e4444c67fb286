/** The plain text of lines that are not rendered, to find, copy or read aloud. */
import { messageLines, type Line } from '../../state/lines/lines';
import type { ITurn } from '../../state/display/turns';
import type { IWords } from '../host';
import { standalonePartText } from '../parts/standaloneParts';
import { lineKind } from './lineKinds';

/** Returns the text of a turn, one line after the other. */
export function turnText(turn: ITurn, words: IWords): string {
  const attachedTexts = turn.attachments.map(part =>
    standalonePartText(part, words)
  );
  return joinTexts([
    turn.prompt ?? '',
    ...attachedTexts,
    linesText(messageLines(turn.messages), words)
  ]);
}

/** Returns the text of consecutive lines. */
export function linesText(lines: readonly Line[], words: IWords): string {
  return joinTexts(lines.map(line => lineKind(line).text(line, words)));
}

function joinTexts(texts: readonly string[]): string {
  return texts.filter(text => text.trim() !== '').join('\n\n');
}
