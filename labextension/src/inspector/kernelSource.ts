/** An inspector's answers from a kernel, over the channel that is served while a cell runs. */
import { NO_ANSWER, type IOutcome } from '../kernel/kernelLink';
import type { ViewAnswer, ViewQuery } from '../protocol/generated';
import type { IInspectorSource, INoteWords } from '../state/inspector/source';
import type { ITranscript } from '../state/store/transcript';
import type { IInspectedKernel } from './kernels/inspectedKernel';
import { editTarget } from './targets';
import { ReaderSet } from '../state/store/readerSet';

/** Milliseconds between two reports that a session grew; a turn writes many records a second. */
export const SETTLE_MS = 300;

/** Milliseconds after which an answer of a busy kernel counts as late. */
export const LATE_MS = 1500;

/** Milliseconds between two requests for a session that another kernel writes, while the page is visible. */
export const LOOK_MS = 3000;

const WAIT_SENTENCE = 'It is read once the kernel answers again.';
const GONE_SENTENCE =
  'The kernel does not answer. Start it again to see its sessions.';

/**
 * The source of a tab.
 *
 * Responsibilities: ask, and again what a kernel that ended left unanswered; tell when the session has grown or may have,
 * and when an answer is late; send the user's context edits.
 */
export class KernelSource implements IInspectorSource {
  readonly edit?: IInspectorSource['edit'];
  private readonly _readers = new ReaderSet();
  private readonly _disposers: (() => void)[] = [];
  private readonly _waiting: (() => void)[] = [];
  private _stamp = '';
  private _isReady: boolean;
  private _notifyTimer: ReturnType<typeof setTimeout> | undefined;
  private readonly _pollTimer: ReturnType<typeof setInterval>;
  private _lateAnswers = 0;
  private _isDisposed = false;

  constructor(
    private readonly _kernel: IInspectedKernel,
    /** The session; undefined for the first of a recording. */
    private readonly _session: string | undefined,
    /** Called when answers begin or cease to be late. */
    private readonly _lateChanged: () => void
  ) {
    this._isReady = _kernel.state === 'ready';
    this._stamp = this._currentStamp();
    this._disposers.push(_kernel.subscribe(this._follow));
    this._pollTimer = setInterval(this._pollUnfollowed, LOOK_MS);
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
          (link === null ? GONE_SENTENCE : '')
        );
      };
    }
  }

  /** The sentence shown instead of an answer while the kernel is gone. */
  get waitSentence(): string | undefined {
    return this._kernel.state === 'ready' ? undefined : WAIT_SENTENCE;
  }

  /** Whether an answer takes longer than usual. */
  get isLate(): boolean {
    return this._lateAnswers > 0;
  }

  async ask(query: ViewQuery): Promise<ViewAnswer> {
    const waiting = { late: false };
    const timer = setTimeout(() => {
      waiting.late = true;
      this._countLate(1);
    }, LATE_MS);
    let outcome = await this._askKernel(query);
    while (this._isLost(outcome)) {
      await this._untilReady();
      outcome = await this._askKernel(query);
    }
    clearTimeout(timer);
    if (waiting.late) {
      this._countLate(-1);
    }
    return answerOf(outcome);
  }

  async note(words: INoteWords): Promise<ViewAnswer> {
    const { link, path } = this._kernel;
    const fields = { session: this._session, path, ...words };
    const outcome = await link?.outcome('note', fields);
    return answerOf(outcome);
  }

  readonly subscribe = this._readers.subscribe;

  dispose(): void {
    this._isDisposed = true;
    this._wake();
    clearTimeout(this._notifyTimer);
    clearInterval(this._pollTimer);
    this._readers.clear();
    this._disposers.forEach(end => {
      end();
    });
  }

  private async _askKernel(query: ViewQuery): Promise<IOutcome<'inspect'>> {
    const { link, path } = this._kernel;
    const fields = { session: this._session, path, query };
    return (await link?.outcome('inspect', fields)) ?? { error: GONE_SENTENCE };
  }

  /** Returns whether a question was lost with its kernel, or timed out at a kernel that a long call blocks. */
  private _isLost({ error, answer }: IOutcome<'inspect'>): boolean {
    return (
      !this._isDisposed &&
      !answer &&
      (this._kernel.state !== 'ready' || error === NO_ANSWER)
    );
  }

  /** Waits until a kernel that is gone is ready again; for a blocked kernel, a moment. */
  private _untilReady(): Promise<void> {
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

  private _countLate(change: 1 | -1): void {
    const before = this.isLate;
    this._lateAnswers += change;
    if (before !== this.isLate) {
      this._lateChanged();
    }
  }

  private readonly _follow = (): void => {
    const isReady = this._kernel.state === 'ready';
    const stamp = this._currentStamp();
    const hasReturned = isReady && !this._isReady;
    this._isReady = isReady;
    if (isReady) {
      this._wake();
    }
    if (!isReady || (stamp === this._stamp && !hasReturned)) {
      return;
    }
    this._stamp = stamp;
    this._notifyTimer ??= setTimeout(() => {
      this._notifyTimer = undefined;
      this._readers.notify();
    }, SETTLE_MS);
  };

  /** Notifies readers of a session for which this kernel sends no notices: another notebook's, or a subagent's. */
  private readonly _pollUnfollowed = (): void => {
    const { link, path, state } = this._kernel;
    const sessions = link?.store.getSnapshot().sessions;
    const isFollowed = sessions?.get(this._session ?? '')?.isLoaded === true;
    if (
      path === undefined &&
      state === 'ready' &&
      !isFollowed &&
      !document.hidden
    ) {
      this._readers.notify();
    }
  };

  private _currentStamp(): string {
    if (this._kernel.path !== undefined) {
      return this._kernel.stamp ?? '';
    }
    const view = this._kernel.link?.store.getSnapshot();
    return growthStamp(view?.sessions.get(this._session ?? '')?.transcript);
  }
}

/** Returns the answer of a kernel, or the sentence why there is none. */
function answerOf(outcome?: IOutcome<'inspect' | 'note'>): ViewAnswer {
  return (
    outcome?.answer ?? {
      error: outcome?.error ?? GONE_SENTENCE,
      unchanged: false,
      milliseconds: 0
    }
  );
}

/** Returns a text that changes when a request, a part or a decision came or the session went, and not with each word. */
function growthStamp(transcript: ITranscript | undefined): string {
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
