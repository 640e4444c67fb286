/**
 * How a person changes what the model sees.
 */
import type { ContextEditAction } from '../../state/session/contextEdits';
import { createActionContext } from './actionContext';

export interface IContextEditor {
  /** Edits the context of a part or message; resolves to what hindered it, or to nothing. */
  edit(action: ContextEditAction, target: string): Promise<string>;
}

export const {
  Provider: ContextEditorProvider,
  useIfOffered: useContextEditor
} = createActionContext<IContextEditor>('a context editor');

export interface ICompactionActions {
  /** Puts a summary in the place of what was said. */
  compact(): void;
}

export const {
  Provider: CompactionActionsProvider,
  useIfOffered: useCompactionActions
} = createActionContext<ICompactionActions>('compaction actions');
