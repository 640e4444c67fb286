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
  rowCount: number;
  /** The cells of a row; the first is its head. */
  cellsOf: (index: number) => readonly ReactNode[];
  /** A sentence below the table where columns are folded; '' for none. */
  foldedRemark?: string;
  /** The row whose page is shown at first, and again whenever this names another row. */
  rowInView?: number;
}

/** Draws a table with buttons for the rows before and after; a head by which rows can be sorted is a button. */
export function PagedRows(props: IPagedRowsProps) {
  const { caption, columns, rowCount, cellsOf, rowInView = 0 } = props;
  const { foldedRemark = '' } = props;
  const { words } = useHost();
  const [sort, setSort] = useState<{ head: string; order: RowOrder } | null>(
    null
  );
  // A column may be gone since.
  const sortedColumn =
    columns.find(({ head }) => head === sort?.head) ??
    columns.find(({ isRowOrder }) => isRowOrder);
  const order = sortedColumn?.head === sort?.head ? sort?.order : undefined;
  const valueAt = sortedColumn?.valueAt;
  const rowIndexes = useSortedRowIndexes(rowCount, valueAt, order);
  const startRows = pageStarts(rowCount, PAGE_ROWS);
  const rowPosition =
    rowIndexes === null ? rowInView : rowIndexes.indexOf(rowInView);
  const pageInView = Math.floor(rowPosition / PAGE_ROWS);
  const [requestedPage, setPage] = useState(pageInView);
  const [followedRow, setFollowedRow] = useState(rowInView);
  const [lastChange, setLastChange] = useState<'page' | 'order' | null>(null);
  const page = Math.min(Math.max(requestedPage, 0), startRows.length - 1);
  const firstRow = startRows[page] ?? 0;
  const endRow = Math.min(firstRow + PAGE_ROWS, rowCount);
  if (followedRow !== rowInView) {
    setFollowedRow(rowInView);
    setLastChange(null);
    if (rowPosition < firstRow || rowPosition >= endRow) {
      setPage(pageInView);
    }
  }
  const boxRef = useRef<HTMLDivElement>(null);
  const isFolded = useFolding(
    boxRef,
    columns.filter(({ foldedWords }) => foldedWords !== undefined).length,
    firstRow
  );
  const isShown = ({ foldedWords }: ITableColumn) =>
    !isFolded || foldedWords === undefined;
  const shownColumns = columns.filter(isShown);
  const showPage = (newPage: number) => {
    setPage(newPage);
    setLastChange('page');
  };
  const sortBy = (column: ITableColumn) => {
    const isSorted = column === sortedColumn;
    const firstOrder = column.isRowOrder ? 'ascending' : 'descending';
    const shownOrder = isSorted ? (order ?? 'ascending') : null;
    const nextOrder =
      shownOrder === null
        ? firstOrder
        : shownOrder === 'ascending'
          ? 'descending'
          : 'ascending';
    setSort({ head: column.head, order: nextOrder });
    setPage(0);
    setLastChange('order');
  };
  const rangeText = words.__(
    '%1 to %2 of %3',
    countText(firstRow + 1),
    countText(endRow),
    countText(rowCount)
  );
  return (
    <div className="plm-Inspector-table">
      <div
        className="plm-Inspector-scroll"
        ref={boxRef}
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
                  order={
                    column === sortedColumn ? (order ?? 'ascending') : null
                  }
                  onSort={() => {
                    sortBy(column);
                  }}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {Array.from({ length: endRow - firstRow }, (_, offset) => {
              const rowIndex =
                rowIndexes?.[firstRow + offset] ?? firstRow + offset;
              const cells = cellsOf(rowIndex).filter((_, index) => {
                const column = columns[index];
                return column === undefined || isShown(column);
              });
              const foldedTexts = columns
                .filter(column => !isShown(column))
                .map(column => column.foldedWords?.(rowIndex) ?? '')
                .filter(text => text !== '')
                .join(' · ');
              return (
                <Fragment key={rowIndex}>
                  <Row columns={shownColumns} cells={cells} />
                  {foldedTexts !== '' && (
                    <FoldedRow
                      columnCount={shownColumns.length}
                      text={foldedTexts}
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
      {startRows.length > 1 && (
        <div className="plm-Inspector-pages">
          <StepButton
            isAtEnd={page === 0}
            onStep={() => {
              showPage(page - 1);
            }}
          >
            {words.__('Rows before')}
          </StepButton>
          <span className="plm-Muted">{rangeText}</span>
          <StepButton
            isAtEnd={page === startRows.length - 1}
            onStep={() => {
              showPage(page + 1);
            }}
          >
            {words.__('Rows after')}
          </StepButton>
        </div>
      )}
      {(startRows.length > 1 || valueAt !== undefined) && (
        <span className="plm-Hidden" role="status">
          {lastChange === 'page' && rangeText}
          {lastChange === 'order' &&
            (order === 'descending'
              ? words.__(
                  'Sorted by %1, the largest first.',
                  sortedColumn?.head ?? ''
                )
              : words.__(
                  'Sorted by %1, the smallest first.',
                  sortedColumn?.head ?? ''
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
  boxRef: RefObject<HTMLElement | null>,
  foldingCount: number,
  firstRow: number
): boolean {
  const width = useElementWidth(boxRef);
  const [neededWidth, setNeededWidth] = useState(0);
  const isFolded = foldingCount > 0 && width < neededWidth;
  useLayoutEffect(() => {
    const measure = ({ scrollWidth, clientWidth }: HTMLElement) => {
      if (scrollWidth > clientWidth) {
        setNeededWidth(scrollWidth);
      }
    };
    if (boxRef.current !== null && foldingCount > 0 && !isFolded) {
      measure(boxRef.current);
    }
  }, [boxRef, foldingCount, isFolded, width, firstRow]);
  return isFolded;
}

/** Returns the places of the rows in a column's order; null where they stay as they are. */
function useSortedRowIndexes(
  rowCount: number,
  valueAt: ITableColumn['valueAt'],
  order: RowOrder | undefined
): number[] | null {
  return useMemo(
    () =>
      valueAt === undefined || order === undefined
        ? null
        : sortedIndexes(rowCount, valueAt, order),
    [rowCount, valueAt, order]
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
function FoldedRow(props: { columnCount: number; text: string }) {
  const { columnCount, text } = props;
  return (
    <tr className="plm-FoldedRow">
      <td />
      <td colSpan={columnCount - 1}>
        <bdi>{text}</bdi>
      </td>
    </tr>
  );
}
