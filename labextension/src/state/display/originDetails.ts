/** What a page knows of where a cell's source came from. */
import type { CellOrigin, MadeChange, Part } from '../../protocol/generated';
import type { IKernelView } from '../store/kernelStore';
import { beginningOf, oneLine } from '../text/oneLine';
import { turnsOf } from './turns';

/** Letters of a prompt that name a turn. */
const MAX_PROMPT_CHARS = 60;

type Reviewer = 'person' | 'nobody' | 'setting';

/** What a page knows of an origin. */
interface ICellOriginDetails {
  /** The key of the turn; null where the session is not loaded in this page. */
  turnKey: string | null;
  /** The beginning of the turn's prompt; empty for none. */
  promptBeginning: string;
  /** Who approved the change; null where it is not known. */
  reviewer: Reviewer | null;
}

/** Finds the turn of an origin, and who approved the change of a cell. */
export function originDetails(
  { sessions }: IKernelView,
  { session, message, call }: CellOrigin,
  cellId: string
): ICellOriginDetails {
  const transcript = sessions.get(session)?.transcript;
  const originTurn = turnsOf({ entries: transcript?.entries ?? [] }).find(
    turn => turn.messages.some(({ info }) => info.id === message)
  );
  const parts = originTurn?.messages.flatMap(({ parts }) => parts) ?? [];
  return {
    turnKey: originTurn?.key ?? null,
    promptBeginning: beginningOf(
      oneLine(originTurn?.prompt ?? ''),
      MAX_PROMPT_CHARS
    ),
    reviewer: reviewerOf(madeChange(parts, call, cellId))
  };
}

function madeChange(
  parts: readonly Part[],
  callId: string,
  cellId: string
): Partial<MadeChange> | undefined {
  const recordedChanges = parts.flatMap(part =>
    part.type === 'tool' && part.call_id === callId && 'metadata' in part.state
      ? [part.state.metadata.cells]
      : []
  )[0];
  const changes = Array.isArray(recordedChanges)
    ? (recordedChanges as Partial<MadeChange>[])
    : [];
  return changes.findLast(change => change.cell === cellId);
}

function reviewerOf(change: Partial<MadeChange> | undefined): Reviewer | null {
  switch (change?.state) {
    case 'accepted':
      return change.by === 'person' ? 'person' : 'setting';
    case 'open':
      return 'nobody';
    default:
      return null;
  }
}
