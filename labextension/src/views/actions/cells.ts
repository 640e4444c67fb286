/** Actions on cells of the session's notebook: code is put into them, and the agent's changes are reviewed. */
import type { IReviewedChange } from '../../state/review/cellReview';
import { createActionContext } from './actionContext';

export interface ICellActions {
  /** Inserts a code cell below; resolves to the error, or to an empty string, as the functions below do. */
  insertBelow(code: string): Promise<string>;
  /** Replaces the source of a cell, only if it is the expected one, or the new one already. */
  replace(cellId: string, expectedCode: string, code: string): Promise<string>;
  /** Begins to run a cell. */
  run(cellId: string): Promise<string>;
  /** Puts the keyboard into a cell's editor. */
  focus(cellId: string): Promise<string>;
}

export const { Provider: CellActionsProvider, useIfOffered: useCellActions } =
  createActionContext<ICellActions>('cell actions');

/** What a person says of some changes. */
export interface IChangeVerdict {
  accept: boolean;
  /** Why they are rejected, for the agent. */
  reason?: string;
  /** The source that is accepted, where it is only a part of a change; then it is the only one. */
  source?: string;
}

export interface ICellReviewActions {
  /**
   * Decides changes; resolves to the error, or to an empty string. A decision about one of several proposals of a
   * call waits for those about the others, since their question is answered once.
   */
  decide(
    changes: readonly IReviewedChange[],
    verdict: IChangeVerdict
  ): Promise<string>;
  /** Takes back a decision that was not sent yet. */
  takeBack(change: IReviewedChange): void;
  /** Scrolls to the change in the notebook. */
  show(change: IReviewedChange): void;
}

export const {
  Provider: CellReviewActionsProvider,
  useIfOffered: useCellReviewActions
} = createActionContext<ICellReviewActions>('cell reviews');
