/**
 * The store with a page's knowledge of one kernel: its sessions, built from notices, for all views.
 *
 * It depends neither on JupyterLab nor on React; views read it through useSyncExternalStore. Notices
 * within one frame cause one update; mere words of an answer wait a little for more of them.
 */
import type {
  CellsRequestNotice,
  ChangeCellsNotice,
  CurrentNotice,
  ImportProgressNotice,
  PingNotice,
  Notice,
  OutcomeNotice,
  SessionStateNotice,
  RecordsNotice,
  RunCellNotice,
  SessionHead
} from '../../protocol/generated';
import { assembledMessages, TranscriptPieces } from './transcriptPieces';
import { ReaderSet } from './readerSet';
import { applyNotice } from './reducer';
import { EMPTY_TRANSCRIPT, type ITranscript } from './transcript';
import { updatePace, type Schedule } from './updatePace';

/**
 * Whether the kernel answers us: `absent` means that the package is not loaded in it, `loading` that the
 * kernel is loading it, and is asked again soon.
 */
export type LinkState = 'connecting' | 'loading' | 'ready' | 'absent' | 'dead';

export interface ISessionView {
  head: SessionHead;
  transcript: ITranscript;
  /** False until the messages were received for the first time. */
  known: boolean;
}

/** One immutable state; unchanged parts are the same objects as before. */
export interface IKernelView {
  link: LinkState;
  /** One sentence, if the kernel's package and this one are incompatible. */
  problem: string;
  /** Version of the kernel's package. */
  version: string;
  project: string;
  /** The notebook's current session. */
  current: string | null;
  sessions: ReadonlyMap<string, ISessionView>;
}

export interface IReadable<T> {
  /** Calls back after every change; returns a function that unsubscribes. */
  readonly subscribe: (changed: () => void) => () => void;
  readonly getSnapshot: () => T;
}

export type KernelNotice =
  | RecordsNotice
  | SessionStateNotice
  | OutcomeNotice
  | CurrentNotice
  | ImportProgressNotice
  | CellsRequestNotice
  | ChangeCellsNotice
  | RunCellNotice
  | PingNotice;

export const UNKNOWN_KERNEL: IKernelView = {
  link: 'connecting',
  problem: '',
  version: '',
  project: '',
  current: null,
  sessions: new Map()
};

/** Requests the records after one from the kernel, or the whole state (null). */
type AskAgain = (session: string, after: number | null) => void;

interface IWaiting {
  /** The last record before the missing ones; null if the whole state was requested. */
  after: number | null;
  /** Records that arrived meanwhile. */
  later: Notice[];
  pieces: TranscriptPieces;
  /** How many more reminders of missing records are ignored before requesting again. */
  patience: number;
}

/** A reminder comes with every watch, each 10 s, and with a session that becomes current. */
const IGNORED_REMINDERS = 2;

/**
 * The store of one kernel.
 *
 * Responsibilities: fold notices; ignore known ones; request missing records again; notify its readers
 * as seldom as its schedule says.
 */
export class KernelStore implements IReadable<IKernelView> {
  private _view: IKernelView = UNKNOWN_KERNEL;
  private readonly _readers = new ReaderSet();
  private readonly _waiting = new Map<string, IWaiting>();
  private _queued: KernelNotice[] = [];
  /** The update that is planned: one for mere words may be late. */
  private _planned: 'soon' | 'words' | null = null;
  /** The order of the head that named the current session. */
  private _currentOrder = 0;

  constructor(
    private readonly _askAgain: AskAgain,
    private readonly _schedule: Schedule = updatePace()
  ) {}

  readonly subscribe = this._readers.subscribe;

  readonly getSnapshot = (): IKernelView => this._view;

  /** Queues a notice; it is applied soon. */
  receive(notice: KernelNotice): void {
    this._queued.push(notice);
    const onlyWords = isWords(notice);
    if (this._planned === null || (this._planned === 'words' && !onlyWords)) {
      this._planned = onlyWords ? 'words' : 'soon';
      this._schedule(() => {
        this.flush();
      }, onlyWords);
    }
  }

