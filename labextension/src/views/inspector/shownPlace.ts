/** The place that an inspector shows, with the steps back and forward. */
import {
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState
} from 'react';
import type { TimelineView } from '../../protocol/generated';
import {
  isSamePlace,
  stepsAfterMove,
  stepsAtOpening,
  withRenumberedItems,
  stepsAfterBack,
  stepsAfterForward,
  stepsAfterLink,
  type IPlaceSteps,
  type MoveWay
} from '../../state/inspector/placeSteps';
import { NOWHERE, type IInspectorPlace } from '../../state/inspector/source';
import type { IInspectedSession } from './controls/inspection';

export interface ISteppedPlace {
  readonly place: IInspectorPlace;
  readonly steps: IPlaceSteps;
  readonly change: (changeSteps: (steps: IPlaceSteps) => IPlaceSteps) => void;
}

interface IShownPlaceProps {
  place?: IInspectorPlace;
  onPlace?: (place: IInspectorPlace, isStep: boolean) => void;
}

interface IStepsState {
  readonly steps: IPlaceSteps;
  /** The newest place from outside that is one of the steps. */
  readonly placeFromOutside: IInspectorPlace | undefined;
}

/**
 * Returns the place and its steps; a place from outside is shown instead.
 *
 * Each change is made of the one before it: while a newer view is being drawn, React makes the waiting ones again, as
 * new objects. So places are compared by what they say.
 */
export function useShownPlace({
  place: placeFromOutside,
  onPlace
}: IShownPlaceProps): ISteppedPlace {
  const [stepsState, setStepsState] = useState<IStepsState>(() => ({
    steps: stepsAtOpening(placeFromOutside ?? NOWHERE),
    placeFromOutside
  }));
  // Computed, not set during rendering: in a cell Preact draws the views and may lose a state set then.
  const steps = useMemo(
    () => stepsWith(stepsState, placeFromOutside).steps,
    [stepsState, placeFromOutside]
  );
  // The newest place that came from outside or was reported there.
  const outerPlace = useRef(placeFromOutside);
  useLayoutEffect(() => {
    if (stepsState.placeFromOutside !== placeFromOutside) {
      const isKnown = isSame(outerPlace.current, placeFromOutside);
      outerPlace.current = placeFromOutside;
      setStepsState(before =>
        // What was reported comes back; a move that was made meanwhile is newer.
        isKnown
          ? { ...before, placeFromOutside }
          : stepsWith(before, placeFromOutside)
      );
    }
  }, [stepsState, placeFromOutside]);
  const change = useCallback(
    (changeSteps: (steps: IPlaceSteps) => IPlaceSteps) => {
      setStepsState(before => {
        const changed = changeSteps(before.steps);
        return changed === before.steps
          ? before
          : { ...before, steps: changed };
      });
    },
    []
  );
  const { place, stepCount } = steps;
  const reportedStepCount = useRef(stepCount);
  useEffect(() => {
    const isStep = stepCount !== reportedStepCount.current;
    reportedStepCount.current = stepCount;
    if (place !== NOWHERE && !isSame(place, outerPlace.current)) {
      outerPlace.current = place;
      onPlace?.(place, isStep);
    }
    // Only a change of the place is reported, not a new callback.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [place]);
  return useMemo(() => ({ place, steps, change }), [place, steps, change]);
}

function isSame(
  place: IInspectorPlace | undefined,
  otherPlace: IInspectorPlace | undefined
): boolean {
  return (
    place === otherPlace ||
    (place !== undefined &&
      otherPlace !== undefined &&
      isSamePlace(place, otherPlace))
  );
}

/** Returns the steps with a place from outside as the newest; the same value where that place is already the newest. */
function stepsWith(
  stepsState: IStepsState,
  placeFromOutside: IInspectorPlace | undefined
): IStepsState {
  return stepsState.placeFromOutside === placeFromOutside
    ? stepsState
    : {
        steps: stepsAfterLink(stepsState.steps, placeFromOutside ?? NOWHERE),
        placeFromOutside
      };
}

/** Keeps the same item chosen when a newer view numbers it anew, as happens while an answer is written. */
export function useSameItem(
  view: TimelineView | null,
  { change }: ISteppedPlace
): void {
  const lastView = useRef(view);
  useLayoutEffect(() => {
    const before = lastView.current;
    lastView.current = view;
    if (before !== view && before !== null && view !== null) {
      change(steps =>
        withRenumberedItems(steps, item => sameItem(before, view, item))
      );
    }
  }, [view, change]);
}

/** Returns how to move; in a session that may grow the last request stands for the newest one, which is followed. */
export function useMovement(
  view: TimelineView,
  { change }: ISteppedPlace
): IInspectedSession['goTo'] {
  const follows = view.own;
  const last = view.requests.id.length - 1;
  return useMemo(
    () =>
      (newFields: Partial<IInspectorPlace>, way: MoveWay = 'choice') => {
        const isLast = follows && newFields.request === last;
        const at = Date.now();
        change(steps =>
          stepsAfterMove(
            steps,
            {
              ...steps.place,
              // Another item has other definitions.
              ...(newFields.item === undefined ? {} : { definition: null }),
              ...newFields,
              ...(isLast ? { request: null } : {})
            },
            way,
            at
          )
        );
      },
    [follows, last, change]
  );
}

/** Ways to the places before and after; null where there is nothing to go to. */
export interface IWaysBackAndForward {
  readonly back: (() => void) | null;
  readonly forward: (() => void) | null;
  /** Whether the place was reached by these ways, or from outside. */
  readonly isReturned: boolean;
}

/** Returns how to go back and forward. */
export function waysBackAndForward({
  steps,
  change
}: ISteppedPlace): IWaysBackAndForward {
  return {
    back:
      steps.placesBefore.length === 0
        ? null
        : () => {
            change(stepsAfterBack);
          },
    forward:
      steps.placesAfter.length === 0
        ? null
        : () => {
            change(stepsAfterForward);
          },
    isReturned: steps.lastMove === null && steps.stepCount > 0
  };
}

/** Returns the number that an item of an older view has in a newer one; null where it is gone. */
function sameItem(
  before: TimelineView,
  after: TimelineView,
  item: number | null
): number | null {
  const id = item === null ? undefined : before.items.id[item];
  if (id === undefined || item === null || after.items.id[item] === id) {
    return item;
  }
  const index = after.items.id.indexOf(id);
  return index < 0 ? null : index;
}
