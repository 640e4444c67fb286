/** The bar above a cell that the agent changed or wants to change. */
import { useEffect, useRef, useState } from 'react';
import type { ICellReview } from '../../state/review/cellReview';
import { reviewTitle } from '../../state/review/changeWords';
import { visibleText } from '../../state/text/visibleText';
import { RejectionForm } from '../controls/rejectionForm';
import { useHost } from '../host';
import { usePendingDecision } from './pendingDecision';

/** What a bar shows beside its review. */
export interface IChangeBarState {
  /** Its number among the reviews of the notebook, from 1, and how many there are. */
  place: number;
  count: number;
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
  rejections: number;
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
export function ChangeBar({
  review,
  state,
  actions
}: {
  review: ICellReview;
  state: IChangeBarState;
  actions: IChangeBarActions;
}) {
  const { words } = useHost();
  const { canBeMade, count, isEditing, isSeen, note } = state;
  const { place, problem, rejections } = state;
  const pending = usePendingDecision(review.changes.at(-1));
  const [rejecting, setRejecting] = useState(false);
  const known = useRef(rejections);
  useEffect(() => {
    if (known.current !== rejections) {
      known.current = rejections;
      setRejecting(true);
    }
  }, [rejections]);
  const title = reviewTitle(review, words);
  return (
    <div
      className="plm-ChangeBar"
      role="group"
      aria-label={title}
      data-state={review.state}
    >
      <span className="plm-ChangeBar-title">{title}</span>
      {rejecting && pending === undefined ? (
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
      {count > 1 && (
        <span className="plm-ChangeBar-place">
          <BarButton
            onClick={actions.previous}
            label="↑"
            name={words.__('Previous change')}
          />
          <span>{words.__('%1 of %2', place, count)}</span>
          <BarButton
            onClick={actions.next}
            label="↓"
            name={words.__('Next change')}
          />
        </span>
      )}
      {note !== '' && <p className="plm-ChangeBar-note">{visibleText(note)}</p>}
      {problem !== '' && (
        <p className="plm-ChangeBar-problem" role="alert">
          {visibleText(problem)}
        </p>
      )}
    </div>
  );
}

function BarButton({
  label,
  name,
  isMain = false,
  onClick
}: {
  label: string;
  /** Its accessible name, where the label is a sign. */
  name?: string | undefined;
  isMain?: boolean;
  onClick: () => void;
}) {
  return (
    <button
      type="button"
      className="plm-Button plm-Button-small"
      data-main={isMain ? '' : undefined}
      aria-label={name}
      title={name}
      onClick={onClick}
    >
      {label}
    </button>
  );
}
