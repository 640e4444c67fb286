/** The window by kind over all requests, as a picture that does not depend on the cursor. */
import { memo } from 'react';
import type { IKindSeries } from '../../../state/inspector/figures/kindSeries';
import {
  areaPaths,
  linePath
} from '../../../state/inspector/figures/areaPaths';
import { AxisLines } from '../controls/chartAxis';
import { KindPatterns, patternFill } from './kinds';
import {
  lightestFirst,
  MARK_PX,
  markPath,
  type ITrackMark
} from './trackMarks';

interface IStackedAreaProps {
  series: IKindSeries;
  /** Tokens at the top of the picture. */
  most: number;
  width: number;
  height: number;
  idPrefix: string;
  /** Reported tokens, limits, and limits less the reserve, as `trackLines` returns them. */
  lines: ITrackLines;
  marks: readonly ITrackMark[];
  /** The first request that is an estimate; null where all are facts. */
  factsUntil: number | null;
}

/** SVG paths; equal ones are not drawn again. */
interface ITrackLines {
  readonly reported: string;
  readonly limit: string;
  readonly reserve: string;
}

/** The height of the marks below the plot. */
export const MARKS_PX = 12;

/** Returns the SVG paths of reported tokens, limit and reserve over the first `count` requests of a track. */
export function trackLines(
  requests: Readonly<
    Record<'reported' | 'window' | 'reserve', readonly (number | null)[]>
  >,
  count: number,
  { width, height, most }: { width: number; height: number; most: number },
  isRecorded: boolean
): ITrackLines {
  const shape = { width, height: height - MARKS_PX, maxValue: most };
  // A line that lies above the picture would run through the words there.
  const within = (tokens: number) =>
    tokens > 0 && tokens <= most ? tokens : null;
  const limits = requests.window
    .slice(0, count)
    .map(limit => within(limit ?? 0));
  const reserves = requests.window.slice(0, count).map((limit, request) => {
    const reserve = requests.reserve[request] ?? 0;
    return (limit ?? 0) > 0 && reserve > 0
      ? within((limit ?? 0) - reserve)
      : null;
  });
  return {
    reported: isRecorded ? linePath(requests.reported, shape) : '',
    limit: linePath(limits, shape),
    reserve: linePath(reserves, shape)
  };
}

/** Draws the layers, the lines of limit and reserve, and the marks below them. */
export const StackedArea = memo(function StackedArea(props: IStackedAreaProps) {
  const { series, most, width, height, idPrefix, lines, factsUntil } = props;
  const count = series.totals.length;
  const plot = height - MARKS_PX;
  const x = (request: number) => (request * width) / Math.max(count, 1);
  const shape = { width, height: plot, maxValue: most };
  const isDense = props.marks.length * MARK_PX > width;
  return (
    <svg
      className="plm-Track-picture"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      height={height}
      aria-hidden="true"
    >
      <KindPatterns idPrefix={idPrefix} />
      <AxisLines maxValue={most} height={plot} width={width} />
      {areaPaths(series, shape).map(({ name, path }) => {
        const pattern = patternFill(name, idPrefix);
        return (
          <g key={name}>
            <path className="plm-Kind" data-kind={name} d={path} />
            {pattern !== null && <path fill={pattern} d={path} />}
          </g>
        );
      })}
      <path className="plm-Track-reported" d={lines.reported} />
      <path className="plm-Track-limit" d={lines.limit} />
      <path className="plm-Track-reserve" d={lines.reserve} />
      {factsUntil !== null && (
        <line
          className="plm-Track-facts"
          x1={x(factsUntil)}
          x2={x(factsUntil)}
          y2={plot}
        />
      )}
      <line className="plm-Track-axis" x2={width} y1={plot} y2={plot} />
      {lightestFirst(props.marks).map(({ request, kind, title, place }) => (
        <path
          key={`${kind} ${request}`}
          className="plm-Track-mark"
          data-kind={kind}
          d={markPath(
            isDense && kind === 'fired' ? 'line' : kind,
            // A mark at either end of the picture is drawn whole.
            Math.min(
              Math.max(x(request + 0.5) + place * MARK_PX, MARK_PX / 2),
              width - MARK_PX / 2
            ),
            plot + 2
          )}
        >
          <title>{title}</title>
        </path>
      ))}
    </svg>
  );
}, isSamePicture);

/** Returns whether two sets of properties give the same picture. */
function isSamePicture(
  { lines, ...before }: IStackedAreaProps,
  { lines: newer, ...after }: IStackedAreaProps
): boolean {
  return (
    lines.reported === newer.reported &&
    lines.limit === newer.limit &&
    lines.reserve === newer.reserve &&
    Object.entries(after).every(
      ([name, value]) => before[name as keyof typeof before] === value
    )
  );
}
