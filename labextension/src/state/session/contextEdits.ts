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
  isByRule: boolean;
  /** The truncation or pruning of its output that is in effect. */
  reduction: Decision | null;
}

const EXCLUDE_RULE = 'user/exclude';
const UNPIN_RULE = 'user/unpin';
const RESTORE_RULE = 'user/restore';
const UNDO_RULE = 'user/undo-compaction';
const REDO_RULE = 'user/redo-compaction';
const REDUCING_ACTIONS = ['truncate', 'clear', 'drop'];

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
  const partStack: Decision[] = [];
  const messageStack: Decision[] = [];
  for (const decision of decisions) {
    const stack = decision.part_id === undefined ? messageStack : partStack;
    if (decision.action === 'restore') {
      removeNewestDecision(stack, decision.rule);
    } else if (
      decision.action === 'pin' ||
      REDUCING_ACTIONS.includes(decision.action)
    ) {
      stack.push(decision);
    }
  }
  const stackedDecisions = new Set([...partStack, ...messageStack]);
  const newestDecision = decisions.findLast(
    decision =>
      stackedDecisions.has(decision) &&
      ['pin', 'drop'].includes(decision.action)
  );
  const isByRule =
    newestDecision?.action === 'drop' && newestDecision.rule !== EXCLUDE_RULE;
  const edit = isByRule
    ? null
    : ((newestDecision?.action ?? null) as ContextEdit | null);
  const reducingActions = edit === 'pin' ? ['truncate'] : ['truncate', 'clear'];
  const reduction =
    newestDecision?.action === 'drop'
      ? undefined
      : partStack.findLast(({ action }) => reducingActions.includes(action));
  return {
    edit,
    decision: newestDecision ?? null,
    isByRule,
    editedId: newestDecision?.part_id ?? newestDecision?.message_id ?? null,
    reduction: reduction ?? null
  };
}

function removeNewestDecision(stack: Decision[], rule: string): void {
  const index = stack.findLastIndex(({ action }) =>
    rule === UNPIN_RULE
      ? action === 'pin'
      : rule !== RESTORE_RULE || action !== 'pin'
  );
  if (index >= 0) {
    stack.splice(index, 1);
  }
}

/** Returns whether the user undid the compaction with this summary, and did not redo it. */
export function isSummaryUndone(
  decisions: readonly Decision[],
  summaryId: string
): boolean {
  const newestDecision = decisions.findLast(
    ({ rule, message_id }) =>
      message_id === summaryId && (rule === UNDO_RULE || rule === REDO_RULE)
  );
  return newestDecision?.rule === UNDO_RULE;
}
