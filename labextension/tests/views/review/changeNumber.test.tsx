/** The number of a change in its bar follows the decisions about others while it is on the screen. */
// @vitest-environment jsdom
import { act, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { MadeChange } from '../../../src/protocol/generated';
import { reviewsByCell } from '../../../src/state/review/cellReview';
import { ReviewNumbers } from '../../../src/state/review/reviewNumbers';
import { HostProvider } from '../../../src/views/host';
import { ChangeBar } from '../../../src/views/review/changeBar';
import { HOST } from '../../plainHost';

let tell: IntersectionObserverCallback | undefined;
let observed: Element[] = [];

class Observer {
  constructor(callback: IntersectionObserverCallback) {
    tell = callback;
  }

  observe(element: Element): void {
    observed.push(element);
  }

  unobserve(): void {
    observed = [];
  }
}

function scrollIntoView(isIntersecting: boolean): void {
  act(() => {
    tell?.(
      observed.map(
        target => ({ target, isIntersecting }) as IntersectionObserverEntry
      ),
      {} as IntersectionObserver
    );
  });
}

beforeEach(() => {
  vi.stubGlobal('IntersectionObserver', Observer);
});

afterEach(() => {
  vi.unstubAllGlobals();
});

it('keeps its number off the screen, and has the new one when it is back', () => {
  const numbers = new ReviewNumbers();
  const change: MadeChange = {
    action: 'edit',
    cell: 'c1',
    kind: 'code',
    old: 'x = 1',
    new: 'x = 2',
    state: 'open',
    by: '',
    reason: '',
    notebook: 'a.ipynb',
    undone: false
  };
  const reviews = reviewsByCell([
    {
      key: 'b',
      messageId: 'm',
      callId: 'c',
      index: 0,
      callChangeCount: 1,
      change
    }
  ]);
  const keys = (...all: string[]) => all.map(key => ({ key }));
  numbers.assign(keys('a', 'b', 'c'));
  const nothing = () => undefined;
  render(
    <HostProvider value={HOST}>
      {reviews.map(review => (
        <ChangeBar
          key={review.key}
          review={review}
          numbers={numbers}
          state={{
            isEditing: false,
            problem: '',
            note: '',
            isSeen: true,
            canBeMade: true,
            rejectionRequests: 0
          }}
          actions={{
            accept: nothing,
            reject: nothing,
            takeBack: nothing,
            next: nothing,
            previous: nothing
          }}
        />
      ))}
    </HostProvider>
  );
  expect(screen.getByText('2 of 3')).toBeDefined();

  scrollIntoView(false);
  act(() => {
    numbers.assign(keys('b', 'c'));
  });
  expect(screen.getByText('2 of 3')).toBeDefined();
  scrollIntoView(true);
  expect(screen.getByText('1 of 2')).toBeDefined();
  act(() => {
    numbers.assign(keys('b'));
  });
  expect(screen.queryByText(/ of /)).toBeNull();
});
