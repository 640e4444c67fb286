/** What the inspector computes from a view equals what the kernel says of the same session. */
import { describe, expect, it } from 'vitest';
import { requestDifference } from '../../../src/state/inspector/figures/difference';
import { ItemStates } from '../../../src/state/inspector/figures/itemStates';
import { kindSeries } from '../../../src/state/inspector/figures/kindSeries';
import { scaleAt } from '../../../src/state/inspector/figures/requestScale';
import { nearestStop } from '../../../src/state/inspector/stops';
import { whyText } from '../../../src/state/inspector/why';
import { windowRows } from '../../../src/state/inspector/figures/windowRows';
import { NAMES, sample } from '../../inspector/samples';

describe.each(NAMES)('a view of %s', name => {
  it('says why in the words of the kernel', () => {
    const { view, why: told } = sample(name);
    const states = new ItemStates(view, view.recorded);

    for (const { item, request, words } of told) {
      expect(whyText(states, item, request)).toBe(words);
    }
  });

  it('adds up at every request, under every policy', () => {
    const { view, tracks } = sample(name);

    for (const track of [view.recorded, ...tracks]) {
      const { totals } = kindSeries(new ItemStates(view, track));
      track.total.forEach((tokens, request) => {
        expect(Math.abs((totals[request] ?? 0) - tokens)).toBeLessThan(2);
      });
    }
  });

  it('has the prefix of the replay in common with the request before', () => {
    const { view, tracks } = sample(name);

    for (const track of [view.recorded, ...tracks]) {
      const states = new ItemStates(view, track);
      for (let request = 1; request < track.total.length; request += 7) {
        const { commonTokens } = requestDifference(
          states,
          request - 1,
          request
        );
        expect(
          Math.abs(commonTokens - (track.prefix[request] ?? 0))
        ).toBeLessThan(2);
      }
    }
  });

  it('lists the items of a window with the tokens of the whole', () => {
    const { view, tracks } = sample(name);

    for (const track of tracks) {
      const states = new ItemStates(view, track);
      const last = track.total.length - 1;
      const tokens = windowRows(states, last).reduce(
        (sum, row) => sum + row.tokens,
        scaleAt(states, last).unseenTokens
      );
      expect(Math.abs(tokens - (track.total[last] ?? 0))).toBeLessThan(2);
    }
  });

  it('jumps from change to change along a row, and back', () => {
    const { view, tracks } = sample(name);

    for (const track of [view.recorded, ...tracks]) {
      const states = new ItemStates(view, track);
      track.transitions.item.slice(0, 20).forEach((item, place) => {
        const at = track.transitions.request[place] ?? 0;
        const forth = changesFrom(states, item);

        expect(forth[0]).toBe(view.items.entered[item]);
        expect(forth).toContain(at);
        const back = forth
          .slice(1)
          .map(request => states.previousChange(item, request));
        expect(back).toEqual(forth.slice(0, -1));
      });
    }
  });
});

/** Returns the requests at which an item's row changes, by jumping along it. */
function changesFrom(states: ItemStates, item: number): number[] {
  const found: number[] = [];
  for (let at = states.nextChange(item, -1); at !== null;) {
    found.push(at);
    at = states.nextChange(item, at);
  }
  return found;
}

describe('a report', () => {
  it('shows the stop that is nearest to the numbers asked for', () => {
    const track = sample('pi').view.recorded;
    const stops = [2, 5, 10].map(n => ({
      policy: 'sweagent.last_n',
      numbers: { n },
      track
    }));

    expect(nearestStop(stops, 'sweagent.last_n', { n: 9 })?.numbers).toEqual({
      n: 10
    });
    expect(nearestStop(stops, 'pi.compact', {})).toBeNull();
  });
});
