// @vitest-environment jsdom
/** The cache marks of the request at the cursor are told in the grid, below it, in the card and in the glossary. */
import { fireEvent, screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { sampleSource } from '../../inspector/sampleSource';
import { sample } from '../../inspector/samples';
import { draw, drawsInspectors, settle } from './drawnInspector';

const { view, tracks } = sample('pi');
const source = () =>
  sampleSource(
    {
      ...view,
      cache_marks: {
        request: [3, 3],
        item: [2, -1],
        definition: [-1, -1],
        place: ['', 'message 9, block 1'],
        lifetime: ['1h', '']
      }
    },
    tracks
  );

function sentence(): HTMLElement | null {
  return document.querySelector('.plm-CacheMarks');
}

describe('cache marks', () => {
  drawsInspectors();

  it('are told below the grid, each with its item or its place as sent', async () => {
    const { onPlace } = await draw(source(), { request: 3 });

    expect(sentence()?.textContent).toMatch(
      /2 cache marks in request 4, after: 3 .* for 1h, message 9, block 1\.$/
    );
    fireEvent.click(
      screen.getByRole('button', { name: /^cache mark 1 of 2, for 1h, after / })
    );
    await settle();
    expect(onPlace.mock.lastCall?.[0]).toMatchObject({ item: 2 });
  });

  it('are told of the chosen cell and in its card', async () => {
    await draw(source(), { request: 3, item: 2 });

    expect(
      within(screen.getByRole('grid')).getByRole('gridcell').textContent
    ).toMatch(/, cache mark 1 of 2, for 1h after it$/);
    expect(
      screen.getByRole('group', { name: 'The chosen item' }).textContent
    ).toContain('In request 4 it is followed by cache mark 1 of 2, for 1h.');
  });

  it('say nothing at a request without them, and of a policy', async () => {
    const drawn = await draw(source(), { request: 4, item: 2 });

    expect(sentence()).toBeNull();
    expect(
      screen.getByRole('group', { name: 'The chosen item' }).textContent
    ).not.toContain('cache mark');
    drawn.unmount();
    await draw(source(), { request: 3, policy: 'raw', what_if: true });
    expect(sentence()).toBeNull();
  });

  it('are explained in the glossary', async () => {
    await draw(source(), { request: 3 });

    expect(
      screen.getByRole('button', { name: '2 cache marks' }).title
    ).toContain(
      'A place up to which the client asked for the prompt to be cached'
    );
  });
});
