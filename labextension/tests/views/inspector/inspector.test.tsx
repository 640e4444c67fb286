// @vitest-environment jsdom
/** The inspector shows a session truly, moves one cursor everywhere, and works by keyboard. */
import {
  act,
  cleanup,
  fireEvent,
  screen,
  within
} from '@testing-library/react';
import axe from 'axe-core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { why } from '../../../src/state/inspector/why';
import { ItemStates } from '../../../src/state/inspector/itemStates';
import { sample } from '../../inspector/samples';
import {
  cursor,
  draw,
  LAST_N,
  openTab,
  settle,
  sourceOf
} from './drawnInspector';

const TABS = ['Timeline', 'Items', 'Requests', 'Cost', 'Wastes'];
const PI = { request: 309, item: 35, policy: LAST_N };

beforeEach(() => {
  vi.useFakeTimers();
  // jsdom has no canvas; what it would show is in the grid's cell, too.
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null);
});

afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('the timeline', () => {
  it('shows the recording and the policy under one cursor', async () => {
    await draw(sourceOf('pi'), PI);

    const tracks = screen.getAllByRole('slider', { name: /^Request/ });
    expect(tracks.map(one => one.getAttribute('aria-valuenow'))).toEqual([
      '310',
      '310'
    ]);
    expect(tracks[1]?.getAttribute('aria-valuetext')).toMatch(
      /about [\d,]+ tokens/
    );
    expect(screen.getByText('facts end here')).toBeTruthy();
    expect(screen.getByText(/Facts end at request 18:/)).toBeTruthy();
  });

  it.each([
    ['ArrowRight', 310],
    ['ArrowLeft', 308],
    ['PageUp', 319],
    ['Home', 0],
    ['End', 452]
  ])('moves by %s and tells the place', async (key, request) => {
    const { onPlace } = await draw(sourceOf('pi'), PI);

    fireEvent.keyDown(cursor(), { key });
    await settle();

    expect(onPlace.mock.lastCall?.[0]).toMatchObject({ request, item: 35 });
    expect(cursor().getAttribute('aria-valuenow')).toBe(String(request + 1));
  });

  it('moves to where the pointer is', async () => {
    await draw(sourceOf('pi'), PI);
    const track = cursor();
    track.setPointerCapture = () => undefined;
    track.getBoundingClientRect = () => new DOMRect(100, 0, 453, 150);

    fireEvent.pointerDown(track, {
      button: 0,
      buttons: 1,
      clientX: 200.5,
      pointerId: 1
    });
    await settle();

    expect(cursor().getAttribute('aria-valuenow')).toBe('101');
  });

  it('asks anew when a number is moved, and the newest answer wins', async () => {
    const source = sourceOf('pi');
    await draw(source, { ...PI, policy: 'sweagent.last_n n=5 polling=10' });
    expect(screen.getByText(/There is no track of/)).toBeTruthy();

    const slider = screen.getByRole('slider', { name: /^n / });
    fireEvent.change(slider, { target: { value: '3' } });
    fireEvent.change(slider, { target: { value: '5' } });
    await settle();

    const asked = source.asked.filter(one => one.ask === 'track');
    expect(asked.map(one => one.numbers)).toEqual([
      { n: 5, polling: 10 },
      { n: 10, polling: 10 }
    ]);
    expect(screen.getByText('12 ms')).toBeTruthy();
    expect(screen.getByText(`what if · ${LAST_N}`)).toBeTruthy();
  });

  it('says that it waits while the kernel is busy', async () => {
    const source = sourceOf('pi');
    await draw(
      {
        ask: query =>
          query.ask === 'track'
            ? new Promise(() => undefined)
            : source.ask(query),
        waits: 'It waits for the kernel.'
      },
      PI
    );

    expect(screen.getByText('It waits for the kernel.')).toBeTruthy();
  });

  it('takes the nearest stop where nothing can be asked', async () => {
    const { view, tracks } = sample('pi');
    const [, track] = tracks;
    if (track === undefined) {
      throw new Error('The sample has no track.');
    }
    const asked: string[] = [];
    await draw(
      {
        ask: query => {
          asked.push(query.ask);
          return Promise.resolve({
            view,
            unchanged: false,
            milliseconds: 0,
            error: ''
          });
        },
        stops: [
          { policy: 'sweagent.last_n', numbers: { n: 10, polling: 10 }, track }
        ]
      },
      { ...PI, policy: 'sweagent.last_n n=8' }
    );

    expect(asked).not.toContain('track');
    expect(screen.getByText(`what if · ${LAST_N}`)).toBeTruthy();
    expect(screen.queryByRole('combobox', { name: 'price' })).toBeNull();
  });

  it('has its table', async () => {
    await draw(sourceOf('pi'), PI);

    fireEvent.click(
      screen.getByRole('button', { name: /The same as a table/ })
    );

    const row = screen.getByRole('row', { name: /^310 / });
    expect(within(row).getByText('133,167')).toBeTruthy();
  });
});

