/** Keys of the grid: they move its cell. */
import type { KeyboardEvent } from 'react';
import {
  isInRange,
  type IRequestRange
} from '../../../state/inspector/figures/rangeFigures';
import { requestAfterKey } from '../controls/requestKeys';

interface IGridCell {
  rows: Int32Array;
  row: number;
  request: number;
  range: IRequestRange;
  item: number | null;
}

/** Returns where a key moves the cell; null for a key that moves nothing. */
export function cellStep(
  event: KeyboardEvent,
  { rows, row, request, range, item }: IGridCell,
  states: {
    nextChange(item: number, request: number): number | null;
    previousChange(item: number, request: number): number | null;
  }
): { request?: number; item?: number; against?: null } | null {
  const { first, last } = range;
  const isJump = event.ctrlKey || event.metaKey;
  if (isJump && item !== null && /^Arrow(Left|Right)$/.test(event.key)) {
    const at =
      event.key === 'ArrowRight'
        ? states.nextChange(item, request)
        : states.previousChange(item, request);
    const isThere = at !== null && isInRange(range, at);
    return { request: isThere ? at : request, against: null };
  }
  const corner = CORNERS[event.key];
  const end = corner === undefined ? undefined : rows.at(corner);
  if (isJump && corner !== undefined && end !== undefined) {
    const at = corner === 0 ? first : last;
    return { request: at, item: end, against: null };
  }
  const down = ROW_STEPS[event.key];
  if (down !== undefined && !isJump) {
    const to = Math.min(Math.max(row + down, 0), rows.length - 1);
    return rows[to] === undefined ? null : { item: rows[to] };
  }
  if (event.key === 'Enter' && item === null && rows[0] !== undefined) {
    return { item: rows[0] };
  }
  // A cursor beside the range comes into it.
  const next = requestAfterKey(event, request - first, last - first + 1);
  return next === null ? null : { request: first + next, against: null };
}

/** With Control: to the first cell, and to the last. */
const CORNERS: Readonly<Record<string, 0 | -1>> = { Home: 0, End: -1 };

const ROW_STEPS: Readonly<Record<string, number>> = {
  ArrowUp: -1,
  ArrowDown: 1,
  PageUp: -10,
  PageDown: 10
};
