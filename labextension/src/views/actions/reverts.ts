/**
 * How a person reverts messages and files.
 */
import type { RevertPreview } from '../../protocol/generated';
import { createActionContext } from './actionContext';

/** What came of it, or what hindered it. */
export interface IRevertOutcome {
  error?: string;
  revert?: RevertPreview;
}

export interface IRevertActions {
  /** Tells what a revert to a message would do. */
  preview(target: string): Promise<IRevertOutcome>;
  /** Reverts a message and all after it; files that somebody else changed only where named. */
  revert(target: string, overwrite: readonly string[]): Promise<IRevertOutcome>;
  /** Undoes the revert that stands. */
  unrevert(): Promise<IRevertOutcome>;
  /** Removes what is reverted for good. */
  cleanup(): Promise<IRevertOutcome>;
}

export const {
  Provider: RevertActionsProvider,
  useIfOffered: useRevertActions
} = createActionContext<IRevertActions>('revert actions');
