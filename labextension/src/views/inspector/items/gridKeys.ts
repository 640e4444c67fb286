/** The keys that move the grid's cell. */
import type { KeyboardEvent } from 'react';
import {
  isInRange,
  type IRequestRange
} from '../../../state/inspector/figures/rangeFigures';
import { requestAfterKey } from '../controls/requestKeys';

interface IGridCell {
  rows: Int32Array;
  /** The index of the chosen row in `rows`; -1 where it is not there. */
  row: number;
  request: number;
  range: IRequestRange;
  item: number | null;
}

/** Returns where a key moves the cell; null for a key that moves nothing. */
export function cellAfterKey(
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
    const changeRequest =
      event.key === 'ArrowRight'
        ? states.nextChange(item, request)
        : states.previousChange(item, request);
    const isInColumns =
      changeRequest !== null && isInRange(range, changeRequest);
    return { request: isInColumns ? changeRequest : request, against: null };
  }
  const corner = CORNERS[event.key];
  const cornerItem = corner === undefined ? undefined : rows.at(corner);
  if (isJump && corner !== undefined && cornerItem !== undefined) {
    const cornerRequest = corner === 0 ? first : last;
    return { request: cornerRequest, item: cornerItem, against: null };
  }
  const rowStep = ROW_STEPS[event.key];
  if (rowStep !== undefined && !isJump) {
    const nextRow = Math.min(Math.max(row + rowStep, 0), rows.length - 1);
    return rows[nextRow] === undefined ? null : { item: rows[nextRow] };
  }
  if (event.key === 'Enter' && item === null && rows[0] !== undefined) {
    return { item: rows[0] };
  }
  // A cursor outside the range comes into it.
  const nextOffset = requestAfterKey(event, request - first, last - first + 1);
  return nextOffset === null
    ? null
    : { request: first + nextOffset, against: null };
}

/** With Control: to the first cell, and to the last. */
const CORNERS: Readonly<Record<string, 0 | -1>> = { Home: 0, End: -1 };

const PAGE_ROWS = 10;
const ROW_STEPS: Readonly<Record<string, number>> = {
  ArrowUp: -1,
  ArrowDown: 1,
  PageUp: -PAGE_ROWS,
  PageDown: PAGE_ROWS
};
