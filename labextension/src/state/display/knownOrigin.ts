/** What a page knows of where a cell's source came from. */
import type { CellOrigin, MadeChange, Part } from '../../protocol/generated';
import type { IKernelView } from '../store/kernelStore';
import { beginningOf, oneLine } from '../text/oneLine';
import { turnsOf } from './turns';

/** Letters of a prompt that name a turn. */
const PROMPT_CHARS = 60;

type Reviewer = 'person' | 'nobody' | 'setting';

/** What a page knows of an origin. */
interface IKnownOrigin {
  /** The key of the turn; null where the session is not loaded in this page. */
  turn: string | null;
  /** The beginning of the turn's prompt; empty for none. */
  prompt: string;
  /** Who approved the change; null where it is not known. */
  reviewer: Reviewer | null;
}

/** Finds the turn of an origin, and who approved the change of a cell. */
export function knownOrigin(
  { sessions }: IKernelView,
  { session, message, call }: CellOrigin,
  cell: string
): IKnownOrigin {
  const transcript = sessions.get(session)?.transcript;
  const originTurn = turnsOf({ entries: transcript?.entries ?? [] }).find(
    turn => turn.messages.some(({ info }) => info.id === message)
  );
  const parts = originTurn?.messages.flatMap(({ parts }) => parts) ?? [];
  return {
    turn: originTurn?.key ?? null,
    prompt: beginningOf(oneLine(originTurn?.prompt ?? ''), PROMPT_CHARS),
    reviewer: reviewerOf(changeOf(parts, call, cell))
  };
}

function changeOf(
  parts: readonly Part[],
  call: string,
  cell: string
): Partial<MadeChange> | undefined {
  const recorded = parts.flatMap(part =>
    part.type === 'tool' && part.call_id === call && 'metadata' in part.state
      ? [part.state.metadata.cells]
      : []
  )[0];
  const changes = Array.isArray(recorded)
    ? (recorded as Partial<MadeChange>[])
    : [];
  return changes.findLast(change => change.cell === cell);
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
