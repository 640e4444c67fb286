/**
 * Computes a user's context edits (pin, exclude, restore) from the decisions in the journal.
 *
 * The same rule as in the kernel (transcript/context_values/decisions.py): decisions about a part are
 * a stack, a restore removes the newest one, and of those that apply to a part the newest takes
 * effect.
 */
import type { Decision } from '../../protocol/generated';

type ContextEdit = 'pin' | 'drop';

/** The edits that can be made to a part or message. */
export type ContextEditAction =
  'pin' | 'unpin' | 'exclude' | 'restore' | 'undo';

interface IEffectiveDecisions {
  edit: ContextEdit | null;
  /** The id of the edited part, or of its whole message. */
  editedId: string | null;
  /** The pin or the exclusion in effect, by the user or a rule. */
  decision: Decision | null;
  /** Whether a rule, and not the user, excluded it. */
  byRule: boolean;
  /** The truncation or pruning of its output that is in effect. */
  reduction: Decision | null;
}

const EXCLUDE = 'user/exclude';
const UNPIN = 'user/unpin';
const RESTORE = 'user/restore';
const UNDO = 'user/undo-compaction';
const REDO = 'user/redo-compaction';
const REDUCTIONS = ['truncate', 'clear', 'drop'];

/** Returns the decisions about a part or its whole message. */
export function decisionsAbout(
  decisions: readonly Decision[],
  part: { id: string; message_id: string }
): Decision[] {
  return decisions.filter(
    ({ part_id, message_id }) =>
      part_id === part.id ||
      (part_id === undefined && message_id === part.message_id)
  );
}

/** Returns which decisions about a part are in effect. */
export function effectiveDecisions(
  decisions: readonly Decision[]
): IEffectiveDecisions {
  const own: Decision[] = [];
  const around: Decision[] = [];
  for (const decision of decisions) {
    const stack = decision.part_id === undefined ? around : own;
    if (decision.action === 'restore') {
      removeNewest(stack, decision.rule);
    } else if (
      decision.action === 'pin' ||
      REDUCTIONS.includes(decision.action)
    ) {
      stack.push(decision);
    }
  }
  const remaining = new Set([...own, ...around]);
  const newest = decisions.findLast(
    decision =>
      remaining.has(decision) && ['pin', 'drop'].includes(decision.action)
  );
  const byRule = newest?.action === 'drop' && newest.rule !== EXCLUDE;
  const edit = byRule ? null : ((newest?.action ?? null) as ContextEdit | null);
  const actions = edit === 'pin' ? ['truncate'] : ['truncate', 'clear'];
  const reduction =
    newest?.action === 'drop'
      ? undefined
      : own.findLast(({ action }) => actions.includes(action));
  return {
    edit,
    decision: newest ?? null,
    byRule,
    editedId: newest?.part_id ?? newest?.message_id ?? null,
    reduction: reduction ?? null
  };
}

function removeNewest(stack: Decision[], rule: string): void {
  const at = stack.findLastIndex(({ action }) =>
    rule === UNPIN ? action === 'pin' : rule !== RESTORE || action !== 'pin'
  );
  if (at >= 0) {
    stack.splice(at, 1);
  }
}

/** Returns whether the user undid the compaction with this summary, and did not take it back. */
export function isUndone(
  decisions: readonly Decision[],
  summary: string
): boolean {
  const newest = decisions.findLast(
    ({ rule, message_id }) =>
      message_id === summary && (rule === UNDO || rule === REDO)
  );
  return newest?.rule === UNDO;
}
