// @vitest-environment jsdom
/** An inspector's answers from a kernel: asked over its link, and asked for again as the session grows. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { IInspectedKernel } from '../../src/inspector/kernels/inspectedKernel';
import {
  KernelSource,
  LATE_MS,
  LOOK_MS,
  SETTLE_MS
} from '../../src/inspector/kernelSource';
import { NO_ANSWER, type ILink } from '../../src/kernel/kernelLink';
import {
  UNKNOWN_KERNEL,
  type IKernelView
} from '../../src/state/store/kernelStore';
import { EMPTY_TRANSCRIPT } from '../../src/state/store/transcript';

/** A kernel of which the test says what it holds, and when it answers. */
class HeldKernel implements IInspectedKernel {
  state: IInspectedKernel['state'] = 'ready';
  failure = '';
  isBusy = false;
  path: string | undefined;
  file = '';
  readonly contents = null as never;
  view: IKernelView = UNKNOWN_KERNEL;
  readonly asked: unknown[] = [];
  answer: (outcome: object) => void = () => undefined;
  /** The answer to every question from now on. */
  always: object | null = null;
  private readonly _readers = new Set<() => void>();

  readonly link = {
    store: { getSnapshot: () => this.view, subscribe: () => () => undefined },
    outcome: (type: string, fields: object) => {
      this.asked.push([type, fields]);
      if (this.always !== null) {
        return Promise.resolve(this.always);
      }
      return new Promise(resolve => {
        this.answer = resolve;
      });
    }
  } as unknown as ILink;

  subscribe(changed: () => void) {
    this._readers.add(changed);
    return () => {
      this._readers.delete(changed);
    };
  }

  /** Lets the session have so many decisions, and tells it. */
  holds(decisions: number, words = '') {
    const transcript = {
      ...EMPTY_TRANSCRIPT,
      decisions: Array(decisions).fill({}),
      entries: [{ id: 'msg_1', message: { parts: [{ type: 'text', words }] } }]
    };
    const session = { head: {}, transcript, isLoaded: true };
    this.view = {
      ...UNKNOWN_KERNEL,
      sessions: new Map([['ses_1', session]])
    } as unknown as IKernelView;
    this.tell();
  }

  tell() {
    this._readers.forEach(changed => {
      changed();
    });
  }

  pathOf(file: string) {
    return `./${file}`;
  }

  applyRemedy() {
    return undefined;
  }

  dispose() {
    return undefined;
  }
}

let kernel: HeldKernel;

beforeEach(() => {
  vi.useFakeTimers();
  kernel = new HeldKernel();
});

afterEach(() => {
  vi.useRealTimers();
});

