/** Hooks that return whether a reader asked for the place that a view draws. */
import { useState, useSyncExternalStore } from 'react';
import {
  openedPlace,
  type ITranscriptPlace
} from '../../state/display/openedPlace';

/** Returns whether the place that a reader asked for passes the test; the view is drawn again when that changes. */
export function useIsShown(
  test: (place: ITranscriptPlace) => boolean
): boolean {
  return useSyncExternalStore(openedPlace.subscribe, () => {
    const place = openedPlace.getSnapshot();
    return place !== null && test(place);
  });
}

/**
 * Returns whether something is open, null where the user has not chosen, and a function to choose. It opens, and stays
 * open, when a reader asks for what is in it.
 */
export function useChosenOpen(
  test: (place: ITranscriptPlace) => boolean
): [boolean | null, (isOpen: boolean) => void] {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const isWanted = useIsShown(test);
  const [wasWanted, setWasWanted] = useState(false);
  if (isWanted !== wasWanted) {
    setWasWanted(isWanted);
    if (isWanted) {
      setChosen(true);
    }
  }
  return [chosen, setChosen];
}
