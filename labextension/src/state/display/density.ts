/**
 * How much of a turn is drawn: its work folded into one row, or each step in a row of its own.
 */
import type { IReadable } from '../store/kernelStore';

export type Density = 'quiet' | 'all steps';

/** What the page's reader chose. */
export interface IDensityChoice {
  /** For all turns; null where each is drawn as the settings of its kernel or notebook say. */
  page: Density | null;
  /** Turns of which the reader chose otherwise, by id. */
  turns: ReadonlyMap<string, Density>;
}

/** Holds the choice for all views of a page. */
class DensityStore implements IReadable<IDensityChoice> {
  private readonly _readers = new Set<() => void>();
  private _choice: IDensityChoice = { page: null, turns: new Map() };

  readonly subscribe = (changed: () => void): (() => void) => {
    this._readers.add(changed);
    return () => {
      this._readers.delete(changed);
    };
  };

  readonly getSnapshot = (): IDensityChoice => this._choice;

  /** Sets how all turns are drawn; choices for single turns end. */
  setPage(page: Density | null): void {
    this._set({ page, turns: new Map() });
  }

  /** Sets how one turn is drawn. */
  setTurn(turn: string, density: Density): void {
    const { page, turns } = this._choice;
    this._set({ page, turns: new Map([...turns, [turn, density]]) });
  }

  private _set(choice: IDensityChoice): void {
    this._choice = choice;
    [...this._readers].forEach(changed => {
      changed();
    });
  }
}

/** The page's choice. */
export const densityChoice = new DensityStore();

/**
 * Returns how a turn is drawn: as its reader chose for it, or for the page, else as its kernel or notebook says.
 */
export function densityOf(
  { page, turns }: IDensityChoice,
  turn: string,
  own: Density = 'quiet'
): Density {
  return turns.get(turn) ?? page ?? own;
}

/** Reads the page's setting; null where the kernel's settings decide. */
export function readDensity(value: unknown): Density | null {
  return value === 'quiet' || value === 'all steps' ? value : null;
}
