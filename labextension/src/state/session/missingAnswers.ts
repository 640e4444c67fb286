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
  mayAsk: boolean;
  source: string;
  /** The turns whose answers it shows. */
  turns: readonly string[];
  /** Whether it has no outputs. */
  isEmpty: boolean;
}

/** A missing answer, with what the log knows of its cell. */
export interface IMissingAnswer {
  turn: string;
  /** The id of the prompt's cell. */
  cell: string;
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
  const newest = new Map<string, IMissingAnswer>();
  let turn: IMissingAnswer | null = null;
  let last: IMissingAnswer | null = null;
  for (const { message } of entries) {
    const { info } = message;
    if (info?.role === 'assistant' && turn !== null) {
      newest.set(turn.cell, turn);
      last = turn;
    }
    if (info?.role !== 'user' || info.joins === true) {
      continue;
    }
    const { cell_id, execution_count, kind, notebook } = info.origin ?? {};
    const words = message.parts.flatMap(part =>
      part.type === 'text' && !part.synthetic ? [part.text] : []
    );
    if (words.join('').trim() === '') {
      continue;
    }
    last = null;
    if (cell_id !== undefined) {
      newest.delete(cell_id);
    }
    const isHere =
      cells.some(({ id }) => id === cell_id) || notebook === session?.notebook;
    turn =
      kind === 'cell' && cell_id !== undefined && isHere
        ? {
            turn: info.id,
            cell: cell_id,
            prompt: words.join('\n\n'),
            executionCount: execution_count
          }
        : null;
  }
  const shownTurns = new Set(cells.flatMap(({ turns }) => turns));
  const running = status.type === 'idle' ? null : last;
  return new Map(
    [...newest.values()]
      .filter(answer => answer !== running && !shownTurns.has(answer.turn))
      .map(answer => [answer.turn, answer])
  );
}

/** The target of an answer: a cell, a new cell after that one, or a new one at the end. */
interface ICellPlace {
  index: number;
  isNew: boolean;
}

/** Returns where to insert the answer of a turn. */
export function targetCell(
  { cell, prompt }: IMissingAnswer,
  cells: readonly (ICellContents | null)[]
): ICellPlace {
  const ownIndex = cells.findIndex(candidate => candidate?.id === cell);
  if (ownIndex >= 0) {
    return cells[ownIndex]?.mayAsk === true
      ? { index: ownIndex, isNew: false }
      : { index: ownIndex + 1, isNew: true };
  }
  // In a notebook of an older format, cells get new ids whenever it is opened.
  const sameTextIndex = cells.findIndex(
    candidate =>
      candidate?.isEmpty === true &&
      wordsBelow(candidate.source) === prompt.trim()
  );
  return sameTextIndex < 0
    ? { index: cells.length, isNew: true }
    : { index: sameTextIndex, isNew: false };
}

const ASKS = /^\s*%%?agent\b/m;

/** Returns whether a cell's source may be a prompt's. */
export function isAgentCell(source: string): boolean {
  return source.trim() === '' || ASKS.test(source);
}

/** Returns the text below a cell's magic; null if there is none. */
function wordsBelow(source: string): string | null {
  const [first = '', ...rest] = source.split('\n');
  return /^%%agent\b/.test(first) ? rest.join('\n').trim() : null;
}
