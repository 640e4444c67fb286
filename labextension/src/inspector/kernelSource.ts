/**
 * An inspector's answers from a kernel, over the channel that is served while a cell runs.
 */
import type { ViewAnswer, ViewQuery } from '../protocol/generated';
import type { IInspectorSource } from '../state/inspector/source';
import type { ITranscript } from '../state/store/transcript';
import type { IInspectedKernel } from './kernels/inspectedKernel';
import { editTarget } from './targets';

/** Milliseconds between two reports that a session grew; a turn writes many records a second. */
export const SETTLE_MS = 300;

/** Milliseconds after which an answer of a busy kernel counts as late. */
export const LATE_MS = 1500;

const GONE = 'The kernel does not answer. Start it again to see its sessions.';

/**
 * The source of a tab.
 *
 * Responsibilities: ask, and again after a restart of the kernel; tell when the session has grown, and when an
 * answer is late; send the user's context edits.
 */
export class KernelSource implements IInspectorSource {
  readonly edit?: IInspectorSource['edit'];
  private readonly _readers = new Set<() => void>();
  private readonly _ends: (() => void)[] = [];
  private _mark = '';
  private _isReady: boolean;
  private _settling: ReturnType<typeof setTimeout> | undefined;
  private _late = 0;

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

  /** Whether an answer is waited for longer than usual. */
  get isLate(): boolean {
    return this._late > 0;
  }

  async ask(query: ViewQuery): Promise<ViewAnswer> {
    const { link, path } = this._kernel;
    if (link === null) {
      return unanswered(GONE);
    }
    const waiting = { late: false };
    const timer = setTimeout(() => {
      waiting.late = true;
      this._count(1);
    }, LATE_MS);
    const outcome = await link.outcome('inspect', {
      session: this._session,
      path,
      query
    });
    clearTimeout(timer);
    if (waiting.late) {
      this._count(-1);
    }
    return outcome.inspection ?? unanswered(outcome.error ?? GONE);
  }

  readonly subscribe = (changed: () => void): (() => void) => {
    this._readers.add(changed);
    return () => {
      this._readers.delete(changed);
    };
  };

  dispose(): void {
    clearTimeout(this._settling);
    this._readers.clear();
    this._ends.forEach(end => {
      end();
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
    if (!ready || (mark === this._mark && !returned)) {
      return;
    }
    this._mark = mark;
    this._settling ??= setTimeout(() => {
      this._settling = undefined;
      [...this._readers].forEach(changed => {
        changed();
      });
    }, SETTLE_MS);
  };

  private _marked(): string {
    const view = this._kernel.link?.store.getSnapshot();
    return grown(view?.sessions.get(this._session ?? '')?.transcript);
  }
}

function unanswered(error: string): ViewAnswer {
  return { error, unchanged: false, milliseconds: 0 };
}

/** Returns a text that changes when a request, a part or a decision came, and not with each word. */
function grown(transcript: ITranscript | undefined): string {
  if (transcript === undefined) {
    return '';
  }
  const { entries, decisions, status, contextFill } = transcript;
  const last = entries.at(-1)?.message.parts ?? [];
  const parts = last.map(part =>
    part.type === 'tool' ? part.state.status : part.type
  );
  return JSON.stringify([
    entries.length,
    parts,
    decisions.length,
    status.type,
    contextFill
  ]);
}
