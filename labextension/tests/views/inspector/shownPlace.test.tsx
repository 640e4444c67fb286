// @vitest-environment jsdom
/** An inspector's place and what is around it agree, whatever else is being drawn. */
import { act, render } from '@testing-library/react';
import { startTransition, useState } from 'react';
import { describe, expect, it } from 'vitest';
import { withRenumberedItems } from '../../../src/state/inspector/placeSteps';
import {
  NOWHERE,
  type IInspectorPlace
} from '../../../src/state/inspector/source';
import {
  useGoTo,
  useShownPlace,
  type ISteppedPlace
} from '../../../src/views/inspector/shownPlace';
import { sample } from '../../inspector/samples';

interface IDrawn {
  shown: ISteppedPlace;
  go: ReturnType<typeof useGoTo>;
  show: (place: IInspectorPlace) => void;
  /** Begins to draw something that is never ready. */
  beginSlowly: () => void;
}

const { view: VIEW } = sample('swe_agent');
const NEVER = new Promise<never>(() => undefined);

/** Draws a place that is kept around it, as a tab keeps it; `reports` receives what was reported. */
function draw(reports: IInspectorPlace[] = []): IDrawn {
  const drawn: { current: IDrawn | null } = { current: null };
  function Drawn() {
    const [given, setGiven] = useState<IInspectorPlace>({ ...NOWHERE });
    const [isSlow, setSlow] = useState(false);
    const shown = useShownPlace({
      place: given,
      onPlace: place => {
        reports.push(place);
        setGiven(place);
      }
    });
    const go = useGoTo(VIEW, shown);
    if (isSlow) {
      // eslint-disable-next-line @typescript-eslint/only-throw-error
      throw NEVER;
    }
    drawn.current = {
      shown,
      go,
      show: setGiven,
      beginSlowly: () => {
        setSlow(true);
      }
    };
    return null;
  }
  render(<Drawn />);
  return new Proxy({} as IDrawn, {
    get: (_, name) => drawn.current?.[name as keyof IDrawn]
  });
}

describe('the shown place', () => {
  it('is reported once while a newer view is being drawn', () => {
    const reports: IInspectorPlace[] = [];
    const drawn = draw(reports);
    act(() => {
      startTransition(() => {
        drawn.shown.updateSteps(steps => withRenumberedItems(steps, () => 3));
        drawn.beginSlowly();
      });
    });
    for (const request of [0, 1, 2]) {
      act(() => {
        drawn.go({ request });
      });
    }

    expect(drawn.shown.place.request).toBe(2);
    expect(reports.map(({ request }) => request)).toEqual([0, 1, 2]);
  });

  it('is the newest move where it is made before the last one was told', () => {
    const drawn = draw();
    act(() => {
      drawn.go({ request: 0 });
    });
    act(() => {
      drawn.go({ request: 1 });
      drawn.go({ request: 2 });
    });
    expect(drawn.shown.place.request).toBe(2);
  });

  it('is that of outside where there is another one', () => {
    const reports: IInspectorPlace[] = [];
    const drawn = draw(reports);
    act(() => {
      drawn.go({ request: 1 });
    });
    for (const request of [4, 1]) {
      act(() => {
        drawn.show({ ...NOWHERE, request });
      });
      expect(drawn.shown.place.request).toBe(request);
    }
    expect(reports.map(({ request }) => request)).toEqual([1]);
  });
});
