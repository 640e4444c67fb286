/**
 * Spreads rendering work over frames, so that the page stays responsive.
 */

/** Milliseconds of work between two frames; drawing a frame takes about as long again. */
const MAX_BURST_MS = 24;

/** Milliseconds after which the next job begins although the last one has not ended. */
export const JOB_TIMEOUT_MS = 2000;

type Job = () => Promise<void>;

const jobs: Job[] = [];
let isRunning = false;
let whenAllEnded = Promise.resolve();

/** Runs a job in its turn, at once if no other waits. */
export function runInFrames(job: Job): void {
  jobs.push(job);
  if (!isRunning) {
    isRunning = true;
    whenAllEnded = runJobs();
  }
}

/** Resolves when no job waits. */
export function whenDrawn(): Promise<void> {
  return whenAllEnded;
}

async function runJobs(): Promise<void> {
  let burstStartMs = performance.now();
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
    try {
      await awaitJob(job);
    } catch {
      // A renderer shows its own errors; the next job still runs.
    }
    if (jobs.length > 0 && performance.now() - burstStartMs >= MAX_BURST_MS) {
      await new Promise(resolve => setTimeout(resolve, 0));
      burstStartMs = performance.now();
    }
  }
  isRunning = false;
}

/** Runs a job; resolves when it has ended or timed out, and rejects as it does. */
async function awaitJob(job: Job): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<void>(resolve => {
    timer = setTimeout(resolve, JOB_TIMEOUT_MS);
  });
  try {
    await Promise.race([job(), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
