// @vitest-environment jsdom
/** Printed output is followed to its end, until the user scrolls up. */
import { act, fireEvent, render } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { useTailScroll } from '../../../src/views/dom/tailScroll';

function Place({ text, live }: { text: string; live: boolean }) {
  const place = useTailScroll(live);
  return (
    <section ref={place} data-testid="place">
      <pre>{text}</pre>
    </section>
  );
}

/** jsdom has no layout: a line is ten pixels high, and the container a hundred. */
function place(container: HTMLElement): HTMLElement {
  const found = container.querySelector('section');
  if (found === null) {
    throw new Error('It was not drawn.');
  }
  const lines = () => found.textContent.split('\n').length;
  Object.defineProperty(found, 'scrollHeight', { get: () => 10 * lines() });
  Object.defineProperty(found, 'clientHeight', { get: () => 100 });
  return found;
}

const lines = (count: number) => 'line\n'.repeat(count);

describe('a place where something is printed', () => {
  it('follows its end, and stays where a person scrolled', async () => {
    const { container, rerender } = render(<Place text="" live={true} />);
    const node = place(container);
    const print = (text: string) =>
      act(async () => {
        rerender(<Place text={text} live={true} />);
        await Promise.resolve();
      });
    await print(lines(50));
    expect(node.scrollTop).toBe(510);

    node.scrollTop = 100;
    fireEvent.scroll(node);
    await print(lines(60));
    expect(node.scrollTop).toBe(100);

    node.scrollTop = 510;
    fireEvent.scroll(node);
    await print(lines(70));
    expect(node.scrollTop).toBe(710);
  });

  it('leaves what is over where it is', async () => {
    const { container, rerender } = render(<Place text="" live={false} />);
    const node = place(container);
    await act(async () => {
      rerender(<Place text={lines(50)} live={false} />);
      await Promise.resolve();
    });

    expect(node.scrollTop).toBe(0);
  });
});
