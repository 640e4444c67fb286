/** Actions on the active notebook's kernel: load the package, choose another kernel, restart. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ISessionContext } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { loadFailure } from '../../kernel/loadFailure';
import {
  LOAD_COMMAND,
  type IKernelActions
} from '../../views/actions/notebook';
import type { ActiveNotebook } from './activeNotebook';

/**
 * The user's actions on the kernel.
 *
 * Responsibilities: carry them out; know in which kernels the package is being loaded; report errors.
 */
export class KernelActions implements IKernelActions {
  private readonly _loadingKernels = new Set<string>();

  constructor(
    private readonly _app: JupyterFrontEnd,
    private readonly _getActiveNotebook: () => ActiveNotebook,
    private readonly _words: TranslationBundle,
    /** Reports an error in one sentence; null clears it. */
    private readonly _setFailure: (sentence: string | null) => void,
    private readonly _onChange: () => void
  ) {}

  /** Returns whether the package is being loaded in a kernel. */
  isLoading(kernelId: string): boolean {
    return this._loadingKernels.has(kernelId);
  }

  load(): void {
    void this._load();
  }

  chooseKernel(): void {
    void this._app.commands.execute('notebook:change-kernel');
  }

  restart(): void {
    // A dead kernel has no state to lose, so no confirmation is needed.
    void restartKernel(this._getActiveNotebook().context).catch(
      (reason: unknown) => {
        this._setFailure(
          this._words.__(
            'The kernel could not be restarted: %1',
            String(reason)
          )
        );
      }
    );
  }

  private async _load(): Promise<void> {
    const { context, link } = this._getActiveNotebook();
    const kernel = context?.session?.kernel;
    if (!kernel || this._loadingKernels.has(kernel.id)) {
      return;
    }
    this._loadingKernels.add(kernel.id);
    this._setFailure(null);
    try {
      const future = kernel.requestExecute({
        code: LOAD_COMMAND,
        silent: true,
        store_history: false,
        allow_stdin: false,
        stop_on_error: false
      });
      const { content } = await future.done;
      if (content.status === 'error') {
        this._setFailure(loadFailure(content, this._words));
      }
      link?.retry();
    } catch {
      this._setFailure(
        this._words.__('The kernel ended before Palimpsest was loaded.')
      );
    } finally {
      this._loadingKernels.delete(kernel.id);
      this._onChange();
    }
  }
}

/** Restarts a kernel, or starts another of the same name after the page dropped it. */
async function restartKernel(context: ISessionContext | null): Promise<void> {
  if (context === null) {
    return;
  }
  const kernel = context.session?.kernel;
  if (kernel && !kernel.isDisposed && kernel.status !== 'dead') {
    await context.restartKernel();
  } else {
    const kernelName = context.prevKernelName || (kernel?.name ?? '');
    // The server deletes the session of a dead kernel, so a new one must be requested.
    await context.sessionManager.refreshRunning();
    await context.changeKernel(kernelName === '' ? {} : { name: kernelName });
  }
}
