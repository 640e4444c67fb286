// @vitest-environment jsdom
/** Two sessions of one task stand side by side: where they part, both tracks, their figures and files. */
import {
  cleanup,
  fireEvent,
  render,
  screen,
  within
} from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { IComparedView } from '../../../src/state/inspector/source';
import { HostProvider } from '../../../src/views/host';
import { Inspector } from '../../../src/views/inspector/inspector';
import { COMPARISON } from '../../inspector/comparison';
import { HOST } from '../../plainHost';
import { settle, sourceOf } from './drawnInspector';

async function drawCompared(
  comparison = COMPARISON,
  more: Partial<IComparedView> = {}
) {
  const open = vi.fn<IComparedView['open']>();
  const drawn = render(
    <HostProvider value={HOST}>
      <Inspector
        source={sourceOf('swe_agent')}
        place={{ request: null, item: null, tab: 'compared' }}
        compared={{
          comparison,
          side: 'first',
          takesFocus: false,
          open,
          ...more
        }}
      />
    </HostProvider>
  );
  await settle();
  return { ...drawn, open };
}

const group = (name: string) => within(screen.getByRole('group', { name }));

describe('two sessions', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    cleanup();
    vi.useRealTimers();
  });

  it('part at a step, from which either can be inspected', async () => {
    const { open } = await drawCompared();

    const parting = group('Where they part');
    expect(
      parting.getByRole('heading', {
        name: 'They do the same in 2 steps, and then part'
      })
    ).toBeTruthy();
    expect(parting.getByText('calls edit: src/dates.py')).toBeTruthy();
    expect(parting.getByText('has ended there')).toBeTruthy();
    fireEvent.click(
      parting.getByRole('button', { name: 'inspect request 4 of the first' })
    );
    expect(open).toHaveBeenLastCalledWith('first', {
      request: 3,
      tab: 'timeline'
    });
    fireEvent.click(
      parting.getByRole('button', { name: 'inspect the second' })
    );
    expect(open).toHaveBeenLastCalledWith('second', {
      request: null,
      tab: 'timeline'
    });
  });

  it('are lines over requests or over time, which say their values in words', async () => {
    const { container } = await drawCompared();
    const path = () =>
      container
        .querySelector('.plm-Compared-picture .plm-Compared-line')
        ?.getAttribute('d');
    const overRequests = path();

    expect(
      screen.getByRole('img', {
        name: 'Context, tokens of each request. The first: from 1,200 to 3,200, at most 3,200. The second: from ~1,200 to ~1,800, at most ~1,800.'
      })
    ).toBeTruthy();
    expect(
      screen.getByRole('img', {
        name: /^Cost up to each request, in USD\. .*The second: from ~0\.10 USD to ~0\.40 USD/
      })
    ).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'over time' }));
    expect(
      screen
        .getByRole('button', { name: 'over time' })
        .getAttribute('aria-pressed')
    ).toBe('true');
    expect(path()).not.toBe(overRequests);
    expect(screen.getAllByText('1 min')).toHaveLength(2);
  });

  it('have no axis of time where a recording has none, and no cost in two kinds of money', async () => {
    await drawCompared({
      ...COMPARISON,
      unit: '',
      second: { ...COMPARISON.second, seconds: [] }
    });

    expect(screen.queryByRole('button', { name: 'over time' })).toBeNull();
    expect(screen.getAllByRole('img')).toHaveLength(1);
  });

  it('have their figures, files and notes beside each other, as they are', async () => {
    const { container } = await drawCompared();

    const figures = screen.getByRole('table', {
      name: 'Figures of both sessions'
    });
    const rows = within(figures)
      .getAllByRole('row')
      .map(row => Array.from(row.children, cell => cell.textContent));
    expect(rows).toContainEqual(['requests', '4', '2', '.500']);
    expect(rows).toContainEqual([
      'how it ended',
      'answers: <b>Done</b>',
      'calls bash: ls, which failed',
      '-'
    ]);
    expect(rows.findIndex(([head]) => head === 'Calls and cache breaks')).toBe(
      rows.findIndex(([head]) => head === 'calls of bash') - 1
    );
    expect(container.querySelector('b')).toBeNull();
    const files = screen.getByRole('table', { name: 'Files of both sessions' });
    expect(within(files).getByText('changed')).toBeTruthy();
    expect(screen.getByText('Their first prompts differ.')).toBeTruthy();
  });

  it('say that they do the same where nothing differs', async () => {
    const first = { ...COMPARISON.first };
    delete first.parting;
    await drawCompared({ ...COMPARISON, first, files: [], notes: [] });

    expect(
      screen.getByRole('heading', {
        name: 'Both do the same in all of their 2 steps'
      })
    ).toBeTruthy();
    expect(screen.queryByRole('table', { name: /Files/ })).toBeNull();
  });

  it('stand in a first tab, and the opened one takes the focus', async () => {
    await drawCompared(COMPARISON, { side: 'second', takesFocus: true });

    const [tab] = screen.getAllByRole('tab');
    expect(tab?.textContent).toBe('Two sessions');
    expect(tab?.getAttribute('aria-selected')).toBe('true');
    expect(screen.getByText(/^the second of two · /)).toBeTruthy();
    expect(document.activeElement).toBe(screen.getByRole('tabpanel'));
  });

  it('are no tab where one session is inspected alone', async () => {
    render(
      <HostProvider value={HOST}>
        <Inspector
          source={sourceOf('swe_agent')}
          place={{ request: null, item: null, tab: 'compared' }}
        />
      </HostProvider>
    );
    await settle();

    expect(screen.queryByRole('tab', { name: 'Two sessions' })).toBeNull();
    expect(
      screen
        .getByRole('tab', { name: 'Timeline' })
        .getAttribute('aria-selected')
    ).toBe('true');
  });
});