describe('the items', () => {
  it('say why in the words of the kernel', async () => {
    const { view } = sample('pi');
    await draw(sourceOf('pi'), { ...PI, tab: 'items' });

    const words = why(new ItemStates(view, view.recorded), 35, 309);
    expect(screen.getByText(words)).toBeTruthy();
  });

  it('say why under the policy, and jump to where the row changes', async () => {
    const { view, tracks } = sample('pi');
    const [, track] = tracks;
    if (track === undefined) {
      throw new Error('The sample has no track.');
    }
    const states = new ItemStates(view, track);
    await draw(sourceOf('pi'), { ...PI, tab: 'items' });

    fireEvent.click(screen.getByRole('button', { name: 'what if' }));
    fireEvent.click(screen.getByRole('button', { name: /Change before/ }));
    await settle();

    const changed = states.previousChange(35, 309) ?? -1;
    expect(screen.getByText(why(states, 35, changed))).toBeTruthy();
    expect(cursor().getAttribute('aria-valuenow')).toBe(String(changed + 1));
  });

  it('are walked by keyboard, and the cell is told', async () => {
    await draw(sourceOf('pi'), { ...PI, item: null, tab: 'items' });
    const grid = screen.getByRole('grid');

    fireEvent.keyDown(grid, { key: 'ArrowDown' });
    fireEvent.keyDown(grid, { key: 'ArrowLeft' });
    await settle();

    const cell = screen.getByRole('gridcell');
    expect(grid.getAttribute('aria-activedescendant')).toBe(cell.id);
    expect(cell.textContent).toBe(
      'read → packages/coding-agent/src/tui/tui-renderer.ts, request 309: whole'
    );
  });

  it('are found by text, kind and change', async () => {
    await draw(sourceOf('pi'), { ...PI, tab: 'items' });
    fireEvent.click(screen.getByRole('button', { name: 'what if' }));

    fireEvent.change(screen.getByRole('searchbox', { name: 'Find items' }), {
      target: { value: 'tui-renderer' }
    });
    fireEvent.change(screen.getByRole('combobox', { name: 'Kind' }), {
      target: { value: 'output' }
    });
    const some = rows();
    fireEvent.click(
      screen.getByRole('checkbox', { name: 'only what changes' })
    );

    expect(some).toBeGreaterThan(0);
    expect(rows()).toBeLessThanOrEqual(some);
    expect(rows()).toBeGreaterThan(0);
  });

  it('are shown whole, piece by piece', async () => {
    const { view, tracks } = sample('pi');
    const text = 'x'.repeat(250);
    const { sampleSource } = await import('../../inspector/sampleSource');
    await draw(
      sampleSource(view, tracks, () => text),
      { ...PI, tab: 'items' }
    );

    fireEvent.click(screen.getByRole('button', { name: /Look underneath/ }));
    await settle();
    expect(screen.getByText('x'.repeat(200))).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'Next piece' }));
    await settle();

    expect(screen.getByText('x'.repeat(50))).toBeTruthy();
    expect(screen.getByText('characters 201 to 250 of 250')).toBeTruthy();
  });

  it('are pinned and restored only in a session of ours', async () => {
    const edit = vi.fn().mockResolvedValue('');
    const source = sourceOf('pi');
    const { unmount } = await draw(
      { ...source, edit },
      { ...PI, tab: 'items' }
    );
    expect(screen.queryByRole('button', { name: 'Pin' })).toBeNull();
    unmount();

    const own = { ...sample('pi').view, own: true };
    await draw(
      {
        ...source,
        ...ownView(source, own),
        edit
      },
      { ...PI, tab: 'items' }
    );
    fireEvent.click(screen.getByRole('button', { name: 'Restore' }));
    await settle();

    expect(edit).toHaveBeenCalledWith(
      'restore',
      own.items.id[35]?.split('/')[1]
    );
    expect(screen.getByText('It holds from the next request on.')).toBeTruthy();
  });
});

