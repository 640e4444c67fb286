/** The stops of a report: which of the tracks that were computed beforehand is nearest to what is asked. */
import type { TrackStop } from '../../protocol/generated';

/** Returns the stop of a policy whose numbers are nearest to those asked for; null for a policy without stops. */
export function nearestStop(
  stops: readonly TrackStop[],
  policy: string,
  numbers: Readonly<Record<string, number>>
): TrackStop | null {
  let best: TrackStop | null = null;
  let least = Infinity;
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
      const asked = numbers[name];
      const has = stop.numbers[name];
      if (asked === undefined || has === undefined) {
        distance += 1;
      } else {
        const largest = Math.max(Math.abs(asked), Math.abs(has), 1);
        distance += Math.abs(asked - has) / largest;
      }
    }
    if (distance < least) {
      least = distance;
      best = stop;
    }
  }
  return best;
}
