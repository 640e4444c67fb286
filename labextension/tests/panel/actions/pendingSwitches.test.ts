/** Prompts sent during a session switch go to the new session. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PendingSwitches } from '../../../src/panel/actions/pendingSwitches';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Returns whether a promise is resolved by now. */
async function isOver(over: Promise<unknown>): Promise<boolean> {
  const seen = vi.fn();
  void over.then(seen);
  await vi.advanceTimersByTimeAsync(0);
  return seen.mock.calls.length > 0;
}

describe('Moves', () => {
  it('is over where nobody goes anywhere', async () => {
    expect(await isOver(new PendingSwitches().completion)).toBe(true);
  });

  it('waits for every way that has begun', async () => {
    const moves = new PendingSwitches();
    const arrive: (() => void)[] = [];
    for (let way = 0; way < 2; way += 1) {
      moves.add(
        new Promise<object>(resolve => {
          arrive.push(() => {
            resolve({});
          });
        })
      );
    }

    arrive[1]?.();
    expect(await isOver(moves.completion)).toBe(false);
    arrive[0]?.();
    expect(await isOver(moves.completion)).toBe(true);
  });

  it('does not wait for ever, nor for a way that led nowhere', async () => {
    const silent = new PendingSwitches();
    silent.add(new Promise(() => undefined));
    await vi.advanceTimersByTimeAsync(2900);
    expect(await isOver(silent.completion)).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    expect(await isOver(silent.completion)).toBe(true);

    const failed = new PendingSwitches();
    failed.add(Promise.reject(new Error('gone')));
    expect(await isOver(failed.completion)).toBe(true);
  });
});
