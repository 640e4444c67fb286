/** The row of what was done between two texts; it opens to a row for each part of it. */
import type { ReactNode } from 'react';
import { workWords } from '../../state/display/workWords';
import type { IWorkRow } from '../../state/lines/lines';
import { Disclosure } from '../controls/disclosure';
import { useHost } from '../host';

/** Draws the row, and its lines while it is open. */
export function WorkRow(props: { row: IWorkRow; children: ReactNode }) {
  const { row, children } = props;
  const { words } = useHost();
  return (
    <Disclosure
      className="plm-Work"
      innerLines={row.lines.map(({ key }) => key)}
      head={
        <span className="plm-Work-words">
          {workWords(row, words).map(({ isName, text }, index) =>
            isName ? (
              <bdi key={index} className="plm-Work-name">
                {text}
              </bdi>
            ) : (
              text
            )
          )}
        </span>
      }
    >
      {children}
    </Disclosure>
  );
}
