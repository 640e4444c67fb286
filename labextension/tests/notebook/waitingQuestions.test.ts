// @vitest-environment jsdom
/** An open question is scrolled into view once, and its notebook's tab is marked. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ILink } from '../../src/kernel/kernelLink';
import {
  followQuestions,
  WaitingQuestions
} from '../../src/notebook/waitingQuestions';
import {
  UNKNOWN_KERNEL,
  type IKernelView
} from '../../src/state/store/kernelStore';
import { EMPTY_TRANSCRIPT } from '../../src/state/store/transcript';

const scrolled = vi.fn();

beforeEach(() => {
  Element.prototype.scrollIntoView = scrolled;
  scrolled.mockClear();
});

afterEach(() => {
  document.body.replaceChildren();
});

function view(...ids: string[]): IKernelView {
  const asks = ids.map(id => ({
    id,
    permission: 'python',
    patterns: [],
    always: [],
    title: 'Run it?',
    input: {}
  }));
  const session = { transcript: { ...EMPTY_TRANSCRIPT, asks } };
  return {
    ...UNKNOWN_KERNEL,
    current: 'ses_1',
    sessions: new Map([
      ['ses_1', session]
    ]) as unknown as IKernelView['sessions']
  };
}

/** Returns a notebook with cells drawn by the test, and a link with the given questions. */
function notebook() {
  const node = document.createElement('div');
  document.body.append(node);
  const title = { dataset: {} as Record<string, string> };
  const panel = { content: { node }, isVisible: true, title };
  let now = view();
  let changed: () => void = () => undefined;
  const store = {
    subscribe: (told: () => void) => {
      changed = told;
      return () => undefined;
    },
    getSnapshot: () => now
  };
  const waiting = new WaitingQuestions();
  const end = followQuestions(
    panel as unknown as NotebookPanel,
    { store } as unknown as ILink,
    waiting
  );
  const asks = (...ids: string[]) => {
    now = view(...ids);
    changed();
  };
  const draws = async (id: string, top: number) => {
    const question = document.createElement('div');
    question.dataset.ask = id;
    question.getBoundingClientRect = () => new DOMRect(0, top, 100, 50);
    node.append(question);
    await Promise.resolve();
  };
  return { asks, draws, end, title, waiting };
}

describe('a question that waits', () => {
  it('is brought into view as soon as it is drawn, once', async () => {
    const { asks, draws } = notebook();
    asks('per_1');
    expect(scrolled).not.toHaveBeenCalled();

    await draws('per_1', 5_000);
    expect(scrolled).toHaveBeenCalledOnce();

    asks();
    asks('per_1');
    expect(scrolled).toHaveBeenCalledOnce();
  });

  it('stays where it is when a person can see it', async () => {
    const { asks, draws } = notebook();
    asks('per_1');
    await draws('per_1', 100);

    expect(scrolled).not.toHaveBeenCalled();
  });

  it('marks its tab and the page until it is answered', () => {
    const { asks, title, waiting } = notebook();
    const changed = vi.fn();
    waiting.subscribe(changed);
    asks('per_1', 'per_2');

    expect(title.dataset).toEqual({ 'plm-question': 'true' });
    expect(waiting.first?.id).toBe('per_1');

    asks();

    expect(title.dataset).toEqual({});
    expect(waiting.first).toBeNull();
    expect(changed).toHaveBeenCalledTimes(2);
  });

  it('is forgotten with its notebook', () => {
    const { asks, end, waiting } = notebook();
    asks('per_1');
    end();

    expect(waiting.first).toBeNull();
  });
});
