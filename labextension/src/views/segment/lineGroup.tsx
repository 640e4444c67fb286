/** A group of an answer's lines: rendered near the viewport, and as plain text elsewhere. */
import { memo } from 'react';
import type { ISegment } from '../../protocol/segment';
import type { Line } from '../../state/lines/lines';
import { linesHeight } from '../../state/display/rowHeights';
import { isSameList } from '../../state/display/turns';
import {
  heightOfFar,
  takeEarlyDraw,
  useNearViewport
} from '../dom/nearViewport';
import { useIsShown } from '../controls/shownLine';
import { useHost } from '../host';
import { lineKind, type ILineProps } from './lineKinds';
import { linesText } from './lineText';

interface ILineGroupProps extends Omit<ILineProps, 'line' | 'isNewest'> {
  lines: readonly Line[];
  /** The key of the newest call. */
  newestCallKey: string | undefined;
  isLast: boolean;
}

/** Draws the lines, or their plain text when they are far away. */
export function LineGroup({
  lines,
  newestCallKey,
  canRetry,
  isLast,
  ...lineProps
}: ILineGroupProps) {
  const { segment, isLive } = lineProps;
  const isKeptRendered = lines.some(line => isActive(line, segment, isLive));
  const isAskedFor = useIsShown(place =>
    lines.some(line => hasLine(line, place.lineKey))
  );
  const { elementRef, near } = useNearViewport<HTMLDivElement>(
    () => isLast && takeEarlyDraw(),
    isKeptRendered || isAskedFor
  );
  const hasChanges = (segment.changes ?? []).length > 0;
  return (
    <div
      className="plm-LineGroup"
      ref={elementRef}
      data-far={!near}
      dir={near ? undefined : 'auto'}
      style={near ? undefined : heightOfFar(linesHeight(lines))}
    >
      {near ? (
        lines.map(line => {
          if (line.kind === 'patch' && hasChanges) {
            return null; // a finished turn shows all changes
          }
          const { View } = lineKind(line);
          return (
            <View
              key={line.key}
              {...lineProps}
              line={line}
              isNewest={line.key === newestCallKey}
              canRetry={canRetry && line === lines.at(-1)}
            />
          );
        })
      ) : (
        <LineGroupText lines={lines} />
      )}
    </div>
  );
}

function hasLine(line: Line, key: string): boolean {
  return (
    line.key === key ||
    (line.kind === 'work' && line.lines.some(inner => inner.key === key))
  );
}

/** Returns whether something in a line runs or waits for the user. */
function isActive(
  line: Line,
  { asks, questions = [] }: ISegment,
  isLive: boolean
): boolean {
  if (line.kind !== 'tool') {
    return false;
  }
  const { call_id, state } = line.part;
  const isRunning = state.status === 'running' || state.status === 'pending';
  return (
    (isLive && isRunning) ||
    [...asks, ...questions].some(ask => ask.call_id === call_id)
  );
}

/** Draws the text of lines as one text node. */
const LineGroupText = memo(
  function LineGroupText({ lines }: { lines: readonly Line[] }) {
    const { words } = useHost();
    return <>{linesText(lines, words)}</>;
  },
  ({ lines: before }, { lines: now }) =>
    before.length === now.length &&
    before.every((line, index) => isSameLine(line, now[index]))
);

/** Returns whether two lines have the same content; lines are new objects at each computation. */
function isSameLine(line: Line, other: Line | undefined): boolean {
  return (
    line.kind === other?.kind &&
    isSameList(
      lineKind(line).sourceValues(line),
      lineKind(other).sourceValues(other)
    )
  );
}
