/**
 * An inspector's answers from a kernel, over the channel that is served while a cell runs.
 */
import { NO_ANSWER, type IOutcome } from '../kernel/kernelLink';
import type { ViewAnswer, ViewQuery } from '../protocol/generated';
import type { IInspectorSource } from '../state/inspector/source';
import type { ITranscript } from '../state/store/transcript';
import type { IInspectedKernel } from './kernels/inspectedKernel';
import { editTarget } from './targets';

/** Milliseconds between two reports that a session grew; a turn writes many records a second. */
export const SETTLE_MS = 300;

/** Milliseconds after which an answer of a busy kernel counts as late. */
export const LATE_MS = 1500;

/** Milliseconds between two looks at a session that another kernel writes, while the page is seen. */
export const LOOK_MS = 3000;

const WAITS = 'It is read once the kernel answers again.';
const GONE = 'The kernel does not answer. Start it again to see its sessions.';

/**
 * The source of a tab.
 *
 * Responsibilities: ask, and again what a kernel that ended left unanswered; tell when the session has grown or may have,
 * and when an answer is late; send the user's context edits.
 */
export class KernelSource implements IInspectorSource {
  readonly edit?: IInspectorSource['edit'];
  private readonly _readers = new Set<() => void>();
  private readonly _ends: (() => void)[] = [];
  private readonly _waiting: (() => void)[] = [];
  private _mark = '';
  private _isReady: boolean;
  private _settling: ReturnType<typeof setTimeout> | undefined;
  private readonly _looks: ReturnType<typeof setInterval>;
  private _late = 0;
  private _isDisposed = false;

  constructor(
    private readonly _kernel: IInspectedKernel,
    /** The session; undefined for the first of a recording. */
    private readonly _session: string | undefined,
    /** Called when answers begin or cease to be late. */
    private readonly _lateChanged: () => void
  ) {
    this._isReady = _kernel.state === 'ready';
    this._mark = this._marked();
    this._ends.push(_kernel.subscribe(this._follow));
    this._looks = setInterval(this._look, LOOK_MS);
    if (_kernel.path === undefined) {
      this.edit = async (action, part) => {
        const fields = {
          session: this._session,
          action,
          target: editTarget(part)
        };
        const { link } = this._kernel;
        return (
          (await link?.outcome('context-edit', fields))?.error ??
          (link === null ? GONE : '')
        );
      };
    }
  }

  /** A sentence in the place of what is not known while the kernel is gone. */
  get waits(): string | undefined {
    return this._kernel.state === 'ready' ? undefined : WAITS;
  }

  /** Whether an answer is waited for longer than usual. */
  get isLate(): boolean {
    return this._late > 0;
  }

  async ask(query: ViewQuery): Promise<ViewAnswer> {
    const waiting = { late: false };
    const timer = setTimeout(() => {
      waiting.late = true;
      this._count(1);
    }, LATE_MS);
    let outcome = await this._outcome(query);
    while (this._isLost(outcome)) {
      await this._returned();
      outcome = await this._outcome(query);
    }
    clearTimeout(timer);
    if (waiting.late) {
      this._count(-1);
    }
    return (
      outcome.answer ?? {
        error: outcome.error ?? GONE,
        unchanged: false,
        milliseconds: 0
      }
    );
  }

  readonly subscribe = (changed: () => void): (() => void) => {
    this._readers.add(changed);
    return () => {
      this._readers.delete(changed);
    };
  };

  dispose(): void {
    this._isDisposed = true;
    this._wake();
    clearTimeout(this._settling);
    clearInterval(this._looks);
    this._readers.clear();
    this._ends.forEach(end => {
      end();
    });
  }

  private async _outcome(query: ViewQuery): Promise<IOutcome<'inspect'>> {
    const { link, path } = this._kernel;
    const asked = { session: this._session, path, query };
    return (await link?.outcome('inspect', asked)) ?? { error: GONE };
  }

  /** Returns whether a question went with its kernel, or to one that is held up, as by a library's long call. */
  private _isLost({ error, answer }: IOutcome<'inspect'>): boolean {
    return (
      !this._isDisposed &&
      !answer &&
      (this._kernel.state !== 'ready' || error === NO_ANSWER)
    );
  }

  /** Waits until a kernel that is gone is there again, and for one that is held up a moment. */
  private _returned(): Promise<void> {
    return new Promise(resolve => {
      if (this._kernel.state === 'ready') {
        setTimeout(resolve, SETTLE_MS);
      } else {
        this._waiting.push(resolve);
      }
    });
  }

  /** Lets the questions that wait for a kernel be asked again. */
  private _wake(): void {
    this._waiting.splice(0).forEach(resolve => {
      resolve();
    });
  }

  private _count(more: 1 | -1): void {
    const before = this.isLate;
    this._late += more;
    if (before !== this.isLate) {
      this._lateChanged();
    }
  }

  private readonly _follow = (): void => {
    const ready = this._kernel.state === 'ready';
    const mark = this._marked();
    const returned = ready && !this._isReady;
    this._isReady = ready;
    if (ready) {
      this._wake();
    }
    if (!ready || (mark === this._mark && !returned)) {
      return;
    }
    this._mark = mark;
    this._settling ??= setTimeout(() => {
      this._settling = undefined;
      this._tell();
    }, SETTLE_MS);
  };

  /** Has a session looked at again that this kernel tells nothing of: another notebook's, or a subagent's. */
  private readonly _look = (): void => {
    const { link, path, state } = this._kernel;
    const sessions = link?.store.getSnapshot().sessions;
    const isTold = sessions?.get(this._session ?? '')?.known === true;
    if (
      path === undefined &&
      state === 'ready' &&
      !isTold &&
      !document.hidden
    ) {
      this._tell();
    }
  };

  private _tell(): void {
    [...this._readers].forEach(changed => {
      changed();
    });
  }

  private _marked(): string {
    if (this._kernel.path !== undefined) {
      return this._kernel.stamp ?? '';
    }
    const view = this._kernel.link?.store.getSnapshot();
    return grown(view?.sessions.get(this._session ?? '')?.transcript);
  }
}

/** Returns a text that changes when a request, a part or a decision came or the session went, and not with each word. */
function grown(transcript: ITranscript | undefined): string {
  if (transcript === undefined) {
    return '';
  }
  const { entries, decisions, status, contextFill, deleted } = transcript;
  const last = entries.at(-1)?.message.parts ?? [];
  const parts = last.map(part =>
    part.type === 'tool' ? part.state.status : part.type
  );
  return JSON.stringify([
    entries.length,
    parts,
    decisions.length,
    status.type,
    contextFill,
    deleted
  ]);
}
