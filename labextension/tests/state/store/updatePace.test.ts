/** The pace of updates: mere words of an answer wait, the longer the more drawing takes. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  JOB_TIMEOUT_MS,
  runInFrames
} from '../../../src/state/store/frameQueue';
import {
  MAX_PAUSE_MS,
  PAUSE_FACTOR,
  updatePace,
  MIN_DELTA_PAUSE_MS
} from '../../../src/state/store/updatePace';

const FRAME_MS = 16;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  // Fake frames and messages, in the time that the test lets pass.
  vi.stubGlobal('requestAnimationFrame', (run: (now: number) => void) =>
    setTimeout(() => {
      run(performance.now());
    }, FRAME_MS)
  );
  vi.stubGlobal(
    'MessageChannel',
    class {
      port1 = { onmessage: () => undefined, close: () => undefined };
      port2 = {
        postMessage: () => {
          setTimeout(() => {
            this.port1.onmessage();
          }, 0);
        }
      };
    }
  );
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Returns the milliseconds after which words are applied that follow others, which take so long to draw. */
async function pauseAfter(took: number, onlyWords = true): Promise<number> {
  const schedule = updatePace();
  let first = 0;
  schedule(() => {
    first = performance.now();
    runInFrames(() => new Promise(resolve => setTimeout(resolve, took)));
  }, true);
  await vi.advanceTimersByTimeAsync(1);
  const run = vi.fn(() => performance.now() - first);
  schedule(run, onlyWords);
  await vi.advanceTimersByTimeAsync(MAX_PAUSE_MS + took + 4 * FRAME_MS);
  expect(run).toHaveBeenCalledOnce();
  return run.mock.results[0]?.value as number;
}

describe('the pace of updates', () => {
  it('applies words at once after a rest, and then at most every tenth of a second', async () => {
    const run = vi.fn();
    updatePace()(run, true);
    await vi.advanceTimersByTimeAsync(1);
    expect(run).toHaveBeenCalledOnce();

    expect(await pauseAfter(2)).toBeCloseTo(MIN_DELTA_PAUSE_MS, -1);
  });

  it('leaves most of the time to the user where drawing takes long', async () => {
    expect(await pauseAfter(50)).toBeCloseTo(50 * PAUSE_FACTOR, -2);
    expect(await pauseAfter(MAX_PAUSE_MS)).toBeLessThan(
      MAX_PAUSE_MS + 2 * FRAME_MS
    );
  });

  it('goes on where a renderer never ends', async () => {
    const schedule = updatePace();
    schedule(() => {
      runInFrames(() => new Promise(() => undefined));
    }, true);
    await vi.advanceTimersByTimeAsync(1);
    const [job, words] = [vi.fn(() => Promise.resolve()), vi.fn()];
    runInFrames(job);
    schedule(words, true);

    await vi.advanceTimersByTimeAsync(JOB_TIMEOUT_MS + MAX_PAUSE_MS);

    expect(job).toHaveBeenCalledOnce();
    expect(words).toHaveBeenCalledOnce();
  });

  it('lets nothing but words wait', async () => {
    expect(await pauseAfter(300, false)).toBeLessThan(2 * FRAME_MS);
  });

  it('applies words in a hidden page, which gets no frames', async () => {
    vi.stubGlobal('requestAnimationFrame', () => 0);
    expect(await pauseAfter(0)).toBeLessThanOrEqual(MAX_PAUSE_MS);
  });
});
