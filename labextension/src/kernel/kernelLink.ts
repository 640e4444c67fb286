/**
 * The link between a page and one kernel: sends commands, receives notices, and fills one store.
 */
import {
  PROTOCOL_VERSION,
  type Answers,
  type CellsRequestNotice,
  type Command,
  type CommandReply,
  type Done,
  type ImportProgressNotice,
  type ContextFill,
  type SessionStateNotice,
  type TypedAnswer
} from '../protocol/generated';
import { newId } from '../protocol/ids';
import {
  KernelStore,
  type IKernelView,
  type IReadable,
  type KernelNotice,
  type LinkState
} from '../state/store/kernelStore';
import {
  inPieces,
  type ActOnCells,
  type CellsAction,
  type ReadCells
} from './cellAnswers';
import type { ITransport, TransportEvent } from './transport';

/** Milliseconds after which a kernel without an answer counts as one without the package. */
export const SILENCE_MS = 1000;
/** Milliseconds between two watches, between two greetings while the package loads, and until records are missed. */
const RENEW_MS = 10_000;
const LOADING_MS = 200;
const BEHIND_MS = 300;

/** The fields of a command without its type and id, and without what the link fills in. */
export type CommandFields<T extends Command['type']> = {
  [K in keyof Omit<Extract<Command, { type: T }>, 'id' | 'type' | 'client'>]?:
    Extract<Command, { type: T }>[K] | undefined;
};

/** What an operation answers, or one sentence about why it failed. */
export interface IOutcome<T extends Command['type']> {
  error?: string;
  answer?: T extends keyof Answers ? Answers[T] : Done;
  words?: string;
  /** Of a prompt that was a command. */
  typed?: TypedAnswer;
}

export type OnProgress = (notice: ImportProgressNotice) => void;

/** The interface of a link for views and panels. */
export interface ILink {
  /** The store of the current kernel; it follows a change of the notebook's kernel. */
  readonly store: IReadable<IKernelView>;
  readonly state: LinkState;
  /**
   * Sends a command; the reply holds only what the kernel knows at once. It never rejects: without an
   * answering kernel, the reply is an error with one sentence.
   */
  command<T extends Command['type']>(
    type: T,
    fields?: CommandFields<T>
  ): Promise<CommandReply>;
  /**
   * Sends a command and waits for its outcome; for a prompt that is the turn's end. Until then `onProgress`
   * is called with what the kernel tells about how far it is.
   */
  outcome<T extends Command['type']>(
    type: T,
    fields?: CommandFields<T>,
    onProgress?: OnProgress
  ): Promise<IOutcome<T>>;
  /** Watches the kernel: it sends notices to this page until the returned function is called. */
  watch(): () => void;
  /** Lets the kernel ask what a notebook's cells hold, until the returned function is called. */
  tellCells(read: ReadCells): () => void;
  /** Lets the kernel change or run a notebook's cells, until the returned function is called. */
  serveCells(act: ActOnCells): () => void;
  /** Asks again whether the package is loaded, for example after loading it. */
  retry(): void;
  /** Applies received notices to the store at once, instead of with the next frame. */
  catchUp(): void;
  dispose(): void;
}

interface ILinkOptions {
  /** Version of this package. */
  version: string;
  newId?: () => string;
  store?: (askAgain: (id: string, after: number | null) => void) => KernelStore;
}

/**
 * The link to one kernel; all views of a page share it.
 *
 * Responsibilities: greet the kernel, and again after a restart; renew the watch while a view needs
 * it; pass notices to the store and outcomes to their callers.
 */
export class KernelLink implements ILink {
  readonly store: KernelStore;
  private readonly _client: string;
  private readonly _newId: () => string;
  private readonly _notebooks = new Set<ReadCells>();
  /** The last request that was answered. */
  private _answeredRequest = '';
  private readonly _actors = new Set<ActOnCells>();
  /** The last request that was carried out. */
  private _servedRequest = '';
  private readonly _outcomes = new Map<
    string,
    (outcome: IOutcome<never>) => void
  >();
  private readonly _progress = new Map<string, OnProgress>();
  /** The number of the last greeting; the replies to earlier ones are ignored. */
  private _greeting = 0;
  private _isNewKernel = false;
  private _watchers = 0;
  private _renewal: ReturnType<typeof setInterval> | undefined;
  private _isDisposed = false;

