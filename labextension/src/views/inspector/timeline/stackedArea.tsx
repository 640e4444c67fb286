/** The window by kind over all requests, as a picture that does not depend on the cursor. */
import { memo } from 'react';
import { short } from '../../../state/display/numberFormat';
import type { IKindSeries } from '../../../state/inspector/kindSeries';
import { areaPaths, linePath, ticks } from '../../../state/inspector/areaPaths';
import { KindPatterns, patternFill } from './kinds';

export interface ITrackMark {
  readonly request: number;
  readonly kind: string;
  readonly title: string;
}

interface IStackedAreaProps {
  series: IKindSeries;
  /** Tokens at the top of the picture. */
  most: number;
  width: number;
  height: number;
  mark: string;
  /** Reported tokens of each request, where there are some. */
  reported: readonly (number | null)[] | null;
  limits: readonly number[];
  reserves: readonly number[];
  marks: readonly ITrackMark[];
  /** The first request that is an estimate; null where all are facts. */
  factsUntil: number | null;
}

const MARKS_PX = 12;

/** Draws the layers, the lines of limit and reserve, and the marks below them. */
export const StackedArea = memo(function StackedArea(props: IStackedAreaProps) {
  const { series, most, width, height, mark, reported, factsUntil } = props;
  const count = series.total.length;
  const plot = height - MARKS_PX;
  const x = (request: number) => (request * width) / Math.max(count, 1);
  const y = (tokens: number) => plot - (tokens / most) * plot;
  const shape = { width, height: plot, most };
  const limits = props.limits.map(one => (one > 0 ? one : null));
  const reserves = props.limits.map((one, request) =>
    one > 0 && (props.reserves[request] ?? 0) > 0
      ? one - (props.reserves[request] ?? 0)
      : null
  );
  return (
    <svg
      className="plm-Track-picture"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      height={height}
      aria-hidden="true"
    >
      <KindPatterns mark={mark} />
      {ticks(most).map(one => (
        <line
          key={one}
          className="plm-Track-grid"
          x2={width}
          y1={y(one)}
          y2={y(one)}
        />
      ))}
      {areaPaths(series, shape).map(({ name, path }) => {
        const pattern = patternFill(name, mark);
        return (
          <g key={name}>
            <path className="plm-Kind" data-kind={name} d={path} />
            {pattern !== null && <path fill={pattern} d={path} />}
          </g>
        );
      })}
      {reported !== null && (
        <path className="plm-Track-reported" d={linePath(reported, shape)} />
      )}
      <path className="plm-Track-limit" d={linePath(limits, shape)} />
      <path className="plm-Track-reserve" d={linePath(reserves, shape)} />
      {factsUntil !== null && (
        <line
          className="plm-Track-facts"
          x1={x(factsUntil)}
          x2={x(factsUntil)}
          y2={plot}
        />
      )}
      <line className="plm-Track-axis" x2={width} y1={plot} y2={plot} />
      {props.marks.map(({ request, kind, title }) => (
        <path
          key={`${kind} ${request}`}
          className="plm-Track-mark"
          data-kind={kind}
          d={markPath(kind, x(request + 0.5), plot + 2)}
        >
          <title>{title}</title>
        </path>
      ))}
    </svg>
  );
});

/** Draws the numbers beside a picture. */
export function TrackScale({ most, height }: { most: number; height: number }) {
  const plot = height - MARKS_PX;
  return (
    <div className="plm-Track-scale" aria-hidden="true">
      {ticks(most).map(one => (
        <span key={one} style={{ top: plot - (one / most) * plot }}>
          {short(one)}
        </span>
      ))}
    </div>
  );
}

/** Each kind of mark has a form of its own. */
function markPath(kind: string, x: number, y: number): string {
  const at = `M${x.toFixed(1)} ${y}`;
  switch (kind) {
    case 'break':
    case 'prune':
    case 'fired':
      return `${at}l3.5 7h-7z`;
    case 'compact':
      return `${at}l3.5 3.5l-3.5 3.5l-3.5-3.5z`;
    case 'model':
    case 'effort':
      return `${at}h2.5v6h-5v-6z`;
    case 'undo':
    case 'fork':
      return `${at}m3.5 0l-7 3.5l7 3.5z`;
    default:
      return `${at}h.8v7h-1.6v-7z`;
  }
}
