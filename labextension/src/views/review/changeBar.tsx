/** The bar above a cell that the agent changed or wants to change. */
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { ICellReview } from '../../state/review/cellReview';
import { reviewTitle } from '../../state/review/changeWords';
import type { ReviewNumbers } from '../../state/review/reviewNumbers';
import { visibleText } from '../../state/text/visibleText';
import { SmallButton } from '../controls/buttons';
import { RejectionForm } from '../controls/rejectionForm';
import { useOnScreen } from '../dom/onScreen';
import { ProblemText } from '../controls/problemText';
import { useHost } from '../host';
import { usePendingDecision } from './pendingDecision';

/** The state of a bar beside its review. */
export interface IChangeBarState {
  /** Whether the cell's own editor is shown in the place of the difference. */
  isEditing: boolean;
  /** Why a decision was not carried out; empty if none failed. */
  problem: string;
  /** A remark, as that the cell was changed since; empty for none. */
  note: string;
  /** Whether it was on the screen to its end, and can be accepted. */
  isSeen: boolean;
  /** Whether its cell is as the change expects it. */
  canBeMade: boolean;
  /** How often the reason of a rejection was asked for by key. */
  rejectionRequests: number;
}

/** What a person can do at a bar. */
export interface IChangeBarActions {
  accept: () => void;
  /** Missing where there is nothing to run. */
  acceptAndRun?: () => void;
  reject: (reason: string) => void;
  takeBack: () => void;
  next: () => void;
  previous: () => void;
  /** Shows the cell's own editor, or the difference again; missing where there is no editor. */
  toggleEditor?: () => void;
}

/** Draws the bar. */
export function ChangeBar(props: {
  review: ICellReview;
  /** The numbers of all reviews of the notebook. */
  numbers: ReviewNumbers;
  state: IChangeBarState;
  actions: IChangeBarActions;
}) {
  const { review, numbers, state, actions } = props;
  const { words } = useHost();
  const { canBeMade, isEditing, isSeen, note, problem, rejectionRequests } =
    state;
  const pending = usePendingDecision(review.changes.at(-1));
  const [isRejecting, setRejecting] = useState(false);
  const knownRequests = useRef(rejectionRequests);
  useEffect(() => {
    if (knownRequests.current !== rejectionRequests) {
      knownRequests.current = rejectionRequests;
      setRejecting(true);
    }
  }, [rejectionRequests]);
  const title = reviewTitle(review, words);
  return (
    <div
      className="plm-ChangeBar"
      role="group"
      aria-label={title}
      data-state={review.state}
    >
      <span className="plm-ChangeBar-title">{title}</span>
      {isRejecting && pending === undefined ? (
        <RejectionForm
          label={words.__('Why is it rejected? The agent is told.')}
          onSend={reason => {
            setRejecting(false);
            actions.reject(reason);
          }}
          onBack={() => {
            setRejecting(false);
          }}
        />
      ) : (
        <span className="plm-ChangeBar-buttons">
          {pending !== undefined ? (
            <>
              <span className="plm-Muted">
                {pending.accept
                  ? words.__(
                      'Accepted; the agent goes on when all are decided.'
                    )
                  : words.__('Rejected; the others are still to be decided.')}
              </span>
              <BarButton onClick={actions.takeBack} label={words.__('Undo')} />
            </>
          ) : (
            <>
              {canBeMade && (isSeen || !isEditing) && (
                <BarButton
                  isMain
                  onClick={actions.accept}
                  label={
                    isSeen
                      ? words.__('Accept')
                      : words.__('Show the end to accept')
                  }
                />
              )}
              {canBeMade && isSeen && actions.acceptAndRun !== undefined && (
                <BarButton
                  onClick={actions.acceptAndRun}
                  label={words.__('Accept and run')}
                />
              )}
              <BarButton
                onClick={() => {
                  setRejecting(true);
                }}
                label={words.__('Reject…')}
              />
            </>
          )}
          {actions.toggleEditor !== undefined && (
            <BarButton
              isMain={isEditing && canBeMade && !isSeen}
              onClick={actions.toggleEditor}
              label={isEditing ? words.__('Show the change') : words.__('Edit')}
              name={isEditing ? undefined : words.__('Edit the cell itself')}
            />
          )}
        </span>
      )}
      <ChangeNumber
        reviewKey={review.key}
        numbers={numbers}
        actions={actions}
      />
      {note !== '' && <p className="plm-ChangeBar-note">{visibleText(note)}</p>}
      <ProblemText
        className="plm-ChangeBar-problem"
        text={visibleText(problem)}
      />
    </div>
  );
}

/**
 * Draws the number of a review between the ways to its neighbours. It is all of a bar that is drawn again when another
 * review is decided; off the screen it keeps the number of before, since the browser would lay each cell out again.
 */
function ChangeNumber(props: {
  reviewKey: string;
  numbers: ReviewNumbers;
  actions: Pick<IChangeBarActions, 'next' | 'previous'>;
}) {
  const { reviewKey, numbers, actions } = props;
  const { words } = useHost();
  const [elementRef, isOnScreen] = useOnScreen<HTMLSpanElement>();
  const lastNumbers = useRef(numbers.getSnapshot());
  const numberOfKey = useSyncExternalStore(numbers.subscribe, () =>
    isOnScreen ? numbers.getSnapshot() : lastNumbers.current
  );
  useEffect(() => {
    lastNumbers.current = numberOfKey;
  }, [numberOfKey]);
  const number = numberOfKey.get(reviewKey);
  return (
    <span ref={elementRef} className="plm-ChangeBar-place">
      {number !== undefined && numberOfKey.size > 1 && (
        <>
          <BarButton
            onClick={actions.previous}
            label="↑"
            name={words.__('Previous change')}
          />
          <span>{words.__('%1 of %2', number, numberOfKey.size)}</span>
          <BarButton
            onClick={actions.next}
            label="↓"
            name={words.__('Next change')}
          />
        </>
      )}
    </span>
  );
}

function BarButton(props: {
  label: string;
  /** Its accessible name, where the label is a sign. */
  name?: string | undefined;
  isMain?: boolean;
  onClick: () => void;
}) {
  const { label, name, isMain = false, onClick } = props;
  return (
    <SmallButton
      data-main={isMain ? '' : undefined}
      aria-label={name}
      title={name}
      onClick={onClick}
    >
      {label}
    </SmallButton>
  );
}
