/** Runs work while the browser is idle: one job at a time, the highest order first. */

interface IJob {
  order: number;
  run: () => void;
}

const jobs = new Set<IJob>();
let isScheduled = false;

/** The pause between jobs in browsers without idle callbacks, in milliseconds. */
const PAUSE_MS = 30;

/** Adds a job; those with a higher order run first. Returns a function that cancels it. */
export function runWhenIdle(order: number, run: () => void): () => void {
  const job = { order, run };
  jobs.add(job);
  scheduleNext();
  return () => {
    jobs.delete(job);
  };
}

function scheduleNext(): void {
  if (isScheduled || jobs.size === 0) {
    return;
  }
  isScheduled = true;
  if ('requestIdleCallback' in window) {
    window.requestIdleCallback(runNext);
  } else {
    setTimeout(runNext, PAUSE_MS);
  }
}

function runNext(): void {
  isScheduled = false;
  const [first, ...others] = jobs;
  if (first !== undefined) {
    const job = others.reduce(
      (best, candidate) => (candidate.order > best.order ? candidate : best),
      first
    );
    jobs.delete(job);
    job.run();
  }
  scheduleNext();
}
