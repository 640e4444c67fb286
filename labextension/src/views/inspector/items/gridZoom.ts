/** The width of the grid's columns: steps, keys, and the wheel with Control. */
import { useEffect, type KeyboardEvent, type RefObject } from 'react';
import { useLatest } from '../../dom/effects';

/** Widths of a column, in CSS pixels, beside that at which all requests fit. */
const COLUMN_WIDTHS_PX: readonly number[] = [2, 5, 11];
/** The largest width of a column where all requests fit. */
const MAX_COLUMN_PX = 40;
/** How far the wheel turns for a step: a notch of a mouse is more, a pinch on a touchpad comes in many small turns. */
const WHEEL_STEP_PX = 40;
/** Pixels of a wheel's line, where it counts in lines. */
const WHEEL_LINE_PX = 20;

interface IGridZoom {
  /** The width of a column in CSS pixels. */
  readonly columnPx: number;
  /** The step that is shown, and the number of steps; at step 0 all requests fit. */
  readonly zoom: number;
  readonly zoomCount: number;
}

/** Returns the width of a column at a step; `room` in CSS pixels for each request. */
export function gridZoomAt(chosenZoom: number, roomPx: number): IGridZoom {
  const fittingPx =
    roomPx < 2
      ? Math.max(roomPx, 0.01)
      : Math.min(Math.floor(roomPx), MAX_COLUMN_PX);
  const widths = [
    fittingPx,
    ...COLUMN_WIDTHS_PX.filter(width => width > fittingPx)
  ];
  const zoom = Math.min(chosenZoom, widths.length - 1);
  return {
    columnPx: widths[zoom] ?? fittingPx,
    zoom,
    zoomCount: widths.length
  };
}

/** Returns the step that a key leads to; null for a key that is for something else. */
export function zoomAfterKey(
  { key, altKey, ctrlKey, metaKey }: KeyboardEvent,
  { zoom, zoomCount }: IGridZoom
): number | null {
  // With Control these keys are the browser's.
  if (altKey || ctrlKey || metaKey) {
    return null;
  }
  switch (key) {
    case '+':
    case '=':
      return Math.min(zoom + 1, zoomCount - 1);
    case '-':
    case '−':
      return Math.max(zoom - 1, 0);
    case '0':
      return 0;
    default:
      return null;
  }
}

/** Calls `onZoom` where the wheel is turned with Control over a box, with the pointer's place in the box's window. */
export function useZoomWheel(
  boxRef: RefObject<HTMLElement | null>,
  onZoom: (direction: 1 | -1, x: number) => void
): void {
  const latestOnZoom = useLatest(onZoom);
  useEffect(() => {
    const element = boxRef.current;
    if (element === null) {
      return;
    }
    let turnedPx = 0;
    const handleWheel = (event: WheelEvent) => {
      if (!event.ctrlKey) {
        turnedPx = 0;
        return;
      }
      // The browser would enlarge the page.
      event.preventDefault();
      turnedPx += event.deltaY * (event.deltaMode === 0 ? 1 : WHEEL_LINE_PX);
      if (Math.abs(turnedPx) >= WHEEL_STEP_PX) {
        const x = event.clientX - element.getBoundingClientRect().left;
        latestOnZoom.current(turnedPx < 0 ? 1 : -1, x);
        turnedPx = 0;
      }
    };
    // React's own listener is passive, and could not prevent that.
    element.addEventListener('wheel', handleWheel, { passive: false });
    return () => {
      element.removeEventListener('wheel', handleWheel);
    };
  }, [boxRef, latestOnZoom]);
}
