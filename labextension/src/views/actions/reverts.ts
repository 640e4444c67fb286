/** Actions that revert messages and files. */
import type { RevertPreview } from '../../protocol/generated';
import { createActionContext } from './actionContext';

/** The result of a revert action, or its error. */
export interface IRevertOutcome {
  error?: string;
  revert?: RevertPreview;
}

export interface IRevertActions {
  /** Resolves to what a revert to a message would do. */
  preview(target: string): Promise<IRevertOutcome>;
  /** Reverts a message and all after it; files that were changed elsewhere only if they are named. */
  revert(target: string, overwrite: readonly string[]): Promise<IRevertOutcome>;
  /** Undoes the current revert. */
  unrevert(): Promise<IRevertOutcome>;
  /** Removes the reverted messages for good. */
  cleanup(): Promise<IRevertOutcome>;
}

export const {
  Provider: RevertActionsProvider,
  useIfOffered: useRevertActions
} = createActionContext<IRevertActions>('revert actions');
