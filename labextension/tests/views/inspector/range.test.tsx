// @vitest-environment jsdom
/** A range of requests is chosen on a track: grid, tables and sums show just that. */
import { fireEvent, screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import {
  LAST_N,
  cursor,
  draw,
  drawsInspectors,
  openTab,
  settle,
  sourceOf
} from './drawnInspector';

/** Requests 182 to 227 of the sample, with a break in them; each is two pixels wide. */
const FIRST = 181;
const LAST = 226;
const COLUMN_PX = 2;
const SUMS =
  'Requests 182–227: ~8.74 USD, 10 breaks, 4,729,113 tokens in 44 of 46 requests.';

drawsInspectors();

/** Holds the pointer down on the first track at one request, moves it to others, and lets it go. */
async function drag(
  [from = 0, ...others]: readonly number[],
  keys: { shiftKey?: boolean } = {}
): Promise<void> {
  const track = cursor();
  track.setPointerCapture = () => undefined;
  track.getBoundingClientRect = () => new DOMRect(0, 0, 453 * COLUMN_PX, 90);
  const at = (request: number, buttons: number) => ({
    button: 0,
    buttons,
    clientX: (request + 0.5) * COLUMN_PX,
    pointerId: 1,
    ...keys
  });
  fireEvent.pointerDown(track, at(from, 1));
  for (const request of others) {
    fireEvent.pointerMove(track, at(request, 1));
  }
  fireEvent.pointerUp(track, at(others.at(-1) ?? from, 0));
  await settle();
}

async function pressKey(
  element: HTMLElement,
  key: string,
  keys: { shiftKey?: boolean } = {}
): Promise<void> {
  element.focus();
  fireEvent.keyDown(element, { key, ...keys });
  await settle();
}

function sentence(): HTMLElement | null {
  return screen.queryByRole('group', { name: 'The chosen range' });
}

function cellRequest(): string | null | undefined {
  return screen.getByRole('gridcell').getAttribute('aria-colindex');
}

/** Returns the requests of a table's rows. */
function requestsOf(table: HTMLElement): number[] {
  return within(table)
    .getAllByRole('rowheader')
    .map(head => Number(head.textContent));
}

describe('a drag over a track', () => {
  it('chooses the requests under it, in whichever direction, and says their sums', async () => {
    await draw(sourceOf('pi'), { request: 300 });
    await drag([FIRST, 200, LAST]);
    expect(sentence()?.textContent).toContain(SUMS);
    expect(cursor().getAttribute('aria-valuenow')).toBe(String(LAST + 1));

    await drag([LAST, FIRST - 20, FIRST]);
    expect(sentence()?.textContent).toContain(SUMS);
    expect(cursor().getAttribute('aria-valuenow')).toBe(String(FIRST + 1));
  });

  it('moves the cursor alone where the pointer stays', async () => {
    await draw(sourceOf('pi'), { request: 300 });
    await drag([FIRST, FIRST + 1]);

    expect(sentence()).toBeNull();
    expect(cursor().getAttribute('aria-valuenow')).toBe(String(FIRST + 2));
  });

  it('leaves the views below as they are until the pointer is let go', async () => {
    await draw(sourceOf('pi'), { tab: 'requests' });
    const track = cursor();
    track.setPointerCapture = () => undefined;
    track.getBoundingClientRect = () => new DOMRect(0, 0, 453, 90);
    const at = { button: 0, buttons: 1, pointerId: 1 };
    fireEvent.pointerDown(track, { ...at, clientX: 181.5 });
    fireEvent.pointerMove(track, { ...at, clientX: 226.5 });
    await settle();
    expect(sentence()?.textContent).toContain(SUMS);
    expect(screen.getByText('201 to 250 of 453')).toBeTruthy();

    fireEvent.pointerUp(track, { ...at, buttons: 0, clientX: 226.5 });
    await settle();
    expect(
      requestsOf(screen.getByRole('table', { name: /^Requests/ }))
    ).toHaveLength(LAST - FIRST + 1);
  });

  it('shows the range on every picture, and leaves the pictures whole', async () => {
    await draw(sourceOf('pi'), { request: 300, policy: LAST_N });
    const pictures = () =>
      [...document.querySelectorAll('.plm-Track-picture')].map(
        picture => picture.innerHTML
      );
    const before = pictures();
    await drag([FIRST, LAST]);

    expect(pictures()).toEqual(before);
    const tracks = screen.getAllByRole('slider', { name: /^Request/ });
    expect(tracks).toHaveLength(2);
    for (const track of tracks) {
      const [start, end] =
        track.querySelectorAll<HTMLElement>('.plm-Track-veil');
      const pixels = 800 / 453;
      expect(parseFloat(start?.style.width ?? '')).toBeCloseTo(FIRST * pixels);
      expect(parseFloat(end?.style.left ?? '')).toBeCloseTo(
        (LAST + 1) * pixels
      );
    }
  });
});

describe('Shift with the keys of the cursor', () => {
  it('moves the end at the cursor, and begins anew elsewhere', async () => {
    await draw(sourceOf('pi'), { request: FIRST });
    await pressKey(cursor(), 'ArrowRight', { shiftKey: true });
    await pressKey(cursor(), 'PageUp', { shiftKey: true });
    expect(sentence()?.textContent).toContain('Requests 182–193: ');
    await pressKey(cursor(), 'ArrowLeft', { shiftKey: true });
    expect(sentence()?.textContent).toContain('Requests 182–192: ');
    await pressKey(cursor(), 'Home', { shiftKey: true });
    expect(sentence()?.textContent).toContain('Requests 1–182: ');

    await pressKey(cursor(), 'End');
    expect(sentence()?.textContent).toContain('Requests 1–182: ');
    await pressKey(cursor(), 'ArrowLeft', { shiftKey: true });
    expect(sentence()?.textContent).toContain('Requests 452–453: ');
  });

  it('chooses from the cursor to a click', async () => {
    await draw(sourceOf('pi'), { request: FIRST });
    await drag([LAST], { shiftKey: true });

    expect(sentence()?.textContent).toContain(SUMS);
  });

  it('is read aloud once, with the sums', async () => {
    await draw(sourceOf('pi'), { request: LAST - 1 });
    await pressKey(cursor(), 'ArrowRight', { shiftKey: true });
    const news = () =>
      document.querySelector('.plm-Inspector-news')?.textContent;
    expect(news()).toMatch(/^Requests 226–227: .* tokens in 2 requests\.$/);

    await pressKey(cursor(), 'Escape');
    expect(news()).toBe('All requests are shown.');
  });
});

describe('a chosen range', () => {
  it.each(['Escape on a track', 'Escape in the grid', 'the button'])(
    'is let go by %s',
    async way => {
      await draw(sourceOf('pi'), { request: FIRST });
      await drag([FIRST, LAST]);
      if (way === 'the button') {
        fireEvent.click(screen.getByRole('button', { name: 'Show all again' }));
        await settle();
        expect(document.activeElement).toBe(cursor());
      } else {
        const place = way.endsWith('grid')
          ? screen.getByRole('grid')
          : cursor();
        await pressKey(place, 'Escape');
      }

      expect(sentence()).toBeNull();
      expect(document.querySelector('.plm-Track-veil')).toBeNull();
      const grid = screen.getByRole('grid');
      await pressKey(grid, 'Home');
      expect(cellRequest()).toBe('1');
    }
  );

  it('holds the cell of the grid, whose rows are what its requests hold', async () => {
    await draw(sourceOf('pi'), { request: FIRST });
    const group = screen.getByRole('group', { name: 'Which items' });
    const items = () =>
      Number(within(group).getByRole('status').textContent.replace(/\D/g, ''));
    const all = items();
    await drag([FIRST, LAST]);
    const grid = screen.getByRole('grid');

    expect(items()).toBeGreaterThan(0);
    expect(items()).toBeLessThan(all);
    for (const [key, request] of [
      ['Home', FIRST],
      ['ArrowLeft', FIRST],
      ['End', LAST],
      ['ArrowRight', LAST],
      ['ArrowLeft', LAST - 1]
    ] as const) {
      await pressKey(grid, key);
      expect(cellRequest()).toBe(String(request + 1));
    }
    await pressKey(cursor(), 'Home');
    await pressKey(grid, 'ArrowRight');
    expect(cellRequest()).toBe(String(FIRST + 1));
  });

  it('is what the tables of breaks and requests show', async () => {
    await draw(sourceOf('pi'), { tab: 'cost', request: FIRST });
    const breaks = screen.getByRole('table', { name: /^Cache breaks/ });
    await drag([FIRST, LAST]);
    const broken = requestsOf(breaks);
    expect(broken).toHaveLength(10);
    expect(Math.min(...broken)).toBeGreaterThanOrEqual(FIRST + 1);
    expect(Math.max(...broken)).toBeLessThanOrEqual(LAST + 1);
    expect(
      document.querySelector(
        '.plm-Inspector-card section[aria-label="Cache breaks"]'
      )?.textContent
    ).toMatch(/10 · ~6\.16 USD by the price of/);
    const costs = screen.getByRole('table', { name: /^Cost up to request/ });
    const [line] = within(costs).getAllByRole('row').slice(1);
    expect(
      within(line as HTMLElement)
        .getAllByRole('cell')
        .map(cell => cell.textContent)[1]
    ).toBe('~8.74 USD');

    await openTab('Requests');
    const table = screen.getByRole('table', { name: /^Requests/ });
    expect(requestsOf(table)).toEqual(
      Array.from({ length: LAST - FIRST + 1 }, (_, place) => FIRST + 1 + place)
    );
  });

  it('says of a policy how often its rule acted, by estimates', async () => {
    await draw(sourceOf('pi'), { request: FIRST, policy: LAST_N });
    await drag([FIRST, LAST]);
    fireEvent.click(screen.getByRole('button', { name: 'what if' }));
    await settle();

    expect(sentence()?.textContent).toMatch(
      /^Requests 182–227: ~[\d.]+ USD, the rule acted at \d+ requests, ~[\d,]+ tokens in 46 requests\./
    );
  });
});
