/** The context and the cost of two sessions as lines, over their requests or over time. */
import { useMemo, useRef, useState } from 'react';
import type { SessionComparison } from '../../../protocol/generated';
import {
  axisPlaces,
  comparedLine,
  costSums,
  haveTimes,
  type ComparedAxis
} from '../../../state/inspector/figures/comparedLines';
import { ESTIMATE_MARK, money } from '../../../state/inspector/labels';
import { count, wholeDurationText } from '../../../state/text/numberFormat';
import { useHost } from '../../host';
import { useElementWidth } from '../../dom/sizes';
import { AxisLines, AxisNumbers, costTickText } from '../controls/chartAxis';
import { COMPARED_SIDES, ComparedSideName } from './comparedSide';

const CONTEXT_PX = 170;
const COST_PX = 110;

/** Draws both pictures, and the choice of their axis where the times of both are known. */
export function ComparedTracks(props: { comparison: SessionComparison }) {
  const { comparison } = props;
  const { words } = useHost();
  const { first, second, unit } = comparison;
  const hasTimes = haveTimes(first, second);
  const [chosenAxis, choose] = useState<ComparedAxis>('requests');
  const axis = hasTimes ? chosenAxis : 'requests';
  const sums = useMemo(
    () => ({ first: costSums(first), second: costSums(second) }),
    [first, second]
  );
  const choices: [ComparedAxis, string][] = [
    ['requests', words.__('over requests')],
    ['time', words.__('over time')]
  ];
  const tokens = (value: number, isEstimate: boolean) =>
    `${isEstimate ? ESTIMATE_MARK : ''}${count(value)}`;
  return (
    <section role="group" aria-label={words.__('Both tracks')}>
      <div className="plm-Inspector-head">
        <h3>{words.__('Both tracks')}</h3>
        {hasTimes && (
          <div
            className="plm-Inspector-choice"
            role="group"
            aria-label={words.__('The axis of both tracks')}
          >
            {choices.map(([name, label]) => (
              <button
                key={name}
                type="button"
                aria-pressed={axis === name}
                onClick={() => {
                  choose(name);
                }}
              >
                {label}
              </button>
            ))}
          </div>
        )}
      </div>
      <div className="plm-Compared-legend">
        {COMPARED_SIDES.map(side => (
          <ComparedSideName key={side} side={side} session={comparison[side]} />
        ))}
        <span className="plm-Compared-name">
          <svg width="10" height="14" aria-hidden="true">
            <line
              className="plm-Compared-mark"
              data-side="first"
              x1="5"
              x2="5"
              y2="14"
            />
          </svg>
          {words.__('where each parts from the other')}
        </span>
      </div>
      <ComparedPicture
        name={words.__('Context, tokens of each request')}
        comparison={comparison}
        axis={axis}
        height={CONTEXT_PX}
        values={{ first: first.tokens, second: second.tokens }}
        valueText={(value, side) => tokens(value, comparison[side].is_estimate)}
      />
      {unit !== '' && (
        <ComparedPicture
          name={
            unit === 'USD'
              ? words.__('Cost up to each request, in USD')
              : words.__('Cost up to each request, in uncached input tokens')
          }
          comparison={comparison}
          axis={axis}
          height={COST_PX}
          values={sums}
          tickText={costTickText(unit)}
          valueText={(value, side) =>
            money(value, unit, !comparison[side].cost_is_estimate)
          }
        />
      )}
    </section>
  );
}

type Values = readonly (number | null)[];

interface IComparedPictureProps {
  name: string;
  comparison: SessionComparison;
  axis: ComparedAxis;
  height: number;
  values: { readonly first: Values; readonly second: Values };
  /** By default as shortened counts. */
  tickText?: (value: number) => string;
  valueText: (value: number, side: 'first' | 'second') => string;
}

/** Draws two lines, and says for each where it begins, ends and is highest. */
function ComparedPicture(props: IComparedPictureProps) {
  const { words } = useHost();
  const { name, comparison, axis, height, values } = props;
  const plot = useRef<HTMLDivElement>(null);
  const width = useElementWidth(plot);
  const places = {
    first: axisPlaces(comparison.first, axis),
    second: axisPlaces(comparison.second, axis)
  };
  const longest = largest([...places.first, ...places.second]);
  const most =
    1.06 * Math.max(largest([...values.first, ...values.second]), 1e-9);
  const summary = COMPARED_SIDES.map(side => {
    const known = values[side].filter(value => value !== null);
    const valueTexts = [known[0], known.at(-1), largest(known)].map(value =>
      props.valueText(value ?? 0, side)
    );
    return side === 'first'
      ? words.__('The first: from %1 to %2, at most %3.', ...valueTexts)
      : words.__('The second: from %1 to %2, at most %3.', ...valueTexts);
  }).join(' ');
  return (
    <figure className="plm-CostChart">
      <figcaption className="plm-Muted">{name}</figcaption>
      <div className="plm-Track-body">
        <AxisNumbers
          maxValue={most}
          height={height}
          tickText={props.tickText}
        />
        <div className="plm-Compared-plot" ref={plot}>
          <svg
            className="plm-Compared-picture"
            viewBox={`0 0 ${width} ${height}`}
            preserveAspectRatio="none"
            height={height}
            role="img"
            aria-label={`${name}. ${summary}`}
          >
            <AxisLines maxValue={most} height={height} width={width} />
            {COMPARED_SIDES.map(side => {
              const parting = comparison[side].parting?.request ?? null;
              const x0 =
                parting === null ? null : (places[side][parting] ?? null);
              const line = comparedLine(
                places[side],
                values[side],
                longest,
                most,
                width,
                height
              );
              const x =
                x0 === null ? 0 : (x0 / Math.max(longest, 1e-9)) * width;
              return (
                <g key={side}>
                  {x0 !== null && (
                    <line
                      className="plm-Compared-mark"
                      data-side={side}
                      x1={x}
                      x2={x}
                      y2={height}
                    />
                  )}
                  <path
                    className="plm-Compared-line"
                    data-side={side}
                    d={line.path}
                  />
                  {line.endPoint !== null && (
                    <circle
                      className="plm-Compared-end"
                      data-side={side}
                      cx={line.endPoint[0]}
                      cy={line.endPoint[1]}
                      r="3"
                    />
                  )}
                </g>
              );
            })}
            <line
              className="plm-Track-axis"
              x2={width}
              y1={height}
              y2={height}
            />
          </svg>
        </div>
      </div>
      <div className="plm-CostChart-scale" aria-hidden="true">
        <span>
          {axis === 'time' ? wholeDurationText(0) : words.__('request 1')}
        </span>
        <span>
          {axis === 'time' ? wholeDurationText(longest) : count(longest + 1)}
        </span>
      </div>
    </figure>
  );
}

function largest(values: readonly (number | null | undefined)[]): number {
  return values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
}
