/** The figures of two sessions side by side, and the files that their calls named. */
import type {
  ComparedFigure,
  SessionComparison
} from '../../../protocol/generated';
import { useHost } from '../../host';
import { BreakableName } from '../controls/breakableName';
import { COMPARED_SIDES, ComparedSideName } from './comparedSide';

/** Keys of the figures that stand under a head of their own. */
const CONTEXT_KEYS = ['context'];
const CALL_KEYS = ['tools', 'causes'];

/** Draws one table: totals, the context as it grew, and calls. */
export function ComparedFigures({
  comparison
}: {
  comparison: SessionComparison;
}) {
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
    <section role="group" aria-label={words.__('Figures of both sessions')}>
      <h3>{words.__('Figures')}</h3>
      <div
        className="plm-Inspector-scroll"
        role="group"
        aria-label={words.__('Figures of both sessions')}
        tabIndex={0}
      >
        <table className="plm-ComparedTable">
          <caption className="plm-Hidden">
            {words.__('Figures of both sessions')}
          </caption>
          <thead>
            <tr>
              <th scope="col">{words.__('figure')}</th>
              {COMPARED_SIDES.map(side => (
                <th key={side} scope="col" data-number="true">
                  <ComparedSideName
                    side={side}
                    session={comparison[side]}
                    isHead
                  />
                </th>
              ))}
              <th scope="col" data-number="true">
                {words.__('second / first')}
              </th>
            </tr>
          </thead>
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
        </table>
      </div>
    </section>
  );
}

/** Draws the files, and what each session did with them. */
export function ComparedFiles({
  comparison
}: {
  comparison: SessionComparison;
}) {
  const { words } = useHost();
  const uses = {
    changed: words.__('changed'),
    read: words.__('read'),
    '': '–'
  };
  return (
    <section role="group" aria-label={words.__('Files of both sessions')}>
      <h3>{words.__('Files')}</h3>
      <div
        className="plm-Inspector-scroll plm-Compared-files"
        role="group"
        aria-label={words.__('Files of both sessions')}
        tabIndex={0}
      >
        <table className="plm-ComparedTable">
          <caption className="plm-Hidden">
            {words.__('Files of both sessions')}
          </caption>
          <thead>
            <tr>
              <th scope="col">{words.__('file')}</th>
              {COMPARED_SIDES.map(side => (
                <th key={side} scope="col" data-number="true">
                  <ComparedSideName
                    side={side}
                    session={comparison[side]}
                    isHead
                  />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {comparison.files.map(file => (
              <tr key={file.path}>
                <th scope="row">
                  <BreakableName name={file.path} />
                </th>
                {COMPARED_SIDES.map(side => (
                  <td key={side} data-number="true">
                    {uses[file[side]]}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="plm-Muted">
        {words.__(
          'Files that calls of file tools or patches named; what shell commands did to files is not known.'
        )}
      </p>
    </section>
  );
}
