/**
 * Folds what the agent did between two texts into one row: thoughts, steps, calls that only read, requests that were
 * answered when they were sent again, and failed calls that a later one mended.
 *
 * Every other call keeps a row, and stays where it is. The kernel has the same rule in
 * render/content/work_rows.py; both are tested on tests/fixtures/work_rows.json.
 */
import type { ToolPart } from '../../protocol/generated';
import { callOutcome } from '../lines/callOutcomes';
import type { Line } from '../lines/lines';

/** The subject of a call that only reads. */
export type ReadSubject =
  | 'variables'
  | 'files'
  | 'searches'
  | 'notebook'
  | 'recalled'
  | 'todos'
  | 'skills';

/** The tools of calls that only read, in small letters; some are of other agents, whose sessions can be imported. */
const READ_SUBJECTS: Partial<Record<string, ReadSubject>> = {
  variables: 'variables',
  read: 'files',
  list: 'searches',
  ls: 'searches',
  glob: 'searches',
  find: 'searches',
  grep: 'searches',
  notebook: 'notebook',
  recall: 'recalled',
  todowrite: 'todos',
  todoread: 'todos',
  skill: 'skills'
};

/** Seconds of thinking below which a run has no row. */
const MIN_THOUGHT_SECONDS = 3;

/** Returns what a call reads; undefined for a call that changes something. */
export function readSubjectOf({ tool }: ToolPart): ReadSubject | undefined {
  return READ_SUBJECTS[tool.toLowerCase()];
}

/** Returns whether a line may be part of a run of work: it is neither a text nor a notice. */
function isWorkLine(line: Line): boolean {
  switch (line.kind) {
    case 'reasoning':
    case 'step':
    case 'tool':
      return true;
    case 'retry':
      return line.run?.end === 'answered';
    default:
      return false;
  }
}

/**
 * Returns the lines with their work folded.
 *
 * While the turn is live its newest line keeps a row, so that nothing that is being read or watched moves.
 */
export function foldWork(lines: readonly Line[], isLive: boolean): Line[] {
  const newestIndex = isLive
    ? lines.findLastIndex(({ kind }) => kind !== 'step')
    : -1;
  const retriedKeys = retriedCallKeys(lines);
  const shownLines: Line[] = [];
  let run: Line[] = [];
  let rowIndex = 0;
  const closeRun = () => {
    if (needsRow(run)) {
      shownLines.splice(rowIndex, 0, ...runRows(run, retriedKeys));
    }
    run = [];
  };
  lines.forEach((line, index) => {
    if (!isWorkLine(line)) {
      closeRun();
      shownLines.push(line);
    } else if (index !== newestIndex && isFolded(line, retriedKeys)) {
      if (run.every(({ kind }) => kind === 'step')) {
        rowIndex = shownLines.length;
      }
      run.push(line);
    } else {
      shownLines.push(line);
    }
  });
  closeRun();
  return shownLines;
}

/** Returns the seconds of a thought; null where they are not known. */
export function thoughtSeconds(line: Line): number | null {
  const time = line.kind === 'reasoning' ? line.part.time : undefined;
  return time?.end === undefined ? null : (time.end - time.start) / 1000;
}

/** Returns the row of a run; a single line beside steps keeps its own row, unless it is a failure that was mended. */
function runRows(run: Line[], retriedKeys: ReadonlySet<string>): Line[] {
  const [first, ...others] = run.filter(({ kind }) => kind !== 'step');
  return first === undefined ||
    (others.length === 0 && !retriedKeys.has(first.key))
    ? run.filter(line => line === first)
    : [{ kind: 'work', key: `${first.key}-work`, lines: run }];
}

/** Returns whether a run holds more than steps and short thoughts. */
function needsRow(run: readonly Line[]): boolean {
  const thoughts = run.filter(({ kind }) => kind === 'reasoning');
  const secondsOfThoughts = thoughts.map(thoughtSeconds);
  return (
    run.some(({ kind }) => kind === 'tool' || kind === 'retry') ||
    secondsOfThoughts.some(seconds => seconds === null) ||
    secondsOfThoughts.reduce<number>(
      (sum, seconds) => sum + (seconds ?? 0),
      0
    ) >= MIN_THOUGHT_SECONDS
  );
}

function isFolded(line: Line, retriedKeys: ReadonlySet<string>): boolean {
  return (
    line.kind !== 'tool' ||
    retriedKeys.has(line.key) ||
    (readSubjectOf(line.part) !== undefined &&
      callOutcome(line.part).status === 'completed')
  );
}

/** Returns the keys of failed calls after which one with the same aim succeeded. */
function retriedCallKeys(lines: readonly Line[]): ReadonlySet<string> {
  const succeededAims = new Set<string>();
  const retriedKeys = new Set<string>();
  for (const line of lines.toReversed()) {
    if (line.kind === 'tool') {
      const { status } = callOutcome(line.part);
      if (status === 'completed') {
        succeededAims.add(aimOf(line.part));
      } else if (status === 'error' && succeededAims.has(aimOf(line.part))) {
        retriedKeys.add(line.key);
      }
    }
  }
  return retriedKeys;
}

/** Returns the purpose of a call: "read", "write", or the name of its tool. */
function aimOf(part: ToolPart): string {
  const tool = part.tool.toLowerCase();
  return readSubjectOf(part) !== undefined
    ? 'read'
    : tool === 'write' || tool === 'edit'
      ? 'write'
      : tool;
}
