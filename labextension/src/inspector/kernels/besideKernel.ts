/** An inspector's kernel as it answers for another session or recorded file, which is shown beside its own. */
import type { Contents } from '@jupyterlab/services';
import type { ILink } from '../../kernel/kernelLink';
import { ReaderSet } from '../../state/store/readerSet';
import type { IInspectedKernel, InspectedState } from './inspectedKernel';
import { RecordedFile } from './recordedFile';

/**
 * Answers with an inspector's kernel for another file or session.
 *
 * Responsibilities: name the file as the kernel finds it; follow it where it is renamed or grows. Without a file it is
 * about another session of what the kernel answers for. Its end is not the kernel's.
 */
export class BesideKernel implements IInspectedKernel {
  private readonly _readers = new ReaderSet();
  private readonly _recordedFile: RecordedFile | null;
  private readonly _unsubscribe: () => void;

  constructor(
    private readonly _kernel: IInspectedKernel,
    file: string | undefined
  ) {
    this._recordedFile =
      file === undefined ? null : new RecordedFile(_kernel.contents, file);
    this._recordedFile?.subscribe(this._readers.notify);
    this._unsubscribe = _kernel.subscribe(this._readers.notify);
  }

  /** Whether it is about the inspector's own file or project. */
  get isOwnFile(): boolean {
    return this._recordedFile === null;
  }

  get path(): string | undefined {
    return this._recordedFile === null
      ? this._kernel.path
      : this._kernel.pathOf(this._recordedFile.path);
  }

  get file(): string {
    return this._recordedFile?.path ?? this._kernel.file;
  }

  get stamp(): string | undefined {
    return this._recordedFile?.stamp ?? this._kernel.stamp;
  }

  get state(): InspectedState {
    return this._kernel.state;
  }

  get link(): ILink | null {
    return this._kernel.link;
  }

  get contents(): Contents.IManager {
    return this._kernel.contents;
  }

  get failure(): string {
    return this._kernel.failure;
  }

  get isBusy(): boolean {
    return this._kernel.isBusy;
  }

  readonly subscribe = this._readers.subscribe;

  pathOf(file: string): string {
    return this._kernel.pathOf(file);
  }

  applyRemedy(): void {
    this._kernel.applyRemedy();
  }

  dispose(): void {
    this._unsubscribe();
    this._recordedFile?.dispose();
    this._readers.clear();
  }
}