describe('the difference', () => {
  it('says by the reported numbers where the cache broke', async () => {
    await draw(sourceOf('pi'), { ...PI, request: 415, tab: 'requests' });

    expect(
      screen.getByText('The cache breaks here:').parentElement?.textContent
    ).toContain('162,834 tokens were read anew, 0.94 USD.');
  });

  it('says about an estimate that it is one', async () => {
    const { tracks } = sample('pi');
    await draw(sourceOf('pi'), {
      ...PI,
      request: tracks[1]?.fired[3] ?? 0,
      tab: 'requests'
    });
    fireEvent.click(screen.getByRole('button', { name: 'what if' }));
    await settle();

    expect(
      screen.getByText('The cache breaks here:').parentElement?.textContent
    ).toMatch(
      /about [\d,]+ tokens are read anew, about 0\.\d+ USD\. The first difference is/
    );
  });

  it('compares any two requests', async () => {
    const { onPlace } = await draw(sourceOf('pi'), { ...PI, tab: 'requests' });

    fireEvent.change(
      screen.getByRole('spinbutton', { name: 'compare with request' }),
      {
        target: { value: '11' }
      }
    );
    await settle();

    expect(
      screen.getByRole('heading', { name: 'Request 11 → 310' })
    ).toBeTruthy();
    expect(onPlace.mock.lastCall?.[0]).toMatchObject({ against: 10 });
  });
});

describe('the request', () => {
  it('is read block by block, and searched', async () => {
    const source = sourceOf('pi');
    await draw(source, { ...PI, tab: 'requests' });
    const viewer = screen.getByRole('region', {
      name: 'The request as it is sent'
    });
    expect(viewer.textContent).toContain('770 blocks');

    fireEvent.click(
      within(viewer).getByRole('button', { name: 'Next blocks' })
    );
    await settle();
    expect(viewer.textContent).toContain('201 to 400 of 770');
    fireEvent.change(within(viewer).getByRole('searchbox'), {
      target: { value: 'TUI-renderer' }
    });
    await settle();

    expect(source.asked.at(-1)).toMatchObject({
      ask: 'request',
      find: 'TUI-renderer',
      first: 0
    });
    const marked = [...viewer.querySelectorAll('mark')].map(
      one => one.textContent
    );
    expect(new Set(marked)).toEqual(new Set(['tui-renderer']));
  });
});

