/**
 * The steps by which a person goes back and forward among the places of an inspector.
 *
 * Pure. In JupyterLab the inspector has buttons and keys for them; a report maps each step onto the browser's history.
 */
import { placePieces } from './placeLink';
import type { IInspectorPlace } from './source';

/**
 * How a place was reached: chosen on its own, by a key that moves from neighbour to neighbour, or by a pointer that is
 * pressed and then moved while it is held down.
 */
export type MoveWay = 'choice' | 'walk' | 'press' | 'drag';

interface IMove {
  readonly way: MoveWay;
  /** The names of what it changed, as a link has them. */
  readonly changedPieces: string;
  readonly timeMs: number;
}

/** The places that were looked at, of which one is shown. */
export interface IPlaceSteps {
  readonly place: IInspectorPlace;
  /** The places to go back to, the oldest first. */
  readonly placesBefore: readonly IInspectorPlace[];
  /** The places to go forward to, the next one first. */
  readonly placesAfter: readonly IInspectorPlace[];
  /** How many steps were made. */
  readonly stepCount: number;
  /** The newest move; null after going back or forward, and where the place came from outside. */
  readonly lastMove: IMove | null;
}

/** Changes of the same of these pieces within this time are one step: what is typed, and a slider of a policy. */
const MAX_GRADUAL_STEP_MS = 1_000;
const GRADUAL_PIECES = new Set([
  'request',
  'against',
  'find',
  'policy',
  'zoom'
]);
/** The number of places that are kept to go back to. */
const MAX_STEPS = 100;

/** Returns the steps of an inspector that opens at a place. */
export function stepsAtOpening(place: IInspectorPlace): IPlaceSteps {
  return {
    place,
    placesBefore: [],
    placesAfter: [],
    stepCount: 0,
    lastMove: null
  };
}

/**
 * Returns the steps after a move to a place at a time in milliseconds. A walk is one step, and so is a drag with the
 * press that began it.
 */
export function stepsAfterMove(
  steps: IPlaceSteps,
  place: IInspectorPlace,
  way: MoveWay,
  timeMs: number
): IPlaceSteps {
  const changedPieces = namesOfChangedPieces(steps.place, place);
  if (changedPieces === '') {
    // The drag that may follow is a step of its own.
    return way === 'press' ? { ...steps, lastMove: null } : steps;
  }
  const lastMove = { way, changedPieces, timeMs };
  return isSameStep(steps.lastMove, lastMove)
    ? { ...steps, place, lastMove }
    : withStep(steps, place, lastMove);
}

/**
 * Returns the steps after a place from outside, such as a link that was opened; it is a step where it is another. The
 * cursor of another inspector that leads this one is a walk.
 */
export function stepsAfterLink(
  steps: IPlaceSteps,
  place: IInspectorPlace
): IPlaceSteps {
  const changedPieces = namesOfChangedPieces(steps.place, place);
  if (changedPieces === '') {
    return { ...steps, place };
  }
  const isLed = changedPieces === 'request';
  const lastMove = isLed
    ? { way: 'walk' as const, changedPieces, timeMs: 0 }
    : null;
  return lastMove !== null && steps.lastMove?.way === 'walk'
    ? { ...steps, place, lastMove }
    : withStep(steps, place, lastMove);
}

function withStep(
  steps: IPlaceSteps,
  place: IInspectorPlace,
  lastMove: IMove | null
): IPlaceSteps {
  return {
    place,
    placesBefore: [...steps.placesBefore, steps.place].slice(-MAX_STEPS),
    placesAfter: [],
    stepCount: steps.stepCount + 1,
    lastMove
  };
}

/** Returns the steps after going back; the same where there is nothing to go back to. */
export function stepsAfterBack(steps: IPlaceSteps): IPlaceSteps {
  const place = steps.placesBefore.at(-1);
  return place === undefined
    ? steps
    : {
        ...steps,
        place,
        placesBefore: steps.placesBefore.slice(0, -1),
        placesAfter: [steps.place, ...steps.placesAfter],
        lastMove: null
      };
}

/** Returns the steps after going forward; the same where there is nothing to go forward to. */
export function stepsAfterForward(steps: IPlaceSteps): IPlaceSteps {
  const [place, ...placesAfter] = steps.placesAfter;
  return place === undefined
    ? steps
    : {
        ...steps,
        place,
        placesBefore: [...steps.placesBefore, steps.place],
        placesAfter,
        lastMove: null
      };
}

/** Returns the steps with the item of each place in the shown session, or subagent, numbered anew; the same where none is. */
export function withRenumberedItems(
  steps: IPlaceSteps,
  newItem: (item: number | null) => number | null
): IPlaceSteps {
  const subagent = steps.place.subagent ?? null;
  const renumberedPlace = (place: IInspectorPlace) => {
    const item =
      (place.subagent ?? null) === subagent ? newItem(place.item) : place.item;
    return item === place.item ? place : { ...place, item };
  };
  const places = [...steps.placesBefore, steps.place, ...steps.placesAfter];
  if (places.every(place => renumberedPlace(place) === place)) {
    return steps;
  }
  return {
    ...steps,
    place: renumberedPlace(steps.place),
    placesBefore: steps.placesBefore.map(renumberedPlace),
    placesAfter: steps.placesAfter.map(renumberedPlace)
  };
}

function isSameStep(before: IMove | null, next: IMove): boolean {
  if (before === null || next.way === 'drag') {
    return before !== null;
  }
  return (
    (next.way === 'walk' && before.way === 'walk') ||
    (next.changedPieces === before.changedPieces &&
      next.timeMs - before.timeMs < MAX_GRADUAL_STEP_MS &&
      next.changedPieces.split(' ').every(name => GRADUAL_PIECES.has(name)))
  );
}

/** Returns whether two places say the same. */
export function isSamePlace(
  place: IInspectorPlace,
  otherPlace: IInspectorPlace
): boolean {
  return place === otherPlace || namesOfChangedPieces(place, otherPlace) === '';
}

/** Returns the names of the pieces of a link in which two places differ; '' for the same place. */
function namesOfChangedPieces(
  before: IInspectorPlace,
  after: IInspectorPlace
): string {
  const piecesBefore = new Map(placePieces(before));
  const piecesAfter = new Map(placePieces(after));
  return [...new Set([...piecesBefore.keys(), ...piecesAfter.keys()])]
    .filter(name => piecesBefore.get(name) !== piecesAfter.get(name))
    .sort()
    .join(' ');
}
