/**
 * Work that can wait until the page has nothing else to do: one piece at a time, the last first.
 */

interface IJob {
  order: number;
  run: () => void;
}

const jobs = new Set<IJob>();
let planned = false;

/** Where a browser does not say when it is idle, in milliseconds. */
const PAUSE_MS = 30;

/** Runs the piece of the highest order first; returns how to leave one undone. */
export function runWhenIdle(order: number, run: () => void): () => void {
  const job = { order, run };
  jobs.add(job);
  plan();
  return () => {
    jobs.delete(job);
  };
}

function plan(): void {
  if (planned || jobs.size === 0) {
    return;
  }
  planned = true;
  if ('requestIdleCallback' in window) {
    window.requestIdleCallback(next);
  } else {
    setTimeout(next, PAUSE_MS);
  }
}

function next(): void {
  planned = false;
  const [first, ...others] = jobs;
  if (first !== undefined) {
    const job = others.reduce(
      (one, other) => (other.order > one.order ? other : one),
      first
    );
    jobs.delete(job);
    job.run();
  }
  plan();
}
