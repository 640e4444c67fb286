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
interface IWorkWord {
  text: string;
  isName: boolean;
}

/** The maximum number of names in a row; more are counted. */
const MAX_NAMES = 2;

/** Returns the pieces of a row's text, in order. */
export function workWords(
  { lines }: Pick<IWorkRow, 'lines'>,
  words: ITranslations
): IWorkWord[] {
  const calls = lines.flatMap(line =>
    line.kind === 'tool' ? [line.part] : []
  );
  const successfulReads = (subject: ReadSubject) =>
    calls.filter(part => succeeded(part) && readSubjectOf(part) === subject);
  const variables = unique(successfulReads('variables').map(variableName));
  const files = unique(successfulReads('files').map(callSubject));
  const searches = successfulReads('searches').length;
  const recalled = successfulReads('recalled').length;
  const skills = unique(successfulReads('skills').map(callSubject));
  const failures = calls.filter(part => !succeeded(part)).length;
  const resends = lines.reduce(
    (sum, line) => sum + (line.kind === 'retry' ? (line.run?.failed ?? 0) : 0),
    0
  );
  const lookedAt: IWorkWord[][] = [
    namesOrCount(
      variables.filter(name => name !== ''),
      count => words.__('%1 variables', count)
    ),
    variables.includes('') ? plainPiece(words.__('the variables')) : [],
    namesOrCount(files.map(baseName), count => words.__('%1 files', count), 1),
    successfulReads('notebook').length > 0
      ? plainPiece(words.__('the notebook'))
      : []
  ].filter(pieces => pieces.length > 0);
  const phrases: IWorkWord[][] = [
    lookedAt.length > 0
      ? [
          ...plainPiece(`${words.__('looked at')} `),
          ...joinPieces(lookedAt, ', ')
        ]
      : [],
    searches > 0
      ? plainPiece(words._n('searched once', 'searched %1 times', searches))
      : [],
    recalled > 0
      ? plainPiece(
          words._n('recalled an output', 'recalled %1 outputs', recalled)
        )
      : [],
    successfulReads('todos').length > 0
      ? plainPiece(words.__('wrote its todo list'))
      : [],
    skills.length > 0
      ? [
          ...plainPiece(
            `${words._n('used the skill', 'used the skills', skills.length)} `
          ),
          ...joinPieces(skills.map(namePiece), ', ')
        ]
      : [],
    plainPiece(thoughtText(lines, words)),
    resends > 0
      ? plainPiece(words._n('sent again once', 'sent again %1 times', resends))
      : [],
    failures > 0 ? plainPiece(words.__('%1 failed, then mended', failures)) : []
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
  const spent = thoughts.reduce(
    (sum, line) => sum + (thoughtSeconds(line) ?? 0),
    0
  );
  return spent < 1
    ? words.__('thought')
    : words.__('thought %1', wholeDurationText(spent));
}

function succeeded(part: ToolPart): boolean {
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
  most = MAX_NAMES
): IWorkWord[] {
  return values.length > most
    ? plainPiece(pluralText(values.length))
    : joinPieces(values.map(namePiece), ', ');
}

function namePiece(text: string): IWorkWord[] {
  return [{ text, isName: true }];
}

function plainPiece(text: string): IWorkWord[] {
  return [{ text, isName: false }];
}

function joinPieces(
  pieces: readonly IWorkWord[][],
  between: string
): IWorkWord[] {
  return pieces.flatMap((piece, index) =>
    index === 0 ? piece : [...plainPiece(between), ...piece]
  );
}
