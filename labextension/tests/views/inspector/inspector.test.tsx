// @vitest-environment jsdom
/** The inspector shows a session truly, moves one cursor everywhere, and works by keyboard. */
import { act, fireEvent, screen, within } from '@testing-library/react';
import axe from 'axe-core';
import { describe, expect, it, vi } from 'vitest';
import { requestDifference } from '../../../src/state/inspector/figures/difference';
import { writtenAnew } from '../../../src/state/inspector/figures/writtenAnew';
import { whyText } from '../../../src/state/inspector/why';
import { ItemStates } from '../../../src/state/inspector/figures/itemStates';
import {
  lightestFirst,
  markPath,
  marksByRequest,
  recordedMarks
} from '../../../src/views/inspector/timeline/trackMarks';
import type {
  BreakView,
  CompactionText,
  TimelineView
} from '../../../src/protocol/generated';
import { sampleSource } from '../../inspector/sampleSource';
import { sample } from '../../inspector/samples';
import { HOST } from '../../plainHost';
import {
  LAST_N,
  cursor,
  draw,
  drawsInspectors,
  explain,
  openTab,
  settle,
  sourceOf
} from './drawnInspector';

const TABS = ['Timeline', 'Items', 'Requests', 'Cost', 'Wastes'];
const PI = { request: 309, item: 35, policy: LAST_N };

drawsInspectors();

describe('a policy that was given', () => {
  it.each([
    [0, 'sweagent.last_n'],
    [1, 'mine keep=5']
  ])('is shown first (%i)', async (given, name) => {
    const { view } = sample('pi');
    const mine = {
      name: 'mine keep=5',
      what: 'Keep five.',
      source: 'your own, sha256 1',
      sliders: []
    };

    await draw(
      sampleSource(
        { ...view, policies: [mine, ...view.policies], given_policies: given },
        []
      )
    );

    expect(
      screen.getByRole('button', { name: `Policy: ${name}` })
    ).toBeTruthy();
  });
});

describe('a session without a request', () => {
  it.each([
    [true, 'The session has no requests yet: ask something first.'],
    [false, 'The session holds no request.']
  ])('says so, and only ours is asked (%s)', async (own, words) => {
    const { view } = sample('pi');
    const requests = { ...view.requests, id: [] };

    await draw(sampleSource({ ...view, own, requests }, []));

    expect(screen.getByRole('status').textContent).toBe(words);
  });
});

