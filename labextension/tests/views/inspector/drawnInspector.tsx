/** Draws an inspector over a sample, and waits until its answers are there. */
import { act, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, vi } from 'vitest';
import type {
  IInspectorPlace,
  IInspectorSource
} from '../../../src/state/inspector/source';
import { HostProvider } from '../../../src/views/host';
import { Inspector } from '../../../src/views/inspector/inspector';
import { sampleSource } from '../../inspector/sampleSource';
import { sample, type NAMES } from '../../inspector/samples';
import { HOST } from '../../plainHost';

export const LAST_N = 'sweagent.last_n n=10 polling=10';

/** Holds timers, and draws without a canvas, which jsdom has not got: what it would show is in the grid's cell, too. */
export function drawsInspectors(): void {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null);
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
}

/** Returns the source of a sample. */
export function sourceOf(name: (typeof NAMES)[number]) {
  const { view, tracks, compactions } = sample(name);
  return sampleSource(view, tracks, undefined, compactions);
}

/** Draws the inspector; needs fake timers. */
export async function draw(
  source: IInspectorSource,
  place: Partial<IInspectorPlace> = {}
) {
  const onPlace = vi.fn<(place: IInspectorPlace) => void>();
  const drawn = render(
    <HostProvider value={HOST}>
      <Inspector
        source={source}
        place={{ request: null, item: null, ...place }}
        onPlace={onPlace}
      />
    </HostProvider>
  );
  await settle();
  return { ...drawn, onPlace };
}

/** Lets pauses pass, and answers come. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await act(() => vi.advanceTimersByTimeAsync(300));
  }
}

/** Opens a tab. */
export async function openTab(name: string): Promise<void> {
  fireEvent.click(screen.getByRole('tab', { name }));
  await settle();
}

/** Returns the first track's slider. */
export function cursor(): HTMLElement {
  return screen.getAllByRole('slider', { name: /^Request/ })[0] as HTMLElement;
}

/** Opens the sentences below the tracks, the legend of their marks and the prices. */
export async function explain(): Promise<void> {
  fireEvent.click(
    screen.getByRole('button', { name: 'What the pictures show' })
  );
  await settle();
}
