// @vitest-environment jsdom
/** The inspector by keys alone, and what a screen reader is told meanwhile. */
import { act, fireEvent, screen, within } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import {
  cursor,
  draw,
  drawsInspectors,
  explain,
  openTab,
  settle,
  sourceOf
} from './drawnInspector';

drawsInspectors();

/** Presses a button as Enter does, which leaves the focus where it is. */
async function press(button: HTMLElement): Promise<void> {
  button.focus();
  fireEvent.click(button);
  await settle();
}

function news(): string | null | undefined {
  return document.querySelector('.plm-Inspector-news')?.textContent;
}

describe('a list of blocks', () => {
  it('is one stop of the Tab key, and arrows move in it', async () => {
    await draw(sourceOf('pi'), { tab: 'requests', request: 40 });
    const list = screen.getByRole('list', { name: 'Blocks of the request' });
    const links = within(list).getAllByRole('button');
    const stops = () => links.filter(element => element.tabIndex === 0);
    const press = (key: string) => {
      fireEvent.keyDown(document.activeElement as Element, { key });
    };
    expect(links.length).toBeGreaterThan(20);
    expect(stops()).toEqual([links[0]]);

    links[0]?.focus();
    press('ArrowDown');
    press('ArrowDown');
    press('ArrowUp');
    expect(document.activeElement).toBe(links[1]);
    expect(stops()).toEqual([links[1]]);
    press('End');
    press('ArrowDown');
    expect(document.activeElement).toBe(links.at(-1));
    press('Home');
    press('ArrowUp');
    expect(stops()).toEqual([links[0]]);
  });
});

describe('buttons beside each other', () => {
  it.each(['The shown track', 'Expensive requests', 'Width of the columns'])(
    'are one stop of the Tab key: %s',
    async name => {
      await draw(sourceOf('pi'), { request: 300 });
      const toolbar = screen.getByRole('toolbar', { name });
      const buttons = within(toolbar).getAllByRole('button');
      const stops = () => buttons.filter(element => element.tabIndex === 0);
      expect(buttons.length).toBeGreaterThan(1);
      expect(stops()).toEqual([buttons[0]]);

      buttons[0]?.focus();
      fireEvent.keyDown(buttons[0] as HTMLElement, { key: 'End' });
      expect(document.activeElement).toBe(buttons.at(-1));
      expect(stops()).toEqual([buttons.at(-1)]);
    }
  );
});

describe('the buttons of the head', () => {
  it('are one stop of the Tab key, and arrows move along them', async () => {
    await draw(sourceOf('claude_code'), { request: 2 });
    const toolbar = screen.getByRole('toolbar', { name: 'Place and link' });
    const buttons = within(toolbar).getAllByRole('button');
    const stops = () => buttons.filter(element => element.tabIndex === 0);
    const key = (name: string) => {
      fireEvent.keyDown(document.activeElement as Element, { key: name });
    };
    expect(stops()).toEqual([buttons[0]]);

    buttons[0]?.focus();
    key('ArrowRight');
    expect(document.activeElement).toBe(buttons[1]);
    key('End');
    key('ArrowRight');
    expect(document.activeElement?.textContent).toBe('Keys');
    expect(stops()).toEqual([buttons.at(-1)]);
    key('ArrowLeft');
    expect(document.activeElement).toBe(buttons.at(-2));
    key('Home');
    expect(stops()).toEqual([buttons[0]]);
  });
});

