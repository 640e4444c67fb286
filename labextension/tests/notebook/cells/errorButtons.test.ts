// @vitest-environment jsdom
/** The buttons under the error of a cell. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ILink } from '../../../src/kernel/kernelLink';
import { addErrorButtons } from '../../../src/notebook/cells/errorButtons';
import { HOST } from '../../plainHost';

beforeEach(() => {
  vi.useFakeTimers();
  document.body.replaceChildren();
});

/** A notebook of one code cell, and the link of its kernel. */
function opened(state: ILink['state'] = 'ready') {
  const outputs: { type: string }[] = [];
  const tags: string[] = [];
  const node = document.createElement('div');
  document.body.append(node);
  const readers = new Set<() => void>();
  const looks = new Set<() => void>();
  const link = {
    state,
    catchUp: vi.fn(),
    outcome: vi.fn(() => Promise.resolve<{ error?: string }>({})),
    store: {
      getSnapshot: () => ({ current: 'ses_1' }),
      subscribe: (changed: () => void) => {
        readers.add(changed);
        return () => readers.delete(changed);
      }
    }
  };
  const cell = {
    model: {
      type: 'code',
      executionCount: 4,
      getMetadata: () => tags,
      outputs: {
        get length() {
          return outputs.length;
        },
        get: (index: number) => outputs[index]
      },
      sharedModel: { getSource: () => '1 / 0' }
    },
    outputArea: { node }
  };
  const panel = {
    isDisposed: false,
    content: { widgets: [cell] },
    context: {
      model: {
        contentChanged: {
          connect: (look: () => void) => looks.add(look),
          disconnect: (look: () => void) => looks.delete(look)
        }
      }
    }
  };
  const showPanel = vi.fn();
  const end = addErrorButtons(
    panel as unknown as NotebookPanel,
    link as unknown as ILink,
    HOST.words,
    showPanel
  );
  return {
    end,
    link,
    showPanel,
    tags,
    /** Replaces the outputs of the cell. */
    print: (...types: string[]) => {
      outputs.splice(0, outputs.length, ...types.map(type => ({ type })));
      looks.forEach(look => {
        look();
      });
      vi.runAllTimers();
    },
    become: (now: ILink['state']) => {
      link.state = now;
      readers.forEach(changed => {
        changed();
      });
      vi.runAllTimers();
    }
  };
}

const labels = () =>
  [...document.querySelectorAll('button')].map(element =>
    element.getAttribute('aria-label')
  );
const BOTH = [
  'Fix this error with the agent',
  'Explain this error with the agent'
];

describe('the buttons under an error', () => {
  it('are there as long as the error is', () => {
    const { print } = opened();

    print('stream');
    expect(labels()).toEqual([]);

    print('stream', 'error');
    expect(labels()).toEqual(BOTH);

    print();
    expect(labels()).toEqual([]);
  });

  it('send the prompt to the session of the notebook, and show the panel', async () => {
    const { link, print, showPanel } = opened();
    print('error');

    document.querySelectorAll('button')[1]?.click();
    await vi.runAllTimersAsync();

    expect(link.outcome.mock.calls).toEqual([
      ['prompt', { text: 'Explain @error 4', session: 'ses_1' }]
    ]);
    expect(showPanel).toHaveBeenCalledOnce();
  });

  it('say why the agent was not asked', async () => {
    const { link, print } = opened();
    link.outcome.mockResolvedValue({ error: 'The kernel does not answer.' });
    print('error');

    document.querySelector('button')?.click();
    await vi.runAllTimersAsync();

    expect(document.querySelector('[role="status"]')?.textContent).toBe(
      'The kernel does not answer.'
    );
  });

  it('go with the kernel, whose errors the next one does not know', () => {
    const { become, print } = opened();
    print('error');

    become('dead');
    expect(labels()).toEqual([]);

    become('ready');
    expect(labels()).toEqual([]);

    print('error');
    expect(labels()).toEqual(BOTH);
  });

  it('are not there for what ran before the package was loaded', () => {
    const { become, print } = opened('absent');
    print('error');

    become('absent');
    become('ready');
    expect(labels()).toEqual([]);
  });

  it('are there while the package still loads, and ask as soon as it has', async () => {
    const { become, link, print } = opened('absent');
    become('loading');
    print('error');
    expect(labels()).toEqual(BOTH);

    document.querySelector('button')?.click();
    await vi.runAllTimersAsync();
    expect(link.outcome).not.toHaveBeenCalled();

    become('ready');
    await vi.runAllTimersAsync();
    expect(labels()).toEqual(BOTH);
    expect(link.outcome.mock.calls).toEqual([
      ['prompt', { text: 'Fix @error 4', session: 'ses_1' }]
    ]);
  });

  it('are there for a page that was loaded anew', () => {
    const { become, print } = opened('connecting');
    print('error');

    become('ready');
    expect(labels()).toEqual(BOTH);
  });

  it('are not there for a cell that is kept from the agent', () => {
    const { print, tags } = opened();
    tags.push('agent-hidden');

    print('error');
    expect(labels()).toEqual([]);
  });

  it('are removed when the notebook is closed', () => {
    const { end, print } = opened();
    print('error');

    end();
    expect(labels()).toEqual([]);
  });
});
