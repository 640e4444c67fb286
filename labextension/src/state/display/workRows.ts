/**
 * Folds what the agent did between two texts into one row: thoughts, steps, calls that only look, requests that were
 * answered when they were sent again, and failed calls that a later one mended.
 *
 * Every other call keeps a row, and stays where it is. The kernel has the same rule in
 * render/content/work_rows.py; both are tested on tests/fixtures/work_rows.json.
 */
import type { ToolPart } from '../../protocol/generated';
import { callOutcome } from './callOutcomes';
import type { Line } from './lines';

/** What a call that only looks is about. */
export type Look =
  | 'variables'
  | 'files'
  | 'searches'
  | 'notebook'
  | 'recalled'
  | 'todos'
  | 'skills';

/** The tools of quiet calls, in small letters; some are of other agents, whose sessions can be imported. */
const LOOKS: Partial<Record<string, Look>> = {
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

/** A shorter thought has no row, in seconds. */
const SHORT_THOUGHT = 3;

/** Returns what a call looks at; undefined for one that acts. */
export function lookOf({ tool }: ToolPart): Look | undefined {
  return LOOKS[tool.toLowerCase()];
}

/** Returns whether a run goes on behind a line: it is no text and no notice. */
function isBetween(line: Line): boolean {
  switch (line.kind) {
    case 'reasoning':
    case 'step':
    case 'tool':
      return true;
    case 'retry':
      return line.run?.ended === 'answered';
    default:
      return false;
  }
}

/**
 * Returns the lines with their work folded.
 *
 * While the turn is live its newest line keeps a row, so that nothing that is being read or watched moves.
 */
export function foldWork(all: readonly Line[], live: boolean): Line[] {
  const newest = live ? all.findLastIndex(({ kind }) => kind !== 'step') : -1;
  const mended = mendedCalls(all);
  const shown: Line[] = [];
  let run: Line[] = [];
  let place = 0;
  const close = () => {
    if (wantsRow(run)) {
      shown.splice(place, 0, ...rowOf(run, mended));
    }
    run = [];
  };
  all.forEach((line, index) => {
    if (!isBetween(line)) {
      close();
      shown.push(line);
    } else if (index !== newest && folds(line, mended)) {
      if (run.every(({ kind }) => kind === 'step')) {
        place = shown.length;
      }
      run.push(line);
    } else {
      shown.push(line);
    }
  });
  close();
  return shown;
}

/** Returns the seconds of a thought; null where they are not known. */
export function thoughtSeconds(line: Line): number | null {
  const time = line.kind === 'reasoning' ? line.part.time : undefined;
  return time?.end === undefined ? null : (time.end - time.start) / 1000;
}

/** Returns the row of a run; what stands alone beside steps keeps its own, except a failure that was mended. */
function rowOf(run: Line[], mended: ReadonlySet<string>): Line[] {
  const [first, ...others] = run.filter(({ kind }) => kind !== 'step');
  return first === undefined || (others.length === 0 && !mended.has(first.key))
    ? run.filter(line => line === first)
    : [{ kind: 'work', key: `${first.key}-work`, lines: run }];
}

/** Returns whether there is more to tell than steps and short thoughts. */
function wantsRow(run: readonly Line[]): boolean {
  const thoughts = run.filter(({ kind }) => kind === 'reasoning');
  const spent = thoughts.map(thoughtSeconds);
  return (
    run.some(({ kind }) => kind === 'tool' || kind === 'retry') ||
    spent.some(one => one === null) ||
    spent.reduce<number>((sum, one) => sum + (one ?? 0), 0) >= SHORT_THOUGHT
  );
}

function folds(line: Line, mended: ReadonlySet<string>): boolean {
  return (
    line.kind !== 'tool' ||
    mended.has(line.key) ||
    (lookOf(line.part) !== undefined &&
      callOutcome(line.part).status === 'completed')
  );
}

/** Returns the keys of failed calls after which one with the same aim succeeded. */
function mendedCalls(all: readonly Line[]): ReadonlySet<string> {
  const done = new Set<string>();
  const mended = new Set<string>();
  for (const line of all.toReversed()) {
    if (line.kind === 'tool') {
      const { status } = callOutcome(line.part);
      if (status === 'completed') {
        done.add(aimOf(line.part));
      } else if (status === 'error' && done.has(aimOf(line.part))) {
        mended.add(line.key);
      }
    }
  }
  return mended;
}

/** Returns what a call is for: to look, to write files, or what its tool does. */
function aimOf(part: ToolPart): string {
  const tool = part.tool.toLowerCase();
  return lookOf(part) !== undefined
    ? 'look'
    : tool === 'write' || tool === 'edit'
      ? 'write'
      : tool;
}
