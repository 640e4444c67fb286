/** The kernel of a notebook as an inspector's: it follows the notebook, also one that is closed and opened again. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICodeCellModel } from '@jupyterlab/cells';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { Contents, KernelMessage } from '@jupyterlab/services';
import { KernelDeath } from '../../kernel/kernelDeath';
import type { ILink } from '../../kernel/kernelLink';
import { loadFailureSentence } from '../../kernel/loadFailure';
import type { LinkRegistry } from '../../kernel/linkRegistry';
import type { IWords } from '../../views/host';
import type { IInspectedKernel, InspectedState } from './inspectedKernel';
import { pathForKernel, renamedPath } from './renamedFiles';
import { ReaderSet } from '../../state/store/readerSet';

/** Loads the package where it is not loaded yet; `%load_ext` changes nothing else. */
const LOAD_CODE = '%load_ext palimpsest';

/**
 * Follows one notebook's kernel.
 *
 * Responsibilities: find the notebook by its path, now or once it is opened; watch its kernel, so that notices
 * come; mend what is missing.
 */
export class NotebookKernel implements IInspectedKernel {
  private _failure = '';
  /** The id of the kernel that could not load the package. */
  private _failedKernelId = '';
  private readonly _readers = new ReaderSet();
  private _panel: NotebookPanel | null = null;
  private _link: ILink | null = null;
  private _disposers: (() => void)[] = [];
  private readonly _death = new KernelDeath();
  private _path: string;

  constructor(
    private readonly _app: JupyterFrontEnd,
    private readonly _tracker: INotebookTracker | null,
    private readonly _links: LinkRegistry,
    private readonly _words: IWords,
    path: string
  ) {
    this._path = path;
    _tracker?.widgetAdded.connect(this._findNotebook);
    _app.serviceManager.contents.fileChanged.connect(this._onFileChanged);
    this._findNotebook();
  }

  get failure(): string {
    return this._failure;
  }

  get file(): string {
    return this._panel?.context.path ?? this._path;
  }

  get contents(): Contents.IManager {
    return this._app.serviceManager.contents;
  }

  /** A notebook's kernel starts in the notebook's folder. */
  pathOf(file: string): string {
    return pathForKernel('.', this.file, file);
  }

  get link(): ILink | null {
    return this._link;
  }

  get state(): InspectedState {
    if (this._panel === null || this._link === null) {
      return 'no-notebook';
    }
    const { hasNoKernel, isReady, session } = this._panel.sessionContext;
    const kernel = session?.kernel;
    if (!kernel) {
      if (this._death.hasDied) {
        return 'dead';
      }
      return isReady || hasNoKernel ? 'no-kernel' : 'starting';
    }
    if (/starting/.test(kernel.status)) {
      return 'starting';
    }
    const { state } = this._link;
    return state === 'absent' && this._failedKernelId === kernel.id
      ? 'failed'
      : state;
  }

  get isBusy(): boolean {
    if (this._panel?.sessionContext.session?.kernel?.status === 'busy') {
      return true;
    }
    // Our own questions make a kernel say that it is idle while its cell runs.
    const cells = this._panel?.content.model?.cells ?? [];
    return [...cells].some(
      cell => (cell as Partial<ICodeCellModel>).executionState === 'running'
    );
  }

  readonly subscribe = this._readers.subscribe;

  applyRemedy(): void {
    const context = this._panel?.sessionContext;
    if (context === undefined) {
      void this._app.commands.execute('docmanager:open', { path: this._path });
    } else if (this.state === 'dead' || this.state === 'no-kernel') {
      const name =
        context.prevKernelName ||
        context.kernelPreference.name ||
        (this._app.serviceManager.kernelspecs.specs?.default ?? '');
      void context.sessionManager
        .refreshRunning()
        .then(() => context.changeKernel({ name }))
        .catch(() => undefined); // JupyterLab says why.
    } else {
      const kernel = context.session?.kernel;
      this._failedKernelId = '';
      void kernel
        ?.requestExecute({
          code: LOAD_CODE,
          silent: true,
          store_history: false,
          allow_stdin: false
        })
        .done.then(
          ({ content }) => {
            this._onLoadReply(kernel.id, content);
          },
          () => undefined // The kernel ended; its state says so.
        );
    }
  }

  private _onLoadReply(
    kernel: string,
    reply: KernelMessage.IExecuteReplyMsg['content']
  ): void {
    if (reply.status === 'error') {
      this._failure = loadFailureSentence(reply, this._words);
      this._failedKernelId = kernel;
      this._notify();
    }
    this._link?.retry();
  }

  dispose(): void {
    this._tracker?.widgetAdded.disconnect(this._findNotebook);
    this._app.serviceManager.contents.fileChanged.disconnect(
      this._onFileChanged
    );
    this._leaveNotebook();
    this._readers.clear();
  }

  private readonly _findNotebook = (): void => {
    if (this._panel === null) {
      const panel = this._tracker?.find(
        ({ context, isDisposed }) => !isDisposed && context.path === this._path
      );
      if (panel) {
        this._followNotebook(panel);
      }
    }
  };

  private _followNotebook(panel: NotebookPanel): void {
    const context = panel.sessionContext;
    this._panel = panel;
    this._link = this._links.get(context);
    context.kernelChanged.connect(this._notify);
    context.statusChanged.connect(this._notify);
    panel.context.pathChanged.connect(this._onPathChanged);
    panel.disposed.connect(this._onPanelDisposed);
    this._disposers = [
      this._link.watch(),
      this._link.store.subscribe(this._notify),
      () => {
        context.kernelChanged.disconnect(this._notify);
        context.statusChanged.disconnect(this._notify);
        panel.context.pathChanged.disconnect(this._onPathChanged);
        panel.disposed.disconnect(this._onPanelDisposed);
      }
    ];
    void context.ready.then(this._notify);
    this._notify();
  }

  private readonly _onPanelDisposed = (): void => {
    this._leaveNotebook();
    // Another view of the same notebook may be open.
    this._findNotebook();
    this._notify();
  };

  private readonly _onPathChanged = (): void => {
    this._path = this.file;
    this._notify();
  };

  /** Follows the notebook where it, or a folder of it, is renamed while it is closed. */
  private readonly _onFileChanged = (
    _: unknown,
    { type, oldValue, newValue }: Contents.IChangedArgs
  ): void => {
    const [oldPath, newPath] = [oldValue?.path, newValue?.path];
    if (
      this._panel === null &&
      type === 'rename' &&
      oldPath !== undefined &&
      newPath !== undefined
    ) {
      this._path = renamedPath(this._path, oldPath, newPath) ?? this._path;
      this._findNotebook();
      this._notify();
    }
  };

  private _leaveNotebook(): void {
    this._disposers.forEach(end => {
      end();
    });
    this._disposers = [];
    this._panel = this._link = null;
  }

  private readonly _notify = (): void => {
    this._death.update(
      this._panel?.sessionContext.session?.kernel,
      this._link?.state
    );
    this._readers.notify();
  };
}
