/** The rows of a long table in pages, of which one is drawn. */
import { useState, type ReactNode } from 'react';
import { useHost } from '../../host';

const PAGE_ROWS = 25;

interface IPagedRowsProps {
  /** What the table shows. */
  caption: string;
  heads: readonly string[];
  /** How many rows there are. */
  count: number;
  /** The cells of a row; the first is its head. */
  row: (place: number) => readonly ReactNode[];
  /** A row that is to be seen first. */
  around?: number;
  /** Columns from here on hold numbers. */
  numbersFrom?: number;
}

/** Draws a table with buttons for the rows before and after. */
export function PagedRows(props: IPagedRowsProps) {
  const { caption, heads, count, row, around = 0, numbersFrom = 1 } = props;
  const { words } = useHost();
  const [chosen, setChosen] = useState<{ around: number; page: number } | null>(
    null
  );
  const pages = Math.max(Math.ceil(count / PAGE_ROWS), 1);
  const wanted =
    chosen?.around === around ? chosen.page : Math.floor(around / PAGE_ROWS);
  const page = Math.min(Math.max(wanted, 0), pages - 1);
  const first = page * PAGE_ROWS;
  const last = Math.min(first + PAGE_ROWS, count);
  const turn = (to: number) => {
    setChosen({ around, page: to });
  };
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
                <th key={head} scope="col" data-number={column >= numbersFrom}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {Array.from({ length: last - first }, (_, place) => (
              <Row
                key={first + place}
                cells={row(first + place)}
                numbersFrom={numbersFrom}
              />
            ))}
          </tbody>
        </table>
      </div>
      {pages > 1 && (
        <div className="plm-Inspector-pages">
          <button
            type="button"
            className="plm-Button plm-Button-small"
            disabled={page === 0}
            onClick={() => {
              turn(page - 1);
            }}
          >
            {words.__('Rows before')}
          </button>
          <span className="plm-Muted">
            {words.__('%1 to %2 of %3', first + 1, last, count)}
          </span>
          <button
            type="button"
            className="plm-Button plm-Button-small"
            disabled={page === pages - 1}
            onClick={() => {
              turn(page + 1);
            }}
          >
            {words.__('Rows after')}
          </button>
        </div>
      )}
    </div>
  );
}

function Row({
  cells,
  numbersFrom
}: {
  cells: readonly ReactNode[];
  numbersFrom: number;
}) {
  const [head, ...others] = cells;
  return (
    <tr>
      <th scope="row">{head}</th>
      {others.map((cell, column) => (
        <td key={column} data-number={column + 1 >= numbersFrom}>
          {cell}
        </td>
      ))}
    </tr>
  );
}
