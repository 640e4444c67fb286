/** The text of a row of work: what was read, how long the agent thought, and which failures were mended. */
import type { ToolPart } from '../../protocol/generated';
import { callOutcome } from '../lines/callOutcomes';
import { wholeDurationText } from '../text/numberFormat';
import { callSubject } from '../lines/toolCalls';
import type { IWorkRow } from '../lines/lines';
import { readSubjectOf, thoughtSeconds, type ReadSubject } from './workRows';
import { visibleText } from '../text/visibleText';
import type { ITranslations } from '../text/translations';

/** A piece of the row's text; a name is drawn as code. */
interface ITextPiece {
  text: string;
  isName: boolean;
}

/** The maximum number of names in a row; more are counted. */
const MAX_NAMES = 2;

/** Returns the pieces of a row's text, in order. */
export function workWords(
  { lines }: Pick<IWorkRow, 'lines'>,
  words: ITranslations
): ITextPiece[] {
  const calls = lines.flatMap(line =>
    line.kind === 'tool' ? [line.part] : []
  );
  const readCalls = (subject: ReadSubject) =>
    calls.filter(part => hasSucceeded(part) && readSubjectOf(part) === subject);
  const variableNames = unique(readCalls('variables').map(variableName));
  const fileNames = unique(readCalls('files').map(callSubject));
  const searchCount = readCalls('searches').length;
  const recallCount = readCalls('recalled').length;
  const skillNames = unique(readCalls('skills').map(callSubject));
  const failureCount = calls.filter(part => !hasSucceeded(part)).length;
  const resendCount = lines.reduce(
    (sum, line) =>
      sum + (line.kind === 'retry' ? (line.run?.failedCount ?? 0) : 0),
    0
  );
  const lookedAtPieces: ITextPiece[][] = [
    namesOrCount(
      variableNames.filter(name => name !== ''),
      count => words.__('%1 variables', count)
    ),
    variableNames.includes('') ? plainPiece(words.__('the variables')) : [],
    namesOrCount(
      fileNames.map(baseName),
      count => words.__('%1 files', count),
      1
    ),
    readCalls('notebook').length > 0 ? plainPiece(words.__('the notebook')) : []
  ].filter(pieces => pieces.length > 0);
  const phrases: ITextPiece[][] = [
    lookedAtPieces.length > 0
      ? [
          ...plainPiece(`${words.__('looked at')} `),
          ...joinPieces(lookedAtPieces, ', ')
        ]
      : [],
    searchCount > 0
      ? plainPiece(words._n('searched once', 'searched %1 times', searchCount))
      : [],
    recallCount > 0
      ? plainPiece(
          words._n('recalled an output', 'recalled %1 outputs', recallCount)
        )
      : [],
    readCalls('todos').length > 0
      ? plainPiece(words.__('wrote its todo list'))
      : [],
    skillNames.length > 0
      ? [
          ...plainPiece(
            `${words._n('used the skill', 'used the skills', skillNames.length)} `
          ),
          ...joinPieces(skillNames.map(namePiece), ', ')
        ]
      : [],
    plainPiece(thoughtText(lines, words)),
    resendCount > 0
      ? plainPiece(
          words._n('sent again once', 'sent again %1 times', resendCount)
        )
      : [],
    failureCount > 0
      ? plainPiece(words.__('%1 failed, then mended', failureCount))
      : []
  ].filter(pieces => pieces.some(({ text }) => text !== ''));
  return joinPieces(phrases, ' · ');
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

function thoughtText(lines: IWorkRow['lines'], words: ITranslations): string {
  const thoughts = lines.filter(({ kind }) => kind === 'reasoning');
  if (thoughts.length === 0) {
    return '';
  }
  const thoughtTime = thoughts.reduce(
    (sum, line) => sum + (thoughtSeconds(line) ?? 0),
    0
  );
  return thoughtTime < 1
    ? words.__('thought')
    : words.__('thought %1', wholeDurationText(thoughtTime));
}

function hasSucceeded(part: ToolPart): boolean {
  return callOutcome(part).status === 'completed';
}

/** Returns the variable that a call described; empty where it listed them all. */
function variableName({ state }: ToolPart): string {
  const { name } = state.input;
  return typeof name === 'string' ? visibleText(name.trim()) : '';
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}

/** Returns the last part of a path. */
function baseName(path: string): string {
  return path.split(/[\\/]/).findLast(part => part !== '') ?? path;
}

/** Names a few things, and counts more. */
function namesOrCount(
  values: readonly string[],
  pluralText: (count: number) => string,
  maxNames = MAX_NAMES
): ITextPiece[] {
  return values.length > maxNames
    ? plainPiece(pluralText(values.length))
    : joinPieces(values.map(namePiece), ', ');
}

function namePiece(text: string): ITextPiece[] {
  return [{ text, isName: true }];
}

function plainPiece(text: string): ITextPiece[] {
  return [{ text, isName: false }];
}

function joinPieces(
  pieces: readonly ITextPiece[][],
  separator: string
): ITextPiece[] {
  return pieces.flatMap((piece, index) =>
    index === 0 ? piece : [...plainPiece(separator), ...piece]
  );
}
