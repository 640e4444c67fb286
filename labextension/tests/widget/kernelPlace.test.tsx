// @vitest-environment jsdom
/** The place of a cell's inspector follows the kernel, and the kernel follows it. */
import { act, renderHook } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { InspectorWidgetModel } from '../../src/widget/anywidgetModel';
import { useHiddenParts, useKernelPlace } from '../../src/widget/kernelPlace';

/** A fake kernel side of the widget: it holds one link, and notes what is saved. */
class Kernel {
  saved: string[] = [];
  closed = false;
  private readonly _heard = new Set<() => void>();

  hidden: string[] = [];

  constructor(private _place: string) {}

  get(name: string): string | string[] {
    return name === 'hidden'
      ? this.hidden
      : name === 'place'
        ? this._place
        : 'ses_1';
  }

  reveal(hidden: string[]): void {
    this.hidden = hidden;
    this.set('place', this._place);
  }

  set(_: 'place', link: string): void {
    this._place = link;
    this._heard.forEach(heard => {
      heard();
    });
  }

  save_changes(): void {
    if (this.closed) {
      throw new Error('No comm');
    }
    this.saved.push(this._place);
  }

  on(_: string, heard: () => void): void {
    this._heard.add(heard);
  }

  off(_: string, heard: () => void): void {
    this._heard.delete(heard);
  }
}

function drawn(kernel: Kernel) {
  const model = kernel as unknown as InspectorWidgetModel;
  return renderHook(() => useKernelPlace(model));
}

describe('the place of a cell', () => {
  it('opens where the kernel says, and moves when it does', () => {
    const kernel = new Kernel('palimpsest:ses_1/209?tab=cost');
    const { result } = drawn(kernel);

    expect(result.current[0]).toMatchObject({ request: 208, tab: 'cost' });
    act(() => {
      kernel.set('place', 'palimpsest:ses_1/3');
    });

    expect(result.current[0]).toEqual({ request: 2, item: null });
    expect(kernel.saved).toEqual([]);
  });

  it('is sent to the kernel, whose echo changes nothing, and to other cells of the view', () => {
    const kernel = new Kernel('palimpsest:ses_1');
    const { result } = drawn(kernel);
    const other = drawn(kernel).result;
    const place = { request: 4, item: 1, tab: 'items' } as const;
    act(() => {
      result.current[1](place);
    });

    expect(kernel.saved).toEqual(['palimpsest:ses_1/5/2?tab=items']);
    expect(result.current[0]).toBe(place);
    expect(other.current[0]).toEqual(place);
  });

  it('moves when the kernel has ended', () => {
    const kernel = new Kernel('palimpsest:ses_1');
    kernel.closed = true;
    const { result } = drawn(kernel);
    act(() => {
      result.current[1]({ request: 4, item: null });
    });

    expect(result.current[0].request).toBe(4);
  });
});

it('hides what the kernel names, until it reveals it; a name that is not known is left out', () => {
  const kernel = new Kernel('palimpsest:ses_1');
  kernel.hidden = ['cost', 'breaks', 'of a newer kernel'];
  const model = kernel as unknown as InspectorWidgetModel;
  const { result } = renderHook(() => useHiddenParts(model));

  expect(result.current).toEqual(['cost', 'breaks']);
  act(() => {
    kernel.reveal(['cost']);
  });

  expect(result.current).toEqual(['cost']);
});
