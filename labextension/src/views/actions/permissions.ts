/**
 * How a person decides what the agent may do without asking.
 */
import type { ApprovalRow } from '../../protocol/generated';
import { createActionContext } from './actionContext';

export interface IPermissionActions {
  /** Sets the permission mode, from the next call on. */
  setMode(mode: string): void;
  /** Tells what is always allowed here. */
  approvals(): Promise<readonly ApprovalRow[]>;
  /** Revokes approvals by number, all of them without numbers; tells what is left. */
  revoke(numbers: readonly number[]): Promise<readonly ApprovalRow[]>;
  /** Trusts what this project's own file says about permissions. */
  trustProject(): Promise<void>;
}

export const {
  Provider: PermissionActionsProvider,
  useOffered: usePermissionActions
} = createActionContext<IPermissionActions>('permission actions');