  constructor(
    private readonly _transport: ITransport,
    private readonly _options: ILinkOptions
  ) {
    this._newId = _options.newId ?? newId;
    this._client = this._newId();
    const askAgain = (session: string, after: number | null) => {
      void this.command('resync', {
        session,
        after: after ?? undefined
      }).then(({ status }) => {
        if (status !== 'ok') {
          this.store.giveUp(session);
        }
      });
    };
    this.store = _options.store?.(askAgain) ?? new KernelStore(askAgain);
    _transport.onNotice = notice => {
      if (notice.kind === 'outcome') {
        // Earlier notices must be in the store before the caller gets the outcome.
        this.store.flush();
        this._settle(notice.id, notice);
      } else if (notice.kind === 'import-progress') {
        this._progress.get(notice.id)?.(notice);
      } else if (notice.kind === 'ping') {
        // A question is open; a page in a hidden tab gets this before its timer fires.
        this._watch();
      } else if (notice.kind === 'cells') {
        this._tellCells(notice);
      } else if (notice.kind === 'change-cells' || notice.kind === 'run-cell') {
        void this._serveCells(notice);
      } else {
        this.store.receive(inPresentWords(notice));
      }
    };
    _transport.onEvent = event => {
      this._onEvent(event);
    };
    this._greet();
  }

  get state(): LinkState {
    return this.store.getSnapshot().link;
  }

  async command<T extends Command['type']>(
    type: T,
    fields: CommandFields<T> = {}
  ): Promise<CommandReply> {
    return this._send(this._newId(), type, fields);
  }

  outcome<T extends Command['type']>(
    type: T,
    fields: CommandFields<T> = {},
    onProgress?: OnProgress
  ): Promise<IOutcome<T>> {
    const id = this._newId();
    return new Promise(resolve => {
      this._outcomes.set(id, resolve);
      if (onProgress !== undefined) {
        this._progress.set(id, onProgress);
      }
      void this._send(id, type, fields).then(reply => {
        if (reply.status !== 'ok') {
          this._settle(id, { error: reply.error ?? NO_ANSWER });
        }
      });
    });
  }

  watch(): () => void {
    this._watchers += 1;
    if (this._watchers === 1) {
      this._renewal = setInterval(() => {
        this._watch();
      }, RENEW_MS);
      this._watch();
    }
    let isOver = false;
    return () => {
      if (!isOver) {
        isOver = true;
        this._watchers -= 1;
        this._unwatch();
      }
    };
  }

  tellCells(read: ReadCells): () => void {
    this._notebooks.add(read);
    this._watch();
    return () => {
      this._notebooks.delete(read);
    };
  }

  serveCells(act: ActOnCells): () => void {
    this._actors.add(act);
    return () => {
      this._actors.delete(act);
    };
  }

  retry(): void {
    if (this.state !== 'ready') {
      this._greet();
    }
  }

