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
  isLoaded: boolean;
}

/** One immutable state; unchanged parts are the same objects as before. */
export interface IKernelView {
  link: LinkState;
  /** One sentence, if the kernel's package and this one are incompatible. */
  problemText: string;
  /** Version of the kernel's package. */
  version: string;
  project: string;
  /** The notebook's current session. */
  current: string | null;
  sessions: ReadonlyMap<string, ISessionView>;
}

export interface IReadable<T> {
  /** Calls back after every change; returns a function that unsubscribes. */
  readonly subscribe: (onChange: () => void) => () => void;
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
  problemText: '',
  version: '',
  project: '',
  current: null,
  sessions: new Map()
};

/** Requests the records after one from the kernel, or the whole state (null). */
type RequestRecords = (session: string, after: number | null) => void;

interface IPendingRequest {
  /** The last record before the missing ones; null if the whole state was requested. */
  afterSeq: number | null;
  /** Records that arrived meanwhile. */
  laterNotices: Notice[];
  pieces: TranscriptPieces;
  /** How many more reminders of missing records are ignored before requesting again. */
  remindersLeft: number;
}

/** A reminder comes with every watch, each 10 s, and with a session that becomes current. */
const MAX_IGNORED_REMINDERS = 2;

/**
 * The store of one kernel.
 *
 * Responsibilities: fold notices; ignore known ones; request missing records again; notify its readers
 * as seldom as its schedule says.
 */
export class KernelStore implements IReadable<IKernelView> {
  private _view: IKernelView = UNKNOWN_KERNEL;
  private readonly _readers = new ReaderSet();
  private readonly _pendingRequests = new Map<string, IPendingRequest>();
  private _queuedNotices: KernelNotice[] = [];
  /** The update that is planned: one for mere words may be late. */
  private _plannedUpdate: 'soon' | 'words' | null = null;
  /** The order of the head that named the current session. */
  private _currentOrder = 0;

  constructor(
    private readonly _requestRecords: RequestRecords,
    private readonly _schedule: Schedule = updatePace()
  ) {}

  readonly subscribe = this._readers.subscribe;

  readonly getSnapshot = (): IKernelView => this._view;

  /** Queues a notice; it is applied soon. */
  receive(notice: KernelNotice): void {
    this._queuedNotices.push(notice);
    const isOnlyDelta = isOnlyDeltas(notice);
    if (
      this._plannedUpdate === null ||
      (this._plannedUpdate === 'words' && !isOnlyDelta)
    ) {
      this._plannedUpdate = isOnlyDelta ? 'words' : 'soon';
      this._schedule(() => {
        this.flush();
      }, isOnlyDelta);
    }
  }

  /** Applies the queued notices at once. */
  flush(): void {
    this._plannedUpdate = null;
    const notices = this._queuedNotices;
    this._queuedNotices = [];
    const before = this._view;
    notices.forEach(notice => {
      this._apply(notice);
    });
    this._notifyIfChanged(before);
  }

  /** Changes what is known of the kernel itself. */
  update(change: Partial<Omit<IKernelView, 'sessions'>>): void {
    const before = this._view;
    const isChanged = Object.entries(change).some(
      ([name, value]) => before[name as keyof IKernelView] !== value
    );
    if (isChanged) {
      this._view = { ...before, ...change };
      this._notifyIfChanged(before);
    }
  }

  /**
   * Applies the head of a session, and requests the records it has beyond the known ones.
   *
   * A session that began anew has fewer records than are known here: it is read from its start.
   */
  updateHead(head: SessionHead, isCurrent: boolean, isNewKernel = false): void {
    const before = this._view;
    this._applyHead(head, isCurrent && !(head.order < this._currentOrder));
    const session = this._sessionOf(head.session);
    if (
      !session.isLoaded ||
      (isNewKernel && head.seq < session.transcript.seq)
    ) {
      this.requestMissing(head.session, null);
    } else if (head.seq > session.transcript.seq) {
      this.requestMissing(head.session, session.transcript.seq);
    }
    this._notifyIfChanged(before);
  }

  /** Requests missing records once, and again if no answer came. */
  requestMissing(id: string, afterSeq: number | null): void {
    const pending = this._pendingRequests.get(id);
    if (
      pending !== undefined &&
      (afterSeq !== null || pending.afterSeq === null)
    ) {
      pending.remindersLeft -= 1;
      if (pending.remindersLeft > 0) {
        return;
      }
    }
    const laterNotices = pending?.laterNotices ?? [];
    this._pendingRequests.set(id, {
      afterSeq,
      laterNotices,
      pieces: pending?.pieces ?? new TranscriptPieces(),
      remindersLeft: MAX_IGNORED_REMINDERS
    });
    this._requestRecords(id, afterSeq);
  }

  /** Drops the pending request of a session; its next head requests the records again. */
  giveUp(id: string): void {
    this._pendingRequests.delete(id);
  }

  /** Drops pending requests and open turns, since their kernel is gone. */
  reset(): void {
    const before = this._view;
    this._queuedNotices = [];
    this._pendingRequests.clear();
    const sessions = new Map(before.sessions);
    for (const [id, session] of sessions) {
      const { transcript } = session;
      const idleTranscript = {
        ...transcript,
        status: IDLE,
        asks: [],
        questions: [],
        held: []
      };
      const head = { ...session.head, order: 0 };
      sessions.set(id, { ...session, head, transcript: idleTranscript });
    }
    this._currentOrder = 0;
    this._view = { ...before, sessions };
    this._notifyIfChanged(before);
  }

