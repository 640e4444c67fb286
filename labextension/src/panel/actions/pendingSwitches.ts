/** Waits for pending session switches, so that a prompt sent right after “New session” goes to the new one. */

/** Milliseconds to wait for a kernel's answer. */
const MAX_WAIT_MS = 3000;

/**
 * The session switches that are not complete yet.
 *
 * Responsibilities: resolve when the kernel has completed the switches that the user requested.
 */
export class PendingSwitches {
  /** The number of switches that did not fail. */
  count = 0;
  private _completion: Promise<unknown> = Promise.resolve();

  /** Adds a switch that has begun; it ends with its outcome. */
  add(outcome: Promise<{ error?: string }>): void {
    this.count += 1;
    void outcome.then(
      ({ error }) => {
        this.count -= error === undefined ? 0 : 1;
      },
      () => {
        this.count -= 1;
      }
    );
    const timeout = new Promise(resolve => {
      setTimeout(resolve, MAX_WAIT_MS);
    });
    this._completion = Promise.all([
      this._completion,
      Promise.race([outcome.catch(() => undefined), timeout])
    ]);
  }

  /** Resolves when every switch begun so far is over. */
  get completion(): Promise<unknown> {
    return this._completion;
  }
}
