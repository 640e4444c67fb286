/**
 * One session, followed over the widget's comm.
 *
 * A comm is handled in a thread of its own if the kernel has subshells; otherwise the kernel answers
 * when its cell is done, and until then the page shows the saved state.
 */
import { newId } from '../protocol/ids';
import { isObject } from '../protocol/jsonValues';
import {
  KernelStore,
  type IReadable,
  type KernelNotice
} from '../state/store/kernelStore';
import { EMPTY_TRANSCRIPT, type ITranscript } from '../state/store/transcript';
import { followComm, type IAnyWidgetModel } from './anywidgetModel';
import { ReaderSet } from '../state/store/readerSet';

/** The interval between watches; the kernel sends notices for 20 s after one. */
const WATCH_MS = 10_000;
/** The interval until the first answer: the kernel may be busy. */
const FIRST_WATCH_MS = 1_000;

interface IWidgetSession {
  transcript: ITranscript;
  /** Whether the session was read completely. */
  known: boolean;
  /** Whether the comm has ended. */
  hasEnded: boolean;
}

/**
 * Follows the session of one widget.
 *
 * Responsibilities: watch the kernel while the view is visible; fold its notices; detect its end.
 */
export class WidgetSession implements IReadable<IWidgetSession> {
  private readonly _store: KernelStore;
  private readonly _session: string;
  private readonly _readers = new ReaderSet();
  private readonly _leaveComm: () => void;
  private _state: IWidgetSession = {
    transcript: EMPTY_TRANSCRIPT,
    known: false,
    hasEnded: false
  };
  private _watchers = 0;
  private _timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly _model: IAnyWidgetModel) {
    this._session = _model.get('session');
    this._store = new KernelStore((_, after) => {
      // Other pages receive the answer, too, and recognise their own by its id.
      this._send({ kind: 'resync', id: newId(), after });
    });
    this._store.subscribe(this._changed);
    this._leaveComm = followComm(_model, this._onMessage, this._onEnd);
  }

  readonly subscribe = this._readers.subscribe;

  readonly getSnapshot = (): IWidgetSession => this._state;

  /** Marks the view as visible, until the returned function is called. */
  watch(): () => void {
    this._watchers += 1;
    if (this._watchers === 1) {
      this._watch();
    }
    let isOver = false;
    return () => {
      if (!isOver) {
        isOver = true;
        this._watchers -= 1;
        this._stopIfUnwatched();
      }
    };
  }

  dispose(): void {
    this._watchers = 0;
    this._stopIfUnwatched();
    this._leaveComm();
  }

  private _watch(): void {
    if (this._watchers === 0 || this._state.hasEnded) {
      return;
    }
    this._send({ kind: 'watch' });
    this._timer = setTimeout(
      () => {
        this._watch();
      },
      this._state.known ? WATCH_MS : FIRST_WATCH_MS
    );
  }

  private _stopIfUnwatched(): void {
    if (this._watchers === 0) {
      clearTimeout(this._timer);
    }
  }

  private _send(content: unknown): void {
    try {
      this._model.send(content);
    } catch {
      // The comm is closed.
      this._onEnd();
    }
  }

  private readonly _onMessage = (content: unknown): void => {
    if (isNotice(content)) {
      this._store.receive(content);
    }
  };

  private readonly _onEnd = (): void => {
    this._state = { ...this._state, hasEnded: true };
    this._store.reset();
    this._changed();
  };

  private readonly _changed = (): void => {
    const session = this._store.getSnapshot().sessions.get(this._session);
    const transcript = session?.transcript ?? EMPTY_TRANSCRIPT;
    const known = session?.isLoaded ?? false;
    this._state = { ...this._state, transcript, known };
    this._readers.notify();
  };
}

function isNotice(content: unknown): content is KernelNotice {
  return isObject(content) && 'kind' in content;
}