  private _apply(notice: KernelNotice): void {
    switch (notice.kind) {
      case 'records':
        this._applyRecords(notice);
        break;
      case 'session-state':
        this._applySessionState(notice);
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
    const pending = this._pendingRequests.get(id);
    if (resync !== undefined) {
      this._foldRequested(id, notices, notice.after, last);
    } else if (pending !== undefined) {
      pending.laterNotices.push(...notices);
    } else {
      this._foldConsecutive(id, notices);
    }
  }

  /** Folds requested records; another page may have requested them, and know more than this one. */
  private _foldRequested(
    id: string,
    notices: Notice[],
    afterSeq: number | undefined,
    isLast: boolean
  ): void {
    const { isLoaded, transcript } = this._sessionOf(id);
    const pending = this._pendingRequests.get(id);
    // An older kernel does not report which record its records follow.
    if (isLoaded && afterSeq !== undefined && afterSeq > transcript.seq) {
      if (pending === undefined) {
        this.requestMissing(id, transcript.seq);
      }
      return;
    }
    this._fold(id, notices);
    if (isLast && pending?.afterSeq !== null) {
      this._pendingRequests.delete(id);
      this._foldConsecutive(id, pending?.laterNotices ?? []);
    }
  }

  /** Folds consecutive records; requests again if one is missing. */
  private _foldConsecutive(id: string, notices: Notice[]): void {
    const { isLoaded, transcript } = this._sessionOf(id);
    const newNotices = notices.filter(
      ({ seq }) => !isLoaded || seq > transcript.seq
    );
    const firstNotice = newNotices[0];
    if (firstNotice === undefined) {
      return;
    }
    if (!isLoaded || firstNotice.seq > transcript.seq + 1) {
      this.requestMissing(id, isLoaded ? transcript.seq : null);
      this._pendingRequests.get(id)?.laterNotices.push(...newNotices);
      return;
    }
    this._fold(id, newNotices);
  }

  private _fold(id: string, notices: readonly Notice[]): void {
    const session = this._sessionOf(id);
    const transcript = notices.reduce(applyNotice, session.transcript);
    if (session.isLoaded && transcript !== session.transcript) {
      this._setSession(id, { ...session, transcript });
    }
  }

  private _applySessionState(notice: SessionStateNotice): void {
    const pending = this._pendingRequests.get(notice.session);
    const {
      head,
      isLoaded,
      transcript: before
    } = this._sessionOf(notice.session);
    if (isLoaded && pending?.afterSeq !== null && notice.seq < before.seq) {
      // Another page requested it, and it is older than the known state.
      return;
    }
    const pieces = pending?.pieces.add(notice);
    const lastPiece = pieces?.at(-1);
    if (!pending || !pieces || lastPiece === undefined) {
      return;
    }
    this._pendingRequests.delete(notice.session);
    const newestHead = newerHead(lastPiece.head, head);
    this._setSession(notice.session, {
      head: newestHead,
      transcript: transcriptOf(pieces, lastPiece, newestHead, before),
      isLoaded: true
    });
    this._foldConsecutive(notice.session, pending.laterNotices);
  }

  private _applyHead(head: SessionHead, isCurrent: boolean): void {
    const session = this._view.sessions.get(head.session);
    const newestHead = newerHead(head, session?.head);
    this._setSession(head.session, {
      head: newestHead,
      transcript: withHeadFacts(
        session?.transcript ?? EMPTY_TRANSCRIPT,
        newestHead
      ),
      isLoaded: session?.isLoaded ?? false
    });
    if (isCurrent) {
      this._currentOrder = head.order;
      this._view = { ...this._view, current: head.session };
    }
  }

  private _sessionOf(id: string): ISessionView {
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
        isLoaded: false
      }
    );
  }

  private _setSession(id: string, session: ISessionView): void {
    const sessions = new Map(this._view.sessions).set(id, session);
    this._view = { ...this._view, sessions };
  }

  private _notifyIfChanged(before: IKernelView): void {
    if (this._view !== before) {
      this._readers.notify();
    }
  }
}

/** Returns the head that was made later: a reply and a notice can arrive the other way round. */
function newerHead(
  head: SessionHead,
  knownHead: SessionHead | undefined
): SessionHead {
  return knownHead !== undefined && head.order < knownHead.order
    ? knownHead
    : head;
}

const IDLE = { type: 'idle' } as const;

/** Returns whether a notice tells nothing but more words of a part. */
function isOnlyDeltas(notice: KernelNotice): boolean {
  return (
    notice.kind === 'records' &&
    (notice.records as unknown as Notice[]).every(
      ({ type }) => type === 'message.part.delta'
    )
  );
}

/** Returns the fields that only a head has, and no record; an older kernel sends none. */
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

/** Returns the transcript with the facts of a head; the same object where they are equal and no request is held. */
function withHeadFacts(before: ITranscript, head: SessionHead): ITranscript {
  const facts = headFacts(head);
  const isUnchanged =
    facts.stepping === before.stepping &&
    facts.density === before.density &&
    facts.held.length + before.held.length === 0;
  return isUnchanged ? before : { ...before, ...facts };
}

/** Assembles a session's state from its pieces; what it lacks stays as it was known. */
function transcriptOf(
  pieces: readonly SessionStateNotice[],
  lastPiece: SessionStateNotice,
  newestHead: SessionHead,
  before: ITranscript
): ITranscript {
  const { head, inbox, info, replies, seq, todos } = lastPiece;
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
    ...headFacts(newestHead),
    // An older kernel sends none.
    questions: (head as Partial<SessionHead>).questions ?? before.questions,
    inbox,
    // An older kernel sends neither decisions nor replies.
    decisions:
      (lastPiece as Partial<SessionStateNotice>).decisions ?? before.decisions,
    replies: { ...before.replies, ...(replies as typeof replies | undefined) },
    contextFill: lastPiece.context_fill
  };
}
