/**
 * The road between a page and one kernel: commands there, notices back, one store.
 */
import type {
  Command,
  CommandReply,
  OutcomeNotice,
  ContextFill,
  SessionStateNotice
} from '../protocol/generated';
import { newId } from '../protocol/ids';
import {
  KernelStore,
  type IKernelView,
  type IReadable,
  type KernelNotice,
  type LinkState
} from '../state/store/kernelStore';
import type { ITransport, TransportEvent } from './transport';

/** The form of commands and notices that this package speaks. */
const PROTOCOL_VERSION = 2;

/** A kernel answers at once whether it has the package; one that does not answer has none. */
export const SILENCE_MS = 1000;
const RENEW_MS = 10_000;
const LOADING_MS = 200;
const BEHIND_MS = 300;

/** The fields of a command without its type and id, and without what the link fills in. */
export type CommandFields<T extends Command['type']> = {
  [K in keyof Omit<Extract<Command, { type: T }>, 'id' | 'type' | 'client'>]?:
    Extract<Command, { type: T }>[K] | undefined;
};

/** What views and panels use. */
export interface ILink {
  /** Follows the kernel, also when the notebook gets another one. */
  readonly store: IReadable<IKernelView>;
  readonly state: LinkState;
  /**
   * Sends a command; the reply says only what is known at once. It never rejects: without a
   * kernel that answers, the reply is an error of one sentence.
   */
  command<T extends Command['type']>(
    type: T,
    fields?: CommandFields<T>
  ): Promise<CommandReply>;
  /** Sends a command and waits for what became of it; for a prompt that is the turn's end. */
  outcome<T extends Command['type']>(
    type: T,
    fields?: CommandFields<T>
  ): Promise<OutcomeNotice>;
  /** Says that somebody looks: the kernel tells this page what happens until the returned function is called. */
  watch(): () => void;
  /** Asks again whether the package is there, for example after it was loaded. */
  retry(): void;
  /** Lets the store know at once what the kernel told, which else comes with the next frame. */
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
 * Responsibilities: greet, and greet again after a restart; keep the watch fresh while somebody
 * looks; hand notices to the store and outcomes to who waits for them.
 */
export class KernelLink implements ILink {
  readonly store: KernelStore;
  private readonly _client: string;
  private readonly _newId: () => string;
  private readonly _outcomes = new Map<
    string,
    (outcome: OutcomeNotice) => void
  >();
  private _greeting = 0;
  private _isNewKernel = false;
  private _watchers = 0;
  private _renewal: ReturnType<typeof setInterval> | undefined;
  private _disposed = false;

  constructor(
    private readonly _transport: ITransport,
    private readonly _options: ILinkOptions
  ) {
    this._newId = _options.newId ?? newId;
    this._client = this._newId();
    const askAgain = (session: string, after: number | null) => {
      void this.command('resync', { session, after: after ?? undefined }).then(
        ({ status }) => {
          if (status !== 'ok') {
            this.store.giveUp(session);
          }
        }
      );
    };
    this.store = _options.store?.(askAgain) ?? new KernelStore(askAgain);
    _transport.onNotice = notice => {
      if (notice.kind === 'outcome') {
        // What was told before it is known to whoever waited for it.
        this.store.flush();
        this._settle(notice);
      } else if (notice.kind === 'ping') {
        // A question is open; a page in a hidden tab hears this before its timer.
        this._watch();
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
    fields: CommandFields<T> = {}
  ): Promise<OutcomeNotice> {
    const id = this._newId();
    return new Promise(resolve => {
      this._outcomes.set(id, resolve);
      void this._send(id, type, fields).then(reply => {
        if (reply.status !== 'ok') {
          const error = reply.error ?? NO_ANSWER;
          this._settle({ kind: 'outcome', id, error, late: false });
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
    let over = false;
    return () => {
      if (!over) {
        over = true;
        this._watchers -= 1;
        this._unwatch();
      }
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
    if (!this._disposed) {
      this._watchers = 0;
      this._unwatch();
      this._disposed = true;
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

  /** Asks whether the package is there, and says hello until there is an answer, or silence for a second. */
  private _greet(): void {
    this._greeting += 1;
    const greeting = this._greeting;
    const isOver = () => this._disposed || greeting !== this._greeting;
    const absent = () => {
      clearTimeout(silence);
      if (!isOver()) {
        this.store.update({ link: 'absent' });
      }
    };
    const silence = setTimeout(() => {
      absent();
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
          absent();
          return;
        }
        clearTimeout(silence);
        if (isOver()) {
          return;
        }
        if (reply.status === 'loading') {
          setTimeout(() => {
            if (!isOver()) {
              this._greet();
            }
          }, LOADING_MS);
        } else {
          this._welcomed(reply);
        }
      },
      () => {
        // The connection ended; its status says the rest.
        clearTimeout(silence);
      }
    );
  }

  private _welcomed(reply: CommandReply): void {
    if (reply.status === 'error') {
      this.store.update({ link: 'ready', problem: reply.error ?? '' });
      return;
    }
    this.store.update({
      link: 'ready',
      problem: reply.protocol === PROTOCOL_VERSION ? '' : MISMATCH,
      version: reply.version,
      project: reply.project ?? ''
    });
    // First the watch: nothing is told to a page that does not watch.
    this._watch();
    this._noteHead(reply, this._isNewKernel);
    this._isNewKernel = false;
  }

  /** Renews the watch; the reply says whether something was missed. */
  private _watch(): void {
    if (this.state !== 'ready' || this._watchers === 0 || this._disposed) {
      return;
    }
    void this.command('watch', { pings: true }).then(reply => {
      // What the head counts may still be on its way here.
      setTimeout(() => {
        if (!this._disposed) {
          this._noteHead(reply, false);
        }
      }, this._isBehind(reply));
    });
  }

  private _isBehind({ session }: CommandReply): number {
    const known =
      session && this.store.getSnapshot().sessions.get(session.session)?.known;
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
      if (this.state === 'ready' && !this._disposed) {
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
      this._transport.ask(content).catch(() => unanswered(id)),
      new Promise<CommandReply>(resolve => {
        setTimeout(() => {
          resolve(unanswered(id));
        }, SILENCE_MS * 5);
      })
    ]);
  }

  private _settle(outcome: OutcomeNotice): void {
    const settle = this._outcomes.get(outcome.id);
    this._outcomes.delete(outcome.id);
    settle?.(outcome);
  }

  private _loseOutcomes(): void {
    [...this._outcomes.keys()].forEach(id => {
      this._settle({ kind: 'outcome', id, error: NO_ANSWER, late: false });
    });
  }
}

const NO_ANSWER = 'The kernel does not answer.';
const MISMATCH =
  'The kernel’s Palimpsest and this page’s are of different versions; some of it may not work. Install the same version in both entries.';

/** Reads what a kernel of protocol 1 called by other words: a session's state, and what it is full of. */
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

/** The commands that name the page they come from. */
const CLIENT: Partial<Record<Command['type'], true>> = {
  watch: true,
  unwatch: true,
  resync: true
};

function unanswered(id: string): CommandReply {
  return {
    status: 'error',
    id,
    error: NO_ANSWER,
    protocol: PROTOCOL_VERSION,
    version: '',
    repeated: false
  };
}
