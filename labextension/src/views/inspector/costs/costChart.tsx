/** What the session has cost up to each request, as recorded and under the policy. */
import { useMemo, useRef } from 'react';
import { linePath, ticks } from '../../../state/inspector/areaPaths';
import { costSeries, recordedCosts } from '../../../state/inspector/costSeries';
import { money } from '../../../state/inspector/labels';
import { useHost } from '../../host';
import { useElementWidth } from '../controls/elementWidth';
import { useInspection } from '../controls/inspection';

const HEIGHT = 150;

/** Draws the lines, and says in a sentence where they end. */
export function CostChart() {
  const { words } = useHost();
  const { view, recorded, whatIf, request } = useInspection();
  const { unit } = view.price;
  const plot = useRef<HTMLDivElement>(null);
  const width = useElementWidth(plot);
  const lines = useMemo(
    () =>
      [
        {
          kind: 'fact',
          name: words.__('as recorded'),
          sums: recordedCosts(view)
        },
        {
          kind: 'recorded',
          name: words.__('recorded, with a cache that never breaks'),
          sums: costSeries(recorded.track)
        },
        {
          kind: 'what-if',
          name: whatIf?.track.policy ?? '',
          sums: whatIf === null ? null : costSeries(whatIf.track)
        }
      ].flatMap(({ kind, name, sums }) =>
        sums === null ? [] : [{ kind, name, sums }]
      ),
    [view, recorded, whatIf, words]
  );
  const count = view.requests.id.length;
  const most =
    1.04 *
    lines.reduce((one, { sums }) => Math.max(one, sums.at(-1) ?? 0), 1e-9);
  const shape = { width, height: HEIGHT, most };
  return (
    <figure className="plm-CostChart">
      <figcaption>
        <h3>{words.__('Cost over time')}</h3>
      </figcaption>
      <div className="plm-Track-body">
        <div className="plm-Track-scale" aria-hidden="true">
          {ticks(most).map(one => (
            <span key={one} style={{ top: HEIGHT - (one / most) * HEIGHT }}>
              {unit === 'USD'
                ? `$${Number(one.toPrecision(3))}`
                : money(one, unit)}
            </span>
          ))}
        </div>
        <div className="plm-Track-plot" ref={plot}>
          <svg
            className="plm-Track-picture"
            viewBox={`0 0 ${width} ${HEIGHT}`}
            preserveAspectRatio="none"
            height={HEIGHT}
            aria-hidden="true"
          >
            {ticks(most).map(one => (
              <line
                key={one}
                className="plm-Track-grid"
                x2={width}
                y1={HEIGHT - (one / most) * HEIGHT}
                y2={HEIGHT - (one / most) * HEIGHT}
              />
            ))}
            {lines.map(({ kind, sums }) => (
              <path
                key={kind}
                className="plm-CostChart-line"
                data-kind={kind}
                d={linePath(Array.from(sums), shape)}
              />
            ))}
            <line
              className="plm-Track-axis"
              x2={width}
              y1={HEIGHT}
              y2={HEIGHT}
            />
          </svg>
          <span
            className="plm-Inspector-cursor"
            style={{
              transform: `translateX(${(((request + 0.5) * width) / count).toFixed(1)}px)`
            }}
          />
        </div>
      </div>
      <ul className="plm-Difference-legend">
        {lines.map(({ kind, name, sums }) => (
          <li key={kind}>
            <svg width="22" height="8" aria-hidden="true">
              <path
                className="plm-CostChart-line"
                data-kind={kind}
                d="M0 4H22"
              />
            </svg>
            <bdi>
              {words.__(
                '%1: %2 up to request %3, %4 in all',
                name,
                `${kind === 'fact' ? '' : '~'}${money(sums[request] ?? 0, unit)}`,
                request + 1,
                `${kind === 'fact' ? '' : '~'}${money(sums.at(-1) ?? 0, unit)}`
              )}
            </bdi>
          </li>
        ))}
      </ul>
    </figure>
  );
}
