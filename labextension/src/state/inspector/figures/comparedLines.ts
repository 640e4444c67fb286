/** The lines of two sessions in one picture: over their requests, or over time. */
import { roundToTenth } from './areaPaths';
import type { ComparedSession } from '../../../protocol/generated';

export type ComparedAxis = 'requests' | 'time';

/** A line through the requests with a known value. */
interface IComparedLine {
  /** The path, in a picture of the given shape. */
  readonly path: string;
  /** Its last point, where a line of one point would not be seen. */
  readonly endPoint: readonly [x: number, y: number] | null;
}

/** Returns whether both sessions say when their requests began. */
export function haveTimes(
  first: ComparedSession,
  second: ComparedSession
): boolean {
  return first.seconds.length > 0 && second.seconds.length > 0;
}

/** Returns where each request of a session stands on the axis: its number from 0, or its seconds; null where unknown. */
export function axisPlaces(
  { tokens, seconds }: ComparedSession,
  axis: ComparedAxis
): readonly (number | null)[] {
  return axis === 'time' ? seconds : tokens.map((_, request) => request);
}

/** Returns the cost up to each request; a request of unknown cost adds nothing. */
export function costSums({ costs }: ComparedSession): number[] {
  let sum = 0;
  return costs.map(cost => (sum += cost ?? 0));
}

/** Returns the line through the values at their places, which end at `longest`; values end at `most`. */
export function comparedLine(
  places: readonly (number | null)[],
  values: readonly (number | null)[],
  maxPlace: number,
  maxValue: number,
  width: number,
  height: number
): IComparedLine {
  const pieces: string[] = [];
  let endPoint: [number, number] | null = null;
  places.forEach((place, request) => {
    const value = values[request] ?? null;
    if (place !== null && value !== null) {
      endPoint = [
        roundToTenth((place / Math.max(maxPlace, 1e-9)) * width),
        roundToTenth(height - (value / maxValue) * height)
      ];
      pieces.push(`${pieces.length === 0 ? 'M' : 'L'}${endPoint.join(' ')}`);
    }
  });
  return { path: pieces.join(''), endPoint };
}
