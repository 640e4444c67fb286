/** The figures of two sessions side by side, and the files that their calls named. */
import type { ReactNode } from 'react';
import type {
  ComparedFigure,
  SessionComparison
} from '../../../protocol/generated';
import { useHost } from '../../host';
import { BreakableName } from '../controls/sessionTexts';
import { COMPARED_SIDES, ComparedSideName } from './comparedSide';

/** Keys of the figures that stand under a head of their own. */
const CONTEXT_KEYS = ['context'];
const CALL_KEYS = ['tools', 'causes'];

/** Draws one table: totals, the context as it grew, and calls. */
export function ComparedFigures(props: { comparison: SessionComparison }) {
  const { comparison } = props;
  const { words } = useHost();
  const { figures } = comparison;
  const groups: [string, ComparedFigure[]][] = [
    [
      words.__('The whole session'),
      figures.filter(
        ({ key }) => ![...CONTEXT_KEYS, ...CALL_KEYS].includes(key)
      )
    ],
    [
      words.__('The context as it grew'),
      figures.filter(({ key }) => CONTEXT_KEYS.includes(key))
    ],
    [
      words.__('Calls and cache breaks'),
      figures.filter(({ key }) => CALL_KEYS.includes(key))
    ]
  ];
  return (
    <ComparedTable
      comparison={comparison}
      heading={words.__('Figures')}
      name={words.__('Figures of both sessions')}
      columns={[words.__('figure'), words.__('second / first')]}
    >
      {groups
        .filter(([, rows]) => rows.length > 0)
        .map(([name, rows]) => (
          <tbody key={name}>
            <tr className="plm-Compared-group">
              <th scope="rowgroup" colSpan={4}>
                {name}
              </th>
            </tr>
            {rows.map(row => (
              <tr key={row.name}>
                <th scope="row">
                  <bdi>{row.name}</bdi>
                </th>
                {COMPARED_SIDES.map(side => (
                  <td key={side} data-number="true">
                    <BreakableName name={row[side]} />
                  </td>
                ))}
                <td data-number="true">{row.ratio}</td>
              </tr>
            ))}
          </tbody>
        ))}
    </ComparedTable>
  );
}

/** Draws the files, and what each session did with them. */
export function ComparedFiles(props: { comparison: SessionComparison }) {
  const { comparison } = props;
  const { words } = useHost();
  const useNames = {
    changed: words.__('changed'),
    read: words.__('read'),
    '': '–'
  };
  return (
    <ComparedTable
      comparison={comparison}
      heading={words.__('Files')}
      name={words.__('Files of both sessions')}
      className="plm-Compared-files"
      columns={[words.__('file')]}
      foot={
        <p className="plm-Muted">
          {words.__(
            'Files that calls of file tools or patches named; what shell commands did to files is not known.'
          )}
        </p>
      }
    >
      <tbody>
        {comparison.files.map(file => (
          <tr key={file.path}>
            <th scope="row">
              <BreakableName name={file.path} />
            </th>
            {COMPARED_SIDES.map(side => (
              <td key={side} data-number="true">
                {useNames[file[side]]}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </ComparedTable>
  );
}

interface IComparedTableProps {
  comparison: SessionComparison;
  heading: string;
  /** The table's name for screen readers. */
  name: string;
  className?: string;
  /** The heads of the columns before and after those of the sessions. */
  columns: readonly [string, string?];
  /** The bodies. */
  children: ReactNode;
  foot?: ReactNode;
}

/** Draws a table with a column for each session. */
function ComparedTable(props: IComparedTableProps) {
  const { comparison, heading, name, className = '' } = props;
  const [firstHead, lastHead] = props.columns;
  return (
    <section role="group" aria-label={name}>
      <h3>{heading}</h3>
      <div
        className={`plm-Inspector-scroll ${className}`.trimEnd()}
        role="group"
        aria-label={name}
        tabIndex={0}
      >
        <table className="plm-ComparedTable">
          <caption className="plm-Hidden">{name}</caption>
          <thead>
            <tr>
              <th scope="col">{firstHead}</th>
              {COMPARED_SIDES.map(side => (
                <th key={side} scope="col" data-number="true">
                  <ComparedSideName
                    side={side}
                    session={comparison[side]}
                    isColumnHead
                  />
                </th>
              ))}
              {lastHead !== undefined && (
                <th scope="col" data-number="true">
                  {lastHead}
                </th>
              )}
            </tr>
          </thead>
          {props.children}
        </table>
      </div>
      {props.foot}
    </section>
  );
}
