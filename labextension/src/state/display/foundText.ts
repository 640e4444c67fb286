/** Finds text in the turns of a session, also in parts that are folded or far away and so not rendered. */
import { errorWords, retryReason } from '../text/errorWords';
import { callInput, callOutput, callSubject } from '../lines/toolCalls';
import { messageLines, type Line } from '../lines/lines';
import { plainText } from '../text/spokenText';
import type { ITurn } from './turns';

/** One occurrence of the words. */
export interface IHit {
  turn: string;
  /** The key of its line; for the prompt, the key of the turn. */
  line: string;
  /** Its number among the occurrences in the same line, from 0. */
  number: number;
  /** Whether it is in the content that opens below the row, and not in the row itself. */
  isInside: boolean;
  kind: Line['kind'];
}

/** Returns the pattern of some words, in any case and with any space between them; null without words. */
export function wordPattern(searched: string): RegExp | null {
  const escaped = searched
    .trim()
    .split(/\s+/)
    .map(word => word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'))
    .join('\\s+');
  return escaped === '' ? null : new RegExp(escaped, 'giu');
}

/** Returns the occurrences in a turn, in order. */
export function hitsOf(turn: ITurn, pattern: RegExp): readonly IHit[] {
  const { key, prompt, messages } = turn;
  return [
    ...matchesIn(prompt ?? '', pattern, {
      turn: key,
      line: key,
      kind: 'prompt'
    }),
    ...messageLines(messages).flatMap(line => {
      const place = { turn: key, line: line.key, kind: line.kind };
      const { row, inside } = textOf(line);
      const hits = matchesIn(inside, pattern, place, true);
      // A row often repeats the beginning of what it opens to.
      return hits.length > 0 ? hits : matchesIn(row, pattern, place);
    })
  ];
}

function matchesIn(
  text: string,
  pattern: RegExp,
  place: Pick<IHit, 'turn' | 'line' | 'kind'>,
  isInside = false
): IHit[] {
  return (text.match(pattern) ?? []).map((_, number) => ({
    ...place,
    number,
    isInside
  }));
}

interface ILineText {
  /** The text of the line's row. */
  row: string;
  /** The text that opens below the row. */
  inside: string;
}

function textOf(line: Line): ILineText {
  switch (line.kind) {
    case 'text':
      return { row: plainText(line.part.text), inside: '' };
    case 'prompt':
    case 'notice':
      return { row: line.part.text, inside: '' };
    case 'reasoning':
      return { row: '', inside: plainText(line.part.text) };
    case 'tool': {
      const { part } = line;
      const failed = part.state.status === 'error' ? part.state.error : '';
      const texts = [callInput(part).text, callOutput(part), failed];
      return {
        row: `${part.tool} ${callSubject(part)}`,
        inside: texts.join('\n')
      };
    }
    case 'compaction':
      return { row: '', inside: plainText(line.summary) };
    case 'error':
      return { row: errorWords(line.error.message), inside: '' };
    case 'retry': {
      const { reasons } = line.run ?? {};
      const why = reasons?.map(retryReason).join(' ');
      return { row: why ?? errorWords(line.part.error.message), inside: '' };
    }
    case 'patch':
      return { row: line.part.files.join('\n'), inside: '' };
    case 'file':
      return { row: line.part.filename ?? '', inside: '' };
    case 'agent':
      return { row: line.part.name, inside: '' };
    case 'subtask':
      return { row: line.part.description, inside: '' };
    case 'notebook':
    case 'cut':
    case 'step':
    case 'work':
      return { row: '', inside: '' };
    default:
      return { row: '', inside: '' }; // of a newer kernel
  }
}
