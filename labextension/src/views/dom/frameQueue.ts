/**
 * Draws many things without holding the page up: as much as fits into a frame, then the rest.
 */

/** What drawing may take of a frame of 16 ms; the rest is the browser's and other people's. */
const SHARE_MS = 8;

type Job = () => Promise<void>;

const jobs: Job[] = [];
let works = false;

/** Does a piece of work in its turn, at once when nothing else waits. */
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
      // A renderer says itself what it cannot draw; the next one still can.
    }
    if (jobs.length > 0 && performance.now() - began >= SHARE_MS) {
      await new Promise(resolve => setTimeout(resolve, 0));
      began = performance.now();
    }
  }
  works = false;
}
