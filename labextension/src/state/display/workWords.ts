/**
 * What a row of work tells: what was looked at, how long was thought, and what failed and was mended.
 */
import type { ToolPart } from '../../protocol/generated';
import { callOutcome } from './callOutcomes';
import { wholeSeconds } from './numberFormat';
import { subject } from './toolCalls';
import type { IWorkRow } from './lines';
import { lookOf, thoughtSeconds, type Look } from './workRows';
import { visible } from './visibleText';
import type { ITranslations } from './translations';

/** A piece of the row's text; a name is drawn as code. */
export interface IWorkWord {
  text: string;
  isName: boolean;
}

/** From this many on, names are counted. */
const MOST_NAMES = 2;

/** Returns the pieces of a row's text, in order. */
export function workWords(
  { lines }: Pick<IWorkRow, 'lines'>,
  words: ITranslations
): IWorkWord[] {
  const calls = lines.flatMap(line =>
    line.kind === 'tool' ? [line.part] : []
  );
  const looked = (look: Look) =>
    calls.filter(part => succeeded(part) && lookOf(part) === look);
  const variables = names(looked('variables').map(variable));
  const files = names(looked('files').map(subject));
  const searches = looked('searches').length;
  const recalled = looked('recalled').length;
  const skills = names(looked('skills').map(subject));
  const failed = calls.filter(part => !succeeded(part)).length;
  const again = lines.reduce(
    (sum, line) => sum + (line.kind === 'retry' ? (line.run?.failed ?? 0) : 0),
    0
  );
  const seen: IWorkWord[][] = [
    counted(
      variables.filter(one => one !== ''),
      many => words.__('%1 variables', many)
    ),
    variables.includes('') ? plain(words.__('the variables')) : [],
    counted(files.map(base), many => words.__('%1 files', many), 1),
    looked('notebook').length > 0 ? plain(words.__('the notebook')) : []
  ].filter(one => one.length > 0);
  const said: IWorkWord[][] = [
    seen.length > 0
      ? [...plain(`${words.__('looked at')} `), ...joined(seen, ', ')]
      : [],
    searches > 0
      ? plain(
          words._n('searched once', 'searched %1 times', searches, searches)
        )
      : [],
    recalled > 0
      ? plain(
          words._n(
            'recalled an output',
            'recalled %1 outputs',
            recalled,
            recalled
          )
        )
      : [],
    looked('todos').length > 0 ? plain(words.__('wrote its todo list')) : [],
    skills.length > 0
      ? [
          ...plain(
            `${words._n('used the skill', 'used the skills', skills.length)} `
          ),
          ...joined(skills.map(name), ', ')
        ]
      : [],
    plain(thought(lines, words)),
    again > 0
      ? plain(words._n('sent again once', 'sent again %1 times', again, again))
      : [],
    failed > 0 ? plain(words.__('%1 failed, then mended', failed)) : []
  ].filter(one => one.some(({ text }) => text !== ''));
  return joined(said, ' · ');
}

/** Returns the row as one line of plain text. */
export function workText(
  row: Pick<IWorkRow, 'lines'>,
  words: ITranslations
): string {
  return workWords(row, words)
    .map(({ text }) => text)
    .join('');
}

function thought(lines: IWorkRow['lines'], words: ITranslations): string {
  const thoughts = lines.filter(({ kind }) => kind === 'reasoning');
  if (thoughts.length === 0) {
    return '';
  }
  const spent = thoughts.reduce(
    (sum, line) => sum + (thoughtSeconds(line) ?? 0),
    0
  );
  return spent < 1
    ? words.__('thought')
    : words.__('thought %1', wholeSeconds(spent));
}

function succeeded(part: ToolPart): boolean {
  return callOutcome(part).status === 'completed';
}

/** Returns the variable that a call described; empty where it listed them all. */
function variable({ state }: ToolPart): string {
  const { name: given } = state.input;
  return typeof given === 'string' ? visible(given.trim()) : '';
}

function names(found: readonly string[]): string[] {
  return [...new Set(found)];
}

/** Returns the last part of a path. */
function base(path: string): string {
  return path.split(/[\\/]/).findLast(part => part !== '') ?? path;
}

/** Names a few things, and counts more. */
function counted(
  found: readonly string[],
  many: (count: number) => string,
  most = MOST_NAMES
): IWorkWord[] {
  return found.length > most
    ? plain(many(found.length))
    : joined(found.map(name), ', ');
}

function name(text: string): IWorkWord[] {
  return [{ text, isName: true }];
}

function plain(text: string): IWorkWord[] {
  return [{ text, isName: false }];
}

function joined(pieces: readonly IWorkWord[][], between: string): IWorkWord[] {
  return pieces.flatMap((piece, index) =>
    index === 0 ? piece : [...plain(between), ...piece]
  );
}
