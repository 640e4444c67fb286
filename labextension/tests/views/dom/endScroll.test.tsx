// @vitest-environment jsdom
/** Whoever leaves the end of a transcript is offered the way back only while its end is out of view. */
import { act, render } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { useEndScroll } from '../../../src/views/dom/endScroll';

const HEIGHT = 100;

let resize: () => void = () => undefined;

/** A container that says whether its end is in view. */
function Container() {
  const { elementRef, isAtEnd, leaveEnd } = useEndScroll();
  return (
    <div ref={elementRef} data-testid="box" data-end={isAtEnd}>
      <button onClick={leaveEnd} />
    </div>
  );
}

/** Draws the container with content of a height; returns it. */
function draw(content: number) {
  const box = render(<Container />).getByTestId('box');
  Object.defineProperty(box, 'clientHeight', { value: HEIGHT });
  setHeight(box, content);
  box.scrollTop = content - HEIGHT;
  return box;
}

function leave(box: HTMLElement): void {
  box.querySelector('button')?.click();
}

function setHeight(box: HTMLElement, content: number): void {
  Object.defineProperty(box, 'scrollHeight', {
    value: content,
    configurable: true
  });
}

beforeEach(() => {
  vi.stubGlobal(
    'ResizeObserver',
    class {
      constructor(changed: () => void) {
        resize = changed;
      }
      observe(): void {}
      disconnect(): void {}
    }
  );
});

afterEach(() => {
  vi.unstubAllGlobals();
});

describe('Leaving the end', () => {
  it('offers nothing where everything is in view', () => {
    const box = draw(HEIGHT);
    act(() => {
      leave(box);
    });

    expect(box.dataset.end).toBe('true');
  });

  it('offers the way back when the content grows out of view, until it fits again', () => {
    const box = draw(HEIGHT);
    act(() => {
      leave(box);
      setHeight(box, 5 * HEIGHT);
      resize();
    });
    expect(box.dataset.end).toBe('false');
    expect(box.scrollTop).toBe(0);

    act(() => {
      setHeight(box, HEIGHT);
      resize();
    });
    expect(box.dataset.end).toBe('true');
  });

  it('is no leaving while nobody left: the container follows', () => {
    const box = draw(HEIGHT);
    act(() => {
      setHeight(box, 5 * HEIGHT);
      resize();
    });

    expect(box.scrollTop).toBe(5 * HEIGHT);
    expect(box.dataset.end).toBe('true');
  });
});
