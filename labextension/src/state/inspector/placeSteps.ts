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
  readonly changed: string;
  readonly at: number;
}

/** The places that were looked at, of which one is shown. */
export interface IPlaceSteps {
  readonly place: IInspectorPlace;
  /** The places to go back to, the oldest first. */
  readonly before: readonly IInspectorPlace[];
  /** The places to go forward to, the next one first. */
  readonly after: readonly IInspectorPlace[];
  /** How many steps were made. */
  readonly stepCount: number;
  /** The newest move; null after going back or forward, and where the place came from outside. */
  readonly move: IMove | null;
}

/** Changes of the same of these pieces within this time are one step: what is typed, and a slider of a policy. */
const STEP_MS = 1_000;
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
export function openedAt(place: IInspectorPlace): IPlaceSteps {
  return { place, before: [], after: [], stepCount: 0, move: null };
}

/**
 * Returns the steps after a move to a place at a time in milliseconds. A walk is one step, and so is a drag with the
 * press that began it.
 */
export function movedTo(
  steps: IPlaceSteps,
  place: IInspectorPlace,
  way: MoveWay,
  at: number
): IPlaceSteps {
  const changed = changedPieces(steps.place, place);
  if (changed === '') {
    // The drag that may follow is a step of its own.
    return way === 'press' ? { ...steps, move: null } : steps;
  }
  const move = { way, changed, at };
  return isSameStep(steps.move, move)
    ? { ...steps, place, move }
    : withStep(steps, place, move);
}

/**
 * Returns the steps after a place from outside, such as a link that was opened; it is a step where it is another. The
 * cursor of another inspector that leads this one is a walk.
 */
export function steppedTo(
  steps: IPlaceSteps,
  place: IInspectorPlace
): IPlaceSteps {
  const changed = changedPieces(steps.place, place);
  if (changed === '') {
    return { ...steps, place };
  }
  const isLed = changed === 'request';
  const move = isLed ? { way: 'walk' as const, changed, at: 0 } : null;
  return move !== null && steps.move?.way === 'walk'
    ? { ...steps, place, move }
    : withStep(steps, place, move);
}

function withStep(
  steps: IPlaceSteps,
  place: IInspectorPlace,
  move: IMove | null
): IPlaceSteps {
  return {
    place,
    before: [...steps.before, steps.place].slice(-MAX_STEPS),
    after: [],
    stepCount: steps.stepCount + 1,
    move
  };
}

/** Returns the steps after going back; the same where there is nothing to go back to. */
export function steppedBack(steps: IPlaceSteps): IPlaceSteps {
  const place = steps.before.at(-1);
  return place === undefined
    ? steps
    : {
        ...steps,
        place,
        before: steps.before.slice(0, -1),
        after: [steps.place, ...steps.after],
        move: null
      };
}

/** Returns the steps after going forward; the same where there is nothing to go forward to. */
export function steppedForward(steps: IPlaceSteps): IPlaceSteps {
  const [place, ...after] = steps.after;
  return place === undefined
    ? steps
    : {
        ...steps,
        place,
        before: [...steps.before, steps.place],
        after,
        move: null
      };
}

/** Returns the steps with the item of each place in the shown session, or subagent, numbered anew; the same where none is. */
export function withRenumberedItems(
  steps: IPlaceSteps,
  numberOf: (item: number | null) => number | null
): IPlaceSteps {
  const subagent = steps.place.subagent ?? null;
  const anew = (place: IInspectorPlace) => {
    const item =
      (place.subagent ?? null) === subagent ? numberOf(place.item) : place.item;
    return item === place.item ? place : { ...place, item };
  };
  const places = [...steps.before, steps.place, ...steps.after];
  if (places.every(place => anew(place) === place)) {
    return steps;
  }
  return {
    ...steps,
    place: anew(steps.place),
    before: steps.before.map(anew),
    after: steps.after.map(anew)
  };
}

function isSameStep(before: IMove | null, next: IMove): boolean {
  if (before === null || next.way === 'drag') {
    return before !== null;
  }
  return (
    (next.way === 'walk' && before.way === 'walk') ||
    (next.changed === before.changed &&
      next.at - before.at < STEP_MS &&
      next.changed.split(' ').every(name => GRADUAL_PIECES.has(name)))
  );
}

/** Returns whether two places say the same. */
export function isSamePlace(
  one: IInspectorPlace,
  other: IInspectorPlace
): boolean {
  return one === other || changedPieces(one, other) === '';
}

/** Returns the names of the pieces of a link in which two places differ; '' for the same place. */
function changedPieces(
  before: IInspectorPlace,
  after: IInspectorPlace
): string {
  const old = new Map(placePieces(before));
  const next = new Map(placePieces(after));
  return [...new Set([...old.keys(), ...next.keys()])]
    .filter(name => old.get(name) !== next.get(name))
    .sort()
    .join(' ');
}
