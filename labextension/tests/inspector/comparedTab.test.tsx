// @vitest-environment jsdom
/** An inspector's tab shows another session beside its own, comes back with both, and says why it cannot. */
import {
  cleanup,
  fireEvent,
  render,
  screen,
  within
} from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  comparablePaths,
  type ISelectedFile
} from '../../src/inspector/recordingFormats';
import { InspectorModel } from '../../src/inspector/inspectorModel';
import { InspectorTab } from '../../src/inspector/inspectorTab';
import type { IInspectedKernel } from '../../src/inspector/kernels/inspectedKernel';
import { POLL_MS } from '../../src/inspector/kernelSource';
import {
  besideNamed,
  isSameBeside,
  readArguments,
  readLink,
  type IInspectorArguments
} from '../../src/inspector/targets';
import type { ILink } from '../../src/kernel/kernelLink';
import type { ViewAnswer, ViewQuery } from '../../src/protocol/generated';
import { UNKNOWN_KERNEL } from '../../src/state/store/kernelStore';
import { HostProvider } from '../../src/views/host';
import { HOST } from '../plainHost';
import { settle, sourceOf } from '../views/inspector/drawnInspector';
import { COMPARISON } from './comparison';

const NOTHING = { unchanged: false, milliseconds: 0, error: '' };
const nothing = () => undefined;

interface IInspectFields {
  session?: string;
  path?: string;
  query: ViewQuery;
}

/** A kernel that reads made recordings: the comparison is what the test says, and a file may be written anew. */
class RecordedKernel implements IInspectedKernel {
  readonly state = 'ready';
  readonly failure = '';
  readonly isBusy = false;
  readonly path = '/recordings/first.jsonl';
  readonly file = 'recordings/first.jsonl';
  readonly stamp = 'written once';
  comparison: Partial<ViewAnswer> = { comparison: COMPARISON };
  /** When the second file was written. */
  written = 'once';
  readonly asked: IInspectFields[] = [];
  readonly contents = {
    fileChanged: { connect: nothing, disconnect: nothing },
    get: () => Promise.resolve({ last_modified: this.written, size: 1 })
  } as unknown as IInspectedKernel['contents'];
  readonly link = {
    store: { getSnapshot: () => UNKNOWN_KERNEL, subscribe: () => nothing },
    outcome: async (_: string, fields: IInspectFields) => {
      this.asked.push(fields);
      if (fields.query.ask === 'comparison') {
        return { answer: { ...NOTHING, ...this.comparison } };
      }
      const source = sourceOf(fields.path === this.path ? 'swe_agent' : 'pi');
      return { answer: await source.ask(fields.query) };
    }
  } as unknown as ILink;

  subscribe = () => nothing;
  applyRemedy = nothing;
  dispose = nothing;

  pathOf(file: string) {
    return `/${file}`;
  }
}

const FIRST: IInspectorArguments = { path: 'recordings/first.jsonl' };
const BOTH: IInspectorArguments = {
  ...FIRST,
  beside: { path: 'recordings/second.jsonl' },
  tab: 'compared'
};

async function drawTab(target: IInspectorArguments, kernel: RecordedKernel) {
  const model = new InspectorModel(kernel, target);
  const chosen = { path: 'recordings/second.jsonl' };
  const chooseCompared = vi.fn(() => Promise.resolve(chosen));
  render(
    <HostProvider value={{ ...HOST, copy: () => Promise.resolve() }}>
      <InspectorTab
        model={model}
        name="first.jsonl"
        chooseCompared={chooseCompared}
      />
    </HostProvider>
  );
  await settle();
  return { model, chooseCompared };
}

const shownTab = () => screen.getByRole('tab', { selected: true }).textContent;
const click = async (name: string) => {
  fireEvent.click(screen.getByRole('button', { name }));
  await settle();
};

