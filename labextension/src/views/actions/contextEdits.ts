/**
 * Actions that change what the model sees.
 */
import type { ContextEditAction } from '../../state/session/contextEdits';
import { createActionContext } from './actionContext';

export interface IContextEditor {
  /** Edits the context of a part or message; resolves to the error, or to an empty string. */
  edit(action: ContextEditAction, target: string): Promise<string>;
}

export const {
  Provider: ContextEditorProvider,
  useIfOffered: useContextEditor
} = createActionContext<IContextEditor>('a context editor');

export interface ICompactionActions {
  /** Compacts the session. */
  compact(): void;
}

export const {
  Provider: CompactionActionsProvider,
  useIfOffered: useCompactionActions
} = createActionContext<ICompactionActions>('compaction actions');
