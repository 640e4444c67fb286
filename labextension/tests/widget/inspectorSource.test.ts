/** The inspector of a cell asks over the widget's comm, and says when the kernel is busy or has ended. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ViewQuery } from '../../src/protocol/generated';
import type { IAnyWidgetModel } from '../../src/widget/anywidgetModel';
import { CommSource } from '../../src/widget/inspectorSource';

type Heard = (content: unknown) => void;
interface ISent {
  kind: string;
  id: string;
}

const WORDS = { waits: 'It is busy.', ended: 'It has ended.' };
const VIEW = { ask: 'view' } as ViewQuery;

/** A fake kernel side of the widget. */
class Kernel implements IAnyWidgetModel {
  sent: ISent[] = [];
  closed = false;
  private readonly _heard = new Map<string, Set<Heard>>();

  get(): string {
    return 'k1';
  }

  send(content: unknown): void {
    if (this.closed) {
      throw new Error('Cannot send');
    }
    this.sent.push(content as ISent);
  }

  on(event: string, heard: Heard): void {
    this._heard.set(event, (this._heard.get(event) ?? new Set()).add(heard));
  }

  off(event: string, heard: Heard): void {
    this._heard.get(event)?.delete(heard);
  }

  say(content: unknown, event = 'msg:custom'): void {
    this._heard.get(event)?.forEach(heard => {
      heard(content);
    });
  }

  get listeners(): number {
    return [...this._heard.values()].reduce((sum, all) => sum + all.size, 0);
  }
}

describe("a cell's inspector", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('matches answers with questions, in whatever order they come', async () => {
    const kernel = new Kernel();
    const source = new CommSource(kernel, WORDS, true);
    const [first, second] = [source.ask(VIEW), source.ask(VIEW)];
    const [value, two] = kernel.sent;

    kernel.say({
      kind: 'answer',
      id: 'of another page',
      answer: { error: 'x' }
    });
    kernel.say({ kind: 'answer', id: two?.id, answer: { error: 'second' } });
    kernel.say({ kind: 'answer', id: value?.id, answer: { error: 'first' } });

    expect((await first).error).toBe('first');
    expect((await second).error).toBe('second');
  });

  it('says that the kernel is busy while it does not answer', async () => {
    vi.useFakeTimers();
    const kernel = new Kernel();
    const source = new CommSource(kernel, WORDS, true);
    const asked = source.ask(VIEW);

    expect(source.waitSentence).toBeUndefined();
    vi.advanceTimersByTime(2_000);
    expect(source.waitSentence).toBe('It is busy.');
    kernel.say({
      kind: 'answer',
      id: kernel.sent[0]?.id,
      answer: { error: '' }
    });
    await asked;
    expect(source.waitSentence).toBeUndefined();
  });

  it.each(['comm_live_update', 'comm:close', 'destroy'])(
    'says that the kernel has ended: %s',
    async event => {
      const kernel = new Kernel();
      const source = new CommSource(kernel, WORDS, true);
      const asked = source.ask(VIEW);

      kernel.say(undefined, event);

      expect((await asked).error).toBe('It has ended.');
      expect((await source.ask(VIEW)).error).toBe('It has ended.');
    }
  );

  it('says so, too, where the comm is closed', async () => {
    const kernel = new Kernel();
    kernel.closed = true;

    expect((await new CommSource(kernel, WORDS, true).ask(VIEW)).error).toBe(
      'It has ended.'
    );
  });

  it('edits where the session can be written, and only there', async () => {
    const kernel = new Kernel();
    const source = new CommSource(kernel, WORDS, true);
    const done = source.edit?.('pin', 'prt_1');
    const [sent] = kernel.sent;
    kernel.say({ kind: 'edited', id: sent?.id, error: 'No.' });

    expect(sent).toMatchObject({ kind: 'edit', action: 'pin', part: 'prt_1' });
    expect(await done).toBe('No.');
    expect(new CommSource(kernel, WORDS, false).edit).toBeUndefined();
  });

  it('asks about the second of two sessions, which is only read', () => {
    const kernel = new Kernel();
    const source = new CommSource(kernel, WORDS, false, 'second');
    void source.ask(VIEW);

    expect(kernel.sent).toMatchObject([{ kind: 'ask', side: 'second' }]);
    expect(source.note).toBeUndefined();
  });

  it('writes a note, and answers with all of them', async () => {
    const kernel = new Kernel();
    const source = new CommSource(kernel, WORDS, false);
    const done = source.note?.({ text: 'Dear.', request: 3 });
    const [sent] = kernel.sent;
    kernel.say({
      kind: 'answer',
      id: sent?.id,
      answer: { error: '', notes: { notes: [], problems: ['Line 2.'] } }
    });

    expect(sent).toMatchObject({
      kind: 'note',
      words: { text: 'Dear.', request: 3 }
    });
    expect((await done)?.notes?.problems).toEqual(['Line 2.']);
  });

  it('tells of growth until it is disposed, and then listens no more', () => {
    const kernel = new Kernel();
    const source = new CommSource(kernel, WORDS, true);
    const changed = vi.fn();
    source.subscribe(changed);

    kernel.say({ kind: 'changed', seq: 4 });
    source.dispose();
    kernel.say({ kind: 'changed', seq: 5 });

    expect(changed).toHaveBeenCalledTimes(1);
    expect(kernel.listeners).toBe(0);
  });
});