describe('a tab of two sessions', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null);
  });
  afterEach(() => {
    cleanup();
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  it('begins with what compares them, once another one was chosen', async () => {
    const kernel = new RecordedKernel();
    const { model, chooseCompared } = await drawTab(FIRST, kernel);
    expect(screen.queryByRole('tab', { name: 'Two sessions' })).toBeNull();

    await click('Compare with…');

    expect(chooseCompared).toHaveBeenCalledWith(expect.objectContaining(FIRST));
    expect(shownTab()).toBe('Two sessions');
    expect(
      kernel.asked.find(({ query }) => query.ask === 'comparison')
    ).toEqual({
      session: undefined,
      path: '/recordings/first.jsonl',
      query: {
        ask: 'comparison',
        path: '/recordings/second.jsonl',
        session: '',
        price: undefined,
        known: ''
      }
    });
    model.dispose();
  });

  it('opens either session, and the layout brings it back there', async () => {
    const kernel = new RecordedKernel();
    const { model } = await drawTab(BOTH, kernel);
    const card = within(screen.getByRole('group', { name: 'Where they part' }));
    fireEvent.click(card.getByRole('button', { name: 'inspect the second' }));
    await settle();
    expect(screen.getByText(/the second of two/)).toBeTruthy();
    expect(shownTab()).toBe('Timeline');
    const kept = JSON.parse(JSON.stringify(model.arguments)) as Record<
      string,
      unknown
    >;
    model.dispose();
    cleanup();

    const restored = readArguments(kept);
    expect(restored).toEqual({
      path: 'recordings/first.jsonl',
      beside: { path: 'recordings/second.jsonl', session: 'ses_second' },
      side: 'second',
      tab: 'timeline'
    });
    const again = await drawTab(restored, new RecordedKernel());
    expect(screen.getByText(/the second of two/)).toBeTruthy();
    again.model.dispose();
  });

  it('has a link to both, which leads to the shown one', async () => {
    const { model } = await drawTab(
      { ...BOTH, side: 'second', tab: 'cost', request: 1 },
      new RecordedKernel()
    );

    const { title } = screen.getByRole('button', { name: 'Copy link' });
    expect(readLink(title)).toEqual({
      session: COMPARISON.first.session,
      beside: { path: 'recordings/second.jsonl' },
      side: 'second',
      tab: 'cost',
      request: 1
    });

    await click('End comparison');
    const alone = readLink(screen.getByTitle(/^palimpsest:/).title);
    expect(alone).not.toHaveProperty('beside');
    model.dispose();
  });

  it('shows the first alone again', async () => {
    const { model } = await drawTab(BOTH, new RecordedKernel());

    await click('End comparison');

    expect(screen.queryByRole('tab', { name: 'Two sessions' })).toBeNull();
    expect(shownTab()).toBe('Timeline');
    expect(model.arguments.beside).toBeUndefined();
    expect(screen.queryByRole('button', { name: 'End comparison' })).toBeNull();
    model.dispose();
  });

  it('stays a tab of one where they cannot be compared, and says why', async () => {
    const kernel = new RecordedKernel();
    kernel.comparison = { error: 'second.jsonl holds no session.' };
    const { model } = await drawTab({ ...BOTH, side: 'second' }, kernel);

    expect(screen.getByText('second.jsonl holds no session.')).toBeTruthy();
    expect(shownTab()).toBe('Timeline');
    expect(screen.queryByRole('tab', { name: 'Two sessions' })).toBeNull();

    kernel.comparison = { comparison: COMPARISON };
    await click('Compare with another…');
    expect(shownTab()).toBe('Two sessions');
    expect(screen.queryByText('second.jsonl holds no session.')).toBeNull();
    model.dispose();
  });

  it('asks again where the other file was written anew, and keeps what it had where that fails', async () => {
    const kernel = new RecordedKernel();
    const { model } = await drawTab(BOTH, kernel);
    kernel.comparison = { error: 'It is empty.' };
    kernel.written = 'again';

    await vi.advanceTimersByTimeAsync(POLL_MS);
    await settle();

    expect(
      screen.getByText('It is empty. What is compared was read before.')
    ).toBeTruthy();
    expect(shownTab()).toBe('Two sessions');
    expect(kernel.asked.at(-1)?.query).toMatchObject({
      ask: 'comparison',
      known: COMPARISON.stamp,
      session: 'ses_second'
    });
    model.dispose();
  });
});

describe('what is compared', () => {
  it('is named by a session’s id or a path', () => {
    expect(besideNamed('ses_1a')).toEqual({ session: 'ses_1a' });
    expect(besideNamed('runs/ses_1a.jsonl')).toEqual({
      path: 'runs/ses_1a.jsonl'
    });
  });

  it.each([{ beside: 'x' }, { beside: {} }, { beside: { path: 7 } }])(
    'is nothing in %j',
    args => {
      expect(readArguments(args)).toEqual({});
    }
  );

  it('is the same file whichever of its sessions was found in it', () => {
    const found = { path: 'a.jsonl', session: 'ses_1' };
    expect(isSameBeside({ path: 'a.jsonl' }, found)).toBe(true);
    expect(isSameBeside({ session: 'ses_1' }, found)).toBe(false);
    expect(isSameBeside({ session: 'ses_1' }, { session: 'ses_2' })).toBe(
      false
    );
  });

  it.each<[string[], number]>([
    [['a.jsonl'], 1],
    [['a.jsonl', 'b.traj'], 2],
    [['a.jsonl', 'b.txt'], 0],
    [['a.jsonl', 'b.jsonl', 'c.jsonl'], 0],
    [[], 0]
  ])('is offered for the files %j', (names, count) => {
    const files: ISelectedFile[] = names.map(path => ({ path, type: 'file' }));
    expect(comparablePaths(files)).toHaveLength(count);
  });
});
