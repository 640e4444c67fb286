// @vitest-environment jsdom
/** While a session grows the inspector stays where its user is, and says what is so. */
import { act, fireEvent, screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type {
  TimelineView,
  ViewAnswer,
  ViewPatch,
  ViewQuery
} from '../../../src/protocol/generated';
import type { IInspectorPlace } from '../../../src/state/inspector/source';
import { grownViews, sample } from '../../inspector/samples';
import {
  LAST_N,
  cursor,
  draw,
  drawsInspectors,
  settle
} from './drawnInspector';

const NOTHING = { unchanged: false, milliseconds: 5, error: '' };
const STATES = grownViews()
  .filter(({ view }) => view.requests.id.length > 2)
  .map(value => ({ ...value, view: { ...value.view, own: true } }));

drawsInspectors();

/** A session that goes on from one of the kept states to the next. */
class GrowingSource {
  readonly asked: ViewQuery[] = [];
  readonly answers: ViewAnswer[] = [];
  state = 0;
  private _told: () => void = () => undefined;

  ask = (query: ViewQuery): Promise<ViewAnswer> => {
    this.asked.push(query);
    const answer = this._answer(query);
    this.answers.push(answer);
    return Promise.resolve(answer);
  };

  readonly subscribe = (told: () => void) => {
    this._told = told;
    return () => undefined;
  };

  async grow(): Promise<void> {
    this.state += 1;
    act(() => {
      this._told();
    });
    await settle();
  }

  get view(): TimelineView {
    return STATES[this.state]?.view as TimelineView;
  }

  private _answer(query: ViewQuery): ViewAnswer {
    if (query.ask === 'view') {
      const patch = STATES[this.state]?.patch as ViewPatch;
      return query.after === undefined
        ? { ...NOTHING, view: this.view }
        : query.after === patch.after
          ? {
              ...NOTHING,
              patch: { ...patch, view: { ...patch.view, own: true } }
            }
          : { ...NOTHING, view: this.view };
    }
    if (query.ask === 'track') {
      const track = { ...this.view.recorded, policy: LAST_N, facts: undefined };
      return { ...NOTHING, track };
    }
    return { ...NOTHING, error: 'Nothing is kept of it.' };
  }
}

async function drawn(place: Partial<IInspectorPlace> = {}) {
  const source = new GrowingSource();
  const rest = await draw(source, place);
  return { source, ...rest };
}

function shownRequest(): number {
  return Number(cursor().getAttribute('aria-valuenow'));
}

describe('an inspector of a running session', () => {
  it('follows by patches', async () => {
    const { source } = await drawn();
    await source.grow();
    await source.grow();

    const views = source.answers.filter((_, place) => {
      return source.asked[place]?.ask === 'view';
    });
    expect(views.map(value => value.view !== undefined)).toEqual([
      true,
      false,
      false
    ]);
    expect(cursor().getAttribute('aria-valuemax')).toBe(
      String(source.view.requests.id.length)
    );
  });

  it('draws the picture first, and says that the rest is still computed', async () => {
    const whole = sample('pi').view;
    const nothing = { waste_kinds: [], wastes: [], used: [], policies: [] };
    const picture = { ...whole, ...nothing, is_picture: true };
    const asked: ViewQuery[] = [];
    let tellRest: (answer: ViewAnswer) => void = () => undefined;
    const ask = (query: ViewQuery): Promise<ViewAnswer> => {
      asked.push(query);
      return query.ask !== 'view'
        ? Promise.resolve({ ...NOTHING, error: 'Nothing is kept of it.' })
        : query.part === 'picture'
          ? Promise.resolve({ ...NOTHING, view: picture })
          : new Promise(resolve => {
              tellRest = resolve;
            });
    };
    await draw({ ask });

    expect(cursor().getAttribute('aria-valuemax')).toBe(
      String(whole.requests.id.length)
    );
    expect(screen.getByText(/are still being computed/)).toBeTruthy();
    expect(screen.getByText('Being computed…')).toBeTruthy();
    expect(screen.queryByText(/Nothing was found/)).toBeNull();
    const { seq: after, epoch } = whole;
    expect(asked.filter(query => query.ask === 'view').at(-1)).toMatchObject({
      part: 'rest',
      after,
      epoch
    });

    tellRest({ ...NOTHING, view: whole });
    await settle();

    expect(screen.queryByText(/being computed/i)).toBeNull();
    expect(asked.filter(query => query.ask === 'view')).toHaveLength(2);
  });

  it('asks for the whole view where a patch is not one of what it holds', async () => {
    const { source } = await drawn();
    source.state += 1;
    await source.grow();

    expect(cursor().getAttribute('aria-valuemax')).toBe(
      String(source.view.requests.id.length)
    );
  });

  it('keeps the cursor on a request that was chosen', async () => {
    const { source } = await drawn({ request: 1 });
    await source.grow();

    expect(shownRequest()).toBe(2);
  });

  it.each(['from the beginning', 'after the cursor was moved to the end'])(
    'lets a cursor at the end follow, %s',
    async how => {
      const { source } = await drawn();
      if (how !== 'from the beginning') {
        fireEvent.keyDown(cursor(), { key: 'Home' });
        fireEvent.keyDown(cursor(), { key: 'End' });
        await settle();
      }
      const before = source.view.requests.id.length;
      expect(shownRequest()).toBe(before);
      while (source.view.requests.id.length === before) {
        await source.grow();
      }

      expect(shownRequest()).toBe(source.view.requests.id.length);
    }
  );

  it('keeps the item, the filter, the focus and the tab', async () => {
    const { source } = await drawn({ item: 3, tab: 'items' });
    const name = screen.getByRole('heading', { level: 4 }).textContent;
    const find = screen.getByPlaceholderText('Find items');
    fireEvent.change(find, { target: { value: 'e' } });
    const grid = screen.getByRole('grid');
    grid.focus();
    await source.grow();

    expect(screen.getByRole('heading', { level: 4 }).textContent).toBe(name);
    expect(screen.getByPlaceholderText('Find items')).toBe(find);
    expect((find as HTMLInputElement).value).toBe('e');
    expect(document.activeElement).toBe(grid);
  });

  it('keeps the item by its id where items are numbered anew', async () => {
    const { source } = await drawn({ item: 3 });
    const name = screen.getByRole('heading', { level: 4 }).textContent;
    const { view } = source;
    const swapped = { ...view, seq: view.seq + 1, items: { ...view.items } };
    const moved = view.items.id.length - 1;
    for (const column of ['id', 'kind', 'label', 'tool'] as const) {
      const values: (string | number)[] = [...view.items[column]];
      [values[3], values[moved]] = [
        values[moved] as string | number,
        values[3] as string | number
      ];
      Object.assign(swapped.items, { [column]: values });
    }
    source.ask = () => Promise.resolve({ ...NOTHING, view: swapped });
    await source.grow();

    expect(screen.getByRole('heading', { level: 4 }).textContent).toBe(name);
  });

  it('asks anew what a policy would have shown, without a word about it', async () => {
    const { source } = await drawn({ policy: LAST_N });
    const told = document.querySelector(
      '.plm-PolicyControls [role="status"]'
    )?.textContent;
    await source.grow();
    await settle();

    const tracks = screen.getAllByRole('slider', { name: /^Request/ });
    expect(
      tracks.map(element => element.getAttribute('aria-valuemax'))
    ).toEqual([
      String(source.view.requests.id.length),
      String(source.view.requests.id.length)
    ]);
    expect(
      document.querySelector('.plm-PolicyControls [role="status"]')?.textContent
    ).toBe(told);
  });

  it('does not read aloud what changes as it grows', async () => {
    const { source } = await drawn({ item: 3 });
    const why = document.querySelector('.plm-ItemCard-why');
    const news = document.querySelector('.plm-Inspector-news');
    if (why === null || news === null) {
      throw new Error('The card is not drawn.');
    }
    cursor().focus();
    const before = why.textContent;
    while (why.textContent === before && source.state + 1 < STATES.length) {
      await source.grow();
    }
    await settle();

    expect(why.textContent).not.toBe(before);
    expect(news.textContent).toBe('');
    expect(why.closest('[aria-live]')).toBeNull();
    fireEvent.keyDown(cursor(), { key: 'Home' });
    await settle();
    expect(news.textContent).toBe(why.textContent);
  });

  it('says what is decided for the request that comes next', async () => {
    const { view, tracks } = sample('claude_code');
    const { sampleSource } = await import('../../inspector/sampleSource');
    const coming = { item: [3], state: ['out'] as const };
    const next = { ...view, coming: { ...coming, state: [...coming.state] } };
    await draw(sampleSource(next, tracks), { item: 3 });

    expect(
      screen.getByText('The next request shows it left out.')
    ).toBeTruthy();
  });
});
