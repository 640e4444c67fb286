/** The figures of the recording and of the policy beside each other. */
import type { TrackFigures } from '../../../protocol/generated';
import { count } from '../../../state/display/numberFormat';
import { money, percent } from '../../../state/inspector/labels';
import { useHost } from '../../host';
import { useInspection } from '../controls/inspection';

/** Draws a column for the facts, one for the recording's estimate, and one for the policy. */
export function FiguresTable() {
  const { words } = useHost();
  const { view, recorded, whatIf } = useInspection();
  const { unit } = view.price;
  const columns: { name: string; figures: TrackFigures }[] = [
    { name: words.__('reported'), figures: recorded.track.facts },
    { name: words.__('recorded, estimated'), figures: recorded.track.figures },
    { name: whatIf?.track.policy ?? '', figures: whatIf?.track.figures }
  ].flatMap(({ name, figures }) =>
    (figures ?? null) === null || figures === undefined
      ? []
      : [{ name, figures }]
  );
  const known = (
    value: number | null | undefined,
    told: (value: number) => string
  ) => (typeof value === 'number' ? told(value) : '–');
  const price = (value: number) => money(value, unit);
  const rows: [string, (one: TrackFigures) => string][] = [
    [words.__('tokens in'), one => count(one.input)],
    [words.__('largest request'), one => count(one.peak)],
    [words.__('from the cache'), one => percent(one.cached)],
    [words.__('cache breaks'), one => count(one.breaks)],
    [words.__('tokens read anew'), one => count(one.break_tokens)],
    [words.__('cost'), one => known(one.cost, price)],
    [words.__('cost of summaries'), one => known(one.summaries, price)],
    [words.__('cost of repeated calls'), one => known(one.repair, price)],
    [words.__('repeated calls'), one => known(one.repeated, count)],
    [words.__('needed names that stay'), one => known(one.retention, percent)],
    [words.__('cost without a cache'), one => known(one.cost_uncached, price)]
  ];
  return (
    <section aria-label={words.__('Figures')}>
      <h3>{words.__('Figures')}</h3>
      <div
        className="plm-Inspector-scroll"
        role="group"
        aria-label={words.__('Figures')}
        tabIndex={0}
      >
        <table>
          <thead>
            <tr>
              <th scope="col">{words.__('figure')}</th>
              {columns.map(({ name }) => (
                <th key={name} scope="col" data-number="true">
                  <bdi>{name}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, told]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {columns.map(column => (
                  <td key={column.name} data-number="true">
                    {told(column.figures)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="plm-Muted">
        {words.__('By the prices of %1.', view.price.name)} {view.ruler.words}
      </p>
    </section>
  );
}
