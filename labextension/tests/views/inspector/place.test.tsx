// @vitest-environment jsdom
/** What the inspector shows is its place, from outside and back. */
import { fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { linkTo, parseLink } from '../../../src/state/inspector/placeLink';
import type { IInspectorPlace } from '../../../src/state/inspector/source';
import { HostProvider } from '../../../src/views/host';
import { Inspector } from '../../../src/views/inspector/inspector';
import { HOST } from '../../plainHost';
import {
  cursor,
  draw,
  LAST_N,
  openTab,
  settle,
  sourceOf
} from './drawnInspector';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Returns the newest place that was reported. */
function lastPlace(onPlace: { mock: { lastCall?: [IInspectorPlace] } }) {
  return onPlace.mock.lastCall?.[0];
}

describe('a place', () => {
  it('opens tab, policy, shown track, filter and explanations', async () => {
    const link = `palimpsest:x/4?policy=${encodeURIComponent(LAST_N)}&what_if=1&explained=1&find=zzz`;
    await draw(sourceOf('swe_agent'), parseLink(link)?.place);

    const shown = screen.getByRole('toolbar', { name: 'The shown track' });
    expect(shown.querySelector('[aria-pressed="true"]')?.textContent).toBe(
      'what if'
    );
    expect(
      screen.getByRole<HTMLInputElement>('searchbox', { name: 'Find items' })
        .value
    ).toBe('zzz');
    expect(screen.getByText('0 items')).toBeTruthy();
    expect(
      screen
        .getByRole('button', { name: 'What the pictures show' })
        .getAttribute('aria-expanded')
    ).toBe('true');
  });

  it('is told of each choice, and its link opens the same', async () => {
    const { onPlace } = await draw(sourceOf('swe_agent'), { policy: LAST_N });
    fireEvent.change(screen.getByRole('searchbox', { name: 'Find items' }), {
      target: { value: 'open' }
    });
    fireEvent.click(screen.getByRole('checkbox'));
    fireEvent.click(screen.getByRole('button', { name: 'what if' }));
    fireEvent.click(
      screen.getByRole('button', { name: 'What the pictures show' })
    );
    await openTab('Items');

    const place = lastPlace(onPlace);
    expect(place).toMatchObject({
      tab: 'items',
      policy: LAST_N,
      what_if: true,
      explained: true,
      filter: { text: 'open', changed: true }
    });
    expect(parseLink(linkTo('x', place as IInspectorPlace))?.place).toEqual(
      place
    );
  });

  it('asks by its prices', async () => {
    const source = sourceOf('swe_agent');
    const ask = vi.spyOn(source, 'ask');
    await draw(source, { price: 'units' });

    const views = ask.mock.calls.filter(([query]) => query.ask === 'view');
    expect(views.map(([query]) => 'price' in query && query.price)).toContain(
      'units'
    );
  });

  it('carries the prices with which it was opened in its link, before those chosen', async () => {
    const copy = vi.fn(() => Promise.resolve());
    render(
      <HostProvider value={{ ...HOST, copy }}>
        <Inspector
          source={sourceOf('swe_agent')}
          place={{ request: 3, item: null, price: 'lifetime=1h' }}
          openedPrice="units"
        />
      </HostProvider>
    );
    await settle();
    fireEvent.click(screen.getByRole('button', { name: 'Copy link' }));
    await settle();

    expect(copy).toHaveBeenLastCalledWith(
      expect.stringMatching(/\/4\?price=units%20lifetime%3D1h$/)
    );
  });

  it('keeps the filter from tab to tab', async () => {
    await draw(sourceOf('swe_agent'));
    fireEvent.change(screen.getByRole('searchbox', { name: 'Find items' }), {
      target: { value: 'open' }
    });
    await openTab('Items');
    await settle();

    expect(
      screen.getByRole<HTMLInputElement>('searchbox', { name: 'Find items' })
        .value
    ).toBe('open');
  });
});

describe('back and forward', () => {
  const back = () => screen.getByRole('button', { name: 'Back' });
  const forward = () => screen.getByRole('button', { name: 'Forward' });
  const shownTab = () =>
    screen.getByRole('tab', { selected: true }).textContent;

  it('are buttons, which say where there is nothing to go to', async () => {
    const { onPlace } = await draw(sourceOf('swe_agent'));
    expect(back().getAttribute('aria-disabled')).toBe('true');
    fireEvent.click(back());
    await openTab('Items');
    await openTab('Cost');
    fireEvent.click(back());
    await settle();

    expect(shownTab()).toBe('Items');
    expect(lastPlace(onPlace)?.tab).toBe('items');
    expect(
      screen.getAllByRole('status').map(({ textContent }) => textContent)
    ).toContain('Items');
    fireEvent.click(forward());
    await settle();
    expect(shownTab()).toBe('Cost');
    expect(forward().getAttribute('aria-disabled')).toBe('true');
  });

  it('are keys, which do nothing else, and nothing in a field', async () => {
    await draw(sourceOf('swe_agent'));
    await openTab('Items');
    const press = (target: HTMLElement, key: string) =>
      !fireEvent.keyDown(target, { key, altKey: true });
    const field = screen.getByRole('searchbox', { name: 'Find items' });

    expect(press(field, 'ArrowLeft')).toBe(false);
    expect(shownTab()).toBe('Items');
    const tab = screen.getByRole('tab', { selected: true });
    expect(press(tab, 'ArrowLeft')).toBe(true);
    await settle();
    expect(shownTab()).toBe('Timeline');
    expect(press(tab, 'ArrowLeft')).toBe(true);
    expect(press(tab, 'ArrowRight')).toBe(true);
    await settle();
    expect(shownTab()).toBe('Items');
  });

  it('pass over a walk along the requests', async () => {
    await draw(sourceOf('swe_agent'), { request: 5 });
    await openTab('Items');
    for (let step = 0; step < 3; step++) {
      fireEvent.keyDown(cursor(), { key: 'ArrowLeft' });
      await settle();
    }
    expect(cursor().getAttribute('aria-valuenow')).toBe('3');
    fireEvent.click(back());
    await settle();

    expect(shownTab()).toBe('Items');
    expect(cursor().getAttribute('aria-valuenow')).toBe('6');
  });

  it('are the page’s own in a report', async () => {
    render(
      <HostProvider value={HOST}>
        <Inspector source={sourceOf('swe_agent')} isSteppedByPage />
      </HostProvider>
    );
    await settle();

    expect(screen.queryByRole('button', { name: 'Back' })).toBeNull();
    expect(
      fireEvent.keyDown(cursor(), { key: 'ArrowLeft', altKey: true })
    ).toBe(true);
  });
});
