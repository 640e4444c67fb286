/**
 * What a person does with the notebook beside the panel, and with its kernel.
 */
import { createActionContext } from './actionContext';

/** The one line that a person's click runs in the kernel. */
export const LOAD_COMMAND = '%load_ext palimpsest';

export interface IKernelActions {
  /** Loads the package in the kernel; only because a person said so. */
  load(): void;
  /** Lets a person choose a kernel for the notebook. */
  chooseKernel(): void;
  /** Restarts the kernel that died. */
  restart(): void;
}

export const { Provider: KernelActionsProvider, useOffered: useKernelActions } =
  createActionContext<IKernelActions>('kernel actions');

export interface INotebookActions {
  /** Gives the keyboard back to where the person came from. */
  focus(): void;
  /** Writes the answer of a turn into the notebook; resolves to what hindered it, or to nothing. */
  insertAnswer(turn: string): Promise<string>;
}

export const {
  Provider: NotebookActionsProvider,
  useIfOffered: useNotebookActionsIfOffered,
  useOffered: useNotebookActions
} = createActionContext<INotebookActions>('notebook actions');
