/** All actions of the panel, as one context for each group. */
import type { ReactNode } from 'react';
import { AnswerActionsProvider, type IAnswerActions } from './answers';
import type { ICellActions, ICellReviewActions } from './cells';
import {
  CompactionActionsProvider,
  type ICompactionActions,
  type IContextEditor
} from './contextEdits';
import {
  HeldRequestActionsProvider,
  type IHeldRequestActions
} from './heldRequests';
import {
  KernelActionsProvider,
  NotebookActionsProvider,
  type IKernelActions,
  type INotebookActions
} from './notebook';
import {
  PermissionActionsProvider,
  type IPermissionActions
} from './permissions';
import { PictureLoaderProvider, type IPictureLoader } from './pictures';
import { PromptActionsProvider, type IPromptActions } from './prompts';
import type { IRevertActions } from './reverts';
import {
  SessionActionsProvider,
  SessionOpenerProvider,
  type ISessionActions,
  type ISessionOpener
} from './sessions';
import { SharingActionsProvider, type ISharingActions } from './sharing';
import { TurnActionsProvider, type ITurnActions } from './turn';

export interface IPanelActions {
  answers: IAnswerActions;
  cells: ICellActions;
  cellReviews: ICellReviewActions;
  compaction: ICompactionActions;
  contextEdits: IContextEditor;
  heldRequests: IHeldRequestActions;
  kernel: IKernelActions;
  notebook: INotebookActions;
  opener: ISessionOpener;
  permissions: IPermissionActions;
  pictures: IPictureLoader;
  prompts: IPromptActions;
  reverts: IRevertActions;
  sessions: ISessionActions;
  sharing: ISharingActions;
  turn: ITurnActions;
}

/**
 * Provides the actions that the panel always offers. Context edits, reverts and edits of cells are not
 * included, nor reviews of them: the panel offers them only if its session is writable.
 */
export function PanelActionsProvider(props: {
  actions: IPanelActions;
  children: ReactNode;
}) {
  const { actions, children } = props;
  return (
    <AnswerActionsProvider value={actions.answers}>
      <TurnActionsProvider value={actions.turn}>
        <PictureLoaderProvider value={actions.pictures}>
          <PromptActionsProvider value={actions.prompts}>
            <CompactionActionsProvider value={actions.compaction}>
              <SessionOpenerProvider value={actions.opener}>
                <SessionActionsProvider value={actions.sessions}>
                  <SharingActionsProvider value={actions.sharing}>
                    <PermissionActionsProvider value={actions.permissions}>
                      <KernelActionsProvider value={actions.kernel}>
                        <NotebookActionsProvider value={actions.notebook}>
                          <HeldRequestActionsProvider
                            value={actions.heldRequests}
                          >
                            {children}
                          </HeldRequestActionsProvider>
                        </NotebookActionsProvider>
                      </KernelActionsProvider>
                    </PermissionActionsProvider>
                  </SharingActionsProvider>
                </SessionActionsProvider>
              </SessionOpenerProvider>
            </CompactionActionsProvider>
          </PromptActionsProvider>
        </PictureLoaderProvider>
      </TurnActionsProvider>
    </AnswerActionsProvider>
  );
}
