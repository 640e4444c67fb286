/** The changes of cells in a turn, or in a question: a row each, with the buttons that decide it. */
import { memo, useCallback, useMemo, useRef, useState } from 'react';
import type { Ask } from '../../protocol/generated';
import {
  isToBeLookedAt,
  type IReviewedChange
} from '../../state/review/cellReview';
import { actionWord, cellName } from '../../state/review/changeWords';
import { lineCounts } from '../../state/text/lineDiff';
import { visibleText } from '../../state/text/visibleText';
import {
  useCellReviewActions,
  type IChangeVerdict,
  type ICellReviewActions
} from '../actions/cells';
import { useLatest } from '../dom/effects';
import { useEndsSeen } from '../dom/endSeen';
import { LinkButton, SmallButton } from '../controls/buttons';
import { LineNumbers } from '../controls/lineNumbers';
import { RejectionForm } from '../controls/rejectionForm';
import { ProblemText } from '../controls/problemText';
import { useHost, type IWords } from '../host';
import {
  usePendingDecision,
  useChangesWithoutDecision
} from './pendingDecision';

/** Draws the list where changes can be decided; elsewhere the calls' own differences are enough. */
export function ChangeList(props: {
  changes: readonly IReviewedChange[];
  /** The open questions. */
  asks: readonly Ask[];
  /** Whether the turn is reverted, so that nothing is left to decide. */
  isReverted?: boolean;
}) {
  const { changes, asks, isReverted = false } = props;
  const { words } = useHost();
  const actions = useCellReviewActions();
  const listRef = useRef<HTMLUListElement>(null);
  const [isSeen] = useEndsSeen(listRef);
  const [problem, setProblem] = useState('');
  const changesWithAsks = useMemo(
    () =>
      changes.map(reviewed => {
        const ask = asks.find(({ call_id }) => call_id === reviewed.callId);
        return reviewed.change.state === 'proposed' && ask !== undefined
          ? { ...reviewed, ask }
          : reviewed;
      }),
    [changes, asks]
  );
  const undecided = useChangesWithoutDecision(
    isReverted ? [] : changesWithAsks.filter(isUndecided)
  );
  // What is only proposed is accepted by those who could read it: the question's own buttons say so.
  const canAccept = isSeen || undecided.every(({ ask }) => ask === undefined);
  const latestRef = useLatest({ actions, changesWithAsks });
  const decide = useCallback<Decide>(
    (decided, verdict) => {
      const { actions: latestActions, changesWithAsks: allChanges } =
        latestRef.current;
      const decidedKeys = new Set(decided.map(({ key }) => key));
      // The next row with a button gets the keyboard, since this one loses its buttons.
      const firstIndex = allChanges.findIndex(({ key }) =>
        decidedKeys.has(key)
      );
      const nextChange = allChanges.find(
        (reviewed, index) =>
          index > firstIndex &&
          !decidedKeys.has(reviewed.key) &&
          isUndecided(reviewed)
      );
      focusRow(listRef.current, nextChange);
      void latestActions?.decide(decided, verdict).then(setProblem);
    },
    [latestRef]
  );
  if (actions === null || changes.length === 0) {
    return null;
  }
  return (
    <div
      className="plm-Changes"
      role="group"
      aria-label={words.__('Changes of cells')}
    >
      <div className="plm-Changes-head">
        <span>
          {words._n(
            '%1 change in the notebook',
            '%1 changes in the notebook',
            changes.length
          )}
        </span>
        {undecided.length > 1 && (
          <AllButtons
            changes={undecided}
            canAccept={canAccept}
            decide={decide}
          />
        )}
      </div>
      <ul ref={listRef} className="plm-Changes-rows">
        {changesWithAsks.map(reviewed => (
          <ChangeRow
            key={reviewed.key}
            reviewedChange={reviewed}
            actions={actions}
            canAccept={canAccept}
            isReverted={isReverted}
            decide={decide}
          />
        ))}
      </ul>
      <ProblemText
        className="plm-Changes-problem"
        text={visibleText(problem)}
      />
    </div>
  );
}

function isUndecided({ ask, change }: IReviewedChange): boolean {
  return isToBeLookedAt(change) || ask !== undefined;
}

function focusRow(
  list: HTMLElement | null,
  reviewedChange: IReviewedChange | undefined
): void {
  if (reviewedChange !== undefined) {
    list
      ?.querySelector<HTMLElement>(
        `[data-change-row="${CSS.escape(reviewedChange.key)}"] button[data-verdict]:enabled`
      )
      ?.focus();
  }
}

type Decide = (
  changes: readonly IReviewedChange[],
  verdict: IChangeVerdict
) => void;

