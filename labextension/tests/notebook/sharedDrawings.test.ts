// @vitest-environment jsdom
/** Two places that show the same text at the same time have it drawn once. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  drawOnce,
  isDrawnAlike,
  SHARED_MS
} from '../../src/notebook/rendering/sharedDrawings';

/** What was drawn, in order. */
let drawn: string[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  drawn = [];
});

afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
});

const place = () => document.createElement('div');

function show(where: HTMLElement, text: string): Promise<void> {
  return drawOnce(where, text, () => {
    drawn.push(text);
    where.innerHTML = `<p title="${text}">${text}</p>`;
    return Promise.resolve();
  });
}

describe('A text in two places', () => {
  it('is drawn once and copied', async () => {
    const [cell, panel] = [place(), place()];
    await show(cell, 'The mean');
    await show(panel, 'The mean');

    expect(drawn).toEqual(['The mean']);
    expect(panel.innerHTML).toBe('<p title="The mean">The mean</p>');
    expect(cell.innerHTML).toBe(panel.innerHTML);
  });

  it('grows in both, and a copy replaces what a place showed', async () => {
    const [cell, panel] = [place(), place()];
    for (const text of ['The', 'The mean', 'The mean is']) {
      await show(cell, text);
      await show(panel, text);
    }

    expect(drawn).toEqual(['The', 'The mean', 'The mean is']);
    expect(panel.textContent).toBe('The mean is');
    expect(panel.childElementCount).toBe(1);
  });

  it('is drawn anew by the place that drew it', async () => {
    const cell = place();
    await show(cell, 'The mean');
    await show(cell, 'The mean');

    expect(drawn).toHaveLength(2);
  });

  it('is drawn anew where the first place shows something else by now', async () => {
    const [cell, panel] = [place(), place()];
    await show(cell, 'The');
    await show(cell, 'The mean');
    await show(panel, 'The');

    expect(drawn).toEqual(['The', 'The mean', 'The']);
    expect(panel.textContent).toBe('The');
  });

  it('is drawn anew later', async () => {
    const [cell, panel] = [place(), place()];
    await show(cell, 'The mean');
    vi.advanceTimersByTime(SHARED_MS);
    await show(panel, 'The mean');

    expect(drawn).toHaveLength(2);
  });

  it('is drawn anew where drawing it failed', async () => {
    const panel = place();
    const fails = drawOnce(place(), 'The mean', () =>
      Promise.reject(new Error('no renderer'))
    );
    await expect(fails).rejects.toThrow('no renderer');
    await show(panel, 'The mean');

    expect(drawn).toEqual(['The mean']);
  });
});

it.each([
  ['The mean $x^2$ of `rows`, **twice**', true],
  ['# A heading\n\n- an item', true],
  ['See [the file](data.csv)', false],
  ['![](figure.png)', false],
  ['<img src="figure.png">', false],
  ['[the file]: data.csv', false]
])('says whether a text has a link: %j', (text, isAlike) => {
  expect(isDrawnAlike(text)).toBe(isAlike);
});