describe('the focus', () => {
  it('stays on a button that has led as far as it leads', async () => {
    await draw(sourceOf('claude_code'), { request: 0 });
    const dearest = screen.getByRole('button', { name: 'Dearest request' });
    await press(dearest);

    expect(dearest.getAttribute('aria-disabled')).toBe('true');
    expect(document.activeElement).toBe(dearest);
    for (const name of ['Narrower columns', 'Wider columns']) {
      const button = screen.getByRole('button', { name });
      for (let times = 0; times < 4; times++) {
        await press(button);
      }
      expect(document.activeElement).toBe(button);
    }
  });

  it('stays on a button that unfolds the rest, and folds it again', async () => {
    await draw(sourceOf('pi'), { tab: 'cost' });
    const table = screen.getByRole('table', { name: /^Cache breaks/ });
    const before = within(table).getAllByRole('row').length;
    const more = screen.getByRole('button', { name: /^\d+ more$/ });
    await press(more);

    expect(within(table).getAllByRole('row').length).toBeGreaterThan(before);
    expect(document.activeElement).toBe(more);
    expect(more.getAttribute('aria-expanded')).toBe('true');
    await press(more);
    expect(within(table).getAllByRole('row')).toHaveLength(before);
  });

  it('goes to what is around an element that is taken away', async () => {
    await draw(sourceOf('claude_code'), { item: 3, tab: 'items' });
    const card = screen.getByRole('group', { name: 'The chosen item' });
    const gone = within(card).getByRole('button', { name: 'Look underneath' });
    gone.focus();
    await act(async () => {
      gone.remove();
      await Promise.resolve();
    });

    expect(document.activeElement).toBe(card);
  });

  it('goes from a cell of the grid to why, and back by Escape', async () => {
    await draw(sourceOf('claude_code'), { tab: 'items' });
    const grid = screen.getByRole('grid');
    grid.focus();
    fireEvent.keyDown(grid, { key: 'ArrowDown' });
    await settle();
    fireEvent.keyDown(grid, { key: 'Enter' });
    await settle();
    const card = screen.getByRole('group', { name: 'The chosen item' });
    expect(document.activeElement).toBe(card);

    fireEvent.keyDown(card, { key: 'Escape' });
    expect(document.activeElement).toBe(grid);
  });

  it('goes from the name of an item to its card in every view that has names', async () => {
    await draw(sourceOf('claude_code'), { tab: 'requests', request: 2 });
    const [name] = Array.from(
      document.querySelectorAll<HTMLElement>('.plm-Inspector-name')
    ).filter(element => element.tagName === 'BUTTON');
    if (name === undefined) {
      throw new Error('No item is named.');
    }
    name.focus();
    await press(name);
    const card = screen.getByRole('group', { name: 'The chosen item' });

    expect(document.activeElement).toBe(card);
    expect(card.querySelector('.plm-ItemCard-why')?.textContent).not.toBe('');
    fireEvent.keyDown(card, { key: 'Escape' });
    expect(document.activeElement).toBe(name);
  });
});

describe('a field for a request', () => {
  it('can be emptied and written anew', async () => {
    const { onPlace } = await draw(sourceOf('pi'), { request: 208 });
    const told = screen.getByRole('group', { name: 'What the request cost' });
    const field = within(told).getByRole<HTMLInputElement>('spinbutton');
    field.focus();
    for (const value of ['20', '2', '', '2', '21', '212']) {
      fireEvent.change(field, { target: { value } });
      await settle();
      expect(field.value).toBe(value);
    }

    expect(onPlace.mock.lastCall?.[0]).toMatchObject({ request: 211 });
    fireEvent.change(field, { target: { value: '9999' } });
    fireEvent.blur(field);
    expect(field.value).toBe('212');
  });
});

describe('the cell of the grid', () => {
  it('is another element for a screen reader wherever it is moved', async () => {
    await draw(sourceOf('claude_code'), { tab: 'items' });
    const grid = screen.getByRole('grid');
    const cell = () => grid.getAttribute('aria-activedescendant') ?? '';
    const seen = new Set<string>();
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowLeft', 'ArrowUp']) {
      fireEvent.keyDown(grid, { key });
      await settle();
      expect(document.getElementById(cell())?.textContent).not.toBe('');
      seen.add(cell());
    }

    expect(seen.size).toBe(4);
    expect(grid.getAttribute('aria-describedby')).not.toBeNull();
  });

  it('goes to both corners', async () => {
    const { onPlace } = await draw(sourceOf('claude_code'), { tab: 'items' });
    const grid = screen.getByRole('grid');
    fireEvent.keyDown(grid, { key: 'Home', ctrlKey: true });
    await settle();
    const first = onPlace.mock.lastCall?.[0];
    fireEvent.keyDown(grid, { key: 'End', ctrlKey: true });
    await settle();
    const last = onPlace.mock.lastCall?.[0];

    expect(first?.request).toBe(0);
    expect(last?.request).toBeGreaterThan(0);
    expect(last?.item).not.toBe(first?.item);
  });
});

describe('a screen reader', () => {
  it('hears one sentence, once the cursor rests', async () => {
    await draw(sourceOf('pi'), { request: 200 });
    const spoken: string[] = [];
    new MutationObserver(() => {
      const told = news();
      if (typeof told === 'string' && told !== '') {
        spoken.push(told);
      }
    }).observe(document.querySelector('.plm-Inspector-news') as Node, {
      childList: true,
      characterData: true,
      subtree: true
    });
    cursor().focus();
    for (let times = 0; times < 8; times++) {
      fireEvent.keyDown(cursor(), { key: 'ArrowRight' });
      await act(() => vi.advanceTimersByTimeAsync(100));
    }
    await settle();

    expect(spoken).toEqual([
      expect.stringMatching(
        /^Request 209: 108,563 tokens, .* 108,197 of them were written anew/
      )
    ]);
  });

  it('hears nothing of a cursor that another inspector leads', async () => {
    await draw(sourceOf('claude_code'), { request: 1 });
    fireEvent.keyDown(cursor(), { key: 'Home' });
    await settle();

    expect(news()).toBe('');
  });

  it('hears the marks of a request with its size', async () => {
    await draw(sourceOf('pi'), { request: 208 });
    await explain();

    expect(cursor().getAttribute('aria-valuetext')).toContain('cache break');
    expect(
      screen.getByRole('list', { name: 'What the marks mean' }).textContent
    ).toContain('cache break');
  });

  it('hears which request a link leads to', async () => {
    await draw(sourceOf('pi'), { tab: 'cost' });
    const table = screen.getByRole('table', { name: /^Cache breaks/ });
    const numbers = within(table).getAllByRole('button', { name: /^request/ });
    expect(numbers.length).toBeGreaterThan(3);
    for (const link of numbers) {
      expect(link.getAttribute('aria-label')).toBe(
        `request ${link.textContent}`
      );
    }
    await openTab('Wastes');
    for (const link of screen.getAllByRole('button', { name: /^show/ })) {
      expect(link.getAttribute('aria-label')).toMatch(/^show .*request \d+$/);
    }
  });
});

