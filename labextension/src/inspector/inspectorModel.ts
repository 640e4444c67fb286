/** The state of one inspector: its kernel, session, place, and what it lacks. */
import type { IInspectorPlace } from '../state/inspector/source';
import type { IReadable } from '../state/store/kernelStore';
import type {
  IInspectedKernel,
  InspectedState
} from './kernels/inspectedKernel';
import { KernelSource } from './kernelSource';
import {
  argumentsOf,
  hasIds,
  placeOf,
  type IInspectorArguments
} from './targets';
import { ReaderSet } from '../state/store/readerSet';

/** One immutable state for the views. */
export interface IInspectorState {
  kernel: InspectedState;
  /** The reason of `failed`. */
  failure: string;
  /** Whether an answer takes longer than usual. */
  isLate: boolean;
  isBusy: boolean;
  /** Set once the kernel was ready, and kept from then on. */
  source: KernelSource | null;
  place: IInspectorPlace;
  /** Title of the session; empty until it is known. */
  title: string;
  /** Path of the notebook or the recorded file, which may be renamed. */
  file: string;
}

/**
 * The model of an inspector.
 *
 * Responsibilities: choose the session once the kernel is ready, and keep to it; turn ids of a place into
 * numbers; remember the place for links and the layout.
 */
export class InspectorModel implements IReadable<IInspectorState> {
  private readonly _readers = new ReaderSet();
  private readonly _unsubscribe: () => void;
  private _target: IInspectorArguments;
  private _isResolving = false;
  private _state: IInspectorState;

  constructor(
    private readonly _kernel: IInspectedKernel,
    target: IInspectorArguments
  ) {
    this._target = target;
    this._state = {
      kernel: _kernel.state,
      failure: _kernel.failure,
      isLate: false,
      isBusy: _kernel.isBusy,
      source: null,
      place: placeOf(target),
      title: '',
      file: _kernel.file
    };
    this._unsubscribe = _kernel.subscribe(this._follow);
    this._follow();
  }

  readonly subscribe = this._readers.subscribe;

  readonly getSnapshot = (): IInspectorState => this._state;

  /** The arguments that restore this inspector as it is. */
  get arguments(): IInspectorArguments {
    const { place } = this._state;
    const { notebook, path, session } = this._target;
    return {
      notebook,
      path,
      session,
      ...argumentsOf(place),
      // Ids that are not numbers yet.
      ...(this._isResolving || this._state.source === null
        ? { request: this._target.request, item: this._target.item }
        : {})
    };
  }

  /** Shows another place of the same session. */
  show(target: IInspectorArguments): void {
    this._target = { ...target, session: this._target.session };
    void this._resolve();
  }

  /** Stores the place that the views show. */
  readonly setPlace = (place: IInspectorPlace): void => {
    this._target = { ...this._target, request: undefined, item: undefined };
    this._change({ place });
  };

  readonly applyRemedy = (): void => {
    this._kernel.applyRemedy();
  };

  dispose(): void {
    this._unsubscribe();
    this._state.source?.dispose();
    this._kernel.dispose();
    this._readers.clear();
  }

  private readonly _follow = (): void => {
    const { failure, isBusy, link, state: kernel } = this._kernel;
    const view = link?.store.getSnapshot();
    if (
      kernel === 'ready' &&
      this._state.source === null &&
      !this._isResolving
    ) {
      // A kernel of its own has a session too, which is not one of the recording's.
      const isRecording = this._kernel.path !== undefined;
      const current = isRecording ? undefined : (view?.current ?? undefined);
      const session = this._target.session ?? current;
      if (session !== undefined || isRecording) {
        this._target = { ...this._target, session };
        void this._resolve(
          new KernelSource(this._kernel, session, this._lateChanged)
        );
      }
    }
    const { file, path } = this._kernel;
    const pathField = path === undefined ? 'notebook' : 'path';
    if (file !== '' && file !== this._target[pathField]) {
      this._target = { ...this._target, [pathField]: file };
    }
    const shownSession = view?.sessions.get(this._target.session ?? '');
    this._change({
      kernel,
      failure,
      isBusy,
      file,
      title:
        shownSession?.transcript.session?.title ??
        shownSession?.head.title ??
        ''
    });
  };

  private readonly _lateChanged = (): void => {
    this._change({
      isLate: this._state.source?.isLate ?? false,
      isBusy: this._kernel.isBusy
    });
  };

  /** Turns the target into numbers, for which ids need the session's view. */
  private async _resolve(source = this._state.source): Promise<void> {
    if (source === null) {
      return;
    }
    const target = this._target;
    this._isResolving = true;
    const view = hasIds(target)
      ? ((await source.ask({ ask: 'view', part: 'picture' })).view ?? null)
      : null;
    this._isResolving = false;
    this._change({ source, place: placeOf(target, view) });
  }

  private _change(change: Partial<IInspectorState>): void {
    const before = this._state;
    const next = { ...before, ...change };
    const names = Object.keys(next) as (keyof IInspectorState)[];
    if (names.some(name => next[name] !== before[name])) {
      this._state = next;
      this._readers.notify();
    }
  }
}