  /** Applies the queued notices at once. */
  flush(): void {
    this._planned = null;
    const notices = this._queued;
    this._queued = [];
    const before = this._view;
    notices.forEach(notice => {
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
   * Applies the head of a session, and requests the records it has beyond the known ones.
   *
   * A session that began anew has fewer records than are known here: it is read from its start.
   */
  updateHead(head: SessionHead, isCurrent: boolean, isNewKernel = false): void {
    const before = this._view;
    this._noteHead(head, isCurrent && !(head.order < this._currentOrder));
    const session = this._viewOf(head.session);
    if (!session.known || (isNewKernel && head.seq < session.transcript.seq)) {
      this.requestMissing(head.session, null);
    } else if (head.seq > session.transcript.seq) {
      this.requestMissing(head.session, session.transcript.seq);
    }
    this._changedFrom(before);
  }

  /** Requests missing records once, and again if no answer came. */
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
      patience: IGNORED_REMINDERS
    });
    this._askAgain(id, after);
  }

  /** Stops expecting an answer; the next head requests the records again. */
  giveUp(id: string): void {
    this._waiting.delete(id);
  }

  /** Drops pending requests and open turns, since their kernel is gone. */
  reset(): void {
    const before = this._view;
    this._queued = [];
    this._waiting.clear();
    const sessions = new Map(before.sessions);
    for (const [id, session] of sessions) {
      const { transcript } = session;
      const idle = {
        ...transcript,
        status: IDLE,
        asks: [],
        questions: [],
        held: []
      };
      const head = { ...session.head, order: 0 };
      sessions.set(id, { ...session, head, transcript: idle });
    }
    this._currentOrder = 0;
    this._view = { ...before, sessions };
    this._changedFrom(before);
  }

  private _apply(notice: KernelNotice): void {
    switch (notice.kind) {
      case 'records':
        this._applyRecords(notice);
        break;
      case 'session-state':
        this._sessionState(notice);
        break;
      case 'current':
        this.updateHead(notice.session, true);
        break;
      case 'outcome':
      case 'import-progress':
      case 'cells':
      case 'change-cells':
      case 'run-cell':
      case 'ping':
        break;
    }
  }

  private _applyRecords(notice: RecordsNotice) {
    const { session: id, resync, last } = notice;
    const notices = notice.records as unknown as Notice[];
    const waiting = this._waiting.get(id);
    if (resync !== undefined) {
      this._foldRequested(id, notices, notice.after, last);
    } else if (waiting !== undefined) {
      waiting.later.push(...notices);
    } else {
      this._foldConsecutive(id, notices);
    }
  }

  /** Folds requested records; another page may have requested them, and know more than this one. */
  private _foldRequested(
    id: string,
    notices: Notice[],
    after: number | undefined,
    last: boolean
  ): void {
    const { known, transcript } = this._viewOf(id);
    const waiting = this._waiting.get(id);
    // An older kernel does not report which record its records follow.
    if (known && after !== undefined && after > transcript.seq) {
      if (waiting === undefined) {
        this.requestMissing(id, transcript.seq);
      }
      return;
    }
    this._fold(id, notices);
    if (last && waiting?.after !== null) {
      this._waiting.delete(id);
      this._foldConsecutive(id, waiting?.later ?? []);
    }
  }

