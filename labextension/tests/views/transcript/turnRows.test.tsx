// @vitest-environment jsdom
/** Rows far from the viewport are plain text; a row that the user is using is never replaced. */
import { act, fireEvent, render } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Message } from '../../../src/protocol/generated';
import {
  EMPTY_TRANSCRIPT,
  type ITranscript
} from '../../../src/state/store/transcript';
import { MAX_PAGE_TURNS, pagesOf } from '../../../src/state/display/turnPages';
import { turnsOf } from '../../../src/state/display/turns';
import { Transcript } from '../../../src/views/transcript/transcript';
import { HostProvider } from '../../../src/views/host';
import * as build from '../../builders';
import { HOST } from '../../plainHost';

/** A fake IntersectionObserver, controlled by the test, since jsdom has no layout. */
class Observer {
  static readonly told = new Map<
    Element,
    (entry: IntersectionObserverEntry) => void
  >();

  constructor(private readonly _tell: (entries: unknown[]) => void) {}

  observe(row: Element): void {
    Observer.told.set(row, entry => {
      this._tell([entry]);
    });
  }

  unobserve(row: Element): void {
    Observer.told.delete(row);
  }
}

/** Reports a row as near or far. */
function tell(row: Element, isIntersecting: boolean, height = 100): void {
  act(() => {
    Observer.told.get(row)?.({
      target: row,
      isIntersecting,
      boundingClientRect: { width: height, height }
    } as unknown as IntersectionObserverEntry);
  });
}

const idle: (() => void)[] = [];

beforeEach(async () => {
  // Only so many rows are drawn in each frame.
  await new Promise(requestAnimationFrame);
  Observer.told.clear();
  idle.length = 0;
  vi.stubGlobal('IntersectionObserver', Observer);
  vi.stubGlobal('requestIdleCallback', (run: () => void) => idle.push(run));
});
afterEach(() => {
  vi.unstubAllGlobals();
});

function said(count: number): ITranscript {
  const told: Message[] = Array.from({ length: count }, (_, number) => [
    build.user([build.text(`Question ${number}.`)]),
    build.assistant([
      build.text(`Answer ${number}.`),
      build.tool('python', {
        status: 'completed',
        input: { code: `look(${number})` },
        output: 'Seen.',
        title: '',
        metadata: {},
        time: { start: 0, end: 1 },
        attachments: []
      })
    ])
  ]).flat();
  return {
    ...EMPTY_TRANSCRIPT,
    entries: told.map((message, index) => ({
      id: `${message.info.id}-${index}`,
      message
    }))
  };
}

function nth(within: Element, selector: string, number: number): HTMLElement {
  const found = within.querySelectorAll<HTMLElement>(selector)[number];
  if (found === undefined) {
    throw new Error(`There is no ${selector} of number ${number}.`);
  }
  return found;
}

function show(transcript: ITranscript, host = HOST) {
  const drawn = (now: ITranscript) => (
    <HostProvider value={host}>
      <Transcript transcript={now} readOnly={true} emptyContent={null} />
    </HostProvider>
  );
  const { container, rerender } = render(drawn(transcript));
  return {
    rows: () => [...container.querySelectorAll('.plm-Turn')],
    row: (number: number) => nth(container, '.plm-Turn', number),
    button: (row: number) =>
      nth(nth(container, '.plm-Turn', row), '.plm-Disclosure-head', 0),
    page: (number: number) => nth(container, '.plm-TurnPage', number),
    pages: () => [...container.querySelectorAll('.plm-TurnPage')],
    again: (now: ITranscript) => {
      rerender(drawn(now));
    }
  };
}

const isWhole = (row: Element | undefined) =>
  row?.querySelector('.plm-Text') !== null;

