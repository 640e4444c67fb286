// @vitest-environment jsdom
/** A search over all texts goes from item to item, and says when each came and went. */
import { cleanup, fireEvent, screen, within } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ItemStates } from '../../../src/state/inspector/figures/itemStates';
import { draw, settle, sourceOf } from './drawnInspector';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

async function search(text: string) {
  const field = screen.getByRole('searchbox', { name: 'Find in all requests' });
  fireEvent.change(field, { target: { value: text } });
  await settle();
  return within(screen.getByRole('group', { name: 'Find in all requests' }));
}

describe('a search over all requests', () => {
  it('steps forth and back to the request in which each item came', async () => {
    const source = sourceOf('swe_agent');
    const { view } = source;
    const held = view.items.label.flatMap((label, item) =>
      label.toLowerCase().includes('setup') ? [item] : []
    );
    const { onPlace } = await draw(source, { tab: 'requests', request: 0 });
    const found = await search('setup');

    expect(held.length).toBeGreaterThan(2);
    expect(found.getByRole('status').textContent).toBe(
      `${held.length} items hold it.`
    );
    fireEvent.click(found.getByRole('button', { name: 'Next found' }));
    fireEvent.click(found.getByRole('button', { name: 'Next found' }));
    expect(onPlace.mock.lastCall?.[0]).toMatchObject({
      item: held[1],
      request: view.items.entered[held[1] ?? 0]
    });
    const field = found.getByRole('searchbox');
    fireEvent.keyDown(field, { key: 'Enter', shiftKey: true });
    expect(onPlace.mock.lastCall?.[0]).toMatchObject({ item: held[0] });
    expect(found.getByRole('status').textContent).toContain(
      `Item 1 of ${held.length}`
    );
    const before = found.getByRole('button', { name: 'Found before' });
    expect(before.getAttribute('aria-disabled')).toBe('true');
  });

  it('says when an item came, and since when it is shown otherwise', async () => {
    const source = sourceOf('swe_agent');
    const { view } = source;
    const states = new ItemStates(view, view.recorded);
    const item = view.recorded.transitions.item[0] ?? -1;
    const entered = view.items.entered[item] ?? 0;
    const changed = states.nextChange(item, entered) ?? -1;
    await draw(source, { tab: 'requests', item, request: entered });
    const found = await search(view.items.label[item] ?? '');

    expect(changed).toBeGreaterThan(entered);
    expect(found.getByText(/came with request/).textContent).toMatch(
      new RegExp(
        `came with request ${entered + 1}, .* since request ${changed + 1}`
      )
    );
  });

  it('says that no text holds it', async () => {
    await draw(sourceOf('swe_agent'), { tab: 'requests' });
    const found = await search('nobody wrote this');

    expect(found.getByRole('status').textContent).toBe('No text holds it.');
  });
});
