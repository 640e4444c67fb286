/**
 * What a person says right after “New session” is meant for the new session.
 */

/** Milliseconds after which a kernel that says nothing is not waited for. */
const PATIENCE = 3000;

/**
 * The ways from one session to another that are not ended yet.
 *
 * Responsibilities: tell when the kernel has gone where the person sent it.
 */
export class PendingSwitches {
  private _over: Promise<unknown> = Promise.resolve();

  /** Notes a way that has begun; it ends with what became of it. */
  begin(outcome: Promise<unknown>): void {
    const patience = new Promise(resolve => {
      setTimeout(resolve, PATIENCE);
    });
    this._over = Promise.all([
      this._over,
      Promise.race([outcome.catch(() => undefined), patience])
    ]);
  }

  /** Resolves when every way that has begun by now is over. */
  get over(): Promise<unknown> {
    return this._over;
  }
}
