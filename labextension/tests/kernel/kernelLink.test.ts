/** The link to a kernel, with a fake transport. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KernelLink, SILENCE_MS } from '../../src/kernel/kernelLink';
import type { ITransport } from '../../src/kernel/transport';
import type { CommandReply } from '../../src/protocol/generated';
import {
  KernelStore,
  type KernelNotice
} from '../../src/state/store/kernelStore';
import { sessionHead } from '../builders';

type Asked = Record<string, unknown>;

/** A fake kernel whose replies the test controls. */
class Kernel implements ITransport {
  readonly id = 'kernel';
  readonly asked: Asked[] = [];
  onNotice: ITransport['onNotice'] = null;
  onEvent: ITransport['onEvent'] = null;
  answers = true;
  knows = true;
  more: Partial<CommandReply> = {};
  disposed = false;

  knowsUs(): Promise<boolean> {
    return this.answers
      ? Promise.resolve(this.knows)
      : new Promise(() => undefined);
  }

  ask(content: Asked): Promise<CommandReply> {
    this.asked.push(content);
    return this.answers
      ? Promise.resolve({
          status: 'ok',
          id: content.id as string,
          protocol: 4,
          version: '0.1.0',
          repeated: false,
          ...this.more
        })
      : new Promise(() => undefined);
  }

  dispose(): void {
    this.disposed = true;
  }

  types(): unknown[] {
    return this.asked.map(({ type }) => type);
  }
}

function link(kernel = new Kernel()) {
  let count = 0;
  const made = new KernelLink(kernel, {
    version: '0.1.0',
    newId: () => `id-${(count += 1)}`,
    store: askAgain =>
      new KernelStore(askAgain, run => {
        run();
      })
  });
  return { kernel, link: made };
}

const settled = () => vi.advanceTimersByTimeAsync(0);

