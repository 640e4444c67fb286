/**
 * Computes the display lines of a list of messages: pure, so that cell and panel agree.
 *
 * A line is a part, or a row of work into which workRows folds some. Types that affect their neighbours are
 * handled here; any other part is a line of its own, which views/parts/standaloneParts draws, or skips
 * if its type is unknown, so that an older front end shows a newer kernel's messages.
 */
import {
  PART_TYPES,
  type AssistantMessage,
  type CompactionPart,
  type ErrorValue,
  type Message,
  type Part,
  type ReasoningPart,
  type RetryPart,
  type SnapshotPart,
  type StepFinishPart,
  type StepStartPart,
  type TextPart,
  type ToolPart
} from '../../protocol/generated';
import { retryLines, type IRetryLines, type IRetryRun } from './retryRuns';

/** A part that marks the start of a step for reverts, and is not displayed. */
type HiddenPart = SnapshotPart | StepStartPart;

/** A part that is always a line of its own; views/parts/standaloneParts draws it. */
export type StandalonePart = Exclude<
  Part,
  | HiddenPart
  | TextPart
  | ReasoningPart
  | ToolPart
  | RetryPart
  | StepFinishPart
  | CompactionPart
>;

/** A line that is a standalone part. */
export type StandaloneLine = {
  [T in StandalonePart['type']]: {
    kind: T;
    key: string;
    part: Extract<StandalonePart, { type: T }>;
  };
}[StandalonePart['type']];

export type Line =
  | { kind: 'text'; key: string; part: TextPart }
  | { kind: 'prompt'; key: string; part: TextPart }
  | { kind: 'reasoning'; key: string; part: ReasoningPart }
  | { kind: 'tool'; key: string; part: ToolPart }
  | IWorkRow
  | StandaloneLine
  /** A notice to the user, which the model does not see. */
  | { kind: 'notice'; key: string; part: TextPart }
  /** Failed attempts in a row, with the newest; without a run it is a notice that another model was asked instead. */
  | { kind: 'retry'; key: string; part: RetryPart; run?: IRetryRun }
  | { kind: 'step'; key: string; part: StepFinishPart; number: number }
  /** A step whose answer was cut at its length limit. */
  | { kind: 'cut'; key: string; part: StepFinishPart }
  | {
      kind: 'compaction';
      key: string;
      part: CompactionPart;
      summary: string;
      state: CompactionState;
      /** The id of the message with the summary; empty before there is one. */
      summaryId: string;
    }
  | {
      kind: 'error';
      key: string;
      error: ErrorValue;
      /** How many attempts failed with this error, which is shown once. */
      attemptCount: number;
    };

/** A row that opens to the lines that workRows folds into it. */
export interface IWorkRow {
  kind: 'work';
  key: string;
  lines: readonly Line[];
}

/** Whether a summary is being written, replaces what it covers, or failed. */
export type CompactionState = 'running' | 'done' | 'failed';

/**
 * Converts messages to lines.
 *
 * A cell contains its turn's prompt itself; user messages among these joined the running turn.
 */
export function messageLines(
  messages: readonly Message[],
  firstStep = 1
): Line[] {
  const lines: Line[] = [];
  let stepNumber = firstStep - 1;
  for (const { info, parts } of messages) {
    const retries = retriesOf(info, parts);
    if (info.role === 'assistant' && info.summary) {
      addSummary(lines, info, summaryText(parts));
      for (const part of parts) {
        if (part.type === 'retry') {
          lines.push(...attemptLines(part, retries));
        } else if (part.type === 'text' && isNotice(part)) {
          lines.push({ kind: 'notice', key: part.id, part });
        }
      }
      addError(lines, info, retries);
      continue;
    }
    for (const part of parts) {
      if (part.type === 'step-finish') {
        stepNumber += 1;
        lines.push({ kind: 'step', key: part.id, part, number: stepNumber });
        if (part.reason === 'length') {
          lines.push({ kind: 'cut', key: `${part.id}-cut`, part });
        }
        continue;
      }
      if (part.type === 'retry') {
        lines.push(...attemptLines(part, retries));
        continue;
      }
      const line = partLine(part, info.role);
      if (line !== null) {
        lines.push(line);
      }
    }
    addError(lines, info, retries);
  }
  return lines;
}

function retriesOf(info: Message['info'], parts: readonly Part[]): IRetryLines {
  return info.role === 'assistant'
    ? retryLines(parts, info.error, info.time.completed !== undefined)
    : retryLines([], undefined, true);
}

