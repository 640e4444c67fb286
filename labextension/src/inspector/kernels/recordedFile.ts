/** One recorded file on the server: its path, which may be renamed, and when it was changed. */
import type { Contents } from '@jupyterlab/services';
import { ReaderSet } from '../../state/store/readerSet';
import { FileWatch } from './fileWatch';
import { renamedPath } from './renamedFiles';

/** Milliseconds between two looks at whether the file was changed, while the page is seen. */
const POLL_MS = 3000;

/** Follows a file until it is disposed; readers are notified of each change. */
export class RecordedFile {
  private readonly _readers = new ReaderSet();
  private readonly _watch: FileWatch;
  private readonly _pollTimer: ReturnType<typeof setInterval>;
  private _stamp = '';
  private _isDisposed = false;

  constructor(
    private readonly _contents: Contents.IManager,
    private _path: string
  ) {
    this._watch = new FileWatch(_contents);
    _contents.fileChanged.connect(this._onFileChanged);
    void this._updateStamp();
    this._pollTimer = setInterval(() => {
      if (!document.hidden) {
        void this._updateStamp();
      }
    }, POLL_MS);
  }

  /** Its path on the server, as it is now. */
  get path(): string {
    return this._path;
  }

  /** When it was changed last, as far as is known; another text after each change. */
  get stamp(): string {
    return this._stamp;
  }

  readonly subscribe = this._readers.subscribe;

  dispose(): void {
    this._isDisposed = true;
    clearInterval(this._pollTimer);
    this._contents.fileChanged.disconnect(this._onFileChanged);
    this._readers.clear();
  }

  /** Asks the server when the file was changed; an agent may still write it. */
  private async _updateStamp(): Promise<void> {
    const stamp = await this._watch.stampOf(this._path, this._stamp);
    if (stamp !== this._stamp && !this._isDisposed) {
      this._stamp = stamp;
      this._readers.notify();
    }
  }

  /** Follows the file where it, or a folder of it, is renamed on this page. */
  private readonly _onFileChanged = (
    _: unknown,
    { type, oldValue, newValue }: Contents.IChangedArgs
  ): void => {
    const [oldPath, newPath] = [oldValue?.path, newValue?.path];
    const path =
      type !== 'rename' || oldPath === undefined || newPath === undefined
        ? null
        : renamedPath(this._path, oldPath, newPath);
    if (path !== null) {
      this._path = path;
      this._readers.notify();
    }
  };
}
