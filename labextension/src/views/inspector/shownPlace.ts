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
  readonly updateSteps: (
    changeSteps: (steps: IPlaceSteps) => IPlaceSteps
  ) => void;
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
 * While a newer view is being drawn, React may run pending state changes again, which makes new objects: so places are
 * compared by their fields.
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
      const wasReported = isSame(outerPlace.current, placeFromOutside);
      outerPlace.current = placeFromOutside;
      setStepsState(previous =>
        // A place that was reported comes back; a move that was made meanwhile is newer.
        wasReported
          ? { ...previous, placeFromOutside }
          : stepsWith(previous, placeFromOutside)
      );
    }
  }, [stepsState, placeFromOutside]);
  const updateSteps = useCallback(
    (changeSteps: (steps: IPlaceSteps) => IPlaceSteps) => {
      setStepsState(previous => {
        const newSteps = changeSteps(previous.steps);
        return newSteps === previous.steps
          ? previous
          : { ...previous, steps: newSteps };
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
  return useMemo(
    () => ({ place, steps, updateSteps }),
    [place, steps, updateSteps]
  );
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
export function useRenumberedItem(
  view: TimelineView | null,
  { updateSteps }: ISteppedPlace
): void {
  const lastView = useRef(view);
  useLayoutEffect(() => {
    const olderView = lastView.current;
    lastView.current = view;
    if (olderView !== view && olderView !== null && view !== null) {
      updateSteps(steps =>
        withRenumberedItems(steps, item =>
          itemInNewerView(olderView, view, item)
        )
      );
    }
  }, [view, updateSteps]);
}

/** Returns the function that moves; in a session that may grow the last request stands for the newest, which is followed. */
export function useGoTo(
  view: TimelineView,
  { updateSteps }: ISteppedPlace
): IInspectedSession['goTo'] {
  const followsNewest = view.own;
  const lastRequest = view.requests.id.length - 1;
  return useMemo(
    () =>
      (newFields: Partial<IInspectorPlace>, way: MoveWay = 'choice') => {
        const isLast = followsNewest && newFields.request === lastRequest;
        const nowMs = Date.now();
        updateSteps(steps =>
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
            nowMs
          )
        );
      },
    [followsNewest, lastRequest, updateSteps]
  );
}

/** The functions that go back and forward; null where there is no such place. */
export interface IWaysBackAndForward {
  readonly back: (() => void) | null;
  readonly forward: (() => void) | null;
  /** Whether the place was reached by these ways, or from outside. */
  readonly isReturned: boolean;
}

export function waysBackAndForward({
  steps,
  updateSteps
}: ISteppedPlace): IWaysBackAndForward {
  return {
    back:
      steps.placesBefore.length === 0
        ? null
        : () => {
            updateSteps(stepsAfterBack);
          },
    forward:
      steps.placesAfter.length === 0
        ? null
        : () => {
            updateSteps(stepsAfterForward);
          },
    isReturned: steps.lastMove === null && steps.stepCount > 0
  };
}

/** Returns the number that an item of an older view has in a newer one; null where it is gone. */
function itemInNewerView(
  olderView: TimelineView,
  newerView: TimelineView,
  item: number | null
): number | null {
  const id = item === null ? undefined : olderView.items.id[item];
  if (id === undefined || item === null || newerView.items.id[item] === id) {
    return item;
  }
  const index = newerView.items.id.indexOf(id);
  return index < 0 ? null : index;
}
