/** Actions on the notebook beside the panel, and on its kernel. */
import { createActionContext } from './actionContext';

/** The one line of code that a click of the user runs in the kernel. */
export const LOAD_COMMAND = '%load_ext palimpsest';

export interface IKernelActions {
  /** Loads the package in the kernel, only at the user's request. */
  load(): void;
  /** Lets the user choose a kernel for the notebook. */
  chooseKernel(): void;
  /** Restarts the kernel that died. */
  restart(): void;
}

export const { Provider: KernelActionsProvider, useOffered: useKernelActions } =
  createActionContext<IKernelActions>('kernel actions');

export interface INotebookActions {
  /** Returns the focus to where the user came from. */
  focus(): void;
  /** Scrolls to a cell and selects it; nothing where the notebook does not hold it. */
  showCell(cellId: string): void;
  /** Returns how a prompt names a file of JupyterLab's file browser; null where it cannot. */
  mentionOf(path: string): string | null;
  /** Resolves to the content of a file of JupyterLab’s file browser as a `data:` URL. */
  readFile(path: string): Promise<string>;
  /** Writes the answer of a turn into the notebook; resolves to the error, or to an empty string. */
  insertAnswer(turn: string): Promise<string>;
}

export const {
  Provider: NotebookActionsProvider,
  useIfOffered: useNotebookActionsIfOffered,
  useOffered: useNotebookActions
} = createActionContext<INotebookActions>('notebook actions');
