/**
 * Schedules when a page applies what a kernel sent: with the next frame; where only more words of an answer came, after
 * a pause that grows with the time that drawing takes.
 */
import { whenDrawn } from './frameQueue';

/** Runs a function once, soon; `onlyWords`: what has come is nothing but more words of an answer. */
export type Schedule = (run: () => void, onlyWords: boolean) => void;

/** Milliseconds from one update with mere words to the next: a person reads no faster. */
export const WORDS_MS = 100;

/** The pause after an update is this many times what drawing it took, so that typing and scrolling stay smooth. */
export const PAUSE_FACTOR = 20;
export const MAX_PAUSE_MS = 1000;

/** Milliseconds until notices are applied in a hidden page, which gets no frames. */
const HIDDEN_MS = 250;

/** Returns the schedule of one store. */
export function updatePace(): Schedule {
  let wordsDue = Promise.resolve(0);
  return (run, onlyWords) => {
    const update = () => {
      const began = performance.now();
      wordsDue = drawingTime().then(
        took =>
          began +
          Math.max(WORDS_MS, Math.min(PAUSE_FACTOR * took, MAX_PAUSE_MS))
      );
      run();
    };
    if (!onlyWords) {
      nextFrame(update);
      return;
    }
    void wordsDue.then(due => {
      // Not in a frame: renderers that need a few tasks for it are ready for the next one.
      setTimeout(update, due - performance.now());
    });
  };
}

/** Returns the milliseconds from now until everything is drawn, without the wait for its last frame. */
async function drawingTime(): Promise<number> {
  const began = performance.now();
  await endOfTask();
  await whenDrawn();
  const workMs = performance.now() - began;
  const frameBegan = await new Promise<number>(nextFrame);
  await endOfTask();
  return workMs + performance.now() - frameBegan;
}

/** Calls back in the next frame with the time at which it began; in a hidden page soon. */
function nextFrame(run: (began: number) => void): void {
  let done = false;
  const once = (began = performance.now()) => {
    if (!done) {
      done = true;
      run(began);
    }
  };
  requestAnimationFrame(once);
  setTimeout(once, HIDDEN_MS);
}

/** Resolves when the task is over; in a frame that is when it was painted. */
function endOfTask(): Promise<void> {
  return new Promise(resolve => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
