/** The state of one inspector: its kernel, session, place, and what it lacks. */
import {
  NOWHERE,
  type ComparedSide,
  type IInspectorPlace
} from '../state/inspector/source';
import type { IReadable } from '../state/store/kernelStore';
import { BesideSession, type IBesideState } from './besideSession';
import { BesideKernel } from './kernels/besideKernel';
import type {
  IInspectedKernel,
  InspectedState
} from './kernels/inspectedKernel';
import { KernelSource } from './kernelSource';
import {
  argumentsOf,
  hasIds,
  placeOf,
  type IBesideTarget,
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
  /** Where views get their answers; set once the kernel was ready, and kept from then on. */
  source: KernelSource | null;
  place: IInspectorPlace;
  /** The session compared with the inspector's own; null where there is none. */
  beside: IBesideState | null;
  /** Which of two compared sessions is shown. */
  side: ComparedSide;
  /** Whether the shown session was opened from the other one. */
  isSideOpened: boolean;
  /** Title of the session; empty until it is known. */
  title: string;
  /** Path of the notebook or the recorded file, which may be renamed. */
  file: string;
}

/**
 * The model of an inspector.
 *
 * Responsibilities: choose the session once the kernel is ready, and keep to it; turn ids of a place into
 * numbers; remember the place for links and the layout; hold the session beside it.
 */
export class InspectorModel implements IReadable<IInspectorState> {
  private readonly _readers = new ReaderSet();
  private readonly _unsubscribe: () => void;
  private _target: IInspectorArguments;
  private _isResolving = false;
  private _beside: BesideSession | null = null;
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
      beside: null,
      side: sideOf(target),
      isSideOpened: false,
      title: '',
      file: _kernel.file
    };
    this._unsubscribe = _kernel.subscribe(this._handleKernelChange);
    this._handleKernelChange();
  }

  readonly subscribe = this._readers.subscribe;

  readonly getSnapshot = (): IInspectorState => this._state;

  /** The arguments that restore this inspector as it is. */
  get arguments(): IInspectorArguments {
    const { place, side } = this._state;
    const { notebook, path, session } = this._target;
    const beside = this._beside?.target ?? this._target.beside;
    return {
      notebook,
      path,
      session,
      ...(beside === undefined ? {} : { beside: { ...beside } }),
      ...(side === 'second' ? { side } : {}),
      ...argumentsOf(place),
      // Ids that the session's view has not turned into numbers yet.
      ...(this._isResolving || this._state.source === null
        ? { request: this._target.request, item: this._target.item }
        : {})
    };
  }

  /** Shows another place of the same session. */
  show(target: IInspectorArguments): void {
    const { session, beside } = this._target;
    this._target = { beside, ...target, session };
    if (target.beside !== undefined) {
      this._endBeside();
    }
    // What a place without a side names is in the inspector's own session.
    this._change({ side: sideOf(target), isSideOpened: false });
    void this._resolve();
  }

  /** Shows another session beside this one; null for this one alone. */
  readonly compareWith = (comparedTarget: IBesideTarget | null): void => {
    const { place, side } = this._state;
    this._endBeside();
    this._target = { ...this._target, beside: comparedTarget ?? undefined };
    this._change({
      beside: null,
      side: 'first',
      isSideOpened: false,
      place: {
        ...(side === 'first' ? place : NOWHERE),
        tab: comparedTarget === null ? 'timeline' : 'compared'
      }
    });
    this._startBeside();
  };

  /** Shows one of two sessions at a place. */
  readonly openSide = (
    side: ComparedSide,
    place: Partial<IInspectorPlace>
  ): void => {
    this._target = { ...this._target, request: undefined, item: undefined };
    this._change({
      side,
      isSideOpened: side !== this._state.side,
      place: { ...NOWHERE, ...place }
    });
  };

  /** Stores the place that the views show. */
  readonly setPlace = (place: IInspectorPlace): void => {
    this._target = { ...this._target, request: undefined, item: undefined };
    this._beside?.setPrice(place.price ?? null);
    this._change({ place });
  };

  readonly applyRemedy = (): void => {
    this._kernel.applyRemedy();
  };

  dispose(): void {
    this._unsubscribe();
    this._endBeside();
    this._state.source?.dispose();
    this._kernel.dispose();
    this._readers.clear();
  }

  private readonly _handleKernelChange = (): void => {
    const { failure, isBusy, link, state: kernel } = this._kernel;
    const view = link?.store.getSnapshot();
    if (
      kernel === 'ready' &&
      this._state.source === null &&
      !this._isResolving
    ) {
      // A kernel of its own has a session too, which is not one of the recording's.
      const isRecording = this._kernel.path !== undefined;
      const currentSession = isRecording
        ? undefined
        : (view?.current ?? undefined);
      const session = this._target.session ?? currentSession;
      if (session !== undefined || isRecording) {
        this._target = { ...this._target, session };
        void this._resolve(
          new KernelSource(this._kernel, session, this._updateLateness)
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

  private readonly _updateLateness = (): void => {
    this._change({
      isLate:
        this._state.source?.isLate === true ||
        this._state.beside?.source?.isLate === true,
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
    this._startBeside();
  }

  /** Compares with the target's other session, once there is a source to ask. */
  private _startBeside(): void {
    const { source, place } = this._state;
    const target = this._target.beside;
    if (source === null || target === undefined || this._beside !== null) {
      return;
    }
    const beside = (this._beside = new BesideSession(
      source,
      new BesideKernel(this._kernel, target.path),
      target.session,
      this._updateLateness
    ));
    beside.setPrice(place.price ?? null);
    beside.subscribe(this._updateBeside);
    this._updateBeside();
  }

  private _endBeside(): void {
    this._beside?.dispose();
    this._beside = null;
  }

  private readonly _updateBeside = (): void => {
    const beside = this._beside?.getSnapshot() ?? null;
    const hasFailed = beside?.comparison === null && beside.error !== '';
    this._change({
      beside,
      // A layout may bring back the second of two, which is gone.
      ...(hasFailed && this._state.side === 'second'
        ? { side: 'first' as const, place: NOWHERE }
        : {})
    });
  };

  private _change(change: Partial<IInspectorState>): void {
    const before = this._state;
    const next = { ...before, ...change };
    const fields = Object.keys(next) as (keyof IInspectorState)[];
    if (fields.some(name => next[name] !== before[name])) {
      this._state = next;
      this._readers.notify();
    }
  }
}

/** Returns which of two sessions a target shows. */
function sideOf({ beside, side }: IInspectorArguments): ComparedSide {
  return beside !== undefined && side === 'second' ? side : 'first';
}
