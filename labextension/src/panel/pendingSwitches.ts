/**
 * Waits for pending session switches, so that a prompt sent right after “New session” goes to the new
 * one.
 */

/** Milliseconds after which a kernel without an answer is no longer waited for. */
const PATIENCE = 3000;

/**
 * The session switches that are not complete yet.
 *
 * Responsibilities: resolve when the kernel has completed the switches that the user requested.
 */
export class PendingSwitches {
  /** How many switches there were that did not fail. */
  count = 0;
  private _over: Promise<unknown> = Promise.resolve();

  /** Adds a switch that has begun; it ends with its outcome. */
  begin(outcome: Promise<{ error?: string }>): void {
    this.count += 1;
    void outcome.then(
      ({ error }) => {
        this.count -= error === undefined ? 0 : 1;
      },
      () => {
        this.count -= 1;
      }
    );
    const patience = new Promise(resolve => {
      setTimeout(resolve, PATIENCE);
    });
    this._over = Promise.all([
      this._over,
      Promise.race([outcome.catch(() => undefined), patience])
    ]);
  }

  /** Resolves when every switch begun so far is over. */
  get over(): Promise<unknown> {
    return this._over;
  }
}