  catchUp(): void {
    this.store.flush();
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._watchers = 0;
      this._unwatch();
      this._isDisposed = true;
      this._loseOutcomes();
      this._transport.dispose();
    }
  }

  private _onEvent(event: TransportEvent): void {
    switch (event) {
      case 'dead':
      case 'restarted':
        this._isNewKernel = true;
        this._greeting += 1;
        this._loseOutcomes();
        this.store.reset();
        this.store.update({ link: event === 'dead' ? 'dead' : 'connecting' });
        break;
      case 'ready':
        if (this.state !== 'ready') {
          this._greet();
        }
        break;
      case 'loaded':
        this.retry();
        break;
    }
  }

  /**
   * Asks whether the package is loaded, and greets the kernel; a second without an answer means that
   * it is not, unless the kernel has said that it loads it: that can keep a kernel from answering.
   */
  private _greet(): void {
    this._greeting += 1;
    const greeting = this._greeting;
    const isOver = () => this._isDisposed || greeting !== this._greeting;
    const markAbsent = () => {
      clearTimeout(silence);
      if (!isOver()) {
        this.store.update({ link: 'absent' });
      }
    };
    const silence = setTimeout(() => {
      if (isOver() || this.state !== 'loading') {
        markAbsent();
      } else {
        this._greet();
      }
    }, SILENCE_MS);
    const hello = {
      type: 'hello',
      id: this._newId(),
      protocol: PROTOCOL_VERSION,
      version: this._options.version,
      client: this._client
    };
    const greeted = this._transport
      .knowsUs()
      .then(known => (known && !isOver() ? this._transport.ask(hello) : null));
    greeted.then(
      reply => {
        if (reply === null) {
          markAbsent();
          return;
        }
        clearTimeout(silence);
        if (isOver()) {
          return;
        }
        if (reply.status === 'loading') {
          this.store.update({ link: 'loading' });
          setTimeout(() => {
            if (!isOver()) {
              this._greet();
            }
          }, LOADING_MS);
        } else {
          this._onHelloReply(reply);
        }
      },
      () => {
        // The connection ended; its status event handles the rest.
        clearTimeout(silence);
      }
    );
  }

  private _onHelloReply(reply: CommandReply): void {
    if (reply.status === 'error') {
      this.store.update({ link: 'ready', problemText: reply.error ?? '' });
      return;
    }
    this.store.update({
      link: 'ready',
      problemText: reply.protocol === PROTOCOL_VERSION ? '' : MISMATCH,
      version: reply.version,
      project: reply.project ?? ''
    });
    // Watch first: a page that does not watch gets no notices.
    this._watch();
    this._noteHead(reply, this._isNewKernel);
    this._isNewKernel = false;
  }

  /** Renews the watch; the reply shows whether notices were missed. */
  private _watch(): void {
    if (this.state !== 'ready' || this._watchers === 0 || this._isDisposed) {
      return;
    }
    const cells = this._notebooks.size > 0;
    void this.command('watch', { pings: true, cells }).then(reply => {
      if (reply.error === NO_ANSWER) {
        this._lookForRestart();
        return;
      }
      // Records that the head counts may still be on their way.
      setTimeout(() => {
        if (!this._isDisposed) {
          this._noteHead(reply, false);
        }
      }, this._catchUpMs(reply));
    });
  }

  /**
   * Finds out why a kernel gave no answer: one that starts quickly after somebody else restarted it may
   * say so before it is heard.
   */
  private _lookForRestart(): void {
    void this._transport.knowsUs().then(
      known => {
        if (!known && !this._isDisposed && this.state === 'ready') {
          this._onEvent('restarted');
          this.store.update({ link: 'absent' });
        }
      },
      () => undefined // The connection ended; its status event handles the rest.
    );
  }

  /** Answers what the cells of this page's notebooks hold. */
  private _tellCells(wanted: CellsRequestNotice): void {
    const { request } = wanted;
    // Two connections of a page that was just opened receive each notice twice.
    if (this._notebooks.size > 0 && request !== this._answeredRequest) {
      this._answeredRequest = request;
      inPieces([...this._notebooks].map(read => read(wanted))).forEach(
        (notebooks, index, { length }) => {
          const last = index === length - 1;
          void this.command('cells', { request, notebooks, last });
        }
      );
    }
  }

  /** Does what the kernel requests of this page's cells, once, and answers. */
  private async _serveCells(notice: CellsAction): Promise<void> {
    const { client, request } = notice;
    // Two connections of a page that was just opened receive each notice twice.
    if (client !== this._client || request === this._servedRequest) {
      return;
    }
    this._servedRequest = request;
    let answer: ReturnType<ActOnCells>;
    for (const act of this._actors) {
      answer ??= act(notice);
    }
    const { results = [], refusal } = (await answer) ?? { refusal: 'closed' };
    await this.command('cells-changed', { request, results, refusal });
  }

  private _catchUpMs({ session }: CommandReply): number {
    const known =
      session &&
      this.store.getSnapshot().sessions.get(session.session)?.isLoaded;
    return known === true ? BEHIND_MS : 0;
  }

  private _noteHead({ session }: CommandReply, isNewKernel: boolean): void {
    if (session !== undefined && this._watchers > 0) {
      this.store.updateHead(session, true, isNewKernel);
    }
  }

  private _unwatch(): void {
    if (this._watchers === 0) {
      clearInterval(this._renewal);
      if (this.state === 'ready' && !this._isDisposed) {
        void this.command('unwatch');
      }
    }
  }

  private _send(
    id: string,
    type: Command['type'],
    fields: object
  ): Promise<CommandReply> {
    const client = CLIENT[type] === true ? { client: this._client } : {};
    const content = { ...fields, ...client, id, type };
    return Promise.race([
      this._transport.ask(content).catch(() => errorReply(NO_ANSWER)),
      new Promise<CommandReply>(resolve => {
        setTimeout(() => {
          resolve(errorReply(NO_ANSWER));
        }, SILENCE_MS * 5);
      })
    ]);
  }

  private _settle(id: string, outcome: object): void {
    const settle = this._outcomes.get(id);
    this._outcomes.delete(id);
    this._progress.delete(id);
    settle?.(outcome);
  }

  private _loseOutcomes(): void {
    [...this._outcomes.keys()].forEach(id => {
      this._settle(id, { error: NO_ANSWER });
    });
  }
}

/** The error of a command that no kernel answered. */
export const NO_ANSWER = 'The kernel does not answer.';
const MISMATCH =
  'The kernel’s Palimpsest and this page’s are of different versions; some of it may not work. Install the same version in both entries.';

/** Converts notices of protocol 1, which had other names for a session's state and its context fill. */
function inPresentWords(notice: KernelNotice): KernelNotice {
  const former = notice as unknown as { kind: string; filling?: ContextFill };
  return former.kind === 'picture'
    ? ({
        ...former,
        kind: 'session-state',
        context_fill: former.filling
      } as unknown as SessionStateNotice)
    : notice;
}

/** The commands that carry the id of their page. */
const CLIENT: Partial<Record<Command['type'], true>> = {
  watch: true,
  unwatch: true,
  cells: true,
  'cells-changed': true,
  prompt: true,
  queue: true,
  steer: true,
  resync: true,
  inspect: true
};

/** Returns the reply to a command that no kernel answered. */
export function errorReply(error: string): CommandReply {
  return {
    status: 'error',
    error,
    protocol: PROTOCOL_VERSION,
    version: '',
    repeated: false
  };
}