describe('sentences', () => {
  it('move the cursor to what they are about', async () => {
    const { onPlace } = await draw(sourceOf('pi'), { ...PI, tab: 'wastes' });

    fireEvent.click(
      screen.getAllByRole('button', { name: 'show' })[0] as HTMLElement
    );
    await settle();

    expect(onPlace.mock.lastCall?.[0]).toMatchObject({ request: 9, item: 35 });
  });

  it('say what a recording lacks and why nothing was cleared', async () => {
    await draw(sourceOf('claude_code'), { policy: LAST_N, tab: 'wastes' });

    expect(
      screen.getByText(
        'The system prompt and the tools are not in the recording.'
      )
    ).toBeTruthy();
    expect(
      screen.getByText(/Never acted: observations reached 8 of 10/)
    ).toBeTruthy();
  });

  it('name subagents, and lead into them', async () => {
    const { view, tracks } = sample('claude_code');
    const { sampleSource } = await import('../../inspector/sampleSource');
    const subagents = [
      {
        session: 'ses_b',
        title: 'Explore',
        request: 1,
        requests: 4,
        tokens: 900
      }
    ];
    const { openLink } = await draw(
      sampleSource({ ...view, subagents }, tracks),
      {
        tab: 'requests'
      }
    );

    fireEvent.click(screen.getByRole('button', { name: 'Explore' }));

    expect(openLink).toHaveBeenCalledWith('palimpsest:ses_b');
  });
});

describe('the inspector', () => {
  it('follows a session that grows', async () => {
    const { view, tracks } = sample('claude_code');
    const { sampleSource } = await import('../../inspector/sampleSource');
    let changed: () => void = () => undefined;
    const source = sampleSource(view, tracks);
    await draw({
      ask: source.ask.bind(source),
      subscribe: told => {
        changed = told;
        return () => undefined;
      }
    });

    source.view = { ...view, seq: view.seq + 1, title: 'It grew' };
    act(() => {
      changed();
    });
    await settle();

    expect(source.asked.at(-1)).toMatchObject({ ask: 'view', after: view.seq });
    expect(screen.getByRole('heading', { name: 'It grew' })).toBeTruthy();
  });

  it('says what is wrong in the words of the answer', async () => {
    await draw({
      ask: () =>
        Promise.resolve({
          unchanged: false,
          milliseconds: 0,
          error: 'There is no such session.'
        })
    });

    expect(screen.getByRole('status').textContent).toBe(
      'There is no such session.'
    );
  });

  it('refuses a view of a newer version in one sentence', async () => {
    const { view } = sample('claude_code');
    await draw({
      ask: () =>
        Promise.resolve({
          view: { ...view, version: 99 },
          unchanged: false,
          milliseconds: 0,
          error: ''
        })
    });

    expect(screen.getByRole('status').textContent).toContain(
      'newer Palimpsest'
    );
  });

  it('changes tabs by keyboard', async () => {
    const { onPlace } = await draw(sourceOf('pi'), PI);

    fireEvent.keyDown(screen.getByRole('tab', { name: 'Timeline' }), {
      key: 'ArrowRight'
    });
    await settle();

    expect(screen.getByRole('tab', { selected: true }).textContent).toBe(
      'Items'
    );
    expect(onPlace.mock.lastCall?.[0]).toMatchObject({ tab: 'items' });
  });

  it.each(TABS)('is sound for assistive technology: %s', async tab => {
    const { container } = await draw(sourceOf('swe_agent'), {
      item: 3,
      policy: LAST_N
    });
    await openTab(tab);
    for (const button of screen.queryAllByRole('button', { expanded: false })) {
      fireEvent.click(button);
    }
    await settle();
    vi.useRealTimers();

    const { violations } = await axe.run(container, {
      rules: {
        region: { enabled: false },
        'color-contrast': { enabled: false }
      }
    });

    expect(
      violations.map(({ id, nodes }) => `${id} ${nodes[0]?.html ?? ''}`)
    ).toEqual([]);
  });
});

function rows(): number {
  return Number(screen.getByRole('grid').getAttribute('aria-rowcount'));
}

function ownView(
  source: ReturnType<typeof sourceOf>,
  view: ReturnType<typeof sample>['view']
): Pick<typeof source, 'ask' | 'view' | 'asked'> {
  source.view = view;
  return { ask: query => source.ask(query), view, asked: source.asked };
}
