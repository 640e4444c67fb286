// @vitest-environment jsdom
/** Tool definitions unfold in the grid, and each has a card. */
import { fireEvent, screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { withDefinitions } from '../../inspector/definedTools';
import { sampleSource } from '../../inspector/sampleSource';
import { sample } from '../../inspector/samples';
import { draw, drawsInspectors, settle } from './drawnInspector';

const { view, tracks } = sample('pi');
const source = () =>
  sampleSource(
    withDefinitions(view, [['read', 'edit', 'browser_open']]),
    tracks
  );

async function press(key: string): Promise<void> {
  fireEvent.keyDown(screen.getByRole('grid'), { key });
  await settle();
}

function cellText(): string {
  return within(screen.getByRole('grid')).getByRole('gridcell').textContent;
}

describe('tool definitions', () => {
  drawsInspectors();

  it('unfold and fold by Space, and arrows go through them', async () => {
    const { onPlace } = await draw(source(), { request: 3, item: 0 });
    const before = screen.getByRole('grid').getAttribute('aria-rowcount');

    expect(cellText()).toContain('(3), Space unfolds them, request 4: whole');
    await press(' ');
    expect(screen.getByRole('grid').getAttribute('aria-rowcount')).toBe(
      String(Number(before) + 3)
    );
    await press('ArrowDown');
    await press('ArrowDown');
    expect(cellText()).toMatch(
      /^Tool definition edit, \d+ tokens, request 4: /
    );
    expect(onPlace.mock.lastCall?.[0]).toMatchObject({
      item: 0,
      definition: 1
    });
    await press('ArrowUp');
    await press('ArrowUp');
    await press(' ');
    expect(screen.getByRole('grid').getAttribute('aria-rowcount')).toBe(before);
  });

  it('are listed in the card of their item, which leads to each', async () => {
    const { onPlace } = await draw(source(), { request: 3, item: 0 });
    const list = screen.getByRole('group', { name: '3 tool definitions' });

    expect(list.textContent).toContain('Never called here: 1 of them');
    fireEvent.click(within(list).getByRole('button', { name: 'browser_open' }));
    await settle();
    expect(onPlace.mock.lastCall?.[0]).toMatchObject({ definition: 2 });
    const card = screen.getByRole('group', { name: 'The chosen item' });
    expect(card.textContent).toContain('It is definition 3 of 3');
    expect(card.textContent).toContain('Never called.');
    expect(cellText()).toContain('Tool definition browser_open');
  });

  it('are left when another item is chosen', async () => {
    await draw(source(), { request: 3, item: 0, definition: 2 });

    expect(cellText()).toContain('Tool definition browser_open');
    await press('ArrowDown');
    expect(cellText()).not.toContain('Tool definition');
  });

  it('that are not there leave the card of the item', async () => {
    await draw(source(), { request: 3, item: 0, definition: 9 });

    expect(
      screen.getByRole('group', { name: '3 tool definitions' })
    ).toBeTruthy();
  });
});