/** Returns the line of a failed attempt; none where the line of a later attempt, or of the error, includes it. */
function attemptLines(
  part: RetryPart,
  { mergedIds, runs }: IRetryLines
): Line[] {
  const run = runs.get(part.id);
  return mergedIds.has(part.id)
    ? []
    : [{ kind: 'retry', key: run?.firstId ?? part.id, part, run }];
}

function partLine(part: Exclude<Part, RetryPart>, role: string): Line | null {
  const key = part.id;
  switch (part.type) {
    case 'text':
      if (isNotice(part)) {
        return { kind: 'notice', key, part };
      }
      return part.synthetic || part.text.trim() === ''
        ? null
        : { kind: role === 'user' ? 'prompt' : 'text', key, part };
    case 'reasoning':
      return part.text.trim() === '' ? null : { kind: 'reasoning', key, part };
    case 'tool':
      return { kind: 'tool', key, part };
    case 'compaction':
      return {
        kind: 'compaction',
        key,
        part,
        summary: '',
        state: 'running',
        summaryId: ''
      };
    case 'snapshot':
    case 'step-start':
    case 'step-finish': // messageLines numbers these
      return null;
    default:
      return standaloneLine(part);
  }
}

function standaloneLine(part: StandalonePart): Line | null {
  return !isStandalone(part) ||
    (part.type === 'patch' && part.files.length === 0)
    ? null // of a newer kernel, or without files
    : ({ kind: part.type, key: part.id, part } as StandaloneLine);
}

const KNOWN_PART_TYPES = new Set<string>(PART_TYPES);

const NEIGHBOUR_PART_TYPES: Record<
  Exclude<Part, StandalonePart>['type'],
  true
> = {
  compaction: true,
  reasoning: true,
  retry: true,
  snapshot: true,
  'step-finish': true,
  'step-start': true,
  text: true,
  tool: true
};

/** Returns whether a part is always a line of its own. */
export function isStandalone(part: Part): part is StandalonePart {
  return (
    KNOWN_PART_TYPES.has(part.type) && !(part.type in NEIGHBOUR_PART_TYPES)
  );
}

/** Returns whether a text is a notice to the user about a failure beside the answer. */
export function isNotice(part: TextPart): boolean {
  return part.ignored && part.metadata?.notice !== undefined;
}

/** Adds the error that ended a message; its line includes earlier attempts that failed with the same error. */
function addError(
  lines: Line[],
  info: Message['info'],
  { errorAttempts }: IRetryLines
): void {
  const error = info.role === 'assistant' ? info.error : undefined;
  if (error === undefined) {
    return;
  }
  const lastLine = lines.at(-1);
  const isSameError =
    lastLine?.kind === 'error' &&
    error.type !== 'aborted' &&
    lastLine.error.message === error.message;
  if (isSameError) {
    lines.pop();
  }
  lines.push({
    kind: 'error',
    key: `${info.id}-error`,
    error,
    attemptCount: errorAttempts + (isSameError ? lastLine.attemptCount : 0)
  });
}

/**
 * Returns the text of a summary. A summary written in parts has drafts, which are shown only as long
 * as there is nothing newer.
 */
function summaryText(parts: readonly Part[]): string {
  const textParts = parts
    .filter(part => part.type === 'text')
    .filter(part => !isNotice(part))
    .filter(part => part.metadata?.failed_attempt === undefined);
  const finalParts = textParts.filter(
    part => !part.ignored && part.text !== ''
  );
  return (finalParts.length > 0 ? finalParts : textParts.slice(-1))
    .map(part => part.text)
    .join('');
}

/** Adds a summary to its compaction's line; a cell that asked for it has no such line. */
function addSummary(
  lines: Line[],
  info: AssistantMessage,
  summary: string
): void {
  const { id } = info;
  const state = compactionState(info);
  const lastLine = lines.at(-1);
  if (lastLine?.kind === 'compaction' && lastLine.summary === '') {
    lastLine.summary = summary;
    lastLine.state = state;
    lastLine.summaryId = id;
  } else if (summary !== '') {
    const part: CompactionPart = {
      id,
      session_id: '',
      message_id: id,
      type: 'compaction',
      auto: false,
      overflow: false,
      goes_on: false
    };
    lines.push({
      kind: 'compaction',
      key: id,
      part,
      summary,
      state,
      summaryId: id
    });
  }
}

function compactionState(info: AssistantMessage): CompactionState {
  if (info.error !== undefined) {
    return 'failed';
  }
  return info.time.completed === undefined ? 'running' : 'done';
}
