/** The rows of a long table in pages, of which one is drawn, in the order of a column. */
import {
  Fragment,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type ReactNode,
  type RefObject
} from 'react';
import {
  pageStarts,
  sortedIndexes,
  type RowOrder
} from '../../../state/inspector/rowOrder';
import { count as countText } from '../../../state/text/numberFormat';
import { useHost } from '../../host';
import { useElementWidth } from '../../dom/sizes';
import { StepButton } from './stepButton';

const PAGE_ROWS = 50;

export interface ITableColumn {
  readonly head: string;
  /** What the head means, in a sentence. */
  readonly meaning?: string;
  readonly isNumber?: boolean;
  /** The head is only for screen readers, and for narrow places, where each value has it. */
  readonly isHeadHidden?: boolean;
  /** What rows are sorted by, the largest first; null where a row has none. Without it the head is no button. */
  readonly valueAt?: (index: number) => number | null;
  /** The rows come in the order of this column, the smallest first. */
  readonly isRowOrder?: boolean;
  /** What a row tells of this column in a line below it, '' for nothing; with it the column folds where room is short. */
  readonly foldedWords?: (index: number) => string;
}

interface IPagedRowsProps {
  /** The table's name for screen readers. */
  caption: string;
  columns: readonly ITableColumn[];
  /** How many rows there are. */
  count: number;
  /** The cells of a row; the first is its head. */
  row: (index: number) => readonly ReactNode[];
  /** A sentence below the table where columns are folded; '' for none. */
  foldedRemark?: string;
  /** The row whose page is shown at first, and again whenever this names another row. */
  around?: number;
}

