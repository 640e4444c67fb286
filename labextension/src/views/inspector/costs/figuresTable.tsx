/** The figures of the recording and of the policy beside each other. */
import { memo } from 'react';
import type { PolicyFigures } from '../../../protocol/generated';
import { count } from '../../../state/display/numberFormat';
import {
  DOUBTFUL,
  GIVEN,
  isDoubtful,
  money,
  percent,
  priceSource
} from '../../../state/inspector/labels';
import { useHost } from '../../host';
import { BreakableName } from '../controls/breakableName';
import { useInspectedSession } from '../controls/inspection';

/** Draws a column for the facts, one for the recording's estimate, and one for the policy. */
export const FiguresTable = memo(function FiguresTable() {
  const { words } = useHost();
  const { view, recorded, whatIf } = useInspectedSession();
  const { unit } = view.price;
  const source = priceSource(view);
  const doubt = isDoubtful(view) ? DOUBTFUL : '';
  const columns: {
    name: string;
    figures: PolicyFigures;
    isFact: boolean;
  }[] = [
    {
      name: words.__('reported'),
      figures: recorded.track.facts,
      isFact: true
    },
    {
      name: words.__('recorded, estimated') + doubt,
      figures: recorded.track.figures,
      isFact: false
    },
    {
      name: words.__('%1, estimated', whatIf?.track.policy ?? '') + doubt,
      figures: whatIf?.track.figures,
      isFact: false
    }
  ].flatMap(({ name, figures, isFact }) =>
    (figures ?? null) === null || figures === undefined
      ? []
      : [{ name, figures, isFact }]
  );
  const known = (
    value: number | null | undefined,
    told: (value: number) => string
  ) => (typeof value === 'number' ? told(value) : '–');
  const price = (value: number) => money(value, unit, false);
  const rows: [string, (one: PolicyFigures) => string][] = [
    [words.__('tokens in'), one => count(one.input)],
    [words.__('largest request'), one => count(one.peak)],
    [words.__('from the cache'), one => percent(one.cached)],
    [words.__('cache breaks'), one => count(one.breaks)],
    [words.__('tokens read anew'), one => count(one.break_tokens)],
    [words.__('cost'), one => money(one.cost, unit, one.cost_is_fact)],
    [words.__('cost of summaries'), one => known(one.summaries, price)],
    [words.__('cost of fetching again'), one => known(one.repair, price)],
    [words.__('repeated calls'), one => known(one.repeated, count)],
    [words.__('needed names that stay'), one => known(one.retention, percent)],
    [words.__('cost without a cache'), one => price(one.cost_uncached)]
  ];
  return (
    <section role="group" aria-label={words.__('Figures')}>
      <h3>{words.__('Figures')}</h3>
      <div
        className="plm-Inspector-scroll"
        role="group"
        aria-label={words.__('Figures')}
        tabIndex={0}
      >
        <table className="plm-ComparedTable">
          <caption className="plm-Hidden">{words.__('Figures')}</caption>
          <thead>
            <tr>
              <th scope="col">{words.__('figure')}</th>
              {columns.map(({ name }) => (
                <th key={name} scope="col" data-number="true">
                  <BreakableName name={name} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, told]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {columns.map(column => (
                  <td
                    key={column.name}
                    data-number="true"
                    data-doubtful={!column.isFact && isDoubtful(view)}
                  >
                    {told(column.figures)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="plm-Muted">
        {unit === 'units'
          ? words.__('Costs are in units of an uncached input token.')
          : source === ''
            ? words.__('By the prices of %1.', view.price.name)
            : source === GIVEN
              ? words.__('By the prices of %1, as given.', view.price.name)
              : words.__(
                  'By the prices of %1, from %2.',
                  view.price.name,
                  source
                )}{' '}
        {view.ruler.words}
      </p>
      {isDoubtful(view) && (
        <p className="plm-Proof" data-doubtful="true">
          {view.proof?.sentences.slice(1).join(' ')}
        </p>
      )}
    </section>
  );
});
