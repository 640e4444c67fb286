/** Finds text in the turns of a session, also in parts that are folded or far away and so not rendered. */
import { errorWords, retryReason } from '../text/errorWords';
import { callInput, callOutput, callSubject } from '../lines/toolCalls';
import { messageLines, type Line } from '../lines/lines';
import { plainText } from '../text/spokenText';
import type { ITurn } from './turns';

/** One occurrence of the words. */
export interface IHit {
  turnKey: string;
  /** The key of its line; for the prompt, the key of the turn. */
  lineKey: string;
  /** Its number among the occurrences in the same line, from 0. */
  index: number;
  /** Whether it is in the content that opens below the row, and not in the row itself. */
  isInside: boolean;
  kind: Line['kind'];
}

/** Returns the pattern of some words, in any case and with any space between them; null without words. */
export function wordPattern(query: string): RegExp | null {
  const escaped = query
    .trim()
    .split(/\s+/)
    .map(word => word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'))
    .join('\\s+');
  return escaped === '' ? null : new RegExp(escaped, 'giu');
}

/** Returns the occurrences in a turn, in order. */
export function hitsInTurn(turn: ITurn, pattern: RegExp): readonly IHit[] {
  const { key, prompt, messages } = turn;
  return [
    ...matchesIn(prompt ?? '', pattern, {
      turnKey: key,
      lineKey: key,
      kind: 'prompt'
    }),
    ...messageLines(messages).flatMap(line => {
      const place = { turnKey: key, lineKey: line.key, kind: line.kind };
      const { rowText, insideText } = lineText(line);
      const insideHits = matchesIn(insideText, pattern, place, true);
      // A row often repeats the beginning of what it opens to.
      return insideHits.length > 0
        ? insideHits
        : matchesIn(rowText, pattern, place);
    })
  ];
}

function matchesIn(
  text: string,
  pattern: RegExp,
  place: Pick<IHit, 'turnKey' | 'lineKey' | 'kind'>,
  isInside = false
): IHit[] {
  return (text.match(pattern) ?? []).map((_, index) => ({
    ...place,
    index,
    isInside
  }));
}

interface ILineText {
  /** The text of the line's row. */
  rowText: string;
  /** The text that opens below the row. */
  insideText: string;
}

function lineText(line: Line): ILineText {
  switch (line.kind) {
    case 'text':
      return { rowText: plainText(line.part.text), insideText: '' };
    case 'prompt':
    case 'notice':
      return { rowText: line.part.text, insideText: '' };
    case 'reasoning':
      return { rowText: '', insideText: plainText(line.part.text) };
    case 'tool': {
      const { part } = line;
      const errorText = part.state.status === 'error' ? part.state.error : '';
      const texts = [callInput(part).text, callOutput(part), errorText];
      return {
        rowText: `${part.tool} ${callSubject(part)}`,
        insideText: texts.join('\n')
      };
    }
    case 'compaction':
      return { rowText: '', insideText: plainText(line.summary) };
    case 'error':
      return { rowText: errorWords(line.error.message), insideText: '' };
    case 'retry': {
      const { reasons } = line.run ?? {};
      const reasonText = reasons?.map(retryReason).join(' ');
      return {
        rowText: reasonText ?? errorWords(line.part.error.message),
        insideText: ''
      };
    }
    case 'patch':
      return { rowText: line.part.files.join('\n'), insideText: '' };
    case 'file':
      return { rowText: line.part.filename ?? '', insideText: '' };
    case 'agent':
      return { rowText: line.part.name, insideText: '' };
    case 'subtask':
      return { rowText: line.part.description, insideText: '' };
    case 'notebook':
    case 'cut':
    case 'step':
    case 'work':
      return { rowText: '', insideText: '' };
    default:
      return { rowText: '', insideText: '' }; // of a newer kernel
  }
}
