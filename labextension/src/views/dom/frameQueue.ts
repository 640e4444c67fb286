/**
 * Spreads rendering work over frames, so that the page stays responsive.
 */

/** Milliseconds of a frame of 16 ms that the work may take. */
const SHARE_MS = 8;

type Job = () => Promise<void>;

const jobs: Job[] = [];
let works = false;

/** Runs a job in its turn, at once if no other waits. */
export function runInFrames(job: Job): void {
  jobs.push(job);
  if (!works) {
    works = true;
    void work();
  }
}

async function work(): Promise<void> {
  let began = performance.now();
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
    try {
      await job();
    } catch {
      // A renderer shows its own errors; the next job still runs.
    }
    if (jobs.length > 0 && performance.now() - began >= SHARE_MS) {
      await new Promise(resolve => setTimeout(resolve, 0));
      began = performance.now();
    }
  }
  works = false;
}
