/** Runs work while the browser is idle: one job at a time, the highest priority first. */

interface IJob {
  priority: number;
  run: () => void;
}

const jobs = new Set<IJob>();
let isScheduled = false;

/** The pause between jobs in browsers without idle callbacks, in milliseconds. */
const PAUSE_MS = 30;

/** Adds a job; those with a higher priority run first. Returns a function that cancels it. */
export function runWhenIdle(priority: number, run: () => void): () => void {
  const job = { priority, run };
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
      (best, candidate) =>
        candidate.priority > best.priority ? candidate : best,
      first
    );
    jobs.delete(job);
    job.run();
  }
  scheduleNext();
}
