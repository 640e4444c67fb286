/**
 * Whether a reader asked for what a view draws.
 */
import { useSyncExternalStore } from 'react';
import { shownPlace, type IShownPlace } from '../../state/display/shownPlace';

/** Returns whether the place that a reader asked for passes the test; the view is drawn again when that changes. */
export function useIsShown(test: (place: IShownPlace) => boolean): boolean {
  return useSyncExternalStore(shownPlace.subscribe, () => {
    const place = shownPlace.getSnapshot();
    return place !== null && test(place);
  });
}
