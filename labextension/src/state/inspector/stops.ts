/** Chooses among a report's precomputed tracks the one nearest to a policy and its numbers. */
import type { TrackStop } from '../../protocol/generated';

/** Returns the stop of a policy whose numbers are nearest to those asked for; null for a policy without stops. */
export function nearestStop(
  stops: readonly TrackStop[],
  policy: string,
  numbers: Readonly<Record<string, number>>
): TrackStop | null {
  let nearest: TrackStop | null = null;
  let minDistance = Infinity;
  for (const stop of stops) {
    if (stop.policy !== policy) {
      continue;
    }
    const names = new Set([
      ...Object.keys(stop.numbers),
      ...Object.keys(numbers)
    ]);
    let distance = 0;
    for (const name of names) {
      const askedNumber = numbers[name];
      const stopNumber = stop.numbers[name];
      if (askedNumber === undefined || stopNumber === undefined) {
        distance += 1;
      } else {
        const largerNumber = Math.max(
          Math.abs(askedNumber),
          Math.abs(stopNumber),
          1
        );
        distance += Math.abs(askedNumber - stopNumber) / largerNumber;
      }
    }
    if (distance < minDistance) {
      minDistance = distance;
      nearest = stop;
    }
  }
  return nearest;
}
