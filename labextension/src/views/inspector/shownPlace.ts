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
  movedTo,
  openedAt,
  withRenumberedItems,
  steppedBack,
  steppedForward,
  steppedTo,
  type IPlaceSteps,
  type MoveWay
} from '../../state/inspector/placeSteps';
import { NOWHERE, type IInspectorPlace } from '../../state/inspector/source';
import type { IInspectedSession } from './controls/inspection';

export interface ISteppedPlace {
  readonly place: IInspectorPlace;
  readonly steps: IPlaceSteps;
  readonly change: (change: (steps: IPlaceSteps) => IPlaceSteps) => void;
}

interface IShownPlaceProps {
  place?: IInspectorPlace;
  onPlace?: (place: IInspectorPlace, isStep: boolean) => void;
}

interface IPlacedSteps {
  readonly steps: IPlaceSteps;
  /** The newest place from outside that is one of the steps. */
  readonly given: IInspectorPlace | undefined;
}

/**
 * Returns the place and its steps; a place from outside is shown instead.
 *
 * Each change is made of the one before it: while a newer view is being drawn, React makes the waiting ones again, as
 * new objects. So places are compared by what they say.
 */
export function useShownPlace({
  place: given,
  onPlace
}: IShownPlaceProps): ISteppedPlace {
  const [placed, setPlaced] = useState<IPlacedSteps>(() => ({
    steps: openedAt(given ?? NOWHERE),
    given
  }));
  // Not set while it is drawn: in a cell the views are drawn by Preact, which may lose that.
  const steps = useMemo(() => stepsWith(placed, given).steps, [placed, given]);
  // The newest place that came from outside or was reported there.
  const outerPlace = useRef(given);
  useLayoutEffect(() => {
    if (placed.given !== given) {
      const isKnown = isSame(outerPlace.current, given);
      outerPlace.current = given;
      setPlaced(before =>
        // What was reported comes back; a move that was made meanwhile is newer.
        isKnown ? { ...before, given } : stepsWith(before, given)
      );
    }
  }, [placed, given]);
  const change = useCallback((of: (steps: IPlaceSteps) => IPlaceSteps) => {
    setPlaced(before => {
      const changed = of(before.steps);
      return changed === before.steps ? before : { ...before, steps: changed };
    });
  }, []);
  const { place, made } = steps;
  const reportedSteps = useRef(made);
  useEffect(() => {
    const isStep = made !== reportedSteps.current;
    reportedSteps.current = made;
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
  one: IInspectorPlace | undefined,
  other: IInspectorPlace | undefined
): boolean {
  return (
    one === other ||
    (one !== undefined && other !== undefined && isSamePlace(one, other))
  );
}

/** Returns the steps with a place from outside as the newest; the same where it is that already. */
function stepsWith(
  placed: IPlacedSteps,
  given: IInspectorPlace | undefined
): IPlacedSteps {
  return placed.given === given
    ? placed
    : { steps: steppedTo(placed.steps, given ?? NOWHERE), given };
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
): IInspectedSession['go'] {
  const follows = view.own;
  const last = view.requests.id.length - 1;
  return useMemo(
    () =>
      (moved: Partial<IInspectorPlace>, way: MoveWay = 'choice') => {
        const isLast = follows && moved.request === last;
        const at = Date.now();
        change(steps =>
          movedTo(
            steps,
            {
              ...steps.place,
              // Another item has other definitions.
              ...(moved.item === undefined ? {} : { definition: null }),
              ...moved,
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
export function stepsOf({ steps, change }: ISteppedPlace): IWaysBackAndForward {
  return {
    back:
      steps.before.length === 0
        ? null
        : () => {
            change(steppedBack);
          },
    forward:
      steps.after.length === 0
        ? null
        : () => {
            change(steppedForward);
          },
    isReturned: steps.move === null && steps.made > 0
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