describe('the source of a tab', () => {
  it('has a session looked at again that only another kernel tells of, while the kernel is there', async () => {
    const changed = vi.fn();
    const told = new KernelSource(kernel, 'ses_1', () => undefined);
    told.subscribe(changed);
    kernel.holds(1);
    await vi.advanceTimersByTimeAsync(LOOK_MS);
    expect(changed).toHaveBeenCalledOnce();
    told.dispose();

    const untold = new KernelSource(kernel, 'ses_2', () => undefined);
    untold.subscribe(changed);
    await vi.advanceTimersByTimeAsync(LOOK_MS);
    expect(changed).toHaveBeenCalledTimes(2);
    kernel.state = 'dead';
    await vi.advanceTimersByTimeAsync(LOOK_MS);
    kernel.state = 'ready';
    untold.dispose();
    await vi.advanceTimersByTimeAsync(LOOK_MS);
    expect(changed).toHaveBeenCalledTimes(2);
  });

  it('asks again while a kernel that is there does not answer', async () => {
    const source = new KernelSource(kernel, 'ses_1', () => undefined);
    const asked = source.ask({ ask: 'view' });
    kernel.answer({ error: NO_ANSWER });
    await vi.advanceTimersByTimeAsync(SETTLE_MS);
    expect(kernel.asked).toHaveLength(2);
    kernel.answer({ answer: { error: '', milliseconds: 7 } });
    expect(await asked).toMatchObject({ milliseconds: 7 });
    expect(source.waitSentence).toBeUndefined();
  });

  it('asks what a kernel that ended left unanswered once it is there again, and says so until then', async () => {
    const source = new KernelSource(kernel, 'ses_1', () => undefined);
    const lost = source.ask({ ask: 'view' });
    kernel.state = 'dead';
    kernel.answer({ error: NO_ANSWER });
    kernel.tell();
    const later = source.ask({ ask: 'view', after: 1 });
    kernel.answer({ error: 'The notebook has no kernel.' });
    await vi.advanceTimersByTimeAsync(10 * SETTLE_MS);
    expect(kernel.asked).toHaveLength(2);
    expect(source.waitSentence).toBe(
      'It is read once the kernel answers again.'
    );

    const answer = { answer: { error: '', milliseconds: 7 } };
    kernel.always = answer;
    kernel.state = 'ready';
    kernel.tell();
    expect(await lost).toMatchObject({ milliseconds: 7 });
    expect(await later).toMatchObject({ milliseconds: 7 });
    expect(kernel.asked).toHaveLength(4);
    expect(source.waitSentence).toBeUndefined();
  });

  it('lets go of what waits for a kernel when its tab is closed', async () => {
    const source = new KernelSource(kernel, 'ses_1', () => undefined);
    const lost = source.ask({ ask: 'view' });
    kernel.state = 'dead';
    kernel.answer({ error: NO_ANSWER });
    await vi.advanceTimersByTimeAsync(SETTLE_MS);
    kernel.always = { error: NO_ANSWER };
    source.dispose();

    expect((await lost).error).toBe(NO_ANSWER);
  });

  it('asks about its session, and hands an error on as the answer', async () => {
    const source = new KernelSource(kernel, 'ses_1', () => undefined);
    const asked = source.ask({ ask: 'view' });
    kernel.answer({ error: 'It is gone.' });

    expect((await asked).error).toBe('It is gone.');
    expect(kernel.asked).toEqual([
      ['inspect', { session: 'ses_1', path: undefined, query: { ask: 'view' } }]
    ]);
  });

  it('tells once that the session grew, however many records came', () => {
    const source = new KernelSource(kernel, 'ses_1', () => undefined);
    const grew = vi.fn();
    source.subscribe(grew);
    kernel.holds(1);
    kernel.holds(2);
    vi.advanceTimersByTime(SETTLE_MS);

    expect(grew).toHaveBeenCalledTimes(1);
  });

  it('does not tell of each word of an answer', () => {
    kernel.holds(1);
    const source = new KernelSource(kernel, 'ses_1', () => undefined);
    const grew = vi.fn();
    source.subscribe(grew);
    kernel.holds(1, 'more words');
    vi.advanceTimersByTime(SETTLE_MS);

    expect(grew).not.toHaveBeenCalled();
  });

  it('has the views ask again when a kernel was started anew', () => {
    const source = new KernelSource(kernel, 'ses_1', () => undefined);
    const grew = vi.fn();
    source.subscribe(grew);
    kernel.state = 'dead';
    kernel.tell();
    vi.advanceTimersByTime(SETTLE_MS);
    expect(grew).not.toHaveBeenCalled();
    kernel.state = 'ready';
    kernel.tell();
    vi.advanceTimersByTime(SETTLE_MS);

    expect(grew).toHaveBeenCalledTimes(1);
  });

  it('says when an answer is late, and when it came', async () => {
    const told: boolean[] = [];
    const source: KernelSource = new KernelSource(kernel, 'ses_1', () => {
      told.push(source.isLate);
    });
    const asked = source.ask({ ask: 'view' });
    vi.advanceTimersByTime(LATE_MS);
    kernel.answer({ answer: { unchanged: true } });
    await asked;

    expect(told).toEqual([true, false]);
  });

  it('writes notes on a session and beside a recorded file', async () => {
    const kernel = new HeldKernel();
    const notes = { notes: [], problems: [] };
    kernel.always = { answer: { error: '', notes } };
    await new KernelSource(kernel, 'ses_1', () => undefined).note({ tag: 'a' });
    kernel.path = '/work/run.jsonl';
    kernel.always = { error: 'The disk is full.' };
    const refused = await new KernelSource(kernel, '', () => undefined).note({
      text: 'b'
    });

    expect(kernel.asked).toEqual([
      ['note', { session: 'ses_1', path: undefined, tag: 'a' }],
      ['note', { session: '', path: '/work/run.jsonl', text: 'b' }]
    ]);
    expect(refused.error).toBe('The disk is full.');
  });

  it('edits parts in a session, and nothing in a recorded file', async () => {
    const source = new KernelSource(kernel, 'ses_1', () => undefined);
    const edited = source.edit?.('pin', 'msg_1/prt_2/result');
    kernel.answer({});
    expect(await edited).toBe('');
    expect(kernel.asked).toEqual([
      ['context-edit', { session: 'ses_1', action: 'pin', target: 'prt_2' }]
    ]);
    kernel.path = 'run.traj';

    expect(new KernelSource(kernel, '', () => undefined).edit).toBeUndefined();
  });
});
