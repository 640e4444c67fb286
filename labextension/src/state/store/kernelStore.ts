/**
 * What a page knows of one kernel: its sessions, told by notices and drawn by every view.
 *
 * Knows neither JupyterLab nor React; views read it through useSyncExternalStore. What is told
 * within one frame changes it once.
 */
import type {
  CurrentNotice,
  PingNotice,
  Notice,
  OutcomeNotice,
  SessionStateNotice,
  RecordsNotice,
  SessionHead
} from '../../protocol/generated';
import { messagesOf, TranscriptPieces } from './transcriptPieces';
import { reduce } from './reducer';
import { EMPTY_TRANSCRIPT, type ITranscript } from './transcript';

/** Whether the kernel answers us: `absent` means that the package is not loaded there. */
export type LinkState = 'connecting' | 'ready' | 'absent' | 'dead';

export interface ISessionView {
  head: SessionHead;
  transcript: ITranscript;
  /** False until the messages were told for the first time. */
  known: boolean;
}

/** One immutable picture; what did not change is the same object as before. */
export interface IKernelView {
  link: LinkState;
  /** One sentence, when the kernel's package and this one do not go together. */
  problem: string;
  /** Version of the kernel's package. */
  version: string;
  project: string;
  /** The session that the notebook goes on with. */
  current: string | null;
  sessions: ReadonlyMap<string, ISessionView>;
}

export interface IReadable<T> {
  /** Calls back after every change; returns how to end that. */
  readonly subscribe: (changed: () => void) => () => void;
  readonly getSnapshot: () => T;
}

export type KernelNotice =
  | RecordsNotice
  | SessionStateNotice
  | OutcomeNotice
  | CurrentNotice
  | PingNotice;

export const UNKNOWN_KERNEL: IKernelView = {
  link: 'connecting',
  problem: '',
  version: '',
  project: '',
  current: null,
  sessions: new Map()
};

/** Calls a function once, soon; returns nothing that must be kept. */
type Schedule = (run: () => void) => void;

/** Asks the kernel for what came after a record, or for the whole picture (null). */
type AskAgain = (session: string, after: number | null) => void;

interface IWaiting {
  /** The last record before what was missed; null when a whole picture was asked for. */
  after: number | null;
  /** Records that came meanwhile. */
  later: Notice[];
  pieces: TranscriptPieces;
  /** How often the kernel may still remind us of what we miss before we ask again. */
  patience: number;
}

/** A reminder comes with every watch, each 10 s, and with a session that becomes current. */
const PATIENCE = 2;

/**
 * The store of one kernel.
 *
 * Responsibilities: fold notices; drop what is known; ask again for what is missing; tell its
 * readers at most once per frame.
 */
export class KernelStore implements IReadable<IKernelView> {
  private _view: IKernelView = UNKNOWN_KERNEL;
  private readonly _readers = new Set<() => void>();
  private readonly _waiting = new Map<string, IWaiting>();
  private _told: KernelNotice[] = [];
  private _planned = false;

  constructor(
    private readonly _askAgain: AskAgain,
    private readonly _schedule: Schedule = nextFrame
  ) {}

  readonly subscribe = (changed: () => void): (() => void) => {
    this._readers.add(changed);
    return () => {
      this._readers.delete(changed);
    };
  };

  readonly getSnapshot = (): IKernelView => this._view;

  /** Notes what the kernel tells; it is applied with the next frame. */
  receive(notice: KernelNotice): void {
    this._told.push(notice);
    if (!this._planned) {
      this._planned = true;
      this._schedule(() => {
        this.flush();
      });
    }
  }

  /** Applies at once what was told. */
  flush(): void {
    this._planned = false;
    const told = this._told;
    this._told = [];
    const before = this._view;
    told.forEach(notice => {
      this._apply(notice);
    });
    this._changedFrom(before);
  }

  /** Changes what is known of the kernel itself. */
  update(change: Partial<Omit<IKernelView, 'sessions'>>): void {
    const before = this._view;
    const changed = Object.entries(change).some(
      ([name, value]) => before[name as keyof IKernelView] !== value
    );
    if (changed) {
      this._view = { ...before, ...change };
      this._changedFrom(before);
    }
  }

  /**
   * Notes the head of a session, and asks for what it tells that was not told here.
   *
   * A session that began anew has fewer records than we know of it: it is read from its start.
   */
  updateHead(head: SessionHead, isCurrent: boolean, isNewKernel = false): void {
    const before = this._view;
    this._noteHead(head, isCurrent);
    const session = this._session(head.session);
    if (!session.known || (isNewKernel && head.seq < session.transcript.seq)) {
      this.requestMissing(head.session, null);
    } else if (head.seq > session.transcript.seq) {
      this.requestMissing(head.session, session.transcript.seq);
    }
    this._changedFrom(before);
  }

  /** Asks for what was missed, once; again when nothing came of it. */
  requestMissing(id: string, after: number | null): void {
    const waiting = this._waiting.get(id);
    if (waiting !== undefined && (after !== null || waiting.after === null)) {
      waiting.patience -= 1;
      if (waiting.patience > 0) {
        return;
      }
    }
    const later = waiting?.later ?? [];
    this._waiting.set(id, {
      after,
      later,
      pieces: waiting?.pieces ?? new TranscriptPieces(),
      patience: PATIENCE
    });
    this._askAgain(id, after);
  }

  /** Expects no answer any more; the next head that is told asks again. */
  giveUp(id: string): void {
    this._waiting.delete(id);
  }

