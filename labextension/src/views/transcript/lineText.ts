/**
 * The words of a line that is not drawn: what a person finds, copies or has read to them.
 */
import { lines, type Line } from '../../state/display/lines';
import { subject } from '../../state/display/toolCalls';
import type { ITurn } from '../../state/display/turns';
import { told } from '../modelContext/compaction';
import type { IWords } from '../host';
import { plainWords } from '../parts/standaloneParts';

/** Returns the words of a turn, one line after the other. */
export function turnWords(turn: ITurn, words: IWords): string {
  const said = turn.attached.map(part => plainWords(part, words));
  return joined([
    turn.prompt ?? '',
    ...said,
    stretchWords(lines(turn.messages), words)
  ]);
}

/** Returns the words of lines that stand one below the other. */
export function stretchWords(stretch: readonly Line[], words: IWords): string {
  return joined(stretch.map(line => lineWords(line, words)));
}

function joined(texts: readonly string[]): string {
  return texts.filter(text => text.trim() !== '').join('\n\n');
}

function lineWords(line: Line, words: IWords): string {
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
      return told(line.state, line.part, words).join(' ');
    case 'error':
      return line.error.message;
    case 'reasoning': // folded until a person opens it
    case 'step': // numbers
      return '';
    default:
      return plainWords(line.part, words);
  }
}
