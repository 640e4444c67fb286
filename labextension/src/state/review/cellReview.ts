/**
 * The review of a notebook: the changes of its cells that wait for a person, taken from the parts of a session.
 *
 * Nothing of it is stored: what was decided stands in the parts, so that a review outlives the page and the kernel.
 */
import type {
  Ask,
  MadeChange,
  Message,
  ToolPart
} from '../../protocol/generated';
import { oncePerObject } from '../../protocol/oncePerObject';
import { withoutReverted } from '../session/reverts';
import type { ITranscript } from '../store/transcript';

/** One change of a tool call. */
export interface IReviewedChange {
  /** Tells it apart from every other change of its session. */
  key: string;
  /** Id of the message with the call. */
  messageId: string;
  /** Id of the call. */
  callId: string;
  /** Its number among the changes of the call, from 0. */
  index: number;
  /** How many changes the call has. */
  callChangeCount: number;
  change: MadeChange;
  /** The open question whether it may be made; only of a proposed change. */
  ask?: Ask;
}

/** The changes of one cell that are decided together. */
export interface ICellReview {
  /** The key of the newest change. */
  key: string;
  cellId: string;
  changes: readonly IReviewedChange[];
  state: 'proposed' | 'open';
  isInserted: boolean;
  isDeleted: boolean;
  isMoved: boolean;
  /** The source before the first change; empty for an inserted cell. */
  sourceBefore: string;
  /** The source after the last change; that before for a cell that is moved or deleted. */
  sourceAfter: string;
  kind: MadeChange['kind'];
  /** The number beside the cell, where it had one. */
  executionCount?: number;
  /** Of an inserted or moved cell: the cell above its new place; of a deleted one, above the old place. */
  cellAbove: string | null;
  /** Of a moved cell: the cell above its old place; undefined where that is not known. */
  oldCellAbove?: string | null;
}

const ACTIONS: readonly unknown[] = ['insert', 'edit', 'move', 'delete'];
const STATES: readonly unknown[] = ['proposed', 'open', 'accepted', 'rejected'];
const KINDS: readonly unknown[] = ['code', 'markdown', 'raw'];

/** Returns the changes of cells in a call's metadata; what is none is left out, since a saved answer is anybody's text. */
function madeChanges({ state }: ToolPart): readonly MadeChange[] {
  const changes = 'metadata' in state ? state.metadata.cells : undefined;
  return Array.isArray(changes) ? changesInList(changes) : NO_CHANGES;
}

// The same metadata, and each change in it, gives the same objects.
const changesInList = oncePerObject((cells: unknown[]) =>
  cells.every(isMadeChange) ? cells.map(withDefaults) : NO_CHANGES
);

const withDefaults = oncePerObject((change: MadeChange): MadeChange => ({
  ...DEFAULTS,
  ...change
}));

const NO_CHANGES: readonly MadeChange[] = [];

const DEFAULTS = {
  kind: 'code',
  state: 'open',
  by: '',
  reason: '',
  notebook: '',
  undone: false
} as const;

function isMadeChange(value: unknown): value is MadeChange {
  if (typeof value !== 'object' || value === null) {
    return false;
  }
  const fields = value as Record<string, unknown>;
  const isTextOrNone = (field: unknown) =>
    field === undefined || field === null || typeof field === 'string';
  return (
    ACTIONS.includes(fields.action) &&
    STATES.includes(fields.state ?? 'open') &&
    KINDS.includes(fields.kind ?? 'code') &&
    typeof fields.cell === 'string' &&
    [
      fields.after,
      fields.was_after,
      fields.old,
      fields.new,
      fields.by,
      fields.reason
    ].every(isTextOrNone) &&
    (fields.number === undefined ||
      fields.number === null ||
      typeof fields.number === 'number')
  );
}

/** Returns all changes of a message's calls, in their order; a message that changes is another object. */
export const changesOfMessage = oncePerObject(
  ({
    info,
    parts
  }: Pick<Message, 'parts'> & {
    info?: Message['info'];
  }): readonly IReviewedChange[] =>
    parts.flatMap(part =>
      part.type === 'tool' ? changesOfCall(part, info?.id ?? '') : []
    )
);

/** Returns the changes of one call, in their order. */
export function changesOfCall(
  part: ToolPart,
  messageId: string
): readonly IReviewedChange[] {
  const changes = madeChanges(part);
  return changes.map((change, index) => ({
    key: `${part.call_id}:${index}`,
    messageId,
    callId: part.call_id,
    index,
    callChangeCount: changes.length,
    change
  }));
}

