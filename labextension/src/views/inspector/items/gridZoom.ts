/** The width of the grid's columns: steps, keys, and the wheel with Control. */
import { useEffect, type KeyboardEvent, type RefObject } from 'react';
import { useLatest } from '../../dom/effects';

/** Widths of a column, in CSS pixels, beside that at which all requests fit. */
const COLUMNS: readonly number[] = [2, 5, 11];
/** The most that a column has where all requests fit. */
const MAX_COLUMN_PX = 40;
/** A notch of a mouse's wheel is more; a pinch on a touchpad comes in many small pieces. */
const WHEEL_STEP_PX = 40;
/** Pixels of a wheel's line, where it counts in lines. */
const LINE_PX = 20;

interface IGridZoom {
  /** The width of a column in CSS pixels. */
  readonly column: number;
  /** The step that is shown, and how many there are; at 0 all requests fit. */
  readonly zoom: number;
  readonly zooms: number;
}

/** Returns the width of a column at a step; `room` in CSS pixels for each request. */
export function columnAt(chosenZoom: number, room: number): IGridZoom {
  const fitting =
    room < 2 ? Math.max(room, 0.01) : Math.min(Math.floor(room), MAX_COLUMN_PX);
  const columns = [fitting, ...COLUMNS.filter(wider => wider > fitting)];
  const zoom = Math.min(chosenZoom, columns.length - 1);
  return { column: columns[zoom] ?? fitting, zoom, zooms: columns.length };
}

/** Returns the step that a key leads to; null for a key that is for something else. */
export function zoomByKey(
  { key, altKey, ctrlKey, metaKey }: KeyboardEvent,
  { zoom, zooms }: IGridZoom
): number | null {
  // With Control they are the browser's.
  if (altKey || ctrlKey || metaKey) {
    return null;
  }
  switch (key) {
    case '+':
    case '=':
      return Math.min(zoom + 1, zooms - 1);
    case '-':
    case '−':
      return Math.max(zoom - 1, 0);
    case '0':
      return 0;
    default:
      return null;
  }
}

/** Calls `step` where the wheel is turned with Control over a box, with the pointer's place in the box's window. */
export function useZoomWheel(
  box: RefObject<HTMLElement | null>,
  step: (direction: 1 | -1, x: number) => void
): void {
  const latest = useLatest(step);
  useEffect(() => {
    const element = box.current;
    if (element === null) {
      return;
    }
    let turned = 0;
    const turn = (event: WheelEvent) => {
      if (!event.ctrlKey) {
        turned = 0;
        return;
      }
      // The browser would enlarge the page.
      event.preventDefault();
      turned += event.deltaY * (event.deltaMode === 0 ? 1 : LINE_PX);
      if (Math.abs(turned) >= WHEEL_STEP_PX) {
        const x = event.clientX - element.getBoundingClientRect().left;
        latest.current(turned < 0 ? 1 : -1, x);
        turned = 0;
      }
    };
    // React's own listener cannot keep the browser from it.
    element.addEventListener('wheel', turn, { passive: false });
    return () => {
      element.removeEventListener('wheel', turn);
    };
  }, [box, latest]);
}