describe('the timeline', () => {
  it('shows the recording and the policy under one cursor', async () => {
    await draw(sourceOf('pi'), PI);

    const tracks = screen.getAllByRole('slider', { name: /^Request/ });
    expect(
      tracks.map(element => element.getAttribute('aria-valuenow'))
    ).toEqual(['310', '310']);
    expect(tracks[1]?.getAttribute('aria-valuetext')).toMatch(
      /about [\d,]+ tokens/
    );
    expect(screen.getByText('facts end here')).toBeTruthy();
    expect(
      screen.getByText(/Facts end at request 17: from it on/)
    ).toBeTruthy();
    expect(
      screen
        .getByRole('button', { name: 'estimate of the recording' })
        .closest('.plm-Track-figures')?.textContent
    ).toMatch(
      /estimate of the recording ~[\d.]+ USD → ~[\d.]+ USD with refetching, −\d+ %/
    );
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

  it('marks what came from the cache where it is an estimate', async () => {
    await draw(sourceOf('swe_agent'), { request: 12 });

    expect(
      screen.getByRole('group', { name: 'What the request cost' }).textContent
    ).toMatch(/~[\d,]+ tokens, .* ~[\d,]+ of them came from the cache\./);
  });

  it('says what the request at the cursor cost and why, and leads to the dear ones', async () => {
    await draw(sourceOf('pi'), { ...PI, request: 211 });
    const told = screen.getByRole('group', { name: 'What the request cost' });
    const press = async (name: string) => {
      fireEvent.click(within(told).getByRole('button', { name }));
      await settle();
    };
    expect(told.textContent).toContain('108,913 of them came from the cache.');

    await press('Break before');
    expect(cursor().getAttribute('aria-valuenow')).toBe('209');
    expect(told.textContent).toMatch(
      /108,563 tokens.*108,197 of them were written anew for ~0\.62 USD more: nothing in the recording explains it\./
    );
    expect(told.textContent).toContain('With a warm cache it would have cost');

    await press('Dearest request');
    expect(cursor().getAttribute('aria-valuenow')).toBe('416');
    expect(told.textContent).toContain('No request cost more.');
    const place = within(told).getByRole('spinbutton', { name: /Request/ });
    fireEvent.change(place, { target: { value: '212' } });
    await settle();
    expect(cursor().getAttribute('aria-valuenow')).toBe('212');
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

    const asked = source.asked.filter(query => query.ask === 'track');
    expect(asked.map(query => query.numbers)).toEqual([
      { n: 5, polling: 10 },
      { n: 10, polling: 10 }
    ]);
    expect(screen.getByText('counted in 12 ms')).toBeTruthy();
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
        waitSentence: 'It waits for the kernel.'
      },
      PI
    );

    expect(screen.getByText('It waits for the kernel.')).toBeTruthy();
  });

  it('shows no text of another request while the kernel is busy, and says that it waits', async () => {
    const source = sourceOf('pi');
    let isBusy = false;
    const { container } = await draw(
      {
        ask: query =>
          isBusy ? new Promise(() => undefined) : source.ask(query),
        get waitSentence() {
          return isBusy ? 'It waits for the kernel.' : undefined;
        }
      },
      { ...PI, tab: 'requests' }
    );
    const blocks = () =>
      container.querySelectorAll('.plm-RequestViewer-block').length;
    expect(blocks()).toBeGreaterThan(0);
    isBusy = true;
    fireEvent.keyDown(cursor(), { key: 'Home' });
    await settle();
    expect(blocks()).toBeGreaterThan(0);
    await settle();

    expect(blocks()).toBe(0);
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

  it('says in a sentence, and not in each row, that one model answered all', async () => {
    const heads = () =>
      within(screen.getByRole('table', { name: /^Requests, / }))
        .getAllByRole('columnheader')
        .map(element => element.textContent);
    const several = await draw(sourceOf('pi'), { ...PI, tab: 'requests' });
    expect(heads()).toEqual(
      expect.arrayContaining(['request', 'state', 'model'])
    );
    several.unmount();

    await draw(sourceOf('cline'), { tab: 'requests' });

    expect(heads()).not.toContain('model');
    expect(heads()).not.toContain('state');
    expect(
      screen.getByText('All were sent to anthropic/claude-sonnet-4-5.')
    ).toBeTruthy();
  });

  it('has its table', async () => {
    await draw(sourceOf('pi'), PI);
    await explain();

    fireEvent.click(
      screen.getByRole('button', { name: /The same as a table/ })
    );

    const row = screen.getByRole('row', { name: /^310 / });
    expect(within(row).getByText('133,167')).toBeTruthy();
  });
});

describe('the marks of the recorded track', () => {
  const legend = () =>
    within(screen.getByRole('list', { name: 'What the marks mean' }))
      .getAllByRole('listitem')
      .map(element => element.textContent);

  it('show where items were cleared, with their number', async () => {
    const { container } = await draw(sourceOf('swe_agent'));
    await explain();

    const marks = container
      .querySelector('.plm-Track')
      ?.querySelectorAll('.plm-Track-mark[data-kind="prune"] > title');
    expect([...(marks ?? [])].map(element => element.textContent)).toEqual(
      [7, 8, 9, 10, 11, 12, 13].map(
        value => `Request ${value}: 1 item was cleared or shortened`
      )
    );
    expect(legend()).toContain('cleared or shortened');
  });

  it('say what they mean, and none hides another of its request', async () => {
    const { view, tracks } = sample('pi');
    const [first] = view.breaks;
    const events = [
      {
        request: first?.request ?? 0,
        kind: 'compact' as const,
        cause: 'by hand'
      }
    ];
    const source = sampleSource({ ...view, events }, tracks);
    const { container } = await draw(source, PI);
    await explain();

    expect(legend()).toEqual([
      'compaction',
      'cache break',
      'cache break of the recording',
      'the policy acted'
    ]);
    const [track] = container.querySelectorAll('.plm-Track');
    const at = (kind: string) =>
      track
        ?.querySelector(`.plm-Track-mark[data-kind="${kind}"]`)
        ?.getAttribute('d')
        ?.split(' ')[0];
    expect(at('compact')).not.toBe(at('break'));
  });

  it('are listed and painted by weight, and what a policy did has a form of its own', () => {
    const { view } = sample('swe_agent');
    const [light, dear] = [0.1, 0.4].map(cost => ({
      request: cost === 0.1 ? 7 : 8,
      turn: 0,
      cause: '',
      words: '',
      expected: 0,
      read: 0,
      loss: 2000,
      cost,
      avoided_by: ''
    })) as [BreakView, BreakView];
    const events = [
      { request: 8, kind: 'model' as const, cause: '' },
      { request: 8, kind: 'compact' as const, cause: '' }
    ];
    const marks = recordedMarks(
      { ...view, events, breaks: [light, dear] },
      HOST.words,
      []
    );

    expect(
      marks.slice(0, 3).map(({ request, kind }) => [request, kind])
    ).toEqual([
      [8, 'compact'],
      [8, 'break'],
      [7, 'break']
    ]);
    expect(marksByRequest(marks).get(8)).toEqual([
      'compact',
      'break',
      'prune',
      'model'
    ]);
    expect(
      lightestFirst(marks)
        .map(({ kind }) => kind)
        .slice(-3)
    ).toEqual(['break', 'break', 'compact']);
    expect(markPath('fired', 0, 0)).not.toBe(markPath('prune', 0, 0));
  });

  it('stand below figures that say of how many requests they are', async () => {
    await draw(sourceOf('pi'), PI);

    expect(
      screen.getByText(/^47\.5M tokens in 439 of 453 requests · peak 178k/)
    ).toBeTruthy();
  });
});

describe('the items', () => {
  it('say what clearing them saved, and what it had written anew', async () => {
    const { tracks } = sample('pi');
    const [, track] = tracks;
    const cleared = track?.transitions.item[0] ?? -1;
    const request = track?.transitions.request[0] ?? -1;
    await draw(sourceOf('pi'), {
      ...PI,
      item: cleared,
      request: request + 2,
      tab: 'items'
    });
    fireEvent.click(screen.getByRole('button', { name: 'what if' }));
    await settle();

    expect(
      screen
        .getByRole('group', { name: 'The chosen item' })
        .querySelector('.plm-ItemCard-balance')?.textContent
    ).toMatch(
      new RegExp(
        `^It saves ~[\\d,]+ tokens a request, ~[\\d,]+ in 3 requests so far\\. The change at request ${request + 1}.* ` +
          'had ~[\\d,]+ tokens written anew, for ~[\\d.]+ USD more\\. What it leaves out pays for that after [\\d,]+ requests?; it stays so in [\\d,]+ requests\\.$'
      )
    );
  });

  it('are told of beside every link to them', async () => {
    await draw(sourceOf('pi'), { ...PI, item: null, tab: 'requests' });
    expect(screen.queryByRole('group', { name: 'The chosen item' })).toBeNull();

    const came = screen.getByRole('list', { name: 'came' });
    fireEvent.click(within(came).getAllByRole('button')[0] as HTMLElement);
    await settle();

    expect(
      screen.getByRole('group', { name: 'The chosen item' }).textContent
    ).toMatch(/is in request 310 whole/);
  });

  it('say why in the words of the kernel', async () => {
    const { view } = sample('pi');
    await draw(sourceOf('pi'), { ...PI, tab: 'items' });

    const words = whyText(new ItemStates(view, view.recorded), 35, 309);
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
    expect(screen.getByText(whyText(states, 35, changed))).toBeTruthy();
    expect(cursor().getAttribute('aria-valuenow')).toBe(String(changed + 1));
  });

  it('are walked by keyboard, and the cell is told', async () => {
    await draw(sourceOf('pi'), { ...PI, item: null, tab: 'items' });
    const grid = screen.getByRole('grid');
    fireEvent.change(screen.getByRole('combobox', { name: 'Order' }), {
      target: { value: 'size' }
    });

    fireEvent.keyDown(grid, { key: 'ArrowDown' });
    fireEvent.keyDown(grid, { key: 'ArrowLeft' });
    await settle();

    const cell = screen.getByRole('gridcell');
    expect(grid.getAttribute('aria-activedescendant')).toBe(cell.id);
    expect(cell.textContent).toBe(
      'read → packages/coding-agent/src/tui/tui-renderer.ts, request 309: whole, what if: masked'
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
    ).toContain('162,834 tokens were written anew, ~0.94 USD.');
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
      /~[\d,]+ tokens are written anew, ~0\.\d+ USD\. That is by the price of anthropic\/claude-opus-4-5\. The first difference is/
    );
  });

  it('shows what stands in the place of what was changed', async () => {
    const { tracks } = sample('swe_agent');
    const request = tracks[0]?.total.length ?? 0;
    await draw(sourceOf('swe_agent'), {
      request: request - 1,
      tab: 'requests'
    });

    const changed = screen.getByRole('list', { name: 'changed' });
    expect(changed.textContent).toMatch(/cleared · [\d,]+ → [\d,]+/);
    fireEvent.click(
      within(changed).getByRole('button', { name: 'What changed' })
    );
    await settle();

    for (const value of [request - 1, request]) {
      expect(
        within(changed).getByRole('group', { name: `Request ${value} shows` })
      ).toBeTruthy();
    }
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

describe('the difference where nothing was paid twice', () => {
  const told = () =>
    screen.getByRole('group', { name: 'The difference of two requests' })
      .textContent;

  it('says what was read from the cache and what was new', async () => {
    await draw(sourceOf('pi'), { ...PI, request: 207, tab: 'requests' });

    expect(told()).toContain(
      '108,085 tokens were read from the cache, and 113 were new: nothing was written anew.'
    );
  });

  it('does not say that a cache held of which nothing was read', async () => {
    await draw(sourceOf('cline'), { tab: 'requests' });

    expect(told()).toMatch(
      /Nothing was read from the cache: [\d,]+ tokens of the same words and [\d,]+ new ones were paid in full\. The first difference is .+\./
    );
  });
});

describe('the cost over time', () => {
  it('is read at the cursor, which it moves, and in all', async () => {
    const { onPlace } = await draw(sourceOf('pi'), { ...PI, tab: 'cost' });
    const chart = screen.getByRole('slider', {
      name: 'Request, cost over time'
    });
    const row = () =>
      within(
        screen.getByRole('table', {
          name: /^Cost up to request \d+, and in all/
        })
      ).getByRole('row', { name: /as reported/ }).textContent;
    const before = row();
    expect(chart.getAttribute('aria-valuetext')).toMatch(
      /^Up to request 310 of 453: ~[\d.]+ USD as reported, by the price of anthropic\/claude-opus-4-5, ~[\d.]+ USD recorded, estimated from the texts/
    );

    fireEvent.keyDown(chart, { key: 'End' });
    await settle();

    expect(onPlace.mock.lastCall?.[0]).toMatchObject({ request: 452 });
    expect(row()).not.toBe(before);
    // What the usage that pi reported costs by that price; the recording's own sum is 30.33.
    expect(row()).toMatch(/~50\.55 USD~50\.55 USD$/);
  });

  it('says beside a mouse what is under it, and leaves the cursor', async () => {
    await draw(sourceOf('pi'), { ...PI, tab: 'cost' });
    const chart = screen.getByRole('slider', {
      name: 'Request, cost over time'
    });
    vi.spyOn(chart, 'getBoundingClientRect').mockReturnValue(
      new DOMRect(0, 0, 453, 220)
    );

    fireEvent.pointerMove(chart, { clientX: 99.5, pointerType: 'mouse' });

    const hint = chart.querySelector('.plm-Track-hint');
    expect(hint?.textContent).toMatch(/^Up to request 100 of 453: /);
    expect(hint?.closest('[aria-hidden]')).not.toBeNull();
    expect(chart.getAttribute('aria-valuenow')).toBe('310');

    fireEvent.pointerLeave(chart);
    expect(chart.querySelector('.plm-Track-hint')).toBeNull();
  });
});

describe('the request', () => {
  it('is read block by block, and searched', async () => {
    const source = sourceOf('pi');
    await draw(source, { ...PI, tab: 'requests' });
    const viewer = screen.getByRole('group', {
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
      element => element.textContent
    );
    expect(new Set(marked)).toEqual(new Set(['tui-renderer']));
  });
});

describe('a compaction', () => {
  it('shows the numbers of the kernel, before beside after', async () => {
    const [kept] = sample('cline').compactions;
    await draw(sourceOf('cline'));
    await openTab('Requests');
    const region = screen.getByRole('group', { name: 'Compactions' });

    expect(
      within(region).getByRole('button', { expanded: true }).textContent
    ).toContain('Compaction 1, before request 4, by hand');
    for (const sentence of kept?.sentences ?? []) {
      expect(region.textContent).toContain(sentence);
    }
    expect(
      within(region).getByRole('heading', {
        name: 'Before: 9 items, ~4,012 tokens'
      })
    ).toBeTruthy();
    expect(
      within(region).getByRole('heading', {
        name: 'After: a summary, ~90 tokens'
      })
    ).toBeTruthy();
    expect(rowsOf(region, /by kind/)).toEqual([
      ['kind', 'before', 'kept', 'lost', 'needed later'],
      ['paths', '2', '0', '2', '0']
    ]);
    expect(rowsOf(region, /lost names/).slice(1)).toEqual(
      kept?.lost.map(row => [row.name, row.kind, 'not needed', '0'])
    );
    vi.useRealTimers();
    expect((await axe.run(region)).violations).toEqual([]);
  });

  it('that failed is told, and marked in the timeline', async () => {
    const { view, tracks } = sample('cline');
    const [, ...others] = view.events;
    const failed = { request: 3, kind: 'compact failed', cause: 'automatic' };
    const { container } = await draw(
      sampleSource(
        { ...view, events: [failed as TimelineView['events'][0], ...others] },
        tracks
      )
    );
    expect(
      container.querySelector('.plm-Track-mark[data-kind="compact failed"]')
        ?.textContent
    ).toBe('Request 4: a summary failed or was stopped, automatic');
    await openTab('Requests');
    expect(
      screen.getByText(
        'Before request 4 a summary (automatic) failed or was stopped, so that it replaced nothing.'
      )
    ).toBeTruthy();
  });

  it('is searched, and says how often the words are found', async () => {
    await draw(sourceOf('cline'));
    await openTab('Requests');
    const region = screen.getByRole('group', { name: 'Compactions' });

    fireEvent.change(
      within(region).getByPlaceholderText('Find in the summary'),
      {
        target: { value: 'I READ FILE' }
      }
    );

    expect(
      [...region.querySelectorAll('mark')].map(element => element.textContent)
    ).toEqual(['I read file', 'I read file']);
    expect(within(region).getByText('2 times')).toBeTruthy();
  });

  it('leads from a lost name to the request that needed it', async () => {
    const { view, tracks, compactions } = sample('cline');
    const [kept] = compactions;
    const needed = {
      ...(kept as CompactionText),
      kinds: [{ kind: 'paths', found: 300, lost: 250, needed: 1 }],
      lost: [
        { name: 'a/needed.py', kind: 'paths', needed: [3] },
        { name: 'b/other.py', kind: 'paths', needed: [] }
      ],
      refetching: 0.25,
      fetches: 1
    };
    const { onPlace } = await draw(
      sampleSource(view, tracks, undefined, [needed]),
      { request: 0 }
    );
    await openTab('Requests');
    const region = screen.getByRole('group', { name: 'Compactions' });

    // All are counted, though not all are listed.
    expect(within(region).getByText('Lost names: 250')).toBeTruthy();
    expect(
      within(region).getByText('248 more are counted, and not listed.')
    ).toBeTruthy();
    fireEvent.click(within(region).getByRole('checkbox'));
    expect(rowsOf(region, /lost names/)).toHaveLength(2);
    fireEvent.click(within(region).getByRole('button', { name: 'request 4' }));
    await settle();

    expect(onPlace.mock.lastCall?.[0]).toMatchObject({ request: 3 });
  });
});

/** Returns the cells of a table by its caption, row by row. */
function rowsOf(region: HTMLElement, caption: RegExp): string[][] {
  const table = within(region).getByRole('table', { name: caption });
  return within(table)
    .getAllByRole('row')
    .map(row => [...row.children].map(cell => cell.textContent));
}

describe('sentences', () => {
  it('move the cursor to what they are about', async () => {
    const { wastes } = sample('claude_code').view;
    const place = wastes.findIndex(row => typeof row.item === 'number');
    const { onPlace } = await draw(sourceOf('claude_code'), {
      request: 0,
      item: 0,
      tab: 'wastes'
    });

    fireEvent.click(
      screen.getAllByRole('button', { name: /^show / })[place] as HTMLElement
    );
    await settle();

    const { request, item } = wastes[place] ?? {};
    expect(item).toBeGreaterThan(0);
    expect(onPlace.mock.lastCall?.[0]).toMatchObject({ request, item });
  });

  it('say what a recording lacks and why nothing was cleared', async () => {
    await draw(sourceOf('claude_code'), { policy: LAST_N, tab: 'wastes' });

    expect(
      screen.getByText(
        'The system prompt and the tools are not in the recording.'
      )
    ).toBeTruthy();
    expect(
      screen.getByText(/Never acted: observations reached 8 of 18/)
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
        call: -1,
        requests: 4,
        tokens: 900,
        cost: 0.0004,
        cost_is_fact: false
      }
    ];
    const { onPlace } = await draw(
      sampleSource({ ...view, subagents }, tracks),
      {
        tab: 'requests'
      }
    );

    expect(
      screen.getByText('4 requests, 900 tokens, ~0.0004 USD')
    ).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'Explore' }));

    expect(onPlace.mock.lastCall?.[0]).toMatchObject({ subagent: 'ses_b' });
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

    expect(
      source.asked.filter(query => query.ask === 'view').at(-1)
    ).toMatchObject({ after: view.seq, epoch: view.epoch });
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

describe('the words of a request without a cache', () => {
  it('say that the same words were paid for again, and no cache held', async () => {
    const found = sample('pi');
    const [first, second] = [208, 209];
    const plain: TimelineView = {
      ...found.view,
      breaks: [],
      requests: {
        ...found.view.requests,
        read: found.view.requests.read.map(value =>
          value === null ? null : 0
        ),
        written: found.view.requests.written.map(value =>
          value === null ? null : 0
        )
      }
    };
    const states = new ItemStates(plain, plain.recorded);

    const told = writtenAnew(plain, requestDifference(states, first, second));

    const reported = plain.requests.reported;
    expect(told).toMatchObject({
      cachedTokens: 0,
      rewrittenTokens: reported[first],
      isBreak: false,
      isFact: true
    });
    expect(told.newTokens).toBe(
      (reported[second] ?? 0) - (reported[first] ?? 0)
    );

    await draw(sampleSource(plain, found.tracks), {
      ...PI,
      request: second,
      tab: 'requests'
    });
    expect(
      screen.getByText(
        `Nothing was read from the cache: all ${(reported[second] ?? 0).toLocaleString('en')} tokens`,
        { exact: false }
      )
    ).toBeTruthy();
  });
});

describe('the first request', () => {
  it('is compared with none, and nothing of it is called cached', async () => {
    await draw(sourceOf('pi'), { request: 0 });
    const card = screen.getByRole('group', {
      name: 'The difference of two requests'
    });

    expect(card.textContent).toContain('there is nothing to compare');
    expect(card.textContent).not.toMatch(/cache|unchanged|→/);
  });
});

describe('a request of which nothing was cached', () => {
  it('splits what was reported as the texts are split', () => {
    const { view } = sample('pi');
    const states = new ItemStates(view, view.recorded);
    const found = {
      ...requestDifference(states, 208, 209),
      commonTokens: 60,
      repeatedTokens: 30,
      newTokens: 90,
      firstChangedItem: 3,
      reported: { readTokens: 0, writtenTokens: 0, inputTokens: 90 }
    };

    expect(writtenAnew({ ...view, breaks: [] }, found)).toMatchObject({
      rewrittenTokens: 45,
      newTokens: 45
    });
  });
});

describe('a policy where the recording lost its cache', () => {
  it('loses it as well, in the sentence and in the difference alike', async () => {
    const { tracks } = sample('pi');
    const track = tracks.find(({ policy }) => policy === LAST_N);
    const request = 208;
    expect(track?.taken).toContain(request);
    await draw(sourceOf('pi'), { request, policy: LAST_N, what_if: true });

    expect(
      screen.getByRole('group', { name: 'What the request cost' }).textContent
    ).toContain(
      'Nothing came from the cache. The cache was lost as in the recording.'
    );
    const card = screen.getByRole('group', {
      name: 'The difference of two requests'
    });
    expect(card.textContent).toContain('same, read from cache ~0');
    expect(card.textContent).toMatch(/same words, written anew ~[1-9]/);
    expect(card.textContent).toMatch(
      /The cache breaks here, as in the recording: ~[\d,]+ tokens .*The cause: nothing in the recording explains it\./
    );
  });

  it('reads no more than the track does, at each loss of the recording', () => {
    const { view, tracks } = sample('pi');
    for (const track of tracks) {
      const states = new ItemStates(view, track);
      expect(track.taken.length).toBeGreaterThan(20);
      for (const request of track.taken) {
        const change = requestDifference(states, request - 1, request);
        const paid = writtenAnew(view, change);
        expect(paid).toMatchObject({ isBreakTaken: true, isBreak: true });
        expect(paid.cachedTokens).toBeLessThanOrEqual(track.read[request] ?? 0);
        expect(paid.cachedTokens + paid.rewrittenTokens).toBeCloseTo(
          change.commonTokens + change.repeatedTokens
        );
      }
    }
  });
});

describe('a recording without reported usage', () => {
  it('tells no break of the cache as a fact', async () => {
    await draw(sourceOf('swe_agent'));
    expect(
      screen.getByText(/^~.* tokens in · peak .* · 7 changed beginnings · /)
    ).toBeTruthy();
    await openTab('Cost');
    expect(
      screen.getByText(
        'No usage was reported, so that nobody knows where the cache broke.'
      )
    ).toBeTruthy();
  });
});
