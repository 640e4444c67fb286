// @vitest-environment jsdom
/** Above the tracks stands how well the recording itself is reproduced; what rests on too little is pale and marked. */
import { screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { sampleSource } from '../../inspector/sampleSource';
import { sample } from '../../inspector/samples';
import {
  LAST_N,
  draw,
  drawsInspectors,
  explain,
  openTab
} from './drawnInspector';

const WHY = '? The replay does not reproduce this recording.';

drawsInspectors();

function drawn(isDoubtful: boolean) {
  const { view, tracks } = sample('pi');
  const first = view.proof?.sentences[0] ?? '';
  const proof = {
    sentences: isDoubtful ? [first, WHY] : [first],
    share: isDoubtful ? 0.5 : 1,
    is_doubtful: isDoubtful
  };
  return draw(sampleSource({ ...view, proof }, tracks), { policy: LAST_N });
}

/** Returns the names of the tracks, and whether each is pale. */
function tracks(container: HTMLElement): [string, string | undefined][] {
  return [...container.querySelectorAll<HTMLElement>('figure.plm-Track')].map(
    element => [
      element.querySelector('strong')?.textContent ?? '',
      element.dataset.doubtful
    ]
  );
}

describe('the proof', () => {
  it('opens the tracks', async () => {
    const { container } = await drawn(false);

    const told = container.querySelector('.plm-Tracks')?.firstElementChild;

    expect(told?.textContent).toMatch(
      /^Replayed as recorded: 409 of 438 requests .* 29 breaks taken/
    );
    expect(tracks(container)).toEqual([
      ['recorded', 'false'],
      [`what if · ${LAST_N}`, 'false']
    ]);
  });

  it('says why the policy is pale and marked, and the recording is not', async () => {
    const { container } = await drawn(true);

    await explain();
    expect(screen.getByText(WHY, { exact: false })).toBeTruthy();
    expect(tracks(container)).toEqual([
      ['recorded', 'false'],
      [`what if · ${LAST_N} ?`, 'true']
    ]);
    await openTab('Cost');
    const figures = screen.getByRole('table', { name: 'Figures' });
    const heads = within(figures)
      .getAllByRole('columnheader')
      .map(element => element.textContent.endsWith('?'));
    expect(heads).toEqual([false, false, true, true]);
    expect(screen.getByText(WHY)).toBeTruthy();
    const lines = screen.getByRole('table', { name: /^Cost up to/ });
    const marked = within(lines)
      .getAllByRole('rowheader')
      .map(element => element.textContent.endsWith('?'));
    expect(marked).toEqual([false, true, true]);
  });

  it('marks where the cache is lost as in the recording', async () => {
    const { container } = await drawn(false);
    await explain();

    const marks = container.querySelectorAll(
      '.plm-Track-mark[data-kind="taken"]'
    );

    expect(marks.length).toBeGreaterThan(25);
    expect(screen.getByText('cache break of the recording')).toBeTruthy();
    await openTab('Cost');
    const row = screen.getByRole('row', { name: /^lost as in the recording/ });
    const cells = within(row)
      .getAllByRole('cell')
      .map(element => element.textContent);
    expect(cells).toEqual(['–', '29', '29']);
  });
});
