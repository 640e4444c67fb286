/** A value that views read, and that calls them back when it changes. */
import type { IReadable } from './kernelStore';
import { ReaderSet } from './readerSet';

/** Holds the value for all views of a page. */
export class ReadableValue<T> implements IReadable<T> {
  private readonly _readers = new ReaderSet();

  constructor(private _value: T) {}

  readonly subscribe = this._readers.subscribe;

  readonly getSnapshot = (): T => this._value;

  set(value: T): void {
    if (value !== this._value) {
      this._value = value;
      this._readers.notify();
    }
  }
}
