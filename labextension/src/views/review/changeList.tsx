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
import { usePendingDecision, useWithoutDecision } from './pendingDecision';

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
  const list = useRef<HTMLUListElement>(null);
  const [isSeen] = useEndsSeen(list);
  const [problem, setProblem] = useState('');
  const asked = useMemo(
    () =>
      changes.map(reviewed => {
        const ask = asks.find(({ call_id }) => call_id === reviewed.callId);
        return reviewed.change.state === 'proposed' && ask !== undefined
          ? { ...reviewed, ask }
          : reviewed;
      }),
    [changes, asks]
  );
  const undecided = useWithoutDecision(
    isReverted ? [] : asked.filter(isUndecided)
  );
  // What is only proposed is accepted by those who could read it: the question's own buttons say so.
  const canAccept = isSeen || undecided.every(({ ask }) => ask === undefined);
  const latestRef = useLatest({ actions, asked });
  const decide = useCallback<Decide>(
    (some, verdict) => {
      const { actions: offered, asked: all } = latestRef.current;
      const chosen = new Set(some.map(({ key }) => key));
      // The next row with a button gets the keyboard, since this one loses its buttons.
      const first = all.findIndex(({ key }) => chosen.has(key));
      const next = all.find(
        (reviewed, index) =>
          index > first && !chosen.has(reviewed.key) && isUndecided(reviewed)
      );
      focusRow(list.current, next);
      void offered?.decide(some, verdict).then(setProblem);
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
      <ul ref={list} className="plm-Changes-rows">
        {asked.map(reviewed => (
          <ChangeRow
            key={reviewed.key}
            reviewed={reviewed}
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
  reviewed: IReviewedChange | undefined
): void {
  if (reviewed !== undefined) {
    list
      ?.querySelector<HTMLElement>(
        `[data-change-row="${CSS.escape(reviewed.key)}"] button[data-verdict]:enabled`
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
  const [rejecting, setRejecting] = useState(false);
  if (rejecting) {
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
  const { reviewed, actions, canAccept, isReverted, decide } = props;
  const { words } = useHost();
  const { change } = reviewed;
  const pending = usePendingDecision(reviewed);
  const [rejecting, setRejecting] = useState(false);
  const name = cellName(change, words);
  const action = actionWord(change, words);
  const counts = useMemo(
    () =>
      change.action === 'move'
        ? { additions: 0, deletions: 0 }
        : lineCounts(change.old ?? '', change.new ?? ''),
    [change]
  );
  const isOpen = !isReverted && isUndecided(reviewed) && pending === undefined;
  return (
    <li
      className="plm-Changes-row"
      data-change-row={reviewed.key}
      data-action={change.action}
    >
      <button
        type="button"
        className="plm-Changes-cell"
        title={words.__('Show it in the notebook')}
        onClick={() => {
          actions.show(reviewed);
        }}
      >
        <span className="plm-Changes-action">{action}</span>{' '}
        <bdi className="plm-Changes-name">{name}</bdi>
      </button>
      {counts.additions + counts.deletions > 0 && <LineNumbers {...counts} />}
      {rejecting && isOpen ? (
        <RejectionForm
          label={words.__('Why is it rejected? The agent is told.')}
          onSend={reason => {
            setRejecting(false);
            decide([reviewed], { accept: false, reason });
          }}
          onBack={() => {
            setRejecting(false);
          }}
        />
      ) : isOpen ? (
        <span className="plm-Changes-buttons">
          <SmallButton
            data-verdict="accept"
            disabled={!canAccept}
            aria-label={words.__('Accept: %1 %2', action, name)}
            onClick={() => {
              decide([reviewed], { accept: true });
            }}
          >
            {words.__('Accept')}
          </SmallButton>
          <SmallButton
            data-verdict="reject"
            aria-label={words.__('Reject: %1 %2', action, name)}
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
              : visibleText(stateWords(reviewed, pending, words))}
          </bdi>
          {pending !== undefined && (
            <LinkButton
              onClick={() => {
                actions.takeBack(reviewed);
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
  reviewed: IReviewedChange;
  actions: ICellReviewActions;
  /** Whether what is proposed was on the screen to its end. */
  canAccept: boolean;
  isReverted: boolean;
  decide: Decide;
}

function isSameRow(before: IChangeRowProps, now: IChangeRowProps): boolean {
  return (
    before.reviewed.change === now.reviewed.change &&
    before.reviewed.ask === now.reviewed.ask &&
    before.reviewed.key === now.reviewed.key &&
    before.reviewed.callChangeCount === now.reviewed.callChangeCount &&
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
