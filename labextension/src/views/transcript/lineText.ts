/**
 * The words of a line that is not drawn: what a person finds, copies or has read to them.
 */
import { lines, type Line } from '../../state/display/lines';
import { subject } from '../../state/display/toolCalls';
import type { ITurn } from '../../state/display/turns';
import { compactionText } from '../modelContext/compaction';
import type { IWords } from '../host';
import { standalonePartText } from '../parts/standaloneParts';

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
  return joined(stretch.map(line => lineText(line, words)));
}

function joined(texts: readonly string[]): string {
  return texts.filter(text => text.trim() !== '').join('\n\n');
}

function lineText(line: Line, words: IWords): string {
  switch (line.kind) {
    case 'text':
    case 'prompt':
      return line.part.text;
    case 'notice':
      return `! ${line.part.text}`;
    case 'tool':
      return `${line.part.tool} ${subject(line.part)}`;
    case 'reads':
      return line.parts.map(part => `${part.tool} ${subject(part)}`).join('\n');
    case 'retry':
      return line.part.error.message;
    case 'compaction':
      return compactionText(line.state, line.part, words).join(' ');
    case 'error':
      return line.error.message;
    case 'reasoning': // folded until a person opens it
    case 'step': // numbers
      return '';
    default:
      return standalonePartText(line.part, words);
  }
}