describe('a key', () => {
  const key = async (name: string, place: HTMLElement = cursor()) => {
    place.focus();
    const isLeft = fireEvent.keyDown(place, { key: name });
    await settle();
    return !isLeft;
  };

  it('leads to the next break of the cache and to the one before', async () => {
    await draw(sourceOf('pi'), { request: 200 });
    const next = screen.getByRole('button', { name: 'Next break' });
    const at = () => cursor().getAttribute('aria-valuenow');
    fireEvent.click(next);
    await settle();
    const [first] = [at()];
    fireEvent.click(next);
    await settle();
    const second = at();
    expect(second).not.toBe(first);

    expect(await key('p', screen.getByRole('grid'))).toBe(true);
    expect(at()).toBe(first);
    await key('n', screen.getByRole('tab', { name: 'Timeline' }));
    expect(at()).toBe(second);
  });

  it('is a letter in a field, and the browser’s with Control', async () => {
    await draw(sourceOf('pi'), { request: 200 });
    const fields = [
      ...screen.getAllByRole('searchbox'),
      ...screen.getAllByRole('combobox'),
      ...screen.getAllByRole('spinbutton')
    ];
    expect(fields.length).toBeGreaterThan(4);
    for (const field of fields) {
      for (const name of ['n', 'p', '/', '?']) {
        expect(await key(name, field)).toBe(false);
        expect(document.activeElement).toBe(field);
      }
    }
    fireEvent.keyDown(cursor(), { key: 'n', ctrlKey: true });
    await settle();

    expect(cursor().getAttribute('aria-valuenow')).toBe('201');
    expect(screen.queryByRole('dialog')).toBeNull();
  });

  it.each([
    ['timeline', 'Find items'],
    ['requests', 'Find in all requests'],
    ['wastes', 'Find items']
  ] as const)('leads from the tab %s to its search', async (tab, name) => {
    await draw(sourceOf('claude_code'), { tab });
    expect(await key('/')).toBe(true);

    expect(document.activeElement).toBe(
      screen.getByRole('searchbox', { name })
    );
  });

  it('opens a list of all keys, which Escape closes', async () => {
    await draw(sourceOf('claude_code'));
    const grid = screen.getByRole('grid');
    expect(await key('?', grid)).toBe(true);
    const list = screen.getByRole('dialog', { name: 'Keys' });
    expect(list.contains(document.activeElement)).toBe(true);
    expect(list.textContent).toContain('choose a range');

    await key('n', list.querySelector('button') as HTMLElement);
    await key('Escape', list.querySelector('button') as HTMLElement);
    expect(screen.queryByRole('dialog')).toBeNull();
    expect(document.activeElement).toBe(grid);

    const button = screen.getByRole('button', { name: 'Keys' });
    button.focus();
    fireEvent.click(button);
    fireEvent.click(screen.getByRole('button', { name: 'Close the list' }));
    expect(document.activeElement).toBe(button);
  });
});

describe('the first stops of the Tab key', () => {
  it.each([
    ['timeline', ['grid', 'card', 'sentence']],
    ['requests', ['card', 'sentence']],
    ['cost', ['sentence']]
  ] as const)('skip the tracks of the tab %s', async (tab, names) => {
    await draw(sourceOf('claude_code'), { tab, item: 3 });
    const stops = Array.from(
      document.querySelectorAll<HTMLElement>('.plm-Inspector button')
    ).slice(0, names.length + 1);
    expect(stops.map(stop => stop.textContent)).toEqual([
      ...names.map(name => `Skip to the ${name}`),
      'Timeline'
    ]);
    const targets = {
      grid: screen.queryByRole('grid'),
      card: screen.queryByRole('group', { name: 'The chosen item' }),
      sentence: screen.getByRole('group', { name: 'What the request cost' })
    };
    for (const [place, name] of names.entries()) {
      await press(stops[place] as HTMLElement);
      expect(document.activeElement).toBe(targets[name]);
    }
  });
});
