/** The callbacks of a store's readers. */
export class ReaderSet {
  private readonly _callbacks = new Set<() => void>();

  /** Calls back at every `notify`; returns a function that unsubscribes. */
  readonly subscribe = (onChange: () => void): (() => void) => {
    this._callbacks.add(onChange);
    return () => {
      this._callbacks.delete(onChange);
    };
  };

  /** Calls all readers, also where one of them unsubscribes meanwhile. */
  readonly notify = (): void => {
    [...this._callbacks].forEach(onChange => {
      onChange();
    });
  };

  clear(): void {
    this._callbacks.clear();
  }
}
