/** A row an item, a column a request, coloured by state. */
import {
  memo,
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
import type { TimelineView } from '../../../protocol/generated';
import {
  definitionOfRow,
  definitionsOf,
  itemOfRow,
  MAX_ITEMS,
  placeOfRow,
  rowOf
} from '../../../state/inspector/definitionRows';
import { markWords } from '../../../state/inspector/cacheMarks';
import { itemLabel } from '../../../state/inspector/labels';
import {
  subagentFigures,
  subagentPlace,
  subagentsOf
} from '../../../state/inspector/subagents';
import { itemRows } from '../../../state/inspector/itemRows';
import {
  isInRange,
  wholeRange
} from '../../../state/inspector/figures/rangeFigures';
import { scaleAt } from '../../../state/inspector/figures/requestScale';
import type { ItemStates } from '../../../state/inspector/figures/itemStates';
import { stateWords } from '../../../state/inspector/why';
import { count } from '../../../state/text/numberFormat';
import { useHost, type IWords } from '../../host';
import { useElementWidth } from '../../dom/sizes';
import {
  useCacheMarks,
  useGridChoice,
  useInspection,
  type IShownTrack
} from '../controls/inspection';
import {
  drawGrid,
  rowOfMark,
  FOLD_PX,
  HEAD_PX,
  requestsInColumn,
  ROW_PX,
  type IGridShape
} from './gridDrawing';
import { CacheMarkSentence } from './cacheMarks';
import { GridFilter } from './gridFilter';
import { cellStep } from './gridKeys';
import { columnAt, useZoomWheel, zoomByKey } from './gridZoom';
import { MARGIN_PX, NameColumnLine, useNameColumn } from './nameColumn';
import { GridPalette } from './gridPalette';
import { useLatest } from '../../dom/effects';

/**
 * Draws heading, filter and grid; `height` in CSS pixels, `hasKinds` is false where the kinds are told beside it. On paper
 * all requests fit, as nobody can scroll it.
 */
export const ItemGrid = memo(function ItemGrid(props: {
  height?: number;
  hasKinds?: boolean;
  isPrinted?: boolean;
}) {
  const { height = 400, hasKinds = true, isPrinted = false } = props;
  const { words } = useHost();
  const inspection = useInspection();
  const {
    view,
    recordedTrack,
    whatIf,
    shownTrack,
    request,
    item,
    goTo,
    cardFocus
  } = inspection;
  const { range: chosenRange, chooseRange, definition } = inspection;
  const { filter, zoom: chosenZoom } = useGridChoice();
  /** What a turned wheel keeps under the pointer: a place in columns, and where it is seen. */
  const pointed = useRef<{ column: number; x: number } | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const palette = useRef<GridPalette | null>(null);
  const scrolled = useRef({ left: 0, top: 0 });
  const idPrefix = useId();
  const width = useElementWidth(box);
  const { unfolded, fold } = useUnfoldedItems(view, item, definition);
  const rows = useMemo(
    () => itemRows(shownTrack.states, filter, chosenRange, unfolded),
    [shownTrack.states, filter, chosenRange, unfolded]
  );
  const { source } = inspection;
  const opensSubagents = useMemo(
    () =>
      view.subagents.every(
        ({ session }) => source.subagentSource?.(session) !== null
      ),
    [source, view]
  );
  const marks = useCacheMarks();
  const chosenRow = item === null ? null : rowOf(view, item, definition);
  const range = useMemo(
    () => chosenRange ?? wholeRange(view),
    [chosenRange, view]
  );
  const { first } = range;
  const total = range.last - first + 1;
  const nameColumn = useNameColumn(width, total);
  const names = nameColumn.width;
  const gridZoom = columnAt(chosenZoom, (width - names - MARGIN_PX) / total);
  const { column, zoom, zooms } = gridZoom;
  const inColumn = requestsInColumn(column);
  const tracks = useMemo(
    () => [recordedTrack.states, ...(whatIf === null ? [] : [whatIf.states])],
    [recordedTrack.states, whatIf]
  );
  const size = {
    width: names + total * column + MARGIN_PX,
    height: HEAD_PX + rows.length * ROW_PX
  };
  const visibleHeight = Math.min(height, size.height + 16);

  const paint = useCallback(() => {
    if (canvas.current !== null) {
      const shape: IGridShape = {
        width,
        height: visibleHeight,
        names,
        column,
        range,
        ...scrolled.current
      };
      palette.current ??= new GridPalette(canvas.current);
      drawGrid(canvas.current, palette.current, shape, {
        states: shownTrack.states,
        tracks,
        rows,
        request,
        chosenRow,
        marks,
        opensSubagents
      });
    }
  }, [
    shownTrack.states,
    tracks,
    rows,
    request,
    chosenRow,
    marks,
    opensSubagents,
    width,
    names,
    column,
    range,
    visibleHeight
  ]);
  useLayoutEffect(paint, [paint]);

  // The cursor stays in sight; the chosen row, too. Nothing is read of the page, which would lay it out.
  const row = chosenRow === null ? -1 : rows.indexOf(chosenRow);
  const showCursor = useCallback(() => {
    const { left } = scrolled.current;
    const columnRoom = width - names;
    const x = (request - range.first) * column;
    const element = box.current;
    const isHidden = x < left || x + column > left + columnRoom;
    if (element !== null && isHidden && isInRange(range, request)) {
      element.scrollLeft = Math.max(x - columnRoom * 0.7, 0);
    }
  }, [request, column, names, width, range]);
  const laidOut = useRef({ width, chosenRange });
  useLayoutEffect(() => {
    // A box that became wider than what it holds was scrolled back before its contents grew; with a range it holds less.
    const before = laidOut.current;
    const isSame = before.width === width && before.chosenRange === chosenRange;
    if (!isSame && box.current !== null) {
      laidOut.current = { width, chosenRange };
      scrolled.current = scrollOf(box.current);
    }
    const kept = pointed.current;
    pointed.current = null;
    if (kept === null || box.current === null) {
      showCursor();
    } else {
      box.current.scrollLeft = Math.max(kept.column * column - kept.x, 0);
      scrolled.current = scrollOf(box.current);
    }
  }, [showCursor, width, chosenRange, column]);
  useZoomWheel(box, (direction, pointerX) => {
    const to = zoom + direction;
    const x = pointerX - names;
    if (to >= 0 && to < zooms) {
      const { left } = scrolled.current;
      pointed.current = x < 0 ? null : { column: (x + left) / column, x };
      goTo({ zoom: to });
    }
  });
  useThemeChange(() => {
    palette.current = null;
    // Another theme lays the page out anew, which may scroll the grid without saying so.
    if (box.current !== null) {
      scrolled.current = scrollOf(box.current);
    }
    showCursor();
    paint();
  });
  const lastDrawn = useRef({ rows, filter });
  useLayoutEffect(() => {
    // Rows that come above the seen ones do not move these.
    const before = lastDrawn.current;
    lastDrawn.current = { rows, filter };
    const { top } = scrolled.current;
    const first = Math.floor(top / ROW_PX);
    const now = rows.indexOf(before.rows[first] ?? -1);
    const isSame = before.filter === filter && top > 0 && now >= 0;
    if (box.current !== null && isSame && now !== first) {
      scrolled.current.top = top + (now - first) * ROW_PX;
      box.current.scrollTop = scrolled.current.top;
    }
  }, [rows, filter]);
  useLayoutEffect(() => {
    const { top } = scrolled.current;
    const y = row * ROW_PX;
    const element = box.current;
    const isHidden = y < top || y + ROW_PX > top + visibleHeight - HEAD_PX;
    if (element !== null && row >= 0 && isHidden) {
      element.scrollTop = Math.max(y - visibleHeight / 2, 0);
    }
  }, [row, visibleHeight]);

  const onClick = (event: MouseEvent<HTMLDivElement>) => {
    const element = event.currentTarget;
    const frame = element.getBoundingClientRect();
    const x = event.clientX - frame.left;
    const y = event.clientY - frame.top - HEAD_PX;
    const at = first + Math.floor((x - names + element.scrollLeft) / column);
    const chosen = rows[Math.floor((y + element.scrollTop) / ROW_PX)];
    if (x < FOLD_PX && y >= 0 && chosen !== undefined && fold(chosen)) {
      return;
    }
    goTo({
      ...(x >= names && isInRange(range, at)
        ? { request: at, against: null }
        : {}),
      ...(y >= 0 && chosen !== undefined ? placeOfRow(view, chosen) : {})
    });
  };
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.key === 'Enter' && item !== null) {
      if (cardFocus.moveIntoCard(event.currentTarget)) {
        event.preventDefault();
      }
      return;
    }
    if (event.key === ' ' && item !== null && fold(item)) {
      event.preventDefault();
      return;
    }
    if (event.key === 'Escape' && chosenRange !== null) {
      event.preventDefault();
      chooseRange(null);
      return;
    }
    const toZoom = zoomByKey(event, gridZoom);
    if (toZoom !== null) {
      event.preventDefault();
      goTo({ zoom: toZoom });
      return;
    }
    const next = cellStep(
      event,
      { rows, row, request, range, item },
      shownTrack.states
    );
    if (next !== null) {
      event.preventDefault();
      goTo(
        next.item === undefined
          ? next
          : { ...next, ...placeOfRow(view, next.item) },
        'walk'
      );
    }
  };
  // Another cell is another element: of words that change in one, a screen reader says nothing.
  const cell = `${idPrefix}-${chosenRow ?? 'none'}-${request}`;
  const stateOf = ({ states }: IShownTrack) => {
    const state = item === null ? null : states.stateAt(item, request);
    return state === null ? words.__('not yet there') : stateWords(state);
  };
  const place =
    item === null
      ? ''
      : words.__(
          '%1, request %2',
          rowWords(
            shownTrack.states,
            { row: rowOf(view, item, definition), request },
            { unfolded, opensSubagents },
            words
          ),
          request + 1
        );
  const markText = marks
    .filter(mark => item !== null && rowOfMark(view, rows, mark) === chosenRow)
    .map(mark => `, ${words.__('%1 after it', markWords(mark))}`)
    .join('');
  const stateText =
    item === null
      ? words.__('No item is chosen: press the arrow down.')
      : whatIf === null || stateOf(recordedTrack) === stateOf(whatIf)
        ? words.__('%1: %2', place, stateOf(recordedTrack))
        : words.__(
            '%1: %2, what if: %3',
            place,
            stateOf(recordedTrack),
            stateOf(whatIf)
          );
  return (
    <div className="plm-ItemGrid">
      <GridFilter
        zoom={zoom}
        zooms={zooms}
        itemCount={rows.filter(number => number < MAX_ITEMS).length}
        hasKinds={hasKinds}
      />
      <div className="plm-ItemGrid-frame">
        <div
          className="plm-ItemGrid-box"
          ref={box}
          role="grid"
          tabIndex={0}
          aria-label={words.__('Items by requests')}
          aria-rowcount={rows.length}
          aria-colcount={view.requests.id.length}
          aria-activedescendant={cell}
          aria-describedby={`${idPrefix}-keys`}
          style={{ height: visibleHeight }}
          onScroll={({ currentTarget }) => {
            scrolled.current = scrollOf(currentTarget);
            paint();
          }}
          onClick={onClick}
          onKeyDown={onKeyDown}
        >
          <div className="plm-ItemGrid-size" style={size} role="presentation">
            <canvas
              ref={canvas}
              aria-hidden="true"
              style={{ width, height: visibleHeight }}
            />
          </div>
          <div
            role="row"
            aria-rowindex={Math.max(row, 0) + 1}
            className="plm-Hidden"
          >
            <span
              role="gridcell"
              key={cell}
              id={cell}
              aria-colindex={request + 1}
            >
              {stateText + markText}
            </span>
          </div>
        </div>
        {!isPrinted && (
          <NameColumnLine column={nameColumn} height={visibleHeight} />
        )}
      </div>
      {isPrinted && visibleHeight < size.height && (
        <p className="plm-Muted">
          {words.__(
            'The %1 largest of %2 items.',
            Math.floor((visibleHeight - HEAD_PX) / ROW_PX),
            rows.length
          )}
        </p>
      )}
      {(inColumn > 1 || tracks.length > 1) && (
        <p className="plm-Muted">
          {tracks.length > 1 &&
            words.__('Upper half: recorded; lower half: what if.')}{' '}
          {inColumn > 1 &&
            words.__(
              '%1 requests a column: the state that leaves least of the item is shown.',
              inColumn
            )}
        </p>
      )}
      <CacheMarkSentence />
      <p className="plm-Muted plm-ItemGrid-keys" id={`${idPrefix}-keys`}>
        {words.__(
          'Arrows move the cell, Control with left and right goes to the row’s next change, + − 0 change the width of the columns, Enter goes to why, Escape back.'
        )}
      </p>
    </div>
  );
});

