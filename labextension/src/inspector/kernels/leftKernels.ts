/** Ends the kernels of recorded files that no page has any more, such as after a browser was killed. */
import type { Session } from '@jupyterlab/services';
import { isOfRecording } from './recordingSession';

/** A kernel that no page has had for so long ends. */
export const KEPT_MS = 5 * 60_000;
/** Milliseconds between two looks. */
export const LOOK_MS = 60_000;
/** A note about a session that its server does not list stays so long; it may be another server's. */
const NOTE_MS = 24 * 60 * 60_000;
/** What stands before a session's id in the browser's storage; the value says when a page last had its kernel. */
const HELD = 'jupyter-palimpsest:recording-held:';

/**
 * Looks for left kernels at once, and then each minute; returns a function that ends this.
 *
 * Only sessions that an inspector started for a recorded file are looked at, and only those end that no page is
 * connected to. The pages of a browser share its storage, so that a page that has just begun knows for how long.
 */
export function endLeftKernels(sessions: Session.IManager): () => void {
  let lastLook: number | null = null;
  const look = () => {
    const now = Date.now();
    // While a computer sleeps its pages lose their kernels, which they have again when it wakes.
    const hasSlept = lastLook !== null && now - lastLook > 2 * LOOK_MS;
    lastLook = now;
    // The server may be away, or the storage full or forbidden: the next look is soon.
    void endLeft(sessions, now, hasSlept).catch(() => undefined);
  };
  look();
  const timer = setInterval(look, LOOK_MS);
  return () => {
    clearInterval(timer);
  };
}

async function endLeft(
  sessions: Session.IManager,
  now: number,
  hasSlept: boolean
): Promise<void> {
  await sessions.refreshRunning();
  const running = [...sessions.running()].filter(isOfRecording);
  const ended = running.filter(({ id, kernel }) => {
    const held = Number(localStorage.getItem(HELD + id) ?? now);
    // A server that does not count connections says nothing about pages.
    const isHeld = hasSlept || kernel?.connections !== 0;
    localStorage.setItem(HELD + id, String(isHeld ? now : held));
    return !isHeld && now - held >= KEPT_MS;
  });
  forgetNotes(now);
  for (const { id } of ended) {
    localStorage.removeItem(HELD + id);
    await sessions.shutdown(id);
  }
}

/** Removes the notes about sessions that have not been seen for long. */
function forgetNotes(now: number): void {
  for (const key of Object.keys(localStorage)) {
    const held = key.startsWith(HELD) ? localStorage.getItem(key) : null;
    if (held !== null && now - Number(held) > NOTE_MS) {
      localStorage.removeItem(key);
    }
  }
}
