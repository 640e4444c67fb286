/** An inspector's answers from a kernel, over the channel that is served while a cell runs. */
import { NO_ANSWER, type IOutcome } from '../kernel/kernelLink';
import type { ViewAnswer, ViewQuery } from '../protocol/generated';
import type { IInspectorSource, INoteWords } from '../state/inspector/source';
import type { ITranscript } from '../state/store/transcript';
import type { IInspectedKernel } from './kernels/inspectedKernel';
import { editTarget } from './targets';
import { ReaderSet } from '../state/store/readerSet';

/** Milliseconds between two reports that a session grew; a turn writes many records a second. */
export const NOTIFY_DELAY_MS = 300;

/** Milliseconds after which an answer counts as late. */
export const MIN_LATE_MS = 1500;

/** Milliseconds between two requests for a session that another kernel writes, while the page is visible. */
export const POLL_MS = 3000;

const WAIT_SENTENCE = 'It is read once the kernel answers again.';
const GONE_SENTENCE =
  'The kernel does not answer. Start it again to see its sessions.';

/**
 * Answers the queries of a tab's views from the kernel.
 *
 * Responsibilities: send a query again when its kernel ended before the answer; notify readers when the session has
 * grown or may have, and when an answer is late; send the user's context edits.
 */
export class KernelSource implements IInspectorSource {
  readonly edit?: IInspectorSource['edit'];
  private readonly _readers = new ReaderSet();
  private readonly _disposers: (() => void)[] = [];
  private readonly _readyResolvers: (() => void)[] = [];
  private _stamp = '';
  private _isReady: boolean;
  private _notifyTimer: ReturnType<typeof setTimeout> | undefined;
  private readonly _pollTimer: ReturnType<typeof setInterval>;
  private _lateAnswers = 0;
  private _isDisposed = false;

  constructor(
    private readonly _kernel: IInspectedKernel,
    /** Id of the session; undefined for the first of a recording. */
    private readonly _sessionId: string | undefined,
    /** Called when answers begin or cease to be late. */
    private readonly _onLateChange: () => void
  ) {
    this._isReady = _kernel.state === 'ready';
    this._stamp = this._currentStamp();
    this._disposers.push(_kernel.subscribe(this._handleKernelChange));
    this._pollTimer = setInterval(this._pollUnfollowed, POLL_MS);
    if (_kernel.path === undefined) {
      this.edit = async (action, part) => {
        const fields = {
          session: this._sessionId,
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
    const lateness = { isLate: false };
    const timer = setTimeout(() => {
      lateness.isLate = true;
      this._countLate(1);
    }, MIN_LATE_MS);
    let outcome = await this._askKernel(query);
    while (this._isLost(outcome)) {
      await this._untilReady();
      outcome = await this._askKernel(query);
    }
    clearTimeout(timer);
    if (lateness.isLate) {
      this._countLate(-1);
    }
    return answerOf(outcome);
  }

  async note(words: INoteWords): Promise<ViewAnswer> {
    const { link, path } = this._kernel;
    const fields = { session: this._sessionId, path, ...words };
    const outcome = await link?.outcome('note', fields);
    return answerOf(outcome);
  }

  readonly subscribe = this._readers.subscribe;

  dispose(): void {
    this._isDisposed = true;
    this._resumeRequests();
    clearTimeout(this._notifyTimer);
    clearInterval(this._pollTimer);
    this._readers.clear();
    this._disposers.forEach(end => {
      end();
    });
  }

  private async _askKernel(query: ViewQuery): Promise<IOutcome<'inspect'>> {
    const { link, path } = this._kernel;
    const fields = { session: this._sessionId, path, query };
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
        setTimeout(resolve, NOTIFY_DELAY_MS);
      } else {
        this._readyResolvers.push(resolve);
      }
    });
  }

  /** Sends the queries again that wait for a kernel. */
  private _resumeRequests(): void {
    this._readyResolvers.splice(0).forEach(resolve => {
      resolve();
    });
  }

  private _countLate(change: 1 | -1): void {
    const wasLate = this.isLate;
    this._lateAnswers += change;
    if (wasLate !== this.isLate) {
      this._onLateChange();
    }
  }

  private readonly _handleKernelChange = (): void => {
    const isReady = this._kernel.state === 'ready';
    const stamp = this._currentStamp();
    const hasReturned = isReady && !this._isReady;
    this._isReady = isReady;
    if (isReady) {
      this._resumeRequests();
    }
    if (!isReady || (stamp === this._stamp && !hasReturned)) {
      return;
    }
    this._stamp = stamp;
    this._notifyTimer ??= setTimeout(() => {
      this._notifyTimer = undefined;
      this._readers.notify();
    }, NOTIFY_DELAY_MS);
  };

  /** Notifies readers of a session for which this kernel sends no notices: another notebook's, or a subagent's. */
  private readonly _pollUnfollowed = (): void => {
    const { link, path, state } = this._kernel;
    const sessions = link?.store.getSnapshot().sessions;
    const isFollowed = sessions?.get(this._sessionId ?? '')?.isLoaded === true;
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
    const kernelView = this._kernel.link?.store.getSnapshot();
    return growthStamp(
      kernelView?.sessions.get(this._sessionId ?? '')?.transcript
    );
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
  const lastParts = entries.at(-1)?.message.parts ?? [];
  const partStates = lastParts.map(part =>
    part.type === 'tool' ? part.state.status : part.type
  );
  return JSON.stringify([
    entries.length,
    partStates,
    decisions.length,
    status.type,
    contextFill,
    deleted
  ]);
}