/**
 * Returns the items whose definitions are rows, and how to fold or unfold one, or to open the subagent of a call;
 * a row that holds nothing else gives false.
 */
function useUnfoldedItems(
  view: TimelineView,
  item: number | null,
  definition: number | null
): {
  unfolded: ReadonlySet<string>;
  fold: (row: number) => boolean;
} {
  const { goTo, source } = useInspection();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const holder =
    item === null || definition === null ? '' : (view.items.id[item] ?? '');
  const unfolded = useMemo(
    () =>
      holder === '' || chosen.has(holder)
        ? chosen
        : new Set([...chosen, holder]),
    [chosen, holder]
  );
  const fold = (row: number) => {
    const folded = itemOfRow(view, row);
    const [subagent] = subagentsOf(view, folded);
    if (
      subagent !== undefined &&
      source.subagentSource?.(subagent.session) !== null
    ) {
      goTo(subagentPlace(subagent.session));
      return true;
    }
    const id = view.items.id[folded] ?? '';
    if (row >= MAX_ITEMS || definitionsOf(view, folded).count === 0) {
      return false;
    }
    const rest = new Set(unfolded);
    if (!rest.delete(id)) {
      rest.add(id);
    } else if (id === holder) {
      goTo({ item: folded });
    }
    setChosen(rest);
    return true;
  };
  return { unfolded, fold };
}

