/** The figures of the recording and of the policy beside each other. */
import { memo } from 'react';
import type { PolicyFigures } from '../../../protocol/generated';
import { count } from '../../../state/text/numberFormat';
import {
  DOUBT_MARK,
  isDoubtful,
  money,
  percent,
  pricedModelsText,
  priceSourceText
} from '../../../state/inspector/labels';
import { useHost } from '../../host';
import { BreakableName } from '../controls/sessionTexts';
import { useInspectedSession } from '../controls/inspection';
import type { Term } from '../glossary/glossary';
import { TermButton } from '../glossary/term';
import { priceSentence } from '../timeline/costWords';

/** Draws a column for the facts, one for the recording's estimate, and one for the policy. */
export const FiguresTable = memo(function FiguresTable() {
  const { words } = useHost();
  const { view, recordedTrack, whatIf } = useInspectedSession();
  const { unit } = view.price;
  const source = priceSourceText(view);
  const doubt = isDoubtful(view) ? DOUBT_MARK : '';
  const columns: {
    name: string;
    figures: PolicyFigures;
    /** Requests that lose the cache only because the recording did; null for the facts. */
    taken: number | null;
    isFact: boolean;
  }[] = [
    {
      name: words.__('reported'),
      figures: recordedTrack.track.facts,
      taken: null,
      isFact: true
    },
    {
      name: words.__('recorded, estimated') + doubt,
      figures: recordedTrack.track.figures,
      taken: recordedTrack.track.taken.length,
      isFact: false
    },
    {
      name: words.__('%1, estimated', whatIf?.track.policy ?? '') + doubt,
      figures: whatIf?.track.figures,
      taken: whatIf?.track.taken.length ?? null,
      isFact: false
    }
  ].flatMap(({ figures, ...column }) =>
    (figures ?? null) === null || figures === undefined
      ? []
      : [{ ...column, figures }]
  );
  const textIfKnown = (
    value: number | null | undefined,
    cellText: (value: number) => string
  ) => (typeof value === 'number' ? cellText(value) : '–');
  const price = (value: number) => money(value, unit, false);
  const isTaken = columns.some(({ taken }) => (taken ?? 0) > 0);
  const rows: [
    string,
    (figures: PolicyFigures, taken: number | null) => string,
    Term?
  ][] = [
    [words.__('tokens in'), figures => count(figures.input)],
    [words.__('largest request'), figures => count(figures.peak)],
    [
      words.__('read from cache'),
      figures => percent(figures.cached),
      'read from cache'
    ],
    [words.__('cache breaks'), figures => count(figures.breaks), 'cache break'],
    ...(isTaken
      ? [
          [
            words.__('lost as in the recording'),
            (_figures, taken) => textIfKnown(taken, count)
          ] satisfies (typeof rows)[number]
        ]
      : []),
    [
      words.__('written anew'),
      figures => count(figures.break_tokens),
      'written anew'
    ],
    [
      words.__('cost'),
      figures => money(figures.cost, unit, figures.cost_is_fact)
    ],
    [
      words.__('cost of summaries'),
      figures => textIfKnown(figures.summaries, price)
    ],
    [
      words.__('cost of refetching'),
      figures => textIfKnown(figures.refetching, price),
      'with refetching'
    ],
    [
      words.__('repeated calls'),
      figures => textIfKnown(figures.repeated, count)
    ],
    [
      words.__('needed names that stay'),
      figures => textIfKnown(figures.retention, percent),
      'needed names that stay'
    ],
    [words.__('cost without a cache'), figures => price(figures.cost_uncached)]
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
            {rows.map(([name, cellText, term]) => (
              <tr key={name}>
                <th scope="row">
                  {term === undefined ? (
                    name
                  ) : (
                    <TermButton term={term}>{name}</TermButton>
                  )}
                </th>
                {columns.map(column => (
                  <td
                    key={column.name}
                    data-number="true"
                    data-doubtful={!column.isFact && isDoubtful(view)}
                  >
                    {cellText(column.figures, column.taken)}
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
          : priceSentence(pricedModelsText(view), source, words)}{' '}
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
