/** A row an item, a column a request, coloured by state. */
import {
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type MouseEvent
} from 'react';
import { itemLabel } from '../../../state/inspector/labels';
import { ALL_ITEMS, itemRows } from '../../../state/inspector/itemRows';
import { stateWords } from '../../../state/inspector/why';
import { useHost } from '../../host';
import { useElementWidth } from '../controls/elementWidth';
import { useInspection } from '../controls/inspection';
import { requestStep } from '../controls/requestKeys';
import { drawGrid, HEAD_PX, ROW_PX, type IGridShape } from './gridDrawing';
import { GridFilter } from './gridFilter';

/** Widths of a column, in CSS pixels. */
const COLUMNS = [2, 5, 11] as const;

/** Draws the filter and the grid; `height` in CSS pixels. */
export function ItemGrid({ height = 400 }: { height?: number }) {
  const { words } = useHost();
  const inspection = useInspection();
  const { view, shown, request, item, go } = inspection;
  const [filter, setFilter] = useState(ALL_ITEMS);
  const [zoom, setZoom] = useState(2);
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const cell = useId();
  const width = useElementWidth(box);
  const rows = useMemo(
    () => itemRows(shown.states, filter),
    [shown.states, filter]
  );
  const column = COLUMNS[zoom] ?? 11;
  const names = width < 520 ? 112 : Math.min(260, Math.round(width * 0.3));
  const total = view.requests.id.length;
  const size = {
    width: names + total * column + 8,
    height: HEAD_PX + rows.length * ROW_PX
  };
  const seen = Math.min(height, size.height + 16);

  const paint = useCallback(() => {
    if (canvas.current !== null && box.current !== null) {
      const shape: IGridShape = {
        width,
        height: seen,
        names,
        column,
        left: box.current.scrollLeft,
        top: box.current.scrollTop
      };
      drawGrid(canvas.current, shape, {
        states: shown.states,
        rows,
        request,
        item
      });
    }
  }, [shown.states, rows, request, item, width, names, column, seen]);
  useLayoutEffect(paint, [paint]);
  useRepaintOnTheme(paint);

  // The cursor stays in sight; the chosen row, too.
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) {
      return;
    }
    const room = width - names;
    const x = request * column;
    if (x < element.scrollLeft || x + column > element.scrollLeft + room) {
      element.scrollLeft = Math.max(x - room * 0.7, 0);
    }
  }, [request, column, names, width]);
  const row = item === null ? -1 : rows.indexOf(item);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || row < 0) {
      return;
    }
    const y = row * ROW_PX;
    if (
      y < element.scrollTop ||
      y + ROW_PX > element.scrollTop + seen - HEAD_PX
    ) {
      element.scrollTop = Math.max(y - seen / 2, 0);
    }
  }, [row, seen]);

  const onClick = (event: MouseEvent<HTMLDivElement>) => {
    const element = event.currentTarget;
    const frame = element.getBoundingClientRect();
    const x = event.clientX - frame.left;
    const y = event.clientY - frame.top - HEAD_PX;
    const at = Math.floor((x - names + element.scrollLeft) / column);
    const chosen = rows[Math.floor((y + element.scrollTop) / ROW_PX)];
    go({
      ...(x >= names && at >= 0 && at < total
        ? { request: at, against: null }
        : {}),
      ...(y >= 0 && chosen !== undefined ? { item: chosen } : {})
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = cellStep(
      event,
      { rows, row, request, total, item },
      shown.states
    );
    if (next !== null) {
      event.preventDefault();
      go(next);
    }
  };
  const state = item === null ? null : shown.states.state(item, request);
  const told =
    item === null
      ? words.__('No item is chosen: press the arrow down.')
      : words.__(
          '%1, request %2: %3',
          itemLabel(view, item),
          request + 1,
          state === null ? words.__('not yet there') : stateWords(state)
        );
  return (
    <div className="plm-ItemGrid">
      <GridFilter
        filter={filter}
        onFilter={setFilter}
        zoom={zoom}
        zooms={COLUMNS.length}
        onZoom={setZoom}
        found={rows.length}
      />
      <div
        className="plm-ItemGrid-box"
        ref={box}
        role="grid"
        tabIndex={0}
        aria-label={words.__('Items by requests')}
        aria-rowcount={rows.length}
        aria-colcount={total}
        aria-activedescendant={cell}
        style={{ height: seen }}
        onScroll={paint}
        onClick={onClick}
        onKeyDown={onKeyDown}
      >
        <div className="plm-ItemGrid-size" style={size} role="presentation">
          <canvas
            ref={canvas}
            aria-hidden="true"
            style={{ width, height: seen }}
          />
        </div>
        <div
          role="row"
          aria-rowindex={Math.max(row, 0) + 1}
          className="plm-Hidden"
        >
          <span role="gridcell" id={cell} aria-colindex={request + 1}>
            {told}
          </span>
        </div>
      </div>
      <p className="plm-Muted plm-ItemGrid-keys">
        {words.__(
          'Arrows move the cell, Control with left and right goes to the row’s next change, Enter says why.'
        )}
      </p>
    </div>
  );
}

interface IGridCell {
  rows: Int32Array;
  row: number;
  request: number;
  total: number;
  item: number | null;
}

/** Returns where a key moves the cell; null for a key that moves nothing. */
function cellStep(
  event: KeyboardEvent,
  { rows, row, request, total, item }: IGridCell,
  states: {
    nextChange(item: number, request: number): number | null;
    previousChange(item: number, request: number): number | null;
  }
): { request?: number; item?: number; against?: null; tab?: string } | null {
  const isJump = event.ctrlKey || event.metaKey;
  if (isJump && item !== null && /^Arrow(Left|Right)$/.test(event.key)) {
    const at =
      event.key === 'ArrowRight'
        ? states.nextChange(item, request)
        : states.previousChange(item, request);
    return { request: at ?? request, against: null };
  }
  const down = ROW_STEPS[event.key];
  if (down !== undefined && !isJump) {
    const to = Math.min(Math.max(row + down, 0), rows.length - 1);
    return rows[to] === undefined ? null : { item: rows[to] };
  }
  if (event.key === 'Enter' && item === null && rows[0] !== undefined) {
    return { item: rows[0] };
  }
  const next = requestStep(event, request, total);
  return next === null ? null : { request: next, against: null };
}

const ROW_STEPS: Readonly<Record<string, number>> = {
  ArrowUp: -1,
  ArrowDown: 1,
  PageUp: -10,
  PageDown: 10
};

/** Paints again when the theme changes, or the colours that the system asks for. */
function useRepaintOnTheme(paint: () => void): void {
  useEffect(() => {
    if (typeof matchMedia === 'undefined') {
      return;
    }
    const observer = new MutationObserver(paint);
    for (const element of [document.body, document.documentElement]) {
      observer.observe(element, {
        attributeFilter: ['data-jp-theme-name', 'data-jp-theme-light', 'class']
      });
    }
    const asked = [
      '(prefers-color-scheme: dark)',
      '(forced-colors: active)',
      'print'
    ].map(one => matchMedia(one));
    for (const one of asked) {
      one.addEventListener('change', paint);
    }
    return () => {
      observer.disconnect();
      for (const one of asked) {
        one.removeEventListener('change', paint);
      }
    };
  }, [paint]);
}
