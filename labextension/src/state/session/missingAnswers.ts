/**
 * Which answers the notebook does not show, though a cell of it asked for them.
 *
 * A page that was reloaded before the notebook was saved shows cells as they were on disk; the
 * session's log has the answer.
 */
import type { ITranscript } from '../store/transcript';

/** What is known of a code cell. */
export interface ICellContents {
  id: string;
  /** It could be the cell of a prompt: it calls the agent, or nothing stands in it. */
  asks: boolean;
  source: string;
  /** The turns whose answers it shows. */
  turns: readonly string[];
  /** Nothing stands below it. */
  isEmpty: boolean;
}

/** What is to be put back, and what of it the log knows. */
export interface IMissingAnswer {
  turn: string;
  /** The cell that asked. */
  cell: string;
  /** What was asked. */
  prompt: string;
  executionCount?: number;
}

/**
 * Returns the turns that can be put back, by their id: of every cell the newest, when it is over
 * and no cell shows it. Of a cell that is gone only those that this notebook asked.
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
  const shown = new Set(cells.flatMap(({ turns }) => turns));
  const running = status.type === 'idle' ? null : last;
  return new Map(
    [...newest.values()]
      .filter(one => one !== running && !shown.has(one.turn))
      .map(one => [one.turn, one])
  );
}

/** Where an answer goes: into a cell, or into a new one after that cell, or at the end. */
interface ICellPlace {
  index: number;
  isNew: boolean;
}

/** Says where a turn is put back. */
export function targetCell(
  { cell, prompt }: IMissingAnswer,
  cells: readonly (ICellContents | null)[]
): ICellPlace {
  const own = cells.findIndex(one => one?.id === cell);
  if (own >= 0) {
    return cells[own]?.asks === true
      ? { index: own, isNew: false }
      : { index: own + 1, isNew: true };
  }
  // A notebook of an older format gives its cells other names whenever it is opened.
  const alike = cells.findIndex(
    one => one?.isEmpty === true && wordsBelow(one.source) === prompt.trim()
  );
  return alike < 0
    ? { index: cells.length, isNew: true }
    : { index: alike, isNew: false };
}

const ASKS = /^\s*%%?agent\b/m;

/** Says whether a cell may be the one of a prompt. */
export function isAgentCell(source: string): boolean {
  return source.trim() === '' || ASKS.test(source);
}

/** Returns what stands below a cell's magic; null where there is none. */
function wordsBelow(source: string): string | null {
  const [first = '', ...rest] = source.split('\n');
  return /^%%agent\b/.test(first) ? rest.join('\n').trim() : null;
}