/** Returns the changes of a session that a person has neither decided nor reverted, oldest first. */
export function undecidedChanges(
  transcript: Pick<ITranscript, 'asks' | 'entries' | 'session'>
): readonly IReviewedChange[] {
  const { asks } = transcript;
  return withoutReverted(transcript).flatMap(({ message }) =>
    changesOfMessage(message).flatMap(reviewed =>
      isToBeLookedAt(reviewed.change)
        ? [reviewed]
        : reviewed.change.state === 'proposed'
          ? withOpenQuestion(reviewed, asks)
          : []
    )
  );
}

/** Returns whether a change stands in the notebook and nobody looked at it. */
export function isToBeLookedAt({ state, undone }: MadeChange): boolean {
  return state === 'open' && !undone;
}

/** Returns a proposal with its open question; none where it was just answered, or its turn was stopped. */
function withOpenQuestion(
  reviewed: IReviewedChange,
  asks: readonly Ask[]
): IReviewedChange[] {
  const ask = asks.find(({ call_id }) => call_id === reviewed.callId);
  return ask === undefined ? [] : [{ ...reviewed, ask }];
}

/** Returns what is to be reviewed of each cell; a proposal comes before what was made earlier. */
export function reviewsByCell(
  changes: readonly IReviewedChange[]
): readonly ICellReview[] {
  const changesByCell = new Map<string, IReviewedChange[]>();
  for (const reviewed of changes) {
    const { cell } = reviewed.change;
    const group = changesByCell.get(cell) ?? [];
    const isNewState =
      group[0] !== undefined && group[0].change.state !== reviewed.change.state;
    changesByCell.set(
      cell,
      !isNewState
        ? [...group, reviewed]
        : reviewed.change.state === 'proposed'
          ? [reviewed]
          : group
    );
  }
  return [...changesByCell.values()].map(reviewOfCell);
}

function reviewOfCell(changes: readonly IReviewedChange[]): ICellReview {
  const [firstChange] = changes;
  const lastChange = changes.at(-1);
  if (firstChange === undefined || lastChange === undefined) {
    throw new Error('A review of a cell has at least one change.');
  }
  const hasAction = (action: MadeChange['action']) =>
    changes.some(({ change }) => change.action === action);
  const isInserted = hasAction('insert');
  const sourceBefore = isInserted ? '' : (firstChange.change.old ?? '');
  const placingChange = changes.findLast(({ change }) =>
    ['insert', 'move', 'delete'].includes(change.action)
  )?.change;
  const firstMove = changes.find(
    ({ change }) => change.action === 'move'
  )?.change;
  return {
    key: lastChange.key,
    cellId: lastChange.change.cell,
    changes,
    state: lastChange.change.state === 'proposed' ? 'proposed' : 'open',
    isInserted,
    isDeleted: hasAction('delete'),
    isMoved: firstMove !== undefined,
    sourceBefore,
    sourceAfter:
      changes.findLast(({ change }) => typeof change.new === 'string')?.change
        .new ?? sourceBefore,
    kind: lastChange.change.kind,
    ...(typeof firstChange.change.number === 'number'
      ? { executionCount: firstChange.change.number }
      : {}),
    cellAbove:
      (placingChange?.action === 'delete'
        ? placingChange.was_after
        : placingChange?.after) ?? null,
    ...(firstMove === undefined || firstMove.state === 'proposed'
      ? {}
      : { oldCellAbove: firstMove.was_after ?? null })
  };
}

/** Returns reviews, with the object of before for each that is about the same: what was drawn of it then still holds. */
export function reviewsKeepingObjects(
  reviews: readonly ICellReview[],
  before: readonly ICellReview[]
): readonly ICellReview[] {
  const reviewsBefore = new Map(before.map(review => [review.key, review]));
  return reviews.map(review => {
    const reviewBefore = reviewsBefore.get(review.key);
    return reviewBefore !== undefined &&
      isSameChanges(reviewBefore.changes, review.changes)
      ? reviewBefore
      : review;
  });
}

function isSameChanges(
  before: readonly IReviewedChange[],
  now: readonly IReviewedChange[]
): boolean {
  return (
    before.length === now.length &&
    now.every(
      ({ ask, change, callChangeCount }, index) =>
        before[index]?.change === change &&
        before[index].ask === ask &&
        before[index].callChangeCount === callChangeCount
    )
  );
}
