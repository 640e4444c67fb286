/**
 * Runs a cell for the kernel as the notebook's own command does, but with its request on the control channel.
 *
 * A cell that waits for the agent blocks the shell channel. The kernel accepts the request once, by its id.
 */
import type { ISessionContext } from '@jupyterlab/apputils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { KernelMessage, type Kernel } from '@jupyterlab/services';
import type { CellsAnswer } from '../../kernel/cellAnswers';
import type { ILink } from '../../kernel/kernelLink';
import {
  RUN_KEY,
  type CellResult,
  type RunCellNotice
} from '../../protocol/generated';
import { isAgentCell } from '../../state/session/missingAnswers';
import type { RunCells } from './cellEdits';
import { isHiddenCell } from './errorPrompts';
import { keepReader } from './keptReader';
import { cellOf } from './shownCell';

/** Lets the kernel run cells of a notebook; returns a function that ends this. */
export function runRequestedCells(
  panel: NotebookPanel,
  link: ILink,
  runCells: RunCells
): () => void {
  return link.serveCells(notice =>
    notice.kind === 'run-cell' && notice.notebook === panel.context.localPath
      ? runCell(panel, notice, runCells)
      : undefined
  );
}

/** Begins to run a cell; resolves as soon as its request was sent, or with why it was not. */
function runCell(
  panel: NotebookPanel,
  notice: RunCellNotice,
  runCells: RunCells
): CellsAnswer | Promise<CellsAnswer> {
  if (panel.isDisposed) {
    return { refusal: 'closed' };
  }
  const { content, sessionContext } = panel;
  const problem = problemOf(panel, notice);
  const cell = cellOf(panel, notice.cell);
  if (problem !== null || cell === undefined) {
    return { results: [problem ?? { cell: notice.cell, problem: 'missing' }] };
  }
  if (!sessionContext.session?.kernel) {
    return { refusal: 'no-kernel' };
  }
  return new Promise(resolve => {
    const context = controlChannelContext(
      sessionContext,
      notice.request,
      () => {
        resolve({ results: [{ cell: notice.cell }] });
      }
    );
    const ids = content.widgets.map(({ model }) => model.id);
    const restoreReader = keepReader(panel, () => false, new Set(ids));
    // A run that ends without a request did not reach a kernel.
    const resolveUnsent = () => {
      resolve({ refusal: 'no-kernel' });
    };
    runCells(content, [cell], context).then(resolveUnsent, resolveUnsent);
    restoreReader();
  });
}

/** Returns why a cell is not run; null if it can be. */
function problemOf(
  { context: { model } }: NotebookPanel,
  { cell: id, source }: RunCellNotice
): CellResult | null {
  const cell = [...model.cells].find(candidate => candidate.id === id);
  if (cell === undefined) {
    return { cell: id, problem: 'missing' };
  }
  if (isHiddenCell(cell)) {
    return { cell: id, problem: 'hidden' };
  }
  const currentSource = cell.sharedModel.getSource();
  if (isAgentCell(currentSource)) {
    return { cell: id, problem: 'agent' };
  }
  if (cell.type !== 'code') {
    return { cell: id, problem: 'locked' };
  }
  return currentSource === source
    ? null
    : { cell: id, problem: 'changed', source: currentSource };
}

/** Returns a session's context whose kernel gets execute requests on the control channel. */
function controlChannelContext(
  context: ISessionContext,
  requestId: string,
  onSent: () => void
): ISessionContext {
  const { session } = context;
  const kernel = session?.kernel;
  if (!session || !kernel) {
    return context;
  }
  const requestExecute: Kernel.IKernelConnection['requestExecute'] = (
    content,
    disposeOnDone,
    metadata
  ) => {
    const message =
      KernelMessage.createMessage<KernelMessage.IExecuteRequestMsg>({
        channel: 'shell',
        msgType: 'execute_request',
        session: kernel.clientId,
        username: kernel.username,
        content: {
          silent: false,
          store_history: true,
          user_expressions: {},
          allow_stdin: true,
          ...content,
          // An error must not drop cells that the user has queued.
          stop_on_error: false
        },
        metadata: { ...metadata, [RUN_KEY]: requestId }
      });
    // The types cover only Jupyter's own requests on this channel; the futures of both are alike.
    const future = kernel.sendControlMessage(
      {
        ...message,
        channel: 'control'
      } as unknown as KernelMessage.IDebugRequestMsg,
      true,
      disposeOnDone
    );
    onSent();
    return future as unknown as ReturnType<typeof requestExecute>;
  };
  return withOverrides(context, {
    // A question of another cell is no reason to refuse: the kernel lets the cell wait for its turn.
    pendingInput: false,
    // A kernel that waits for the agent does not answer a page that was reloaded, and seems to be starting.
    kernelDisplayStatus: 'busy',
    session: withOverrides(session, {
      kernel: withOverrides(kernel, { requestExecute })
    })
  });
}

/** Returns an object like another one, with other values of some properties. */
function withOverrides<T extends object>(target: T, overrides: Partial<T>): T {
  return new Proxy(target, {
    get: (object, key): unknown => {
      if (key in overrides) {
        return overrides[key as keyof T];
      }
      const value: unknown = Reflect.get(object, key, object);
      return typeof value === 'function' ? value.bind(object) : value;
    },
    set: (object, key, value) => Reflect.set(object, key, value, object)
  });
}
