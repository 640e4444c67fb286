/** The chart of the session's cost up to each request, as recorded and under the policy. */
import { useMemo, useRef } from 'react';
import { count as whole } from '../../../state/text/numberFormat';
import { linePath } from '../../../state/inspector/figures/areaPaths';
import {
  costSeries,
  recordedCosts
} from '../../../state/inspector/figures/costSeries';
import {
  DOUBT_MARK,
  foreignPriceModel,
  isDoubtful,
  money
} from '../../../state/inspector/labels';
import { useHost } from '../../host';
import { useElementWidth } from '../../dom/sizes';
import { AxisLines, AxisNumbers, costTickText } from '../controls/chartAxis';
import { useInspection } from '../controls/inspection';
import { RequestSlider } from '../controls/requestSlider';

const HEIGHT_PX = 220;

interface ICostLine {
  readonly kind: 'fact' | 'recorded' | 'what-if';
  readonly name: string;
  /** The cost up to each request. */
  readonly sums: Float64Array;
}

/** Returns what was spent up to a request; 0 before the first one. */
function spentUpTo({ sums }: ICostLine, at: number): number {
  return sums[Math.min(at, sums.length - 1)] ?? 0;
}

/** Draws the lines, moves the cursor on them, and says what was spent up to it and in all. */
export function CostChart() {
  const { words } = useHost();
  const { view, recordedTrack, whatIf, request, range } = useInspection();
  const { unit } = view.price;
  const plot = useRef<HTMLDivElement>(null);
  const width = useElementWidth(plot);
  const price = foreignPriceModel(view);
  const isFact = view.recorded.facts?.cost_is_fact ?? false;
  const doubt = isDoubtful(view) ? DOUBT_MARK : '';
  const lines = useMemo(
    () =>
      [
        {
          kind: 'fact' as const,
          name:
            price !== ''
              ? words.__('as reported, by the price of %1', price)
              : isFact
                ? words.__('as recorded')
                : words.__('as reported, by the price of a list'),
          sums: recordedCosts(view)
        },
        {
          kind: 'recorded' as const,
          name: words.__('recorded, estimated from the texts') + doubt,
          sums: costSeries(recordedTrack.track)
        },
        {
          kind: 'what-if' as const,
          name: (whatIf?.track.policy ?? '') + doubt,
          sums: whatIf === null ? null : costSeries(whatIf.track)
        }
      ].flatMap(({ kind, name, sums }) =>
        sums === null ? [] : [{ kind, name, sums }]
      ),
    [view, recordedTrack, whatIf, price, isFact, doubt, words]
  );
  const count = view.requests.id.length;
  const maxValue =
    1.04 *
    lines.reduce(
      (largest, { sums }) => Math.max(largest, sums.at(-1) ?? 0),
      1e-9
    );
  const axis = { height: HEIGHT_PX, maxValue };
  const spentText = (line: ICostLine, at: number, before = 0) =>
    money(spentUpTo(line, at) - before, unit, line.kind === 'fact' && isFact);
  const hintAt = (at: number) =>
    words.__(
      'Up to request %1 of %2: %3',
      at + 1,
      count,
      lines.map(line => `${spentText(line, at)} ${line.name}`).join(', ')
    );
  return (
    <figure className="plm-CostChart">
      <figcaption className="plm-Inspector-head">
        <h3>{words.__('Cost over time')}</h3>
        <span className="plm-Muted">
          {unit === 'USD'
            ? words.__('the sum up to each request, in USD')
            : words.__('the sum up to each request, in uncached input tokens')}
        </span>
      </figcaption>
      <div className="plm-Track-body">
        <AxisNumbers {...axis} tickText={costTickText(unit)} />
        <RequestSlider
          name={words.__('Request, cost over time')}
          value={hintAt(request)}
          total={count}
          width={width}
          elementRef={plot}
          hintText={hintAt}
        >
          <svg
            className="plm-Track-picture"
            viewBox={`0 0 ${width} ${HEIGHT_PX}`}
            preserveAspectRatio="none"
            height={HEIGHT_PX}
            aria-hidden="true"
          >
            <AxisLines {...axis} width={width} />
            {lines.map(({ kind, sums }) => (
              <path
                key={kind}
                className="plm-CostChart-line"
                data-kind={kind}
                d={linePath(sums, { height: HEIGHT_PX, maxValue, width })}
              />
            ))}
            <line
              className="plm-Track-axis"
              x2={width}
              y1={HEIGHT_PX}
              y2={HEIGHT_PX}
            />
          </svg>
        </RequestSlider>
      </div>
      <div className="plm-CostChart-scale" aria-hidden="true">
        <span>{words.__('request 1')}</span>
        <span>{whole(count)}</span>
      </div>
      <table className="plm-ComparedTable">
        <caption className="plm-Hidden">
          {words.__('Cost up to request %1, and in all', request + 1)}
        </caption>
        <thead>
          <tr>
            <th scope="col">{words.__('line')}</th>
            <th scope="col" data-number="true">
              {words.__('up to request %1', request + 1)}
            </th>
            {range !== null && (
              <th scope="col" data-number="true">
                {words.__('in the range')}
              </th>
            )}
            <th scope="col" data-number="true">
              {words.__('in all')}
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map(line => (
            <tr key={line.kind}>
              <th scope="row">
                <span className="plm-CostChart-name">
                  <svg width="22" height="8" aria-hidden="true">
                    <path
                      className="plm-CostChart-line"
                      data-kind={line.kind}
                      d="M0 4H22"
                    />
                  </svg>
                  <bdi>{line.name}</bdi>
                </span>
              </th>
              <td data-number="true">{spentText(line, request)}</td>
              {range !== null && (
                <td data-number="true">
                  {spentText(
                    line,
                    range.last,
                    spentUpTo(line, range.first - 1)
                  )}
                </td>
              )}
              <td data-number="true">
                {spentText(line, line.sums.length - 1)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
