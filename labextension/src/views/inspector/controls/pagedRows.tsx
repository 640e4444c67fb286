/** The rows of a long table in pages, of which one is drawn. */
import { useState, type ReactNode } from 'react';
import { count as whole } from '../../../state/text/numberFormat';
import { useHost } from '../../host';
import { StepButton } from './stepButton';

const PAGE_ROWS = 25;

interface IPagedRowsProps {
  /** The table's name for screen readers. */
  caption: string;
  heads: readonly string[];
  /** How many rows there are. */
  count: number;
  /** The cells of a row; the first is its head. */
  row: (place: number) => readonly ReactNode[];
  /** The row whose page is shown first. */
  around?: number;
  /** The first column of numbers, and the first one after them. */
  numbersFrom?: number;
  numbersUntil?: number;
}

/** Draws a table with buttons for the rows before and after. */
export function PagedRows(props: IPagedRowsProps) {
  const { caption, heads, count, row, around = 0 } = props;
  const { numbersFrom = 1, numbersUntil = Infinity } = props;
  const isNumber = (column: number) =>
    column >= numbersFrom && column < numbersUntil;
  const { words } = useHost();
  const [chosen, setChosen] = useState<{ around: number; page: number } | null>(
    null
  );
  const pages = Math.max(Math.ceil(count / PAGE_ROWS), 1);
  const requestedPage =
    chosen?.around === around ? chosen.page : Math.floor(around / PAGE_ROWS);
  const page = Math.min(Math.max(requestedPage, 0), pages - 1);
  const first = page * PAGE_ROWS;
  const last = Math.min(first + PAGE_ROWS, count);
  const showPage = (to: number) => {
    setChosen({ around, page: to });
  };
  const range = words.__(
    '%1 to %2 of %3',
    whole(first + 1),
    whole(last),
    whole(count)
  );
  return (
    <div className="plm-Inspector-table">
      <div
        className="plm-Inspector-scroll"
        role="group"
        aria-label={caption}
        tabIndex={0}
      >
        <table>
          <caption className="plm-Hidden">{caption}</caption>
          <thead>
            <tr>
              {heads.map((head, column) => (
                <th key={head} scope="col" data-number={isNumber(column)}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {Array.from({ length: last - first }, (_, place) => (
              <Row
                key={first + place}
                heads={heads}
                cells={row(first + place)}
                isNumber={isNumber}
              />
            ))}
          </tbody>
        </table>
      </div>
      {pages > 1 && (
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
            isAtEnd={page === pages - 1}
            onStep={() => {
              showPage(page + 1);
            }}
          >
            {words.__('Rows after')}
          </StepButton>
          <span className="plm-Hidden" role="status">
            {chosen?.around === around && range}
          </span>
        </div>
      )}
    </div>
  );
}

function Row({
  heads,
  cells,
  isNumber
}: {
  heads: readonly string[];
  cells: readonly ReactNode[];
  isNumber: (column: number) => boolean;
}) {
  const [head, ...others] = cells;
  return (
    <tr>
      <th scope="row">{head}</th>
      {others.map((cell, column) => (
        <td
          key={column}
          data-number={isNumber(column + 1)}
          data-head={heads[column + 1]}
        >
          {cell}
        </td>
      ))}
    </tr>
  );
}