/** Draws a table with buttons for the rows before and after; a head by which rows can be sorted is a button. */
export function PagedRows(props: IPagedRowsProps) {
  const { caption, columns, count, row, around = 0 } = props;
  const { foldedRemark = '' } = props;
  const { words } = useHost();
  const [sort, setSort] = useState<{ head: string; order: RowOrder } | null>(
    null
  );
  // A column may be gone since.
  const sorted =
    columns.find(({ head }) => head === sort?.head) ??
    columns.find(({ isRowOrder }) => isRowOrder);
  const order = sorted?.head === sort?.head ? sort?.order : undefined;
  const valueAt = sorted?.valueAt;
  const places = useSortedPlaces(count, valueAt, order);
  const starts = pageStarts(count, PAGE_ROWS);
  const index = places === null ? around : places.indexOf(around);
  const pageOfAround = Math.floor(index / PAGE_ROWS);
  const [requestedPage, setPage] = useState(pageOfAround);
  const [followed, setFollowed] = useState(around);
  const [news, setNews] = useState<'page' | 'order' | null>(null);
  const page = Math.min(Math.max(requestedPage, 0), starts.length - 1);
  const first = starts[page] ?? 0;
  const last = Math.min(first + PAGE_ROWS, count);
  if (followed !== around) {
    setFollowed(around);
    setNews(null);
    if (index < first || index >= last) {
      setPage(pageOfAround);
    }
  }
  const box = useRef<HTMLDivElement>(null);
  const isFolded = useFolding(
    box,
    columns.filter(({ foldedWords }) => foldedWords !== undefined).length,
    first
  );
  const isShown = ({ foldedWords }: ITableColumn) =>
    !isFolded || foldedWords === undefined;
  const shownColumns = columns.filter(isShown);
  const showPage = (to: number) => {
    setPage(to);
    setNews('page');
  };
  const sortBy = (column: ITableColumn) => {
    const isSorted = column === sorted;
    const firstOrder = column.isRowOrder ? 'ascending' : 'descending';
    const shownOrder = isSorted ? (order ?? 'ascending') : null;
    const next =
      shownOrder === null
        ? firstOrder
        : shownOrder === 'ascending'
          ? 'descending'
          : 'ascending';
    setSort({ head: column.head, order: next });
    setPage(0);
    setNews('order');
  };
  const range = words.__(
    '%1 to %2 of %3',
    countText(first + 1),
    countText(last),
    countText(count)
  );
  return (
    <div className="plm-Inspector-table">
      <div
        className="plm-Inspector-scroll"
        ref={box}
        role="group"
        aria-label={caption}
        tabIndex={0}
      >
        <table>
          <caption className="plm-Hidden">{caption}</caption>
          <thead>
            <tr>
              {shownColumns.map(column => (
                <Head
                  key={column.head}
                  column={column}
                  order={column === sorted ? (order ?? 'ascending') : null}
                  onSort={() => {
                    sortBy(column);
                  }}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {Array.from({ length: last - first }, (_, line) => {
              const place = places?.[first + line] ?? first + line;
              const cells = row(place).filter((_, index) => {
                const column = columns[index];
                return column === undefined || isShown(column);
              });
              const words = columns
                .filter(column => !isShown(column))
                .map(column => column.foldedWords?.(place) ?? '')
                .filter(text => text !== '')
                .join(' · ');
              return (
                <Fragment key={place}>
                  <Row columns={shownColumns} cells={cells} />
                  {words !== '' && (
                    <FoldedRow
                      columnCount={shownColumns.length}
                      words={words}
                    />
                  )}
                </Fragment>
              );
            })}
          </tbody>
        </table>
      </div>
      {isFolded && foldedRemark !== '' && (
        <p className="plm-Muted">
          <bdi>{foldedRemark}</bdi>
        </p>
      )}
      {starts.length > 1 && (
        <div className="plm-Inspector-pages">
          <StepButton
            isAtEnd={page === 0}
            onStep={() => {
              showPage(page - 1);
            }}
          >
            {words.__('Rows before')}
          </StepButton>
          <span className="plm-Muted">{range}</span>
          <StepButton
            isAtEnd={page === starts.length - 1}
            onStep={() => {
              showPage(page + 1);
            }}
          >
            {words.__('Rows after')}
          </StepButton>
        </div>
      )}
      {(starts.length > 1 || valueAt !== undefined) && (
        <span className="plm-Hidden" role="status">
          {news === 'page' && range}
          {news === 'order' &&
            (order === 'descending'
              ? words.__('Sorted by %1, the largest first.', sorted?.head ?? '')
              : words.__(
                  'Sorted by %1, the smallest first.',
                  sorted?.head ?? ''
                ))}
        </span>
      )}
    </div>
  );
}

/**
 * Returns whether the columns that can fold do: with them the table was wider than its box is. It is measured when its
 * page, its width, or the number of these columns changes.
 */
function useFolding(
  box: RefObject<HTMLElement | null>,
  foldingCount: number,
  page: number
): boolean {
  const width = useElementWidth(box);
  const [needed, setNeeded] = useState(0);
  const isFolded = foldingCount > 0 && width < needed;
  useLayoutEffect(() => {
    const measure = ({ scrollWidth, clientWidth }: HTMLElement) => {
      if (scrollWidth > clientWidth) {
        setNeeded(scrollWidth);
      }
    };
    if (box.current !== null && foldingCount > 0 && !isFolded) {
      measure(box.current);
    }
  }, [box, foldingCount, isFolded, width, page]);
  return isFolded;
}

/** Returns the places of the rows in a column's order; null where they stay as they are. */
function useSortedPlaces(
  count: number,
  valueAt: ITableColumn['valueAt'],
  order: RowOrder | undefined
): number[] | null {
  return useMemo(
    () =>
      valueAt === undefined || order === undefined
        ? null
        : sortedIndexes(count, valueAt, order),
    [count, valueAt, order]
  );
}

/** Draws a column's head, as a button where rows can be sorted by it. */
function Head(props: {
  column: ITableColumn;
  order: RowOrder | null;
  onSort: () => void;
}) {
  const { column, order, onSort } = props;
  const { head, meaning, isNumber = false, isHeadHidden = false } = column;
  const { valueAt } = column;
  const isSortable = valueAt !== undefined;
  return (
    <th
      scope="col"
      data-number={isNumber}
      title={meaning}
      {...(isSortable && order !== null ? { 'aria-sort': order } : {})}
    >
      {isSortable ? (
        <button type="button" className="plm-SortButton" onClick={onSort}>
          {head}
        </button>
      ) : isHeadHidden ? (
        <span className="plm-Hidden">{head}</span>
      ) : (
        head
      )}
    </th>
  );
}

function Row(props: {
  columns: readonly ITableColumn[];
  cells: readonly ReactNode[];
}) {
  const { columns, cells } = props;
  const [head, ...others] = cells;
  return (
    <tr>
      <th scope="row">{head}</th>
      {others.map((cell, index) => (
        <td
          key={index}
          data-number={columns[index + 1]?.isNumber ?? false}
          data-head={columns[index + 1]?.head}
        >
          {cell}
        </td>
      ))}
    </tr>
  );
}

/** Draws what the folded columns tell of the row above, beside its number. */
function FoldedRow(props: { columnCount: number; words: string }) {
  const { columnCount, words } = props;
  return (
    <tr className="plm-FoldedRow">
      <td />
      <td colSpan={columnCount - 1}>
        <bdi>{words}</bdi>
      </td>
    </tr>
  );
}