/** Returns what a row is, in words. */
function rowWords(
  states: ItemStates,
  { row, request }: { row: number; request: number },
  {
    unfolded,
    opensSubagents
  }: { unfolded: ReadonlySet<string>; opensSubagents: boolean },
  words: IWords
): string {
  const { view } = states;
  const item = itemOfRow(view, row);
  const definitionCount = definitionsOf(view, item).count;
  if (row >= MAX_ITEMS) {
    const { name, tokens } = definitionOfRow(view, row);
    return words.__(
      'Tool definition %1, %2 tokens',
      name,
      count(tokens * scaleAt(states, request).factor)
    );
  }
  const subagents = subagentsOf(view, item);
  if (subagents.length > 0) {
    const started = words.__(
      '%1, a subagent with %2',
      itemLabel(view, item),
      subagentFigures(view, subagents)
    );
    return opensSubagents ? words.__('%1, Space opens it', started) : started;
  }
  if (definitionCount === 0) {
    return itemLabel(view, item);
  }
  return unfolded.has(view.items.id[item] ?? '')
    ? words.__(
        '%1 (%2), Space folds them',
        itemLabel(view, item),
        count(definitionCount)
      )
    : words.__(
        '%1 (%2), Space unfolds them',
        itemLabel(view, item),
        count(definitionCount)
      );
}

function scrollOf(box: HTMLElement): { left: number; top: number } {
  return { left: box.scrollLeft, top: box.scrollTop };
}

/** Calls back when the theme changes, or the colours that the system asks for. */
function useThemeChange(onChange: () => void): void {
  const latest = useLatest(onChange);
  useEffect(() => {
    if (typeof matchMedia === 'undefined') {
      return;
    }
    const report = () => {
      latest.current();
    };
    const observer = new MutationObserver(report);
    for (const element of [document.body, document.documentElement]) {
      observer.observe(element, {
        attributeFilter: ['data-jp-theme-name', 'data-jp-theme-light', 'class']
      });
    }
    const queries = [
      '(prefers-color-scheme: dark)',
      '(forced-colors: active)',
      'print'
    ].map(query => matchMedia(query));
    for (const query of queries) {
      query.addEventListener('change', report);
    }
    return () => {
      observer.disconnect();
      for (const query of queries) {
        query.removeEventListener('change', report);
      }
    };
  }, [latest]);
}
