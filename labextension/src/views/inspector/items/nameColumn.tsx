/** The width of the grid's names: chosen by the room there is, or by a person, who moves the line beside them. */
import { useRef, useState, type KeyboardEvent, type PointerEvent } from 'react';
import { useHost } from '../../host';

const MIN_NAMES_PX = 80;
/** The width of the names in a narrow grid whose requests fill the rest. */
const NARROW_NAMES_PX = 132;
const NARROW_GRID_PX = 520;
const MAX_NAMES_PX = 300;
/** Names have at most this share of the grid; a person may give them more. */
const NAMES_SHARE = 0.4;
const NARROW_NAMES_SHARE = 0.6;
const MAX_NAMES_SHARE = 0.8;
/** A column need not be wider; the names get the rest. */
const WIDE_COLUMN_PX = 16;
/** The space beside the last column. */
export const MARGIN_PX = 8;
const KEY_STEP_PX = 16;

/** The width that a person chose, until the page is closed. */
const userChoice: { width: number | null } = { width: null };

/** The width of the names, and how to choose it. */
interface INameColumn {
  readonly width: number;
  readonly min: number;
  readonly max: number;
  /** Chooses a width; null chooses by the room again. */
  readonly choose: (width: number | null) => void;
}

/** Returns the width of the names in a grid; `width` of the grid in CSS pixels, `requests` that have columns in it. */
export function useNameColumn(
  width: number,
  requestCount: number
): INameColumn {
  const [chosenWidth, setChosenWidth] = useState(userChoice.width);
  const min = Math.min(MIN_NAMES_PX, width);
  const max = Math.max(Math.round(width * MAX_NAMES_SHARE), min);
  return {
    width: Math.min(
      Math.max(chosenWidth ?? widthByRoom(width, requestCount), min),
      max
    ),
    min,
    max,
    choose: newWidth => {
      userChoice.width =
        newWidth === null ? null : Math.min(Math.max(newWidth, min), max);
      setChosenWidth(userChoice.width);
    }
  };
}

function widthByRoom(width: number, requestCount: number): number {
  if (width >= NARROW_GRID_PX) {
    return Math.min(MAX_NAMES_PX, Math.round(width * NAMES_SHARE));
  }
  const freeWidth = width - MARGIN_PX - requestCount * WIDE_COLUMN_PX;
  const maxWidth = Math.min(MAX_NAMES_PX, width * NARROW_NAMES_SHARE);
  return Math.round(Math.max(NARROW_NAMES_PX, Math.min(freeWidth, maxWidth)));
}

interface INameColumnLineProps {
  column: INameColumn;
  /** The height of the grid in CSS pixels. */
  height: number;
}

/** Draws the line between names and squares, which is dragged or moved by arrows; a double click, or Enter, resets it. */
export function NameColumnLine({ column, height }: INameColumnLineProps) {
  const { words } = useHost();
  const { width, min, max, choose } = column;
  const dragStart = useRef<{ x: number; width: number } | null>(null);
  const handleDrag = ({ clientX }: PointerEvent) => {
    if (dragStart.current !== null) {
      choose(dragStart.current.width + clientX - dragStart.current.x);
    }
  };
  const endDrag = () => {
    dragStart.current = null;
  };
  const handleKey = (event: KeyboardEvent) => {
    const newWidth = widthAfterKey(event.key, column);
    if (newWidth !== undefined) {
      event.preventDefault();
      choose(newWidth);
    }
  };
  return (
    <div
      className="plm-ItemGrid-line"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={words.__('Width of the names')}
      aria-valuemin={min}
      aria-valuemax={max}
      aria-valuenow={width}
      aria-valuetext={words.__('%1 pixels', width)}
      title={words.__('Drag to change the width of the names')}
      style={{ left: width, height }}
      onPointerDown={event => {
        if (event.button === 0) {
          event.currentTarget.setPointerCapture(event.pointerId);
          dragStart.current = { x: event.clientX, width };
        }
      }}
      onPointerMove={handleDrag}
      onPointerUp={endDrag}
      onPointerCancel={endDrag}
      onDoubleClick={() => {
        choose(null);
      }}
      onKeyDown={handleKey}
    />
  );
}

/** Returns the width that a key leads to; null to choose by the room, undefined for a key that changes nothing. */
function widthAfterKey(
  key: string,
  { width, min, max }: INameColumn
): number | null | undefined {
  switch (key) {
    case 'ArrowLeft':
      return width - KEY_STEP_PX;
    case 'ArrowRight':
      return width + KEY_STEP_PX;
    case 'Home':
      return min;
    case 'End':
      return max;
    case 'Enter':
      return null;
    default:
      return undefined;
  }
}
