/** The callbacks of those who read a store. */
export class ReaderSet {
  private readonly _callbacks = new Set<() => void>();

  /** Calls back at every `notify`; returns a function that unsubscribes. */
  readonly subscribe = (changed: () => void): (() => void) => {
    this._callbacks.add(changed);
    return () => {
      this._callbacks.delete(changed);
    };
  };

  /** Calls all readers, also where one of them unsubscribes meanwhile. */
  readonly notify = (): void => {
    [...this._callbacks].forEach(changed => {
      changed();
    });
  };

  clear(): void {
    this._callbacks.clear();
  }
}
