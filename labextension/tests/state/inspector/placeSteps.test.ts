/** The steps back and forward among the places of an inspector. */
import { describe, expect, it } from 'vitest';
import {
  stepsAfterMove,
  stepsAtOpening,
  withRenumberedItems,
  stepsAfterBack,
  stepsAfterForward,
  stepsAfterLink,
  type IPlaceSteps,
  type MoveWay
} from '../../../src/state/inspector/placeSteps';
import {
  NOWHERE,
  type IInspectorPlace
} from '../../../src/state/inspector/source';

type Move = readonly [
  change: Partial<IInspectorPlace>,
  way?: MoveWay,
  after?: number
];

/** Returns the steps after moves, each some milliseconds after the one before. */
function moved(...moves: Move[]): IPlaceSteps {
  let at = 0;
  return moves.reduce((steps, [change, way = 'choice', after = 5_000]) => {
    at += after;
    return stepsAfterMove(steps, { ...steps.place, ...change }, way, at);
  }, stepsAtOpening(NOWHERE));
}

/** Returns the requests that one can go back to, the oldest first, and the shown one. */
function requestsOf(steps: IPlaceSteps) {
  return [...steps.placesBefore, steps.place].map(({ request }) => request);
}

describe('the places of an inspector', () => {
  it('are a step each where they are chosen', () => {
    const steps = moved(
      [{ request: 4 }],
      [{ tab: 'items' }],
      [{ tab: 'cost' }, 'choice', 100],
      [{ item: 2 }, 'choice', 100]
    );

    expect(steps.placesBefore).toEqual([
      NOWHERE,
      { request: 4, item: null },
      { request: 4, item: null, tab: 'items' },
      { request: 4, item: null, tab: 'cost' }
    ]);
    expect(steps.stepCount).toBe(4);
  });

  it('are one step of a walk by keys, however slow, over requests and items', () => {
    const steps = moved(
      [{ request: 40 }],
      [{ request: 41 }, 'walk'],
      [{ request: 42 }, 'walk'],
      [{ item: 7 }, 'walk'],
      [{ request: 90 }]
    );

    expect(requestsOf(steps)).toEqual([null, 40, 42, 90]);
  });

  it('are one step of a drag with its press, also where the press moved nothing', () => {
    const range = { first: 4, last: 6 };
    const pressed = moved(
      [{ request: 4 }, 'press'],
      [{ request: 5 }, 'drag'],
      [{ request: 6 }, 'drag'],
      [{ range }, 'drag']
    );
    const inPlace = moved(
      [{ request: 4 }],
      [{ request: 4 }, 'press'],
      [{ request: 6 }, 'drag'],
      [{ range }, 'drag']
    );

    expect(requestsOf(pressed)).toEqual([null, 6]);
    expect(pressed.place.range).toEqual(range);
    expect(requestsOf(inPlace)).toEqual([null, 4, 6]);
  });

  it('are one step of a word that is typed', () => {
    const filter = {
      kind: '',
      tool: '',
      text: 'o',
      changed: false,
      sort: 'order'
    } as const;
    const steps = moved(
      [{ filter }],
      [{ filter: { ...filter, text: 'op' } }, 'choice', 200],
      [{ filter: { ...filter, text: 'ope' } }, 'choice', 200]
    );

    expect(steps.placesBefore).toEqual([NOWHERE]);
  });

  it('are no step where nothing differs', () => {
    const steps = moved([{ request: 4, against: null, range: null }]);

    expect(
      stepsAfterMove(steps, { ...steps.place, zoom: 0 }, 'choice', 99_000)
    ).toBe(steps);
    expect(stepsAfterLink(steps, { request: 4, item: null }).stepCount).toBe(1);
  });
});

describe('back and forward', () => {
  const steps = moved([{ request: 4 }], [{ request: 8 }]);

  it('go over what was looked at, and end where it ends', () => {
    const back = stepsAfterBack(steps);

    expect(back.place.request).toBe(4);
    expect(stepsAfterForward(back).place.request).toBe(8);
    expect(stepsAfterForward(steps)).toBe(steps);
    const opened = stepsAfterBack(stepsAfterBack(back));
    expect(opened.place).toBe(NOWHERE);
    expect(requestsOf(stepsAfterForward(stepsAfterForward(opened)))).toEqual([
      null,
      4,
      8
    ]);
  });

  it('forget what lay ahead when another place is chosen', () => {
    const back = stepsAfterBack(steps);
    const other = stepsAfterMove(
      back,
      { ...back.place, tab: 'cost' },
      'walk',
      10_001
    );

    expect(other.placesAfter).toEqual([]);
    expect(requestsOf(other)).toEqual([null, 4, 4]);
  });

  it('lead from a place that came from outside', () => {
    expect(
      requestsOf(stepsAfterLink(steps, { request: 1, item: null }))
    ).toEqual([null, 4, 8, 1]);
  });

  it('pass over a walk of another inspector that leads', () => {
    const led = [1, 2, 3].reduce(
      (before, request) => stepsAfterLink(before, { ...before.place, request }),
      steps
    );

    expect(requestsOf(led)).toEqual([null, 4, 8, 3]);
  });

  it('keep a hundred places', () => {
    const many = moved(
      ...Array.from({ length: 150 }, (_, request): Move => [{ request }])
    );

    expect(many.placesBefore).toHaveLength(100);
    expect(many.placesBefore.at(-1)?.request).toBe(148);
  });

  it('follow items that are numbered anew', () => {
    const chosen = moved([{ item: 4 }], [{ item: 9 }]);
    const anew = withRenumberedItems(chosen, item => (item === 9 ? 8 : item));

    expect([...anew.placesBefore, anew.place].map(({ item }) => item)).toEqual([
      null,
      4,
      8
    ]);
    expect(withRenumberedItems(anew, item => item)).toBe(anew);
  });
});
