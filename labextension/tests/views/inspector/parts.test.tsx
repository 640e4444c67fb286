// @vitest-environment jsdom
/** Parts of the inspector alone, and answers that are hidden until they are revealed. */
import {
  act,
  cleanup,
  fireEvent,
  render,
  screen
} from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  NOWHERE,
  type InspectorPartName
} from '../../../src/state/inspector/source';
import { HostProvider } from '../../../src/views/host';
import { Inspector } from '../../../src/views/inspector/inspector';
import { INSPECTOR_PARTS } from '../../../src/protocol/generated';
import { HOST } from '../../plainHost';
import { cursor, openTab, settle, sourceOf } from './drawnInspector';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

/** As `hide=["cost", "breaks"]` hides them in `review/timeline_view/inspector_parts.py`. */
const COST_AND_BREAKS: readonly InspectorPartName[] = [
  'sentence',
  'difference',
  'requests',
  'compactions',
  'cost',
  'figures',
  'breaks',
  'wastes',
  'totals'
];

const SOURCE = sourceOf('claude_code');
const PLACE = { ...NOWHERE, request: 3, item: 0, explained: true };

function inspector(
  parts: readonly InspectorPartName[],
  hidden: readonly InspectorPartName[]
) {
  return (
    <HostProvider value={HOST}>
      <Inspector source={SOURCE} place={PLACE} parts={parts} hidden={hidden} />
    </HostProvider>
  );
}

async function drawn(
  parts: readonly InspectorPartName[],
  hidden: readonly InspectorPartName[] = []
) {
  const page = render(inspector(parts, hidden));
  await settle();
  return page;
}

/** Words that only an answer about cost or breaks has. */
const TELLING =
  /\bUSD\b|\d breaks?\b|cache break|written anew|changed beginning/;

describe('hidden answers', () => {
  it('are told by no tab, and by no mark, until they are revealed', async () => {
    const page = await drawn([], COST_AND_BREAKS);
    for (const tab of ['Timeline', 'Items', 'Requests', 'Cost', 'Wastes']) {
      await openTab(tab);
      expect(page.container.textContent).not.toMatch(TELLING);
      expect(
        page.container.querySelectorAll('[data-kind="break"]')
      ).toHaveLength(0);
    }
    expect(
      screen.getAllByText('Hidden until it is revealed.').length
    ).toBeGreaterThan(1);

    const request = () => cursor().getAttribute('aria-valuenow');
    const before = request();
    fireEvent.keyDown(cursor(), { key: 'p' });
    await settle();
    expect(request()).toBe(before);

    page.rerender(inspector([], []));
    await settle();
    fireEvent.keyDown(cursor(), { key: 'p' });
    await settle();
    expect(request()).not.toBe(before);
    expect(page.container.textContent).not.toContain('Hidden until');
    expect(
      page.container.querySelectorAll('[data-kind="break"]').length
    ).toBeGreaterThan(0);
    await openTab('Cost');
    expect(page.container.textContent).toMatch(TELLING);
  });

  it('are not read aloud with a chosen range', async () => {
    const page = await drawn([], COST_AND_BREAKS);
    cursor().focus();
    for (let step = 0; step < 3; step++) {
      fireEvent.keyDown(cursor(), { key: 'ArrowLeft', shiftKey: true });
    }
    await settle();

    const news = page.container.querySelector('.plm-Inspector-news');
    expect(news?.textContent).toMatch(/^Requests \d+–\d+\.$/);
    expect(page.container.textContent).not.toMatch(TELLING);
    page.rerender(inspector([], []));
    fireEvent.keyDown(cursor(), { key: 'ArrowRight', shiftKey: true });
    await settle();
    expect(news?.textContent).toMatch(/^Requests \d+–\d+: .*USD/);
  });

  it('are in no card beside the notes', async () => {
    const notes = { ...PLACE, tab: 'notes' } as const;
    const tab = (hidden: readonly InspectorPartName[]) => (
      <HostProvider value={HOST}>
        <Inspector source={SOURCE} place={notes} hidden={hidden} />
      </HostProvider>
    );
    const card = () => screen.queryByRole('group', { name: 'The chosen item' });
    const page = render(tab(['card']));
    await settle();
    expect(screen.getByRole('tabpanel', { name: 'Notes' })).toBeTruthy();
    expect(card()).toBeNull();

    page.rerender(tab([]));
    await settle();
    expect(card()).not.toBeNull();
  });

  it('leave what tells nothing of them', async () => {
    await drawn([], COST_AND_BREAKS);

    expect(screen.getByRole('grid')).toBeTruthy();
    expect(screen.getByRole('group', { name: 'The chosen item' })).toBeTruthy();
    expect(
      screen.getAllByRole('slider', { name: /^Request/ }).length
    ).toBeGreaterThan(0);
  });
});

describe('parts alone', () => {
  it('are drawn in their order, without tabs', async () => {
    const { container } = await drawn(['grid', 'breaks']);

    expect(screen.queryByRole('tablist')).toBeNull();
    expect(screen.queryByRole('slider', { name: /^Request/ })).toBeNull();
    const cards = [...container.querySelectorAll('.plm-Inspector-card')];
    expect(cards).toHaveLength(2);
    expect(cards[0]?.querySelector('[role="grid"]')).not.toBeNull();
    expect(cards[1]?.textContent).toContain('Cache breaks');
  });

  it('are hidden alone, too', async () => {
    const { container } = await drawn(['breaks'], ['breaks']);

    expect(container.textContent).toContain(
      'Cache breaks. Hidden until it is revealed.'
    );
    expect(container.textContent).not.toMatch(/read anew/);
  });

  it.each(INSPECTOR_PARTS)('can each be drawn: %s', async part => {
    const { container } = await drawn([part]);
    await act(() => vi.advanceTimersByTimeAsync(300));

    const stack = container.querySelector('.plm-Inspector-stack');
    expect(stack?.childElementCount).toBe(1);
    expect(stack?.textContent).not.toBe('');
  });
});
