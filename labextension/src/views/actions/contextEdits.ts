/** Actions that change what the model sees. */
import type { CompactionPart } from '../../protocol/generated';
import type { ContextEditAction } from '../../state/session/contextEdits';
import { createActionContext } from './actionContext';

export interface IContextEditor {
  /**
   * Edits the context of a part or message; resolves to the error, or to an empty string. `holdId` names a held
   * request whose own session is meant, such as a subagent's.
   */
  edit(
    action: ContextEditAction,
    target: string,
    holdId?: string
  ): Promise<string>;
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

export interface ICoveredTurns {
  /** Shows in the transcript what a compaction's summary covers, the newest turn of it. */
  showCoveredTurns(compaction: CompactionPart): void;
}

export const { Provider: CoveredTurnsProvider, useIfOffered: useCoveredTurns } =
  createActionContext<ICoveredTurns>('covered turns');
