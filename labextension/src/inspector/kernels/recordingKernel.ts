/** A kernel of its own that reads one recorded file for an inspector, and ends with it. */
import {
  ServerConnection,
  type Contents,
  type Kernel,
  type KernelMessage,
  type ServiceManager,
  type Session
} from '@jupyterlab/services';
import type { ILink } from '../../kernel/kernelLink';
import type { LinkRegistry } from '../../kernel/linkRegistry';
import { fileNameOf } from '../../state/text/filePaths';
import type { IWords } from '../../views/host';
import { recordingSession } from './recordingSession';
import { RecordedFile } from './recordedFile';
import { pathForKernel } from './renamedFiles';
import type { IInspectedKernel, InspectedState } from './inspectedKernel';
import { ReaderSet } from '../../state/store/readerSet';

/**
 * Loads the package in a private folder that ends with the kernel.
 *
 * Beside the file nothing is written, and nothing that lies there is imported or taken for settings.
 */
const LOAD_CODE = `import os, tempfile
_recordings = os.getcwd()
_folder = tempfile.TemporaryDirectory(prefix="inspector-", ignore_cleanup_errors=True)
os.chdir(_folder.name)
get_ipython().starting_dir = _folder.name
%load_ext palimpsest`;

/** The folder of the file as hexadecimal digits, which no quoting changes. */
const FOLDER_EXPRESSION = 'os.fsencode(_recordings).hex()';

/**
 * Starts a kernel in a file's folder.
 *
 * Responsibilities: start it and load the package in it; say in a sentence why that failed; shut it down when
 * the inspector is closed. The kernel reads the file; nothing is written.
 */
export class RecordingKernel implements IInspectedKernel {
  private readonly _file: RecordedFile;
  /** The file as it was called when the kernel was started, and the folder in which that was. */
  private _startedFile: string;
  private _folder = '';
  private readonly _readers = new ReaderSet();
  private _session: Session.ISessionConnection | null = null;
  private _kernel: Kernel.IKernelConnection | null = null;
  private _link: ILink | null = null;
  private _disposers: (() => void)[] = [];
  private _failure = '';
  private _isLoading = false;
  private _isDisposed = false;

  constructor(
    private readonly _services: ServiceManager.IManager,
    private readonly _links: LinkRegistry,
    private readonly _words: IWords,
    /** Path of the file on the server. */
    file: string
  ) {
    this._file = new RecordedFile(_services.contents, file);
    this._startedFile = file;
    this._file.subscribe(this._readers.notify);
    void this._start();
    window.addEventListener('pagehide', this._onPageHide);
  }

  /** The file as the kernel finds it, once the kernel has said where it was started. */
  get path(): string {
    return this.pathOf(this.file);
  }

  get file(): string {
    return this._file.path;
  }

  get stamp(): string {
    return this._file.stamp;
  }

  get contents(): Contents.IManager {
    return this._services.contents;
  }

  pathOf(file: string): string {
    return this._folder === ''
      ? fileNameOf(file)
      : pathForKernel(this._folder, this._startedFile, file);
  }

  get link(): ILink | null {
    return this._link;
  }

  get failure(): string {
    return this._failure;
  }

  get state(): InspectedState {
    if (this._failure !== '') {
      return 'failed';
    }
    if (this._kernel?.status === 'dead') {
      return 'dead';
    }
    if (this._link === null || this._isLoading) {
      return 'starting';
    }
    return this._link.state;
  }

  get isBusy(): boolean {
    return this._kernel?.status === 'busy';
  }

  readonly subscribe = this._readers.subscribe;

  applyRemedy(): void {
    this._endSession();
    this._failure = '';
    this._readers.notify();
    void this._start();
  }

  dispose(): void {
    this._isDisposed = true;
    window.removeEventListener('pagehide', this._onPageHide);
    this._file.dispose();
    this._endSession();
    this._readers.clear();
  }