describe('a long transcript', () => {
  it('draws the newest turns whole, the others as their words in one element', () => {
    const { rows } = show(said(10));

    expect(rows().map(isWhole)).toEqual([
      ...Array.from({ length: 7 }, () => false),
      true,
      true,
      true
    ]);
    expect(rows()[0]?.childNodes).toHaveLength(1);
    expect(rows()[0]?.textContent).toBe(
      'Question 0.\n\nAnswer 0.\n\npython look(0)'
    );
    expect(rows()[9]?.getAttribute('aria-setsize')).toBe('10');
    expect(rows()[9]?.getAttribute('aria-posinset')).toBe('10');
  });

  it('draws what comes near, and no longer what has gone far', () => {
    const { row, rows } = show(said(10));

    tell(row(2), true);
    tell(row(8), false);

    expect(isWhole(rows()[2])).toBe(true);
    expect(isWhole(rows()[8])).toBe(false);
  });

  it('estimates the height of a far turn alone: that of one that grows changes with each word', () => {
    const { row, rows, page } = show(said(10));
    const isEstimated = (element: Element | undefined) =>
      element?.hasAttribute('style');

    expect(isEstimated(page(0))).toBe(false);
    expect(rows().map(isEstimated)).toEqual(
      rows().map(value => !isWhole(value))
    );
    tell(row(9), false);
    expect(isEstimated(rows()[9])).toBe(true);
  });

  it('takes a panel that is hidden for no reason to take anything away', () => {
    const { row, rows } = show(said(3));

    tell(row(1), false, 0);

    expect(isWhole(rows()[1])).toBe(true);
  });

  it('keeps a turn in which a person opened something or has the keyboard', () => {
    const { button, row, rows } = show(said(3));

    fireEvent.click(button(0));
    act(() => {
      button(1).focus();
    });
    tell(row(0), false);
    tell(row(1), false);
    expect(rows().map(isWhole)).toEqual([true, true, true]);

    act(() => {
      button(1).blur();
    });
    expect(rows().map(isWhole)).toEqual([true, false, true]);
  });

  it('changes nothing in what is selected, until it no longer is', () => {
    const { row } = show(said(5));
    const far = row(0);
    document.getSelection()?.selectAllChildren(far);

    tell(far, true);
    expect(isWhole(far)).toBe(false);

    act(() => {
      document.getSelection()?.removeAllRanges();
      document.dispatchEvent(new Event('selectionchange'));
    });
    expect(isWhole(far)).toBe(true);
  });

  it('never takes away the turn that runs', () => {
    const transcript = { ...said(3), status: { type: 'busy' as const } };
    const { row, rows, again } = show(transcript);

    tell(row(2), false);
    expect(isWhole(rows()[2])).toBe(true);

    again({ ...transcript, status: { type: 'idle' } });
    expect(rows()).toHaveLength(3);
  });

  it('fills its pages when there is nothing else to do, the newest first', () => {
    const { pages: shown, rows } = show(said(3 * MAX_PAGE_TURNS));
    const filled = () => shown().map(page => page.childElementCount > 0);
    const rest = () => {
      act(() => {
        idle.shift()?.();
      });
    };

    expect(filled()).toEqual([false, false, true]);
    rest();
    expect(filled()).toEqual([false, true, true]);
    rest();
    expect(filled()).toEqual([true, true, true]);
    expect(rows()).toHaveLength(3 * MAX_PAGE_TURNS);
    expect(rows().filter(isWhole)).toHaveLength(3);
  });

  it('fills a page at once that comes near', () => {
    const { page } = show(said(3 * MAX_PAGE_TURNS));

    tell(page(0), true);

    expect(page(0).childElementCount).toBe(MAX_PAGE_TURNS);
  });
});

describe('2,400 parts', () => {
  const TURNS = 800;

  it('typeset what is near, and no text stays blank when all was scrolled through', () => {
    const typeset = new Set<string>();
    const Markdown: typeof HOST.Markdown = ({ text }) => {
      typeset.add(text);
      return <p>{text}</p>;
    };
    const {
      page,
      pages: shown,
      row
    } = show(said(TURNS), {
      ...HOST,
      Markdown
    });
    expect([...typeset]).toHaveLength(3);

    const read = shown().flatMap((_, number) => {
      const place = page(number);
      tell(place, true);
      const rows = [...place.querySelectorAll('.plm-Turn')];
      const words = rows.map(value => {
        tell(value, true);
        value.querySelectorAll('.plm-LineGroup').forEach(stretch => {
          tell(stretch, true);
        });
        const text = value.querySelector('.plm-Text')?.textContent;
        tell(value, false);
        return [text, isWhole(value), value.textContent !== ''];
      });
      tell(place, false);
      return words;
    });

    expect(read).toEqual(
      Array.from({ length: TURNS }, (_, turn) => [
        `Answer ${turn}.`,
        false,
        true
      ])
    );
    expect(row(0).childNodes).toHaveLength(1);
    expect(typeset.size).toBe(TURNS);
  });
});

describe('pages and turns', () => {
  it('are the same as before where nothing changed', () => {
    const before = said(2 * MAX_PAGE_TURNS + 5);
    const told = turnsOf(before);
    const cut = pagesOf(told);
    const more = {
      ...before,
      entries: [
        ...before.entries,
        ...said(1).entries.map(place => ({ ...place, id: `new-${place.id}` }))
      ]
    };

    const now = turnsOf(more, told);
    const again = pagesOf(now, cut);

    expect(now).toHaveLength(told.length + 1);
    expect(now.slice(0, -1)).toEqual(told);
    expect(now.slice(0, -1).every((turn, at) => turn === told[at])).toBe(true);
    expect(again[0]).toBe(cut[0]);
    expect(again[1]).toBe(cut[1]);
    expect(again[2]).not.toBe(cut[2]);
  });

  it('are as if grouped from the beginning, whatever changed', () => {
    const all = said(12).entries;
    let known = turnsOf({ entries: [] });
    // Prompts that arrive late, removed answers, and entries in another order.
    const steps = [
      all.slice(0, 3),
      all.slice(0, 8),
      all.filter((_, index) => index !== 4),
      all.slice(1),
      [...all.slice(4), ...all.slice(0, 4)],
      all.map((place, index) => (index === 7 ? { ...place } : place)),
      []
    ];
    for (const entries of steps) {
      const shape = (found: typeof known) =>
        found.map(({ entries: own }) => own.map(({ id }) => id));
      known = turnsOf({ entries }, known);
      expect(shape(known)).toEqual(shape(turnsOf({ entries })));
    }
  });
});
