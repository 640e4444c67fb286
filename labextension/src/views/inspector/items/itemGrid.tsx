/** The grid with a row for each item and a column for each request, coloured by state. */
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
  requestsPerColumn,
  ROW_PX,
  type IGridShape
} from './gridDrawing';
import { CacheMarkSentence } from './cacheMarks';
import { GridFilter } from './gridFilter';
import { cellAfterKey } from './gridKeys';
import { gridZoomAt, useZoomWheel, zoomAfterKey } from './gridZoom';
import { MARGIN_PX, NameColumnLine, useNameColumn } from './nameColumn';
import { GridPalette } from './gridPalette';
import { useLatest } from '../../dom/effects';

const DEFAULT_HEIGHT_PX = 400;
const SCROLLBAR_PX = 16;
/** Where the cursor stands after it was scrolled into sight, as a share of the columns' room. */
const CURSOR_SHARE = 0.7;

/**
 * Draws heading, filter and grid; `height` in CSS pixels, `hasKinds` is false where a legend beside it has the kinds. On paper
 * all requests fit, as nobody can scroll it.
 */
export const ItemGrid = memo(function ItemGrid(props: {
  height?: number;
  hasKinds?: boolean;
  isPrinted?: boolean;
}) {
  const {
    height = DEFAULT_HEIGHT_PX,
    hasKinds = true,
    isPrinted = false
  } = props;
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
  /** The place that stays under the pointer while the wheel turns: in columns, and its distance from the names. */
  const pointedPlace = useRef<{ column: number; x: number } | null>(null);
  const boxRef = useRef<HTMLDivElement>(null);
  const canvasRef = useRef<HTMLCanvasElement>(null);
  const paletteRef = useRef<GridPalette | null>(null);
  const scrollRef = useRef({ left: 0, top: 0 });
  const idPrefix = useId();
  const width = useElementWidth(boxRef);
  const { unfoldedIds, toggleFold } = useUnfoldedItems(view, item, definition);
  const rows = useMemo(
    () => itemRows(shownTrack.states, filter, chosenRange, unfoldedIds),
    [shownTrack.states, filter, chosenRange, unfoldedIds]
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
  const { first: firstRequest } = range;
  const requestCount = range.last - firstRequest + 1;
  const nameColumn = useNameColumn(width, requestCount);
  const namesPx = nameColumn.width;
  const gridZoom = gridZoomAt(
    chosenZoom,
    (width - namesPx - MARGIN_PX) / requestCount
  );
  const { columnPx, zoom, zoomCount } = gridZoom;
  const columnRequests = requestsPerColumn(columnPx);
  const tracks = useMemo(
    () => [recordedTrack.states, ...(whatIf === null ? [] : [whatIf.states])],
    [recordedTrack.states, whatIf]
  );
  const size = {
    width: namesPx + requestCount * columnPx + MARGIN_PX,
    height: HEAD_PX + rows.length * ROW_PX
  };
  const visibleHeight = Math.min(height, size.height + SCROLLBAR_PX);

  const paint = useCallback(() => {
    if (canvasRef.current !== null) {
      const shape: IGridShape = {
        width,
        height: visibleHeight,
        namesPx,
        columnPx,
        range,
        ...scrollRef.current
      };
      paletteRef.current ??= new GridPalette(canvasRef.current);
      drawGrid(canvasRef.current, paletteRef.current, shape, {
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
    namesPx,
    columnPx,
    range,
    visibleHeight
  ]);
  useLayoutEffect(paint, [paint]);

  // The cursor and the chosen row stay in sight. Nothing is read from the page: that would lay it out.
  const chosenIndex = chosenRow === null ? -1 : rows.indexOf(chosenRow);
  const scrollToCursor = useCallback(() => {
    const { left } = scrollRef.current;
    const columnRoom = width - namesPx;
    const x = (request - range.first) * columnPx;
    const element = boxRef.current;
    const isHidden = x < left || x + columnPx > left + columnRoom;
    if (element !== null && isHidden && isInRange(range, request)) {
      element.scrollLeft = Math.max(x - columnRoom * CURSOR_SHARE, 0);
    }
  }, [request, columnPx, namesPx, width, range]);
  const lastLayout = useRef({ width, chosenRange });
  useLayoutEffect(() => {
    // A box that became wider than its content was scrolled back before the content grew; with a range there is less content.
    const previousLayout = lastLayout.current;
    const isSame =
      previousLayout.width === width &&
      previousLayout.chosenRange === chosenRange;
    if (!isSame && boxRef.current !== null) {
      lastLayout.current = { width, chosenRange };
      scrollRef.current = scrollOf(boxRef.current);
    }
    const keptPlace = pointedPlace.current;
    pointedPlace.current = null;
    if (keptPlace === null || boxRef.current === null) {
      scrollToCursor();
    } else {
      boxRef.current.scrollLeft = Math.max(
        keptPlace.column * columnPx - keptPlace.x,
        0
      );
      scrollRef.current = scrollOf(boxRef.current);
    }
  }, [scrollToCursor, width, chosenRange, columnPx]);
  useZoomWheel(boxRef, (direction, pointerX) => {
    const newZoom = zoom + direction;
    const x = pointerX - namesPx;
    if (newZoom >= 0 && newZoom < zoomCount) {
      const { left } = scrollRef.current;
      pointedPlace.current =
        x < 0 ? null : { column: (x + left) / columnPx, x };
      goTo({ zoom: newZoom });
    }
  });
  useThemeChange(() => {
    paletteRef.current = null;
    // Another theme lays the page out anew, which may scroll the grid without saying so.
    if (boxRef.current !== null) {
      scrollRef.current = scrollOf(boxRef.current);
    }
    scrollToCursor();
    paint();
  });
  const lastDrawn = useRef({ rows, filter });
  useLayoutEffect(() => {
    // Rows that come above the seen ones do not move these.
    const previousDrawn = lastDrawn.current;
    lastDrawn.current = { rows, filter };
    const { top } = scrollRef.current;
    const firstIndex = Math.floor(top / ROW_PX);
    const newIndex = rows.indexOf(previousDrawn.rows[firstIndex] ?? -1);
    const isSame = previousDrawn.filter === filter && top > 0 && newIndex >= 0;
    if (boxRef.current !== null && isSame && newIndex !== firstIndex) {
      scrollRef.current.top = top + (newIndex - firstIndex) * ROW_PX;
      boxRef.current.scrollTop = scrollRef.current.top;
    }
  }, [rows, filter]);
  useLayoutEffect(() => {
    const { top } = scrollRef.current;
    const y = chosenIndex * ROW_PX;
    const element = boxRef.current;
    const isHidden = y < top || y + ROW_PX > top + visibleHeight - HEAD_PX;
    if (element !== null && chosenIndex >= 0 && isHidden) {
      element.scrollTop = Math.max(y - visibleHeight / 2, 0);
    }
  }, [chosenIndex, visibleHeight]);

  const onClick = (event: MouseEvent<HTMLDivElement>) => {
    const element = event.currentTarget;
    const frame = element.getBoundingClientRect();
    const x = event.clientX - frame.left;
    const y = event.clientY - frame.top - HEAD_PX;
    const clickedRequest =
      firstRequest + Math.floor((x - namesPx + element.scrollLeft) / columnPx);
    const clickedRow = rows[Math.floor((y + element.scrollTop) / ROW_PX)];
    if (
      x < FOLD_PX &&
      y >= 0 &&
      clickedRow !== undefined &&
      toggleFold(clickedRow)
    ) {
      return;
    }
    goTo({
      ...(x >= namesPx && isInRange(range, clickedRequest)
        ? { request: clickedRequest, against: null }
        : {}),
      ...(y >= 0 && clickedRow !== undefined
        ? placeOfRow(view, clickedRow)
        : {})
    });
  };
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.key === 'Enter' && item !== null) {
      if (cardFocus.moveIntoCard(event.currentTarget)) {
        event.preventDefault();
      }
      return;
    }
    if (event.key === ' ' && item !== null && toggleFold(item)) {
      event.preventDefault();
      return;
    }
    if (event.key === 'Escape' && chosenRange !== null) {
      event.preventDefault();
      chooseRange(null);
      return;
    }
    const newZoom = zoomAfterKey(event, gridZoom);
    if (newZoom !== null) {
      event.preventDefault();
      goTo({ zoom: newZoom });
      return;
    }
    const nextCell = cellAfterKey(
      event,
      { rows, row: chosenIndex, request, range, item },
      shownTrack.states
    );
    if (nextCell !== null) {
      event.preventDefault();
      goTo(
        nextCell.item === undefined
          ? nextCell
          : { ...nextCell, ...placeOfRow(view, nextCell.item) },
        'walk'
      );
    }
  };
  // Each cell is an element of its own: a screen reader does not read words that change within one.
  const cellId = `${idPrefix}-${chosenRow ?? 'none'}-${request}`;
  const stateWordsOf = ({ states }: IShownTrack) => {
    const state = item === null ? null : states.stateAt(item, request);
    return state === null ? words.__('not yet there') : stateWords(state);
  };
  const cellWords =
    item === null
      ? ''
      : words.__(
          '%1, request %2',
          rowWords(
            shownTrack.states,
            { row: rowOf(view, item, definition), request },
            { unfoldedIds, opensSubagents },
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
      : whatIf === null || stateWordsOf(recordedTrack) === stateWordsOf(whatIf)
        ? words.__('%1: %2', cellWords, stateWordsOf(recordedTrack))
        : words.__(
            '%1: %2, what if: %3',
            cellWords,
            stateWordsOf(recordedTrack),
            stateWordsOf(whatIf)
          );
  return (
    <div className="plm-ItemGrid">
      <GridFilter
        zoom={zoom}
        zoomCount={zoomCount}
        itemCount={rows.filter(row => row < MAX_ITEMS).length}
        hasKinds={hasKinds}
      />
      <div className="plm-ItemGrid-frame">
        <div
          className="plm-ItemGrid-box"
          ref={boxRef}
          role="grid"
          tabIndex={0}
          aria-label={words.__('Items by requests')}
          aria-rowcount={rows.length}
          aria-colcount={view.requests.id.length}
          aria-activedescendant={cellId}
          aria-describedby={`${idPrefix}-keys`}
          style={{ height: visibleHeight }}
          onScroll={({ currentTarget }) => {
            scrollRef.current = scrollOf(currentTarget);
            paint();
          }}
          onClick={onClick}
          onKeyDown={onKeyDown}
        >
          <div className="plm-ItemGrid-size" style={size} role="presentation">
            <canvas
              ref={canvasRef}
              aria-hidden="true"
              style={{ width, height: visibleHeight }}
            />
          </div>
          <div
            role="row"
            aria-rowindex={Math.max(chosenIndex, 0) + 1}
            className="plm-Hidden"
          >
            <span
              role="gridcell"
              key={cellId}
              id={cellId}
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
      {(columnRequests > 1 || tracks.length > 1) && (
        <p className="plm-Muted">
          {tracks.length > 1 &&
            words.__('Upper half: recorded; lower half: what if.')}{' '}
          {columnRequests > 1 &&
            words.__(
              '%1 requests a column: the state that leaves least of the item is shown.',
              columnRequests
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
 * Returns the ids of the items whose definitions are rows, and the function that folds or unfolds a row, or opens the
 * subagent of a call; it returns false for a row that holds nothing else.
 */
function useUnfoldedItems(
  view: TimelineView,
  item: number | null,
  definition: number | null
): {
  unfoldedIds: ReadonlySet<string>;
  toggleFold: (row: number) => boolean;
} {
  const { goTo, source } = useInspection();
  const [chosenIds, setChosenIds] = useState<ReadonlySet<string>>(new Set());
  const holderId =
    item === null || definition === null ? '' : (view.items.id[item] ?? '');
  const unfoldedIds = useMemo(
    () =>
      holderId === '' || chosenIds.has(holderId)
        ? chosenIds
        : new Set([...chosenIds, holderId]),
    [chosenIds, holderId]
  );
  const toggleFold = (row: number) => {
    const rowItem = itemOfRow(view, row);
    const [subagent] = subagentsOf(view, rowItem);
    if (
      subagent !== undefined &&
      source.subagentSource?.(subagent.session) !== null
    ) {
      goTo(subagentPlace(subagent.session));
      return true;
    }
    const id = view.items.id[rowItem] ?? '';
    if (row >= MAX_ITEMS || definitionsOf(view, rowItem).count === 0) {
      return false;
    }
    const newIds = new Set(unfoldedIds);
    if (!newIds.delete(id)) {
      newIds.add(id);
    } else if (id === holderId) {
      goTo({ item: rowItem });
    }
    setChosenIds(newIds);
    return true;
  };
  return { unfoldedIds, toggleFold };
}

/** Returns the description of a row. */
function rowWords(
  states: ItemStates,
  { row, request }: { row: number; request: number },
  {
    unfoldedIds,
    opensSubagents
  }: { unfoldedIds: ReadonlySet<string>; opensSubagents: boolean },
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
    const callWords = words.__(
      '%1, a subagent with %2',
      itemLabel(view, item),
      subagentFigures(view, subagents)
    );
    return opensSubagents
      ? words.__('%1, Space opens it', callWords)
      : callWords;
  }
  if (definitionCount === 0) {
    return itemLabel(view, item);
  }
  return unfoldedIds.has(view.items.id[item] ?? '')
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

/** Calls `onChange` when the theme changes, or the colours that the system asks for. */
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
