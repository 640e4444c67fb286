/**
 * Finds the answers that the notebook does not show although one of its cells asked for them.
 *
 * A page that was reloaded before the notebook was saved shows cells as they were on disk; the answer
 * is in the session's log.
 */
import type { ITranscript } from '../store/transcript';

/** The relevant contents of a code cell. */
export interface ICellContents {
  id: string;
  /** Whether it could be a prompt's cell: it calls the agent, or its source is empty. */
  isAgentCell: boolean;
  source: string;
  /** The turns whose answers it shows. */
  turnIds: readonly string[];
  /** Whether it has no outputs. */
  hasNoOutputs: boolean;
}

/** A missing answer, with what the log knows of its cell. */
export interface IMissingAnswer {
  turnId: string;
  /** The id of the prompt's cell. */
  cellId: string;
  /** The prompt's text. */
  prompt: string;
  executionCount?: number;
}

/**
 * Returns the turns that can be inserted, by id: the newest one of every cell, if it is over and no
 * cell shows it. For a deleted cell only turns of this notebook count.
 */
export function missingAnswers(
  {
    entries,
    session,
    status
  }: Pick<ITranscript, 'entries' | 'session' | 'status'>,
  cells: readonly ICellContents[]
): ReadonlyMap<string, IMissingAnswer> {
  const answersByCell = new Map<string, IMissingAnswer>();
  let askedAnswer: IMissingAnswer | null = null;
  let newestAnswer: IMissingAnswer | null = null;
  for (const { message } of entries) {
    const { info } = message;
    if (info?.role === 'assistant' && askedAnswer !== null) {
      answersByCell.set(askedAnswer.cellId, askedAnswer);
      newestAnswer = askedAnswer;
    }
    if (info?.role !== 'user' || info.joins === true) {
      continue;
    }
    const { cell_id, execution_count, kind, notebook } = info.origin ?? {};
    const texts = message.parts.flatMap(part =>
      part.type === 'text' && !part.synthetic ? [part.text] : []
    );
    if (texts.join('').trim() === '') {
      continue;
    }
    newestAnswer = null;
    if (cell_id !== undefined) {
      answersByCell.delete(cell_id);
    }
    const isInNotebook =
      cells.some(({ id }) => id === cell_id) || notebook === session?.notebook;
    askedAnswer =
      kind === 'cell' && cell_id !== undefined && isInNotebook
        ? {
            turnId: info.id,
            cellId: cell_id,
            prompt: texts.join('\n\n'),
            executionCount: execution_count
          }
        : null;
  }
  const shownTurns = new Set(cells.flatMap(({ turnIds }) => turnIds));
  const runningAnswer = status.type === 'idle' ? null : newestAnswer;
  return new Map(
    [...answersByCell.values()]
      .filter(
        answer => answer !== runningAnswer && !shownTurns.has(answer.turnId)
      )
      .map(answer => [answer.turnId, answer])
  );
}

/** The target of an answer: a cell, a new cell after that one, or a new one at the end. */
interface ICellPlace {
  index: number;
  isNew: boolean;
}

/** Returns where to insert the answer of a turn. */
export function targetCell(
  { cellId, prompt }: IMissingAnswer,
  cells: readonly (ICellContents | null)[]
): ICellPlace {
  const cellIndex = cells.findIndex(candidate => candidate?.id === cellId);
  if (cellIndex >= 0) {
    return cells[cellIndex]?.isAgentCell === true
      ? { index: cellIndex, isNew: false }
      : { index: cellIndex + 1, isNew: true };
  }
  // In a notebook of an older format, cells get new ids whenever it is opened.
  const sameTextIndex = cells.findIndex(
    candidate =>
      candidate?.hasNoOutputs === true &&
      textBelowMagic(candidate.source) === prompt.trim()
  );
  return sameTextIndex < 0
    ? { index: cells.length, isNew: true }
    : { index: sameTextIndex, isNew: false };
}

const AGENT_MAGIC = /^\s*%%?agent\b/m;

/** Returns whether a cell's source may be a prompt's. */
export function isAgentCell(source: string): boolean {
  return source.trim() === '' || AGENT_MAGIC.test(source);
}

/** Returns the text below a cell's magic; null if there is none. */
function textBelowMagic(source: string): string | null {
  const [firstLine = '', ...otherLines] = source.split('\n');
  return /^%%agent\b/.test(firstLine) ? otherLines.join('\n').trim() : null;
}