  /** Forgets what was asked for and not answered, since the kernel it was asked of is gone. */
  reset(): void {
    const before = this._view;
    this._told = [];
    this._waiting.clear();
    const sessions = new Map(before.sessions);
    for (const [id, session] of sessions) {
      const { transcript } = session;
      const idle = { ...transcript, status: IDLE, asks: [], questions: [] };
      sessions.set(id, { ...session, transcript: idle });
    }
    this._view = { ...before, sessions };
    this._changedFrom(before);
  }

  private _apply(notice: KernelNotice): void {
    switch (notice.kind) {
      case 'records':
        this._records(notice);
        break;
      case 'session-state':
        this._sessionState(notice);
        break;
      case 'current':
        this.updateHead(notice.session, true);
        break;
      case 'outcome':
      case 'ping':
        break;
    }
  }

  private _records(notice: RecordsNotice) {
    const { session: id, resync, last } = notice;
    const told = notice.records as unknown as Notice[];
    const waiting = this._waiting.get(id);
    if (resync !== undefined) {
      this._missed(id, told, notice.after, last);
    } else if (waiting !== undefined) {
      waiting.later.push(...told);
    } else {
      this._follow(id, told);
    }
  }

  /** Folds what was asked for again, also by another page: that may know more than this one. */
  private _missed(
    id: string,
    told: Notice[],
    after: number | undefined,
    last: boolean
  ): void {
    const { known, transcript } = this._session(id);
    const waiting = this._waiting.get(id);
    // A kernel of an older version does not say what its records follow.
    if (known && after !== undefined && after > transcript.seq) {
      if (waiting === undefined) {
        this.requestMissing(id, transcript.seq);
      }
      return;
    }
    this._fold(id, told);
    if (last && waiting?.after !== null) {
      this._waiting.delete(id);
      this._follow(id, waiting?.later ?? []);
    }
  }

  /** Folds records that come one after the other; asks again where one is missing. */
  private _follow(id: string, told: Notice[]): void {
    const { known, transcript } = this._session(id);
    const fresh = told.filter(({ seq }) => !known || seq > transcript.seq);
    const first = fresh[0];
    if (first === undefined) {
      return;
    }
    if (!known || first.seq > transcript.seq + 1) {
      this.requestMissing(id, known ? transcript.seq : null);
      this._waiting.get(id)?.later.push(...fresh);
      return;
    }
    this._fold(id, fresh);
  }

  private _fold(id: string, told: readonly Notice[]): void {
    const session = this._session(id);
    const transcript = told.reduce(reduce, session.transcript);
    if (session.known && transcript !== session.transcript) {
      this._put(id, { ...session, transcript });
    }
  }

  private _sessionState(notice: SessionStateNotice): void {
    const waiting = this._waiting.get(notice.session);
    const { known, transcript: before } = this._session(notice.session);
    if (known && waiting?.after !== null && notice.seq < before.seq) {
      // Another page asked for it, before what is known here.
      return;
    }
    const pieces = waiting?.pieces.add(notice);
    const last = pieces?.at(-1);
    if (!waiting || !pieces || last === undefined) {
      return;
    }
    this._waiting.delete(notice.session);
    this._put(notice.session, {
      head: last.head,
      transcript: transcriptOf(pieces, last, before),
      known: true
    });
    this._follow(notice.session, waiting.later);
  }

  private _noteHead(head: SessionHead, isCurrent: boolean): void {
    const known = this._view.sessions.get(head.session);
    this._put(head.session, {
      head,
      transcript: known?.transcript ?? EMPTY_TRANSCRIPT,
      known: known?.known ?? false
    });
    if (isCurrent) {
      this._view = { ...this._view, current: head.session };
    }
  }

  private _session(id: string): ISessionView {
    return (
      this._view.sessions.get(id) ?? {
        head: {
          session: id,
          title: '',
          read_only: false,
          seq: 0,
          status: IDLE,
          asks: [],
          questions: [],
          waiting: 0,
          partial: false
        },
        transcript: EMPTY_TRANSCRIPT,
        known: false
      }
    );
  }

  private _put(id: string, session: ISessionView): void {
    const sessions = new Map(this._view.sessions).set(id, session);
    this._view = { ...this._view, sessions };
  }

  private _changedFrom(before: IKernelView): void {
    if (this._view !== before) {
      [...this._readers].forEach(changed => {
        changed();
      });
    }
  }
}

const IDLE = { type: 'idle' } as const;

/** A hidden page is given no frames; what is told there is applied a little later. */
const HIDDEN_MS = 250;

function nextFrame(run: () => void): void {
  let done = false;
  const once = () => {
    if (!done) {
      done = true;
      run();
    }
  };
  requestAnimationFrame(once);
  setTimeout(once, HIDDEN_MS);
}

/** Puts the pieces of a session's state together; what it does not show stays as it was known. */
function transcriptOf(
  pieces: readonly SessionStateNotice[],
  notice: SessionStateNotice,
  before: ITranscript
): ITranscript {
  const { head, inbox, info, replies, seq, todos } = notice;
  return {
    ...EMPTY_TRANSCRIPT,
    seq,
    ...(info === undefined ? {} : { session: info }),
    status: head.status,
    entries: messagesOf(pieces).map(message => ({
      id: message.info.id,
      message
    })),
    todos,
    asks: head.asks,
    // A kernel of an older version tells none.
    questions: (head as Partial<SessionHead>).questions ?? before.questions,
    inbox,
    // A kernel of an older version tells no decisions and no answers.
    decisions:
      (notice as Partial<SessionStateNotice>).decisions ?? before.decisions,
    replies: { ...before.replies, ...(replies as typeof replies | undefined) },
    contextFill: notice.context_fill
  };
}