const HEAD = sessionHead({ seq: 3 });

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe('the link to a kernel', () => {
  it('sends nothing of ours to a kernel that does not know us, until code may have loaded it', async () => {
    const kernel = new Kernel();
    kernel.knows = false;
    const { link: made } = link(kernel);
    const away = made.watch();
    await settled();
    expect(made.state).toBe('absent');
    expect(kernel.asked).toEqual([]);

    kernel.knows = true;
    kernel.onEvent?.('loaded');
    await settled();
    expect(made.state).toBe('ready');
    away();
  });

  it('greets with both versions, and watches while somebody looks', async () => {
    const { kernel, link: made } = link();
    const away = made.watch();
    await settled();
    expect(kernel.asked[0]).toMatchObject({
      type: 'hello',
      protocol: 4,
      version: '0.1.0'
    });
    expect(made.state).toBe('ready');
    expect(kernel.types()).toEqual(['hello', 'watch']);

    await vi.advanceTimersByTimeAsync(20_000);
    expect(kernel.types().filter(type => type === 'watch')).toHaveLength(3);
    away();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(kernel.types().at(-1)).toBe('unwatch');
  });

  it('watches at once when the kernel asks whether it is there, if somebody looks', async () => {
    const { kernel, link: made } = link();
    const away = made.watch();
    await settled();
    kernel.onNotice?.({ kind: 'ping' });
    await settled();
    expect(kernel.asked.slice(1)).toMatchObject([
      { type: 'watch', pings: true },
      { type: 'watch', pings: true }
    ]);

    away();
    kernel.onNotice?.({ kind: 'ping' });
    await settled();
    expect(kernel.types().slice(1)).toEqual(['watch', 'watch', 'unwatch']);
  });

  it('asks for the picture after it watches', async () => {
    const kernel = new Kernel();
    kernel.more = { session: HEAD };
    const { link: made } = link(kernel);
    made.watch();
    await settled();

    expect(kernel.types()).toEqual(['hello', 'watch', 'resync']);
    expect(kernel.asked[2]).toMatchObject({ session: 'ses_1' });
    expect(made.store.getSnapshot().current).toBe('ses_1');
  });

  it('takes a second of silence for a kernel without the package', async () => {
    const kernel = new Kernel();
    kernel.answers = false;
    const { link: made } = link(kernel);
    expect(made.state).toBe('connecting');
    await vi.advanceTimersByTimeAsync(SILENCE_MS);
    expect(made.state).toBe('absent');

    kernel.answers = true;
    kernel.onEvent?.('loaded');
    await settled();
    expect(made.state).toBe('ready');
  });

  it('waits for a kernel that is loading', async () => {
    const kernel = new Kernel();
    kernel.more = { status: 'loading' };
    const { link: made } = link(kernel);
    await settled();
    expect(made.state).toBe('loading');
    kernel.more = {};
    await vi.advanceTimersByTimeAsync(250);
    expect(made.state).toBe('ready');
  });

  it('says that the package loads from the first answer on, also where it was not loaded before', async () => {
    const kernel = new Kernel();
    kernel.knows = false;
    const { link: made } = link(kernel);
    await settled();
    expect(made.state).toBe('absent');

    kernel.knows = true;
    kernel.more = { status: 'loading' };
    kernel.onEvent?.('loaded');
    await settled();
    expect(made.state).toBe('loading');

    // Importing keeps the kernel from answering for a while.
    kernel.answers = false;
    await vi.advanceTimersByTimeAsync(SILENCE_MS * 5);
    expect(made.state).toBe('loading');

    kernel.answers = true;
    kernel.more = {};
    await vi.advanceTimersByTimeAsync(SILENCE_MS);
    expect(made.state).toBe('ready');
  });

  it('says that the package is gone when a kernel that loaded it knows us no more', async () => {
    const kernel = new Kernel();
    kernel.more = { status: 'loading' };
    const { link: made } = link(kernel);
    await settled();
    kernel.knows = false;
    await vi.advanceTimersByTimeAsync(250);
    expect(made.state).toBe('absent');
  });

  it.each(['dead', 'restarted'] as const)(
    'loads no more when the kernel is %s',
    async event => {
      const kernel = new Kernel();
      kernel.more = { status: 'loading' };
      const { link: made } = link(kernel);
      await settled();
      kernel.onEvent?.(event);
      await vi.advanceTimersByTimeAsync(SILENCE_MS * 3);
      expect(made.state).toBe(event === 'dead' ? 'dead' : 'connecting');
    }
  );

  it('greets a kernel that was restarted', async () => {
    const { kernel, link: made } = link();
    await settled();
    kernel.onEvent?.('restarted');
    expect(made.state).toBe('connecting');
    kernel.onEvent?.('ready');
    await settled();

    expect(made.state).toBe('ready');
    expect(kernel.types()).toEqual(['hello', 'hello']);
  });

  it('finds a restart of which it heard nothing when its watch is not answered', async () => {
    const { kernel, link: made } = link();
    const away = made.watch();
    await settled();
    expect(made.state).toBe('ready');

    // The kernel of the same connection is a new one, which has not loaded the package.
    kernel.ask = content => {
      kernel.asked.push(content);
      return new Promise(() => undefined);
    };
    kernel.knows = false;
    await vi.advanceTimersByTimeAsync(10_000 + 5 * SILENCE_MS);
    await settled();

    expect(made.state).toBe('absent');
    away();
  });

  it('does not take a kernel that is only slow for a new one', async () => {
    const { kernel, link: made } = link();
    const away = made.watch();
    await settled();

    kernel.ask = () => new Promise(() => undefined);
    await vi.advanceTimersByTimeAsync(10_000 + 5 * SILENCE_MS);
    await settled();

    expect(made.state).toBe('ready');
    away();
  });

  it('knows a dead kernel', async () => {
    const { kernel, link: made } = link();
    await settled();
    kernel.onEvent?.('dead');

    expect(made.state).toBe('dead');
  });

  it('says so when the versions do not go together', async () => {
    const kernel = new Kernel();
    kernel.more = { protocol: 1 };
    const { link: made } = link(kernel);
    await settled();

    expect(made.store.getSnapshot().problemText).toMatch(/different versions/);
  });

  it('reads what an older kernel calls a picture', async () => {
    const kernel = new Kernel();
    kernel.more = { protocol: 1, session: HEAD };
    const { link: made } = link(kernel);
    made.watch();
    await settled();
    kernel.onNotice?.({
      kind: 'picture',
      session: 'ses_1',
      resync: kernel.asked.at(-1)?.id,
      seq: 3,
      head: HEAD,
      messages: [],
      last: true,
      filling: { tokens: 7, window: 100, reserve: 0, kinds: {} }
    } as unknown as KernelNotice);

    const { transcript } = made.store.getSnapshot().sessions.get('ses_1') ?? {};
    expect(transcript?.seq).toBe(3);
    expect(transcript?.contextFill?.tokens).toBe(7);
  });

  it('waits for what became of a command', async () => {
    const { kernel, link: made } = link();
    await settled();
    const outcome = made.outcome('sessions');
    await settled();
    const id = kernel.asked.at(-1)?.id as string;
    kernel.onNotice?.({ kind: 'outcome', id, answer: { sessions: [] } });

    expect(await outcome).toMatchObject({ answer: { sessions: [] } });
  });

  it('tells a caller how far its command is, and nobody else', async () => {
    const { kernel, link: made } = link();
    await settled();
    const mine = vi.fn();
    const other = vi.fn();
    const outcome = made.outcome('import', { path: 'a.jsonl' }, mine);
    await settled();
    const id = kernel.asked.at(-1)?.id as string;
    void made.outcome('import', { path: 'b.jsonl' }, other);
    const told = { kind: 'import-progress', id, bytes: 1, total: 4 } as const;

    kernel.onNotice?.(told);
    kernel.onNotice?.({ kind: 'outcome', id, answer: { late: false } });
    kernel.onNotice?.(told);
    await outcome;

    expect(mine.mock.calls).toEqual([[told]]);
    expect(other).not.toHaveBeenCalled();
  });

  it('knows what was told before an outcome when the outcome is there', async () => {
    const kernel = new Kernel();
    const made = new KernelLink(kernel, {
      version: '0.1.0',
      store: askAgain => new KernelStore(askAgain, () => undefined)
    });
    await settled();
    const outcome = made.outcome('new').then(() => {
      return made.store.getSnapshot().current;
    });
    await settled();
    const id = kernel.asked.at(-1)?.id as string;
    kernel.onNotice?.({ kind: 'current', session: HEAD });
    kernel.onNotice?.({ kind: 'outcome', id, answer: { late: false } });

    expect(await outcome).toBe('ses_1');
  });

  it('answers in one sentence when the kernel is silent or ends', async () => {
    const { kernel, link: made } = link();
    await settled();
    kernel.answers = false;
    const reply = made.command('cancel');
    const outcome = made.outcome('prompt', { text: 'go' });
    kernel.onEvent?.('dead');
    await vi.advanceTimersByTimeAsync(10_000);

    expect(await reply).toMatchObject({ status: 'error' });
    expect((await outcome).error).toBe('The kernel does not answer.');
  });

  it('gives every command an id of its own', async () => {
    const { kernel, link: made } = link();
    await made.command('reply', { ask_id: 'per_1', answer: 'once' });
    await made.command('reply', { ask_id: 'per_1', answer: 'once' });

    const ids = kernel.asked.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('ends with its wire', () => {
    const { kernel, link: made } = link();
    made.dispose();

    expect(kernel.disposed).toBe(true);
  });

  it('answers what the cells of its notebooks hold, in pieces, and nothing without a notebook', async () => {
    const { kernel, link: made } = link();
    made.watch();
    await settled();
    const asks = { kind: 'cells' as const, request: 'r', output_chars: 0 };
    kernel.onNotice?.({ ...asks, images: false });
    expect(kernel.types()).not.toContain('cells');

    const cell = (id: string, source: string) => ({
      id,
      kind: 'code',
      source,
      hidden: false,
      outputs: [],
      dropped: 0
    });
    const large = [
      cell('a', 'x'.repeat(200_000)),
      cell('b', 'y'.repeat(99_999))
    ];
    const notebook = { path: 'a.ipynb', deleted: [], visible: true };
    const stop = made.tellCells(() => ({ ...notebook, cells: large }));
    expect(kernel.asked.at(-1)).toMatchObject({ type: 'watch', cells: true });
    kernel.onNotice?.({ ...asks, images: false });
    kernel.onNotice?.({ ...asks, images: false });

    const told = kernel.asked.filter(({ type }) => type === 'cells');
    expect(told).toMatchObject([
      { request: 'r', client: 'id-1', last: false },
      { request: 'r', last: true }
    ]);
    expect(
      told.flatMap(({ notebooks }) =>
        (notebooks as { cells: object[] }[]).flatMap(({ cells }) => cells)
      )
    ).toEqual(large);

    stop();
    kernel.onNotice?.({ ...asks, request: 's', images: false });
    expect(kernel.asked.filter(({ type }) => type === 'cells')).toHaveLength(2);
  });

  it('does what the kernel asks of this page’s cells once, and answers', async () => {
    const { kernel, link: made } = link();
    made.watch();
    await settled();
    const seen: string[] = [];
    const results = [{ cell: 'a' }];
    made.serveCells(({ notebook, request }) => {
      if (notebook !== 'a.ipynb') {
        return undefined;
      }
      seen.push(request);
      return Promise.resolve({ results });
    });
    const ask = (request: string, client: string, notebook: string) => {
      const kind = 'change-cells';
      kernel.onNotice?.({ kind, request, client, notebook, changes: [] });
    };

    ask('r', 'id-1', 'a.ipynb');
    ask('r', 'id-1', 'a.ipynb');
    ask('s', 'another-page', 'a.ipynb');
    ask('t', 'id-1', 'b.ipynb');
    await settled();

    expect(seen).toEqual(['r']);
    const type = 'cells-changed';
    expect(kernel.asked.filter(asked => asked.type === type)).toMatchObject([
      { client: 'id-1', request: 'r', results, refusal: undefined },
      { client: 'id-1', request: 't', results: [], refusal: 'closed' }
    ]);
  });
});
