// @vitest-environment jsdom
/** The address of a report keeps the place, and the browser's history its steps. */
import { act, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { useAddressPlace } from '../../src/report/addressPlace';
import {
  NOWHERE,
  type IInspectorPlace
} from '../../src/state/inspector/source';
import { HOST } from '../plainHost';

const SESSIONS = ['ses_1', 'ses_3'];
const SAME = ['ses_1', 'ses_1'];

beforeEach(() => {
  history.replaceState(null, '', '#palimpsest:ses_1/40');
});

afterEach(() => {
  vi.restoreAllMocks();
});

function opened() {
  const { result } = renderHook(() =>
    useAddressPlace(SESSIONS, NOWHERE, HOST.words)
  );
  const move = (change: Partial<IInspectorPlace>, isStep: boolean) => {
    act(() => {
      result.current.setPlace(
        result.current.index,
        { ...result.current.place, ...change },
        isStep
      );
    });
  };
  return { result, move };
}

describe('the address of a report', () => {
  it('opens the place and says what of it is not known', () => {
    history.replaceState(null, '', '#palimpsest:ses_1/4?tab=cost&more=1');
    const { result } = opened();

    expect(result.current.place).toEqual({
      request: 3,
      item: null,
      tab: 'cost'
    });
    expect(result.current.remark).toBe(
      'The link’s “more=1” is not known here.'
    );
  });

  it('says so where the link leads to another session', () => {
    history.replaceState(null, '', '#palimpsest:ses_2/4');
    const { result } = opened();

    expect(result.current.place.request).toBeNull();
    expect(result.current.remark).toBe(
      'The link leads to the session ses_2, which is not in this file: it holds ses_1, ses_3.'
    );
  });

  it('makes a step of the browser’s history of each step', () => {
    const push = vi.spyOn(history, 'pushState');
    const replace = vi.spyOn(history, 'replaceState');
    const { move } = opened();

    move({ request: 40 }, true);
    move({ request: 41 }, false);
    move({ tab: 'items' }, true);

    expect(push.mock.calls.map(([, , address]) => address)).toEqual([
      '#palimpsest:ses_1/41',
      '#palimpsest:ses_1/42?tab=items'
    ]);
    expect(replace).toHaveBeenCalledTimes(1);
    expect(location.hash).toBe('#palimpsest:ses_1/42?tab=items');
  });

  it('keeps which of two sessions is shown', () => {
    const { result } = opened();
    act(() => {
      result.current.setPlace(1, { ...NOWHERE, request: 4 }, true);
    });

    expect(result.current).toMatchObject({ index: 1, isOpened: true });
    expect(location.hash).toBe('#palimpsest:ses_3/5');
    history.replaceState(null, '', '#palimpsest:ses_1/40');
    act(() => {
      window.dispatchEvent(new HashChangeEvent('hashchange'));
    });
    expect(result.current).toMatchObject({ index: 0, isOpened: false });
  });

  it('opens the second of two sessions with one id', () => {
    const { result } = renderHook(() =>
      useAddressPlace(SAME, NOWHERE, HOST.words)
    );
    act(() => {
      result.current.setPlace(1, { ...NOWHERE, request: 4 }, true);
    });

    expect(result.current.index).toBe(1);
    expect(location.hash).toBe('#palimpsest:ses_1/5');
  });

  it('goes back to the second of two sessions with one id', () => {
    const { result } = renderHook(() =>
      useAddressPlace(SAME, NOWHERE, HOST.words)
    );
    act(() => {
      result.current.setPlace(1, NOWHERE, true);
    });
    const second = history.state as unknown;
    const address = location.hash;
    act(() => {
      result.current.setPlace(0, NOWHERE, true);
    });
    expect(location.hash).toBe(address);

    // What the browser does at a step back.
    history.replaceState(second, '', address);
    act(() => {
      window.dispatchEvent(new PopStateEvent('popstate', { state: second }));
    });

    expect(result.current.index).toBe(1);
  });

  it('follows when the browser goes back', () => {
    const { result, move } = opened();
    move({ tab: 'items' }, true);
    history.replaceState(null, '', '#palimpsest:ses_1/40');
    act(() => {
      window.dispatchEvent(new HashChangeEvent('hashchange'));
    });

    expect(result.current.place).toEqual({ request: 39, item: null });
  });
});