  /** Folds consecutive records; requests again if one is missing. */
  private _foldConsecutive(id: string, notices: Notice[]): void {
    const { known, transcript } = this._viewOf(id);
    const fresh = notices.filter(({ seq }) => !known || seq > transcript.seq);
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

  private _fold(id: string, notices: readonly Notice[]): void {
    const session = this._viewOf(id);
    const transcript = notices.reduce(applyNotice, session.transcript);
    if (session.known && transcript !== session.transcript) {
      this._setSession(id, { ...session, transcript });
    }
  }

  private _sessionState(notice: SessionStateNotice): void {
    const waiting = this._waiting.get(notice.session);
    const { head, known, transcript: before } = this._viewOf(notice.session);
    if (known && waiting?.after !== null && notice.seq < before.seq) {
      // Another page requested it, and it is older than the known state.
      return;
    }
    const pieces = waiting?.pieces.add(notice);
    const last = pieces?.at(-1);
    if (!waiting || !pieces || last === undefined) {
      return;
    }
    this._waiting.delete(notice.session);
    const newest = newerHead(last.head, head);
    this._setSession(notice.session, {
      head: newest,
      transcript: transcriptOf(pieces, last, newest, before),
      known: true
    });
    this._foldConsecutive(notice.session, waiting.later);
  }

  private _noteHead(head: SessionHead, isCurrent: boolean): void {
    const known = this._view.sessions.get(head.session);
    const newest = newerHead(head, known?.head);
    this._setSession(head.session, {
      head: newest,
      transcript: withHeadFacts(known?.transcript ?? EMPTY_TRANSCRIPT, newest),
      known: known?.known ?? false
    });
    if (isCurrent) {
      this._currentOrder = head.order;
      this._view = { ...this._view, current: head.session };
    }
  }

  private _viewOf(id: string): ISessionView {
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
          partial: false,
          stepping: false,
          held: [],
          density: 'quiet',
          order: 0
        },
        transcript: EMPTY_TRANSCRIPT,
        known: false
      }
    );
  }

  private _setSession(id: string, session: ISessionView): void {
    const sessions = new Map(this._view.sessions).set(id, session);
    this._view = { ...this._view, sessions };
  }

  private _changedFrom(before: IKernelView): void {
    if (this._view !== before) {
      this._readers.notify();
    }
  }
}

/** Returns the head that was made later: a reply and a notice can arrive the other way round. */
function newerHead(
  head: SessionHead,
  known: SessionHead | undefined
): SessionHead {
  return known !== undefined && head.order < known.order ? known : head;
}

const IDLE = { type: 'idle' } as const;

/** Returns whether a notice tells nothing but more words of a part. */
function isWords(notice: KernelNotice): boolean {
  return (
    notice.kind === 'records' &&
    (notice.records as unknown as Notice[]).every(
      ({ type }) => type === 'message.part.delta'
    )
  );
}

/** Returns what is in a head alone, and in no record; an older kernel says nothing. */
function headFacts(
  head: Partial<SessionHead>
): Pick<ITranscript, 'held' | 'stepping' | 'density'> {
  return {
    held: head.held ?? NONE_HELD,
    stepping: head.stepping ?? false,
    density: head.density ?? 'quiet'
  };
}

const NONE_HELD: ITranscript['held'] = [];

/** Returns the transcript with what only a head says; the same one if that is the same and nothing is held. */
function withHeadFacts(before: ITranscript, head: SessionHead): ITranscript {
  const now = headFacts(head);
  const isSame =
    now.stepping === before.stepping &&
    now.density === before.density &&
    now.held.length + before.held.length === 0;
  return isSame ? before : { ...before, ...now };
}

/** Assembles a session's state from its pieces; what it lacks stays as it was known. */
function transcriptOf(
  pieces: readonly SessionStateNotice[],
  notice: SessionStateNotice,
  newest: SessionHead,
  before: ITranscript
): ITranscript {
  const { head, inbox, info, replies, seq, todos } = notice;
  return {
    ...EMPTY_TRANSCRIPT,
    seq,
    ...(info === undefined ? {} : { session: info }),
    status: head.status,
    entries: assembledMessages(pieces).map(message => ({
      id: message.info.id,
      message
    })),
    todos,
    asks: head.asks,
    ...headFacts(newest),
    // An older kernel sends none.
    questions: (head as Partial<SessionHead>).questions ?? before.questions,
    inbox,
    // An older kernel sends neither decisions nor replies.
    decisions:
      (notice as Partial<SessionStateNotice>).decisions ?? before.decisions,
    replies: { ...before.replies, ...(replies as typeof replies | undefined) },
    contextFill: notice.context_fill
  };
}
