// @vitest-environment jsdom
/** The table of requests: its page, its order, and the two rows that are compared; and the items, sorted alike. */
import { fireEvent, screen, within } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { dearestRequest } from '../../../src/state/inspector/figures/requestCost';
import { durationText } from '../../../src/state/text/numberFormat';
import { draw, settle, sourceOf } from './drawnInspector';

const PI = { request: 309, tab: 'requests' as const };

beforeEach(() => {
  vi.useFakeTimers();
  // jsdom has no canvas.
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const table = () => screen.getByRole('table', { name: /^Requests, / });
const head = (name: string) =>
  within(table()).getByRole('columnheader', { name });
const rows = () =>
  within(table())
    .getAllByRole('row')
    .slice(1)
    .map(row => [...row.children].map(cell => cell.textContent));
const requests = () => rows().map(([request]) => Number(request));
const values = (name: string) => {
  const heads = within(table())
    .getAllByRole('columnheader')
    .map(element => element.textContent);
  return rows().map(cells => cells[heads.indexOf(name)]);
};
async function press(name: string) {
  fireEvent.click(screen.getByRole('button', { name }));
  await settle();
}
async function sortBy(name: string) {
  fireEvent.click(within(head(name)).getByRole('button'));
  await settle();
}
async function tick(request: number) {
  fireEvent.click(box(request));
  await settle();
}
const box = (request: number) =>
  screen.getByRole<HTMLInputElement>('checkbox', {
    name: `Compare request ${request}`
  });

describe('the pages of the requests', () => {
  it('begin with that of the cursor, and the last is as long as the others', async () => {
    await draw(sourceOf('pi'), PI);
    expect(requests()).toContain(310);
    expect(requests()).toHaveLength(50);

    for (let page = 0; page < 20; page++) {
      await press('Rows after');
    }

    expect(requests()).toEqual(
      Array.from({ length: 50 }, (_, place) => 404 + place)
    );
    expect(screen.getAllByText('404 to 453 of 453')).toHaveLength(2);
  });

  it('stay where a row of theirs is chosen, and follow a cursor that leaves them', async () => {
    const { view } = sourceOf('pi');
    await draw(sourceOf('pi'), { ...PI, request: 452 });
    for (let page = 0; page < 20; page++) {
      await press('Rows before');
    }

    await press('request 30');
    expect(requests()[0]).toBe(1);

    await press('Dearest request');
    expect(requests()).toContain(dearestRequest(view, view.recorded) + 1);
    expect(requests()).not.toContain(30);
  });
});

describe('a table that is wider than its box', () => {
  it('tells states and marks in a line below their row, so that none is cut', async () => {
    const { view } = sourceOf('pi');
    vi.spyOn(Element.prototype, 'scrollWidth', 'get').mockReturnValue(900);
    vi.spyOn(Element.prototype, 'clientWidth', 'get').mockReturnValue(600);
    const broken = view.breaks[0]?.request ?? 0;
    await draw(sourceOf('pi'), { ...PI, request: broken });
    const heads = within(table())
      .getAllByRole('columnheader')
      .map(element => element.textContent);

    expect(heads).toContain('time');
    expect(heads).not.toContain('marks');
    expect(heads).not.toContain('state');
    const place = rows().findIndex(([head]) => head === String(broken + 1));
    expect(rows()[place]).toHaveLength(heads.length);
    expect(rows()[place + 1]?.join('')).toMatch(/cache break/);
    const { model } = view.requests;
    const names = new Set(model.map(number => view.models[number]));
    expect(names.size).toBeGreaterThan(1);
    expect(
      screen.getByText(/^Where no model is named, it is anthropic.claude/)
    ).toBeTruthy();
    for (const cells of rows()) {
      expect(cells.join('')).not.toMatch(/^(ok|anthropic.claude-sonnet-4-5)$/);
    }
  });

  it('has all columns where there is room', async () => {
    await draw(sourceOf('pi'), PI);

    expect(head('marks')).toBeTruthy();
    expect(rows()).toHaveLength(50);
  });
});

describe('the rows of the requests', () => {
  it('are sorted by a head, the largest first, and the other way when it is pressed again', async () => {
    const { view } = sourceOf('pi');
    await draw(sourceOf('pi'), PI);
    const first = dearestRequest(view, view.recorded) + 1;
    expect(head('request').getAttribute('aria-sort')).toBe('ascending');

    await sortBy('cost');
    expect(requests()[0]).toBe(first);
    expect(head('cost').getAttribute('aria-sort')).toBe('descending');
    expect(head('request').getAttribute('aria-sort')).toBeNull();
    expect(screen.getByText('Sorted by cost, the largest first.')).toBeTruthy();

    await sortBy('cost');
    expect(head('cost').getAttribute('aria-sort')).toBe('ascending');
    expect(requests()[0]).not.toBe(first);

    await sortBy('request');
    expect(requests()[0]).toBe(1);
  });

  it('are sorted by size, by what a break lost, and by time', async () => {
    const { view } = sourceOf('pi');
    await draw(sourceOf('pi'), PI);
    const losses = view.breaks
      .map(({ loss }) => loss)
      .sort((left, right) => right - left)
      .map(loss => loss.toLocaleString('en-US'));

    await sortBy('written anew');
    expect(values('written anew').slice(0, losses.length)).toEqual(
      losses.slice(0, 50)
    );

    await sortBy('reported');
    const sizes = values('reported').map(text =>
      Number(text?.replaceAll(',', ''))
    );
    expect(sizes).toEqual([...sizes].sort((left, right) => right - left));
    expect(sizes[0]).toBe(
      Math.max(...view.requests.reported.map(value => value ?? 0))
    );

    await sortBy('time');
    const longest = view.requests.ended
      .map((ended, place) => (ended ?? 0) - (view.requests.started[place] ?? 0))
      .reduce((most, value) => Math.max(most, value), 0);
    expect(values('time')[0]).toBe(durationText(longest / 1000));
  });
});

describe('two ticked requests', () => {
  it('are compared, and a third takes the place of the earlier', async () => {
    const { onPlace } = await draw(sourceOf('pi'), PI);
    expect(screen.getByText('Tick two requests to compare them.')).toBeTruthy();

    await tick(304);
    expect(
      screen.getByText('Tick another to compare it with request 304.')
    ).toBeTruthy();
    await tick(302);

    expect(
      screen.getByRole('heading', { name: 'Request 302 → 304' })
    ).toBeTruthy();
    expect(onPlace).toHaveBeenLastCalledWith(
      expect.objectContaining({ request: 303, against: 301 }),
      true
    );
    expect([302, 304].every(request => box(request).checked)).toBe(true);
    expect(
      screen.getByText('Requests 302 and 304 are compared in “Difference”.')
    ).toBeTruthy();

    await tick(320);
    expect(
      screen.getByRole('heading', { name: 'Request 304 → 320' })
    ).toBeTruthy();
    expect(box(302).checked).toBe(false);
  });

  it('may stand on two pages, and the page stays', async () => {
    await draw(sourceOf('pi'), PI);
    await tick(310);
    await sortBy('request');
    await sortBy('request');
    await tick(5);

    expect(
      screen.getByRole('heading', { name: 'Request 5 → 310' })
    ).toBeTruthy();
    expect(requests()[0]).toBe(1);
    expect(box(5).checked).toBe(true);
  });

  it('are compared no longer when one is ticked off, or the cursor goes on', async () => {
    await draw(sourceOf('pi'), PI);
    await tick(304);
    await tick(306);
    await tick(306);
    expect(box(304).checked).toBe(true);
    expect(box(306).checked).toBe(false);

    await tick(308);
    expect(
      screen.getByRole('heading', { name: 'Request 304 → 308' })
    ).toBeTruthy();
    await press('request 310');
    expect(
      screen.getByRole('heading', { name: 'Request 309 → 310' })
    ).toBeTruthy();
    expect(
      screen.queryByRole('checkbox', { name: /^Compare/, checked: true })
    ).toBeNull();
  });
});

describe('the items of the window', () => {
  it('are sorted by their age, too', async () => {
    await draw(sourceOf('pi'), { request: 309, tab: 'items' });
    const table = screen.getByRole('table', { name: 'Items in the window' });
    const ages = () =>
      within(table)
        .getAllByRole('row')
        .slice(1)
        .map(row => Number(row.children[3]?.textContent));
    const before = ages();

    fireEvent.click(within(table).getByRole('button', { name: 'age' }));
    await settle();

    expect(ages()).not.toEqual(before);
    expect(ages()).toEqual([...ages()].sort((left, right) => right - left));
    expect(ages()[0]).toBe(309);
  });
});