  private async _start(): Promise<void> {
    try {
      await this._services.ready;
      const { specs } = this._services.kernelspecs;
      this._startedFile = this.file;
      this._folder = '';
      const session = await this._services.sessions.startNew({
        ...recordingSession(this.file),
        kernel: { name: specs?.default ?? 'python3' }
      });
      if (this._isDisposed || this._session !== null) {
        await session.shutdown();
        return;
      }
      await this._followSession(session);
    } catch (reason) {
      this._fail(
        this._words.__(
          'No kernel could be started for this file: %1',
          errorText(reason)
        )
      );
    }
  }

  private async _followSession(
    session: Session.ISessionConnection
  ): Promise<void> {
    const { kernel } = session;
    this._session = session;
    this._kernel = kernel;
    if (kernel === null) {
      throw new Error(this._words.__('it ended at once.'));
    }
    session.statusChanged.connect(this._readers.notify);
    const link = (this._link = this._links.join(kernel));
    this._disposers = [
      link.watch(),
      link.store.subscribe(this._readers.notify),
      () => {
        session.statusChanged.disconnect(this._readers.notify);
        this._links.leave(kernel.id);
      }
    ];
    this._isLoading = true;
    this._readers.notify();
    const load = () =>
      kernel.requestExecute({
        code: LOAD_CODE,
        silent: true,
        store_history: false,
        allow_stdin: false,
        user_expressions: { folder: FOLDER_EXPRESSION }
      }).done;
    const { content } = await load().catch((reason: unknown) => {
      // The server restarts a kernel that died while it started, which cancels what was asked of it.
      if (
        this._session !== session ||
        kernel.isDisposed ||
        kernel.status === 'dead'
      ) {
        throw reason;
      }
      return load();
    });
    this._isLoading = false;
    if (content.status !== 'ok') {
      const { ename, evalue } =
        content as Partial<KernelMessage.IReplyErrorContent>;
      this._fail(
        this._words.__(
          'The kernel could not load Palimpsest (%1: %2). Install it where the kernel runs: pip install jupyter-palimpsest.',
          ename ?? content.status,
          evalue ?? ''
        )
      );
      return;
    }
    this._folder = folderOf(content);
    link.retry();
    this._readers.notify();
  }

  private _endSession(): void {
    this._disposers.forEach(end => {
      end();
    });
    this._disposers = [];
    const session = this._session;
    this._session = this._kernel = this._link = null;
    this._isLoading = false;
    if (session !== null && !session.isDisposed) {
      void session.shutdown().catch(() => undefined);
    }
  }

  /** Ends the kernel when the page is closed; a page that is restored with its layout starts a new one. */
  private readonly _onPageHide = ({ persisted }: PageTransitionEvent): void => {
    const { serverSettings } = this._services;
    if (persisted || this._session === null) {
      return;
    }
    const url = new URL(
      `api/sessions/${encodeURIComponent(this._session.id)}`,
      serverSettings.baseUrl
    );
    // The page is gone before the answer comes.
    const request = { method: 'DELETE', keepalive: true };
    void ServerConnection.makeRequest(url.href, request, serverSettings).catch(
      () => undefined
    );
  };

  private _fail(sentence: string): void {
    if (!this._isDisposed) {
      this._failure = sentence;
      this._readers.notify();
    }
  }
}

/** Reads the folder from the reply; '.' where it is not there. */
function folderOf({ user_expressions }: KernelMessage.IExecuteReply): string {
  const reply = user_expressions.folder as
    { data?: { 'text/plain'?: string } } | undefined;
  const digits = /[0-9a-f]+/.exec(reply?.data?.['text/plain'] ?? '');
  const bytes = (digits?.[0].match(/../g) ?? []).map(pair =>
    parseInt(pair, 16)
  );
  return new TextDecoder().decode(new Uint8Array(bytes)) || '.';
}

function errorText(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
