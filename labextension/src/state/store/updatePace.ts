/**
 * Schedules when a page applies what a kernel sent: with the next frame; where only more words of an answer came, after
 * a pause that grows with the time that drawing takes.
 */
import { whenDrawn } from './frameQueue';

/** Runs a function once, soon; `onlyWords`: what has come is nothing but more words of an answer. */
export type Schedule = (run: () => void, isOnlyDelta: boolean) => void;

/** Milliseconds from one update with mere words to the next: a person reads no faster. */
export const MIN_DELTA_PAUSE_MS = 100;

/** The pause after an update is this many times what drawing it took, so that typing and scrolling stay smooth. */
export const PAUSE_FACTOR = 20;
export const MAX_PAUSE_MS = 1000;

/** Milliseconds until notices are applied in a hidden page, which gets no frames. */
const HIDDEN_PAGE_MS = 250;

/** Returns the schedule of one store. */
export function updatePace(): Schedule {
  let nextDeltaMs = Promise.resolve(0);
  return (run, isOnlyDelta) => {
    const update = () => {
      const startMs = performance.now();
      nextDeltaMs = measureDrawing().then(
        drawingMs =>
          startMs +
          Math.max(
            MIN_DELTA_PAUSE_MS,
            Math.min(PAUSE_FACTOR * drawingMs, MAX_PAUSE_MS)
          )
      );
      run();
    };
    if (!isOnlyDelta) {
      runInNextFrame(update);
      return;
    }
    void nextDeltaMs.then(dueMs => {
      // Not in a frame: renderers that need a few tasks for it are ready for the next one.
      setTimeout(update, dueMs - performance.now());
    });
  };
}

/** Returns the milliseconds from now until everything is drawn, without the wait for its last frame. */
async function measureDrawing(): Promise<number> {
  const startMs = performance.now();
  await whenTaskEnds();
  await whenDrawn();
  const workMs = performance.now() - startMs;
  const frameStartMs = await new Promise<number>(runInNextFrame);
  await whenTaskEnds();
  return workMs + performance.now() - frameStartMs;
}

/** Calls back in the next frame with the time at which it began; in a hidden page soon. */
function runInNextFrame(run: (startMs: number) => void): void {
  let hasRun = false;
  const runOnce = (startMs = performance.now()) => {
    if (!hasRun) {
      hasRun = true;
      run(startMs);
    }
  };
  requestAnimationFrame(runOnce);
  setTimeout(runOnce, HIDDEN_PAGE_MS);
}

/** Resolves when the task is over; in a frame that is when it was painted. */
function whenTaskEnds(): Promise<void> {
  return new Promise(resolve => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
