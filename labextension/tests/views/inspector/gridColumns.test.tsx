// @vitest-environment jsdom
/** The columns of the grid are made wider by keys and wheel, and so is that of the names. */
import { act, cleanup, fireEvent, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { draw, settle, sourceOf } from './drawnInspector';

/** Of the grid, in CSS pixels. */
let room = 800;

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null);
  vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockImplementation(
    () => room
  );
  vi.stubGlobal(
    'ResizeObserver',
    class {
      observe = () => undefined;
      disconnect = () => undefined;
    }
  );
});

afterEach(() => {
  const line = screen.queryByRole('separator');
  if (line !== null) {
    fireEvent.keyDown(line, { key: 'Enter' });
  }
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** Returns the width of the grid's contents. */
function contents(): number {
  const size = document.querySelector<HTMLElement>('.plm-ItemGrid-size');
  return parseFloat(size?.style.width ?? '');
}

function names(): number {
  return Number(screen.getByRole('separator').getAttribute('aria-valuenow'));
}

describe('the columns of the grid', () => {
  it('are made wider and narrower by keys, down to where all requests fit', async () => {
    await draw(sourceOf('pi'), { request: 200 });
    const grid = screen.getByRole('grid');
    const widths = [];
    for (const key of ['+', '=', '+', '-', '0']) {
      expect(fireEvent.keyDown(grid, { key })).toBe(false);
      await settle();
      widths.push((contents() - names() - 8) / 453);
    }

    expect(widths.map(Math.round)).toEqual([2, 5, 11, 5, 1]);
    expect(contents()).toBeCloseTo(room);
    expect(fireEvent.keyDown(grid, { key: '+', ctrlKey: true })).toBe(true);
    expect(contents()).toBeCloseTo(room);
  });

  it('are made wider by the wheel with Control, and keep what is under the pointer', async () => {
    await draw(sourceOf('pi'), { request: 0 });
    const grid = screen.getByRole('grid');
    const turn = async (deltaY: number, ctrlKey = true) => {
      const isLeft = act(() =>
        fireEvent.wheel(grid, { deltaY, ctrlKey, clientX: names() + 200 })
      );
      await settle();
      return isLeft;
    };
    const under = () => {
      const column = (contents() - names() - 8) / 453;
      return (200 + grid.scrollLeft) / column;
    };
    const before = under();
    expect(await turn(-100, false)).toBe(true);
    expect(contents()).toBeCloseTo(room);
    // A pinch comes in small pieces.
    for (let times = 0; times < 3; times++) {
      expect(await turn(-15)).toBe(false);
    }
    expect(contents()).toBeCloseTo(names() + 453 * 2 + 8);
    expect(under()).toBeCloseTo(before);

    await turn(-100);
    expect(contents()).toBeCloseTo(names() + 453 * 5 + 8);
    expect(under()).toBeCloseTo(before);
    await turn(100);
    await turn(100);
    await turn(100);
    expect(contents()).toBeCloseTo(room);
  });
});

describe('the column of names', () => {
  it('is as wide as a pointer or arrows make it, for as long as the page is there', async () => {
    const { unmount } = await draw(sourceOf('pi'), { request: 200 });
    const line = () => screen.getByRole('separator');
    expect(names()).toBe(300);
    fireEvent.keyDown(line(), { key: 'ArrowLeft' });
    fireEvent.keyDown(line(), { key: 'ArrowLeft' });
    expect(names()).toBe(268);
    line().setPointerCapture = () => undefined;
    fireEvent.pointerDown(line(), { button: 0, clientX: 268, pointerId: 1 });
    fireEvent.pointerMove(line(), { clientX: 400, pointerId: 1 });
    fireEvent.pointerUp(line(), { clientX: 400, pointerId: 1 });
    fireEvent.pointerMove(line(), { clientX: 500, pointerId: 1 });
    expect(names()).toBe(400);
    expect(contents()).toBeCloseTo(room);

    unmount();
    await draw(sourceOf('claude_code'), { tab: 'items' });
    expect(names()).toBe(400);
    for (const [key, limit] of [
      ['End', 'aria-valuemax'],
      ['ArrowRight', 'aria-valuemax'],
      ['Home', 'aria-valuemin'],
      ['ArrowLeft', 'aria-valuemin']
    ] as const) {
      fireEvent.keyDown(line(), { key });
      expect(line().getAttribute(limit)).toBe(String(names()));
    }
    fireEvent.dblClick(line());
    expect(names()).toBe(300);
  });

  it.each([
    ['pi', 132],
    ['swe_agent', 144],
    ['claude_code', 216]
  ] as const)(
    'is wider in a narrow grid where columns leave room (%s)',
    async (name, width) => {
      room = 360;
      await draw(sourceOf(name), { tab: 'items' });
      room = 800;

      expect(names()).toBe(width);
    }
  );
});
