/** A patch makes of the view that is held the one that the kernel has. */
import { describe, expect, it } from 'vitest';
import { patchedView } from '../../../src/state/inspector/viewPatch';
import { grownViews } from '../../inspector/samples';

const STATES = grownViews();

describe('a patch of a view', () => {
  it('makes each view of the one before', () => {
    expect(STATES.length).toBeGreaterThan(6);
    let held = STATES[0]?.view;
    for (const { view, patch } of STATES.slice(1)) {
      held =
        (held === undefined || patch === null
          ? undefined
          : patchedView(held, patch)) ?? undefined;
      expect(held).toEqual(view);
    }
  });

  it('keeps the lists that did not change', () => {
    const [first, second] = STATES;
    const next =
      first === undefined ||
      second?.patch === undefined ||
      second.patch === null
        ? null
        : patchedView(first.view, second.patch);

    expect(next?.policies).toBe(first?.view.policies);
    expect(next?.kinds).toBe(first?.view.kinds);
  });

  it('leaves the view that it was made for as it was', () => {
    const [first, second] = STATES;
    const before = JSON.stringify(first?.view);
    if (first !== undefined && second?.patch !== undefined && second.patch) {
      patchedView(first.view, second.patch);
    }

    expect(JSON.stringify(first?.view)).toBe(before);
  });

  it('is refused where it is one of another view', () => {
    const [first, second, third] = STATES;
    if (first === undefined || !second?.patch || !third?.patch) {
      throw new Error('The samples hold too few patches.');
    }

    expect(patchedView(first.view, third.patch)).toBeNull();
    expect(
      patchedView({ ...first.view, epoch: 'another' }, second.patch)
    ).toBeNull();
  });
});
