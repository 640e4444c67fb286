/** Actions on the agent's permissions. */
import type { ApprovalRow } from '../../protocol/generated';
import { createActionContext } from './actionContext';

export interface IPermissionActions {
  /** Sets the permission mode, from the next call on. */
  setMode(mode: string): void;
  /** Resolves to the approvals in effect here. */
  approvals(): Promise<readonly ApprovalRow[]>;
  /** Revokes approvals by number, or all of them without numbers; resolves to the remaining ones. */
  revoke(numbers: readonly number[]): Promise<readonly ApprovalRow[]>;
  /** Trusts the permissions in this project's own settings file. */
  trustProject(): Promise<void>;
}

export const {
  Provider: PermissionActionsProvider,
  useOffered: usePermissionActions
} = createActionContext<IPermissionActions>('permission actions');