function AllButtons(props: {
  changes: readonly IReviewedChange[];
  canAccept: boolean;
  decide: Decide;
}) {
  const { changes, canAccept, decide } = props;
  const { words } = useHost();
  const [isRejecting, setRejecting] = useState(false);
  if (isRejecting) {
    return (
      <RejectionForm
        label={words.__('Why are all of them rejected? The agent is told.')}
        onSend={reason => {
          setRejecting(false);
          decide(changes, { accept: false, reason });
        }}
        onBack={() => {
          setRejecting(false);
        }}
      />
    );
  }
  return (
    <span className="plm-Changes-all">
      <SmallButton
        disabled={!canAccept}
        onClick={() => {
          decide(changes, { accept: true });
        }}
      >
        {words.__('Accept all')}
      </SmallButton>
      <SmallButton
        onClick={() => {
          setRejecting(true);
        }}
      >
        {words.__('Reject all…')}
      </SmallButton>
    </span>
  );
}

/** Draws a row; the others are not drawn again when the changes of one cell are decided. */
const ChangeRow = memo(function ChangeRow(props: IChangeRowProps) {
  const { reviewedChange, actions, canAccept, isReverted, decide } = props;
  const { words } = useHost();
  const { change } = reviewedChange;
  const pending = usePendingDecision(reviewedChange);
  const [isRejecting, setRejecting] = useState(false);
  const cell = cellName(change, words);
  const action = actionWord(change, words);
  const counts = useMemo(
    () =>
      change.action === 'move'
        ? { additions: 0, deletions: 0 }
        : lineCounts(change.old ?? '', change.new ?? ''),
    [change]
  );
  const isDecidable =
    !isReverted && isUndecided(reviewedChange) && pending === undefined;
  return (
    <li
      className="plm-Changes-row"
      data-change-row={reviewedChange.key}
      data-action={change.action}
    >
      <button
        type="button"
        className="plm-Changes-cell"
        title={words.__('Show it in the notebook')}
        onClick={() => {
          actions.show(reviewedChange);
        }}
      >
        <span className="plm-Changes-action">{action}</span>{' '}
        <bdi className="plm-Changes-name">{cell}</bdi>
      </button>
      {counts.additions + counts.deletions > 0 && <LineNumbers {...counts} />}
      {isRejecting && isDecidable ? (
        <RejectionForm
          label={words.__('Why is it rejected? The agent is told.')}
          onSend={reason => {
            setRejecting(false);
            decide([reviewedChange], { accept: false, reason });
          }}
          onBack={() => {
            setRejecting(false);
          }}
        />
      ) : isDecidable ? (
        <span className="plm-Changes-buttons">
          <SmallButton
            data-verdict="accept"
            disabled={!canAccept}
            aria-label={words.__('Accept: %1 %2', action, cell)}
            onClick={() => {
              decide([reviewedChange], { accept: true });
            }}
          >
            {words.__('Accept')}
          </SmallButton>
          <SmallButton
            data-verdict="reject"
            aria-label={words.__('Reject: %1 %2', action, cell)}
            onClick={() => {
              setRejecting(true);
            }}
          >
            {words.__('Reject…')}
          </SmallButton>
        </span>
      ) : (
        <span className="plm-Changes-state">
          <bdi>
            {isReverted
              ? words.__('reverted')
              : visibleText(stateWords(reviewedChange, pending, words))}
          </bdi>
          {pending !== undefined && (
            <LinkButton
              onClick={() => {
                actions.takeBack(reviewedChange);
              }}
            >
              {words.__('Undo')}
            </LinkButton>
          )}
        </span>
      )}
    </li>
  );
}, isSameRow);

interface IChangeRowProps {
  reviewedChange: IReviewedChange;
  actions: ICellReviewActions;
  /** Whether what is proposed was on the screen to its end. */
  canAccept: boolean;
  isReverted: boolean;
  decide: Decide;
}

function isSameRow(before: IChangeRowProps, now: IChangeRowProps): boolean {
  return (
    before.reviewedChange.change === now.reviewedChange.change &&
    before.reviewedChange.ask === now.reviewedChange.ask &&
    before.reviewedChange.key === now.reviewedChange.key &&
    before.reviewedChange.callChangeCount ===
      now.reviewedChange.callChangeCount &&
    before.actions === now.actions &&
    before.canAccept === now.canAccept &&
    before.isReverted === now.isReverted &&
    before.decide === now.decide
  );
}

/** Returns what was decided about a change. */
function stateWords(
  { change: { by, reason, state } }: IReviewedChange,
  pending: { accept: boolean } | undefined,
  words: IWords
): string {
  if (pending !== undefined) {
    return pending.accept
      ? words.__('accepted, waits for the others')
      : words.__('rejected, waits for the others');
  }
  switch (state) {
    case 'accepted':
      return by === '' || by === 'person'
        ? words.__('accepted')
        : words.__('allowed by %1', by);
    case 'rejected':
      return reason === ''
        ? words.__('rejected')
        : words.__('rejected: %1', reason);
    case 'proposed':
      return words.__('not made');
    case 'open':
      return words.__('taken back');
  }
}
