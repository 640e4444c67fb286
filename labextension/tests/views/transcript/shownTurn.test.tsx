// @vitest-environment jsdom
/** A turn that was asked for is scrolled to once, by the transcript that holds it. */
import { act, fireEvent, render } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openedPlace } from '../../../src/state/display/openedPlace';
import { EMPTY_TRANSCRIPT } from '../../../src/state/store/transcript';
import { Transcript } from '../../../src/views/transcript/transcript';
import { HostProvider } from '../../../src/views/host';
import * as build from '../../builders';
import { HOST } from '../../plainHost';

const scrolled = vi.fn();
/** So many that a prompt is folded. */
const WORDS = 'word '.repeat(200);

beforeEach(() => {
  scrolled.mockReset();
  Element.prototype.scrollIntoView = scrolled;
});
afterEach(() => {
  openedPlace.set(null);
});

function show(...ids: string[]) {
  const entries = ids.map(id => ({
    id,
    message: build.user([build.text(`About ${id}. ${WORDS}`)])
  }));
  const { container, unmount } = render(
    <HostProvider value={HOST}>
      <Transcript
        transcript={{ ...EMPTY_TRANSCRIPT, entries }}
        readOnly={true}
        emptyContent={null}
      />
    </HostProvider>
  );
  return {
    followsItsEnd: () =>
      container.querySelector('.plm-Transcript')?.getAttribute('data-end') ===
      'true',
    unmount
  };
}

/** Has the transcript scroll to its beginning when it is asked to scroll; jsdom has no layout. */
function scrollsOnRequest(): void {
  const transcript = document.querySelector('.plm-Transcript');
  if (transcript === null) {
    throw new Error('It was not drawn.');
  }
  Object.defineProperty(transcript, 'scrollHeight', { value: 1000 });
  scrolled.mockImplementation(() => {
    transcript.scrollTop = 0;
    fireEvent.scroll(transcript);
  });
}

function askFor(turn: string): void {
  act(() => {
    openedPlace.set({ turnKey: turn, lineKey: turn, isScrolledTo: true });
  });
}

it('is scrolled to, and the transcript lets go of its end', () => {
  const { followsItsEnd } = show('one', 'two');
  expect(followsItsEnd()).toBe(true);
  scrollsOnRequest();

  askFor('one');

  expect(followsItsEnd()).toBe(false);
  expect(scrolled).toHaveBeenCalled();
  expect(document.activeElement?.getAttribute('data-turn')).toBe('one');
});

it('waits for a transcript that is opened for it', () => {
  askFor('one');

  show('one', 'two');

  expect(document.activeElement?.getAttribute('data-turn')).toBe('one');
});

it('leaves a transcript of another session at its end', () => {
  askFor('one');

  const { followsItsEnd } = show('three');

  expect(followsItsEnd()).toBe(true);
  expect(scrolled).not.toHaveBeenCalled();
});

it('is done with the first act of the reader, and not again when the session is opened later', () => {
  const before = show('one', 'two');
  askFor('one');
  fireEvent.wheel(document.body);
  before.unmount();
  scrolled.mockClear();

  const { followsItsEnd } = show('one', 'two');

  expect(openedPlace.getSnapshot()).toBeNull();
  expect(followsItsEnd()).toBe(true);
  expect(scrolled).not.toHaveBeenCalled();
});

it('stays unfolded when the reader goes on', () => {
  show('one', 'two');
  const folded = () =>
    document
      .querySelector('[data-turn="one"] .plm-TurnPrompt-text')
      ?.getAttribute('data-folded');
  expect(folded()).toBe('true');

  askFor('one');
  fireEvent.wheel(document.body);

  expect(openedPlace.getSnapshot()).toBeNull();
  expect(folded()).toBe('false');
});
