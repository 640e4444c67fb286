// @vitest-environment jsdom
/** A page shows exactly its session's log, after any reload, reconnect and with a second page. */

import { describe, expect, it } from 'vitest';
import { draw, drawn, said } from './pageContents';
import { chance, fold, Kernel, log, Page } from './simulatedPages';

const SIZES = [100_000, 1_000_000, 10_000_000];
/** The tested sizes; the small ones with several orders of arrival. */
const TRIED = SIZES.flatMap(size =>
  (size < 500_000 ? [1, 2, 3, 4] : [1]).map(seed => [size, seed] as const)
);

/** The number of characters printed of a difference. */
const SHOWN_CHARS = 80;

/** Asserts that the page's transcript and its elements equal the written log. */
function expectLog(page: Page, kernel: Kernel, place: HTMLElement) {
  const shown = page.transcript;
  const log = fold(kernel.written);
  expect(shown?.entries.map(({ id }) => id)).toEqual(
    log.entries.map(({ id }) => id)
  );
  expect(JSON.stringify(shown?.entries) === JSON.stringify(log.entries)).toBe(
    true
  );
  expect(shown?.seq).toBe(log.seq);
  const [seen, due] = [drawn(place), said(log)];
  const brief = (lines: string[]) => lines.map(l => l.slice(0, SHOWN_CHARS));
  expect(brief(seen)).toEqual(brief(due));
  expect(seen.filter((line, index) => line !== due[index])).toHaveLength(0);
}

describe('a page shows what the log says', () => {
  it.each(TRIED)('after a reload, at %i characters (%i)', (size, seed) => {
    const random = chance(seed);
    const all = log(size, random);
    const kernel = new Kernel(all);
    kernel.write(Math.floor(all.length * 0.7));
    // A connection and its clone, which answers until the kernel has answered the page.
    const page = new Page(kernel, 2, random);
    const place = draw(page);
    page.greet();
    page.reads(3);
    kernel.write(25);
    page.reads();
    expectLog(page, kernel, place);

    kernel.write(Infinity);
    page.reads();
    expectLog(page, kernel, place);
  });

  it.each(TRIED)('after a reconnect, at %i characters (%i)', (size, seed) => {
    const random = chance(seed);
    const kernel = new Kernel(log(size, random));
    const page = new Page(kernel, 2, random);
    const place = draw(page);
    kernel.write(30);
    page.greet();
    page.reads();
    kernel.write(Infinity);
    page.reads(2);
    page.loses();
    page.greet();
    page.reads();

    expectLog(page, kernel, place);
  });

  it.each(TRIED)(
    'beside a second page, at %i characters (%i)',
    (size, seed) => {
      const random = chance(seed);
      const kernel = new Kernel(log(size, random));
      const first = new Page(kernel, 1, random);
      const value = draw(first);
      kernel.write(30);
      first.greet();
      first.reads();
      kernel.write(100);
      first.loses();
      // The second page requests everything; the first lacks records, and receives the same answers.
      const second = new Page(kernel, 2, random);
      const other = draw(second);
      second.greet();
      kernel.write(40);
      second.reads(2);
      second.loses();
      second.greet();
      first.reads(1);
      first.greet();
      kernel.write(Infinity);
      for (let turn = 0; turn < 4; turn += 1) {
        first.reads(5);
        second.reads(5);
      }
      [first, second].forEach(page => {
        page.reads();
        // What an outdated answer left open is requested with the next watch.
        page.greet();
        page.reads();
        page.greet();
        page.reads();
      });

      expectLog(first, kernel, value);
      expectLog(second, kernel, other);
    }
  );

  it('of a kernel that gives its pieces no numbers', () => {
    const random = chance(4);
    const kernel = new Kernel(log(2_000_000, random), false);
    kernel.write(Infinity);
    const page = new Page(kernel, 2, random);
    const place = draw(page);
    page.greet();
    page.reads();

    expectLog(page, kernel, place);
  });

  it('when a page hears what another one missed', () => {
    const random = chance(5);
    const kernel = new Kernel(log(100_000, random));
    const behind = new Page(kernel, 1, random);
    const place = draw(behind);
    kernel.write(10);
    behind.greet();
    behind.reads();
    kernel.write(40);
    behind.loses();
    // Another page knows forty records, and requests those after them.
    kernel.write(10);
    behind.loses();
    kernel.answer(50);
    behind.reads();

    expectLog(behind, kernel, place);
  });
});
